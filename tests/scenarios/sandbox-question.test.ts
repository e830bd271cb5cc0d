import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { project } from '../support/project.ts';
import { peopleTerminal } from '../support/terminal/people-terminal.ts';

const QUESTION = /Sandbox \[Y\/n\/always\/never\]/;
const START = '$RALPH start --launch --fresh --permission-mode bypassPermissions';

test('bypassPermissions at a terminal asks for the sandbox, remembers an answer, and does not ask again', async (t) => {
  const where = project(t);
  where.write('.claude/ralph/PROMPT.md', '---\nvalidation: ["true"]\n---\n\nDo it.\n');
  const config = join(String(where.env['XDG_CONFIG_HOME']), 'ralph-loop', 'config.json');

  const no = await peopleTerminal(t, where, START);
  await no.waitFor(QUESTION);
  assert.match(await no.history(), /bypassPermissions lets the agent do everything that you can/);
  await no.submit('n');
  await no.waitForExit();
  assert.match(await no.history(), /bypassPermissions without a sandbox/);
  assert.ok(!existsSync(config), 'a plain answer is for this loop');

  const never = await peopleTerminal(t, where, START);
  await never.waitFor(QUESTION);
  await never.submit('never');
  await never.waitForExit();
  assert.deepEqual(JSON.parse(readFileSync(config, 'utf8')), { sandbox: { mode: 'off' } });
  assert.doesNotMatch(await never.history(), /without a sandbox/);

  const later = await peopleTerminal(t, where, START);
  await later.waitForExit();
  assert.doesNotMatch(await later.history(), QUESTION);
});

test('a mistyped answer about the sandbox is asked again, and Ctrl+C there starts nothing', async (t) => {
  const where = project(t);
  where.write('.claude/ralph/PROMPT.md', '---\nvalidation: ["true"]\n---\n\nDo it.\n');
  const asked = await peopleTerminal(t, where, START);
  await asked.waitFor(QUESTION);
  await asked.submit('yse');
  await asked.waitFor((screen) => screen.split('Sandbox [').length === 3);
  await asked.key('C-c');
  assert.equal(await asked.waitForExit(), 1);
  assert.match(await asked.history(), /Nothing was started\./);
  assert.ok(!where.has('.claude/context/runtime/ralph-state.json'));
});
