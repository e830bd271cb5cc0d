import assert from 'node:assert/strict';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { project } from '../support/project.ts';
import { longTest } from '../support/short-form.ts';
import { peopleTerminal } from '../support/terminal/people-terminal.ts';

test('in a terminal the commands print text, not JSON', async (t) => {
  const p = project(t);
  p.ralph(['init']);
  p.write('.claude/ralph/PROMPT.md', '# Task\n');
  p.ralph(['start']);
  const shown = await peopleTerminal(
    t,
    p,
    'for c in status list explain config signs check cancel archive status logs; do $RALPH $c; done',
  );
  assert.equal(await shown.waitForExit(), 0);
  const text = await shown.history();
  for (const expected of [
    /The loop is waiting for a session\./,
    /iterations +0 of 25 done/,
    /\(default\) +\.claude\/ralph\/PROMPT\.md +waiting for a session +0\/25/,
    /Next: Start the client/,
    /max_iterations +25 \(default\)/,
    /There are no signs/,
    /PROMPT\.md is fine/,
    /cancelled\.json .*\n {2}0 of 25 iterations\. Cancelled /,
    /The last loop ended \(cancelled, /,
    /loop\.ended +cancelled/,
  ]) {
    assert.match(text, expected);
  }
  assert.doesNotMatch(text, /^[{[]/m);
});

test('init, doctor and uninit say what they did and what comes next', async (t) => {
  const p = project(t);
  const shown = await peopleTerminal(t, p, '$RALPH init; $RALPH init; $RALPH doctor; $RALPH uninit');
  await shown.waitForExit();
  const text = await shown.history();
  for (const expected of [
    /^ {2}\.claude\/skills\/ralph-loop\/SKILL\.md$/m,
    /Next: write your task and its checks into \.claude\/ralph\/PROMPT\.md/,
    /is already set up/,
    /^ok +self-test: the Stop hook sends the task back/m,
    /^warning +task-file: .*still the template/m,
    /0 errors, 2 warnings\./,
    /files removed\. \.claude\/settings\.json: removed\./,
  ]) {
    assert.match(text, expected);
  }
  assert.deepEqual(p.tree(), {});
});

test('a loop’s own text cannot rewrite the screen', async (t) => {
  const p = project(t);
  const message = 'kept\u001B[2J\u001B[H\u001B[31mgone';
  p.write(
    '.claude/context/runtime/ralph-events.jsonl',
    `${JSON.stringify({ type: 'notice', at: '2026-01-01T00:00:00Z', loopId: 'l', message })}\n`,
  );
  const shown = await peopleTerminal(t, p, 'echo before; $RALPH logs');
  await shown.waitForExit();
  assert.match(await shown.history(), /before\n.*notice +keptgone/);
});

test('logs --follow shows what is added, until Ctrl+C', async (t) => {
  const p = project(t);
  const journal = '.claude/context/runtime/ralph-events.jsonl';
  const event = (type: string) =>
    `${JSON.stringify({ type, at: '2026-01-01T00:00:00Z', loopId: 'l', iteration: 1 })}\n`;
  p.write(journal, event('first.event'));
  const shown = await peopleTerminal(t, p, 'exec $RALPH logs --follow');
  await shown.waitFor(/first\.event/);
  appendFileSync(join(p.dir, journal), event('second.event'));
  await shown.waitFor(/second\.event/);
  await shown.key('C-c');
  await shown.waitForExit();
  assert.equal((await shown.history()).match(/first\.event/g)?.length, 1);
});

test('starting a task folder prints the line that starts its client, and status finds it without a path', async (t) => {
  const p = project(t);
  p.write('.claude/ralph/PROMPT.md', '# Task\n');
  p.write('jobs/auth fix/RALPH.md', '---\nmax_iterations: 5\n---\nWork.\n');
  const shown = await peopleTerminal(t, p, 'cd jobs && $RALPH start --task "auth fix"; cd ..; $RALPH status');
  assert.equal(await shown.waitForExit(), 0);
  const screen = await shown.history();
  const { loopId } = p.ralph(['status', 'jobs/auth fix', '--json']).json;
  const lines = [
    `  cd '${p.dir}'`,
    '  export RALPH_ACTIVE=1 CLAUDE_CODE_STOP_HOOK_BLOCK_CAP=0',
    `  export RALPH_LOOP_ID=${loopId} RALPH_LOOP=auth-fix`,
    '  claude',
  ];
  assert.ok(screen.includes(lines.join('\n')), screen);
  assert.match(screen, /Loop auth-fix is waiting for a session\.\n {2}task +jobs\/auth fix\/RALPH\.md\n/);
});

longTest('init names every file that it created, on one screen', async (t) => {
  const p = project(t);
  const shown = await peopleTerminal(t, p, '$RALPH init');
  assert.equal(await shown.waitForExit(), 0);
  const screen = await shown.history();
  for (const name of ['.claude/hooks/ralph-stop-hook.cjs', '.claude/ralph/PROMPT.md'])
    assert.ok(screen.includes(name), screen);
  assert.ok(screen.split('\n').filter((line) => line.trim() !== '').length <= 40, screen);
});

test('in a narrow terminal list shows one loop below the other and breaks no line', async (t) => {
  const p = project(t);
  const agent = ['--agent', 'cat > /dev/null; echo at work', '--max-iterations', '1'];
  p.write('.claude/ralph/PROMPT.md', '# Task\n');
  p.write('a-folder-with-a-long-name/RALPH.md', '---\nmax_iterations: 5\n---\nWork.\n');
  for (const task of [[], ['a-folder-with-a-long-name']]) p.ralph(['run', ...task, ...agent]);
  const shown = await peopleTerminal(t, p, 'read narrow; $RALPH list');
  await shown.resize(80, 24);
  await shown.key('Enter');
  assert.equal(await shown.waitForExit(), 0);
  const lines = (await shown.screen()).split('\n');
  const at = lines.indexOf('a-folder-with-a-long-name');
  assert.deepEqual(
    [lines.indexOf('(default)') >= 0, lines[at - 1], lines[at + 1]],
    [true, '', '  task      a-folder-with-a-long-name/RALPH.md'],
    lines.join('\n'),
  );
  assert.match(lines[at + 2] ?? '', /^ {2}last end {2}[a-z ]+, .* ago$/);
});

test('a run shows which command of the task folder is running', async (t) => {
  const p = project(t);
  const commands = 'commands:\n  - {name: slow, run: "until test -f go; do sleep 0.05; done"}';
  p.write('my-task/RALPH.md', `---\nmax_iterations: 1\n${commands}\n---\n{{ commands.slow }}\n`);
  const shown = await peopleTerminal(t, p, '$RALPH run my-task --agent "cat > /dev/null; echo fine"');
  await shown.waitFor('… slow');
  p.write('go', '');
  await shown.waitForExit();
  const screen = await shown.history();
  assert.match(screen, /^ {2}✓ slow \([\dms ]+\)$/m);
  assert.doesNotMatch(screen, /… slow/);
});

test('a silent run in a terminal that is resized leaves no former footer in its scroll-back', async (t) => {
  const p = project(t);
  const commands = 'commands:\n  - {name: slow, run: "until test -f go; do sleep 0.05; done"}';
  p.write('my-task/RALPH.md', `---\nmax_iterations: 1\n${commands}\n---\n{{ commands.slow }}\n`);
  const shown = await peopleTerminal(t, p, '$RALPH run my-task --agent "cat > /dev/null; echo fine"');
  for (const [columns, hint] of [
    [80, 'Ctrl+C: stop'],
    [20, '> Enter: tell the …'],
    [120, 'Ctrl+C: stop'],
  ] as const) {
    await shown.resize(columns, 24);
    await shown.waitFor((screen) => /… slow/.test(screen) && screen.trimEnd().endsWith(hint));
    const all = await shown.history();
    assert.equal(all.split('> Enter').length, 2, all);
  }
  p.write('go', '');
  await shown.waitForExit();
});

test('a command that reads its input from a terminal ends by Ctrl+C', async (t) => {
  const p = project(t);
  const shown = await peopleTerminal(t, p, 'echo begin; $RALPH tdd init --input -; echo end');
  await shown.waitFor(/begin/);
  await shown.key('C-c');
  await shown.waitForExit();
  assert.doesNotMatch(await shown.history(), /internal error|^end/m);
});
