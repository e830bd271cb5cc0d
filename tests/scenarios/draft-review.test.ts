import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { project } from '../support/project.ts';
import { peopleTerminal } from '../support/terminal/people-terminal.ts';

const ASKED = /\[s\]tart, \[t\]ry the checks, \[e\]dit, \[k\]eep for later, \[c\]ancel:/;
const PATH = 'fix-parser/RALPH.md';

test('a draft in a terminal is shown, and written only when it is kept', async (t) => {
  const p = project(t);
  const shown = await peopleTerminal(t, p, '$RALPH draft "fix the parser"');
  await shown.waitFor(ASKED);
  assert.match(await shown.history(), /A draft for fix-parser\/RALPH\.md \(fix\):/);
  assert.match(await shown.history(), /No command of this project could prove the work\. Name one under "validation"/);
  assert.ok(!p.has(PATH));
  await shown.submit('what?');
  await shown.waitFor((screen) => screen.split('[c]ancel:').length === 3);
  await shown.submit('k');
  assert.equal(await shown.waitForExit(), 0);
  assert.match(p.read(PATH), /> fix the parser/);
});

for (const [how, leave] of [
  ['its word', 'c'],
  ['the end of the input', null],
] as const) {
  test(`a draft that is cancelled by ${how} leaves nothing behind`, async (t) => {
    const p = project(t);
    const shown = await peopleTerminal(t, p, '$RALPH draft "fix the parser"');
    await shown.waitFor(ASKED);
    await (leave === null ? shown.key('C-d') : shown.submit(leave));
    assert.equal(await shown.waitForExit(), 0);
    assert.match(await shown.history(), /Cancelled; nothing was written\./);
    assert.deepEqual(p.tree(), {});
  });
}

test('an edited draft is checked again, and one with errors cannot be started', async (t) => {
  const p = project(t);
  const editor = join(p.home, 'my editor');
  const script = `printf '#!/bin/sh\\nsed -i s/max_iterations:.*/max_iterations:\\\\ $1/ "$2"\\n' > "${editor}"; chmod +x "${editor}"; $RALPH draft "fix the parser"`;
  const shown = await peopleTerminal(t, p, script, { EDITOR: `"${editor}" 99` });
  await shown.waitFor(ASKED);
  await shown.submit('e');
  await shown.waitFor(/error, line \d+: max_iterations must be .*50/);
  await shown.submit('s');
  await shown.waitFor((screen) => screen.split('max_iterations must be').length === 3);
  assert.ok(!p.has(PATH));
  await shown.submit('k');
  await shown.waitForExit();
  assert.match(p.read(PATH), /max_iterations: 99/);
});

test('without an editor the user learns how to get one', async (t) => {
  const p = project(t);
  const shown = await peopleTerminal(t, p, '$RALPH draft "fix the parser"');
  await shown.waitFor(ASKED);
  await shown.submit('e');
  await shown.waitFor(/No editor is set/);
  await shown.submit('c');
  assert.equal(await shown.waitForExit(), 0);
  assert.ok(!p.has(PATH), 'a cancelled draft is not written');
});

test('a draft that is started is written first, and started with the client', async (t) => {
  const p = project(t);
  const shown = await peopleTerminal(t, p, '$RALPH draft "fix the parser"');
  await shown.waitFor(ASKED);
  await shown.submit('s');
  assert.equal(await shown.waitForExit(), 130);
  assert.match(
    await shown.history(),
    /Wrote fix-parser\/RALPH\.md\.\n(?:.*\n)*.*\(Claude Code\)\nralph-loop: Interrupted: the client exited while the loop was live\./,
  );
  assert.ok(p.has(PATH));
});

test('an existing task folder is reviewed, edited in place, and left', async (t) => {
  const p = project(t);
  p.write(PATH, '---\nmax_iterations: 5\n---\nWork.\n');
  const editor = join(p.home, 'my editor');
  const script = `printf '#!/bin/sh\\nsed -i s/max_iterations:.*/max_iterations:\\\\ $1/ "$2"\\n' > "${editor}"; chmod +x "${editor}"; $RALPH draft fix-parser/`;
  const shown = await peopleTerminal(t, p, script, { EDITOR: `"${editor}" 99` });
  await shown.waitFor(/\[s\]tart, \[t\]ry the checks, \[e\]dit, \[l\]eave/);
  assert.match(await shown.history(), /fix-parser\/RALPH\.md:\n\n---\nmax_iterations: 5\n/);
  await shown.submit('e');
  await shown.waitFor(/error, line \d+: max_iterations must be .*50/);
  await shown.submit('s');
  await shown.waitFor((screen) => screen.split('max_iterations must be').length === 3);
  await shown.submit('l');
  assert.equal(await shown.waitForExit(), 0);
  assert.match(p.read(PATH), /max_iterations: 99/);
});

test('an existing task folder is started from its review', async (t) => {
  const p = project(t);
  p.write(PATH, '---\nmax_iterations: 5\n---\nWork.\n');
  const shown = await peopleTerminal(t, p, '$RALPH draft fix-parser');
  await shown.waitFor(/\[s\]tart, \[t\]ry the checks, \[e\]dit, \[l\]eave/);
  assert.match(await shown.history(), /fix-parser is a task folder, which was opened/);
  await shown.submit('s');
  assert.equal(await shown.waitForExit(), 130);
  assert.match(
    await shown.history(),
    /\(Claude Code\)\nralph-loop: Interrupted: the client exited while the loop was live\./,
  );
});
