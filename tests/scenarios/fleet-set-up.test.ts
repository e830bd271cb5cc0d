import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fleet, SOON } from '../support/fleet/fleet.ts';
import { until } from '../support/until.ts';

const KEYS = `max_iterations: 10
completion_promise: DONE
completion_gate: disabled
validation: ["test -f installed/package"]`;
const SET_UP = 'worktree_setup: mkdir installed && echo "$WORKER" >> "$NOTES/set-ups" && touch installed/package';
const FILES = { '.gitignore': 'installed/\n' };

/** Adds a commit in each run; the second run waits for the file `go`; the third is the last. */
const AGENT = `#!/bin/sh
cat > /dev/null
n=$(git rev-list --count HEAD)
touch "$NOTES/at-$n"
[ "$n" = 2 ] && while [ ! -e "$NOTES/go" ]; do sleep 0.05; done
echo "$n" > "step-$n.txt"; git add "step-$n.txt"; git commit -qm "Step $n"
[ "$n" -ge 3 ] && echo "<promise>DONE</promise>"
exit 0
`;

test('each worker sets up the work tree that its checks need', async (t) => {
  const f = await fleet(t, { tasks: [{ name: 'a', keys: `${KEYS}\n${SET_UP}` }], agent: AGENT, files: FILES });
  const id = f.add('jobs/a', ['--yes']);
  const one = f.worker('one', [], { ...SOON, WORKER: 'one' });
  await until('the agent is in its second run', () => existsSync(join(f.notes, 'at-2')));
  one.child.kill('SIGKILL');
  await one.over;
  writeFileSync(join(f.notes, 'go'), '');
  const two = f.worker('two', [], { WORKER: 'two' });
  const result = await f.ended(id);
  assert.deepEqual([result.outcome, result.verified], ['complete', true], result.reason + two.said());
  assert.equal(readFileSync(join(f.notes, 'set-ups'), 'utf8'), 'one\ntwo\n');
  assert.equal(f.git(`ls-tree --name-only refs/heads/ralph/${id} installed`), '');
});

test('a set-up that fails ends the loop with its output before any agent starts', async (t) => {
  const keys = `${KEYS}\nworktree_setup: echo "no registry"; exit 3`;
  const f = await fleet(t, { tasks: [{ name: 'a', keys }], agent: AGENT, files: FILES });
  const id = f.add('jobs/a', ['--yes']);
  f.worker('one');
  const { outcome, reason, branch } = await f.ended(id);
  assert.deepEqual([outcome, branch], ['set-up-failed', null]);
  assert.match(
    reason,
    /^worktree_setup failed \(.*: exit code 3\), so no iteration started\. Its output:\nno registry$/,
  );
  assert.equal(existsSync(join(f.notes, 'at-1')), false);
});

test('the next worker runs the set-up that was agreed to, not one that the agent wrote into the task', async (t) => {
  const rewrite = `sed -i 's|^worktree_setup: .*|worktree_setup: touch "$NOTES/foreign"|' jobs/a/RALPH.md`;
  const agent = AGENT.replace('touch "$NOTES/at-$n"', `touch "$NOTES/at-$n"; ${rewrite.replace('$NOTES', '\\$NOTES')}`);
  const f = await fleet(t, { tasks: [{ name: 'a', keys: `${KEYS}\n${SET_UP}` }], agent, files: FILES });
  const id = f.add('jobs/a', ['--yes']);
  const one = f.worker('one', [], { ...SOON, WORKER: 'one' });
  await until('the agent is in its second run', () => existsSync(join(f.notes, 'at-2')));
  one.child.kill('SIGKILL');
  await one.over;
  writeFileSync(join(f.notes, 'go'), '');
  f.worker('two', [], { WORKER: 'two' });
  const { outcome, verified, reason } = await f.ended(id);
  assert.deepEqual([outcome, verified], ['complete', true], reason);
  assert.equal(readFileSync(join(f.notes, 'set-ups'), 'utf8'), 'one\ntwo\n');
  assert.equal(existsSync(join(f.notes, 'foreign')), false);
});

test('cancel ends a running set-up', async (t) => {
  const keys = `${KEYS}\nworktree_setup: touch "$NOTES/began"; while true; do sleep 0.1; done`;
  const f = await fleet(t, { tasks: [{ name: 'a', keys }], agent: AGENT, files: FILES });
  const id = f.add('jobs/a', ['--yes']);
  f.worker('one');
  await until('the set-up works', () => existsSync(join(f.notes, 'began')));
  const { code, stderr } = f.ask(['cancel', id]);
  assert.equal(code, 0, stderr);
  assert.equal((await f.ended(id)).outcome, 'cancelled');
});
