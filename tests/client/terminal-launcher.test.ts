import assert from 'node:assert/strict';
import { test } from 'node:test';
import { steps, text } from '../support/model/scripted-model.ts';
import { longTest } from '../support/short-form.ts';
import { complete, inTerminal } from '../support/terminal/terminal-loop.ts';

test('the launcher runs the loop until it is complete, and says why at its end', async () => {
  const script = steps([
    text('turn one is done'),
    text('turn two is done'),
    text(`all is done\n\n${complete}`),
    text('you are welcome'),
  ]);
  await inTerminal({ body: '# Mission\n\nKeep to the script.\n' }, script, async (loop) => {
    const terminal = await loop.launch();
    await terminal.waitFor(
      /Stop says: ralph-loop: Complete after 3 iterations, unverified: no checks are configured/,
      ...['turn one is done', 'turn two is done', 'Stop says: ralph-loop: iteration 3 of 25.'],
    );
    const [first, second] = loop.model.mainRequests();
    assert.match(first?.lastUserText ?? '', /Iteration 1 of 25[\s\S]*Keep to the script\./);
    assert.match(second?.sinceText ?? '', /Iteration 2 of 25[\s\S]*Keep to the script\./);
    const ended = await loop.waitForEnd();
    assert.deepEqual([ended.ended?.as, ended.iteration], ['complete', 3]);
    assert.equal(await terminal.exitCode(), undefined, 'the session stays open for the user');
    await terminal.submit('thank you, that was quick');
    await terminal.waitFor('you are welcome');
    assert.equal(loop.model.mainRequests()[3]?.lastUserText, 'thank you, that was quick');
    await terminal.submit('/exit');
    assert.equal(await terminal.waitForExit(), 0);
    assert.match(await terminal.history(), /^ralph-loop: Complete after 3 iterations/m);
  });
});

longTest('a client started by hand with RALPH_ACTIVE=1 gets its own loop, bound by SessionStart', async () => {
  const script = steps([text('turn one is done'), text('turn two is done'), text(`over\n\n${complete}`)]);
  await inTerminal({}, script, async (loop) => {
    const start = [
      'export RALPH_ACTIVE=1 CLAUDE_CODE_STOP_HOOK_BLOCK_CAP=0',
      'claude --permission-mode bypassPermissions "Read .claude/ralph/PROMPT.md and work by it."',
    ].join('\n');
    const terminal = await loop.open('/bin/bash', ['-c', start]);
    await terminal.waitFor(/SessionStart:startup says: ralph-loop: A loop has started/);
    const screen = await terminal.waitFor(/Stop says: ralph-loop: Complete after 3 iterations/);
    assert.ok(!screen.includes('BLOCK_CAP'), 'it was exported, so nobody has to be told');
    const ended = await loop.waitForEnd();
    assert.deepEqual([ended.ended?.as, ended.iteration], ['complete', 3]);
    assert.ok(ended.clientPid > 0);
    assert.match(loop.model.mainRequests()[1]?.sinceText ?? '', /Iteration 2 of 25/);
    await terminal.submit('/exit');
    assert.equal(await terminal.waitForExit(), 0);
  });
});
