import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fleet } from '../support/fleet/fleet.ts';

/** Adds one commit in each run, and is done at the second. */
const AGENT = `#!/bin/sh
cat > /dev/null
case "$RALPH_LOOP" in
  liar) echo Done. >> jobs/liar/RALPH.md; echo Made it. > RALPH_PROGRESS.md; git add -A; git commit -qm "Made it"; echo "<promise>DONE</promise>"; exit 0;;
  hidden) git update-index --skip-worktree agent.sh; echo "# more" >> agent.sh; echo made > made.txt; echo "<promise>DONE</promise>"; exit 0;;
  ignored) echo made > made.log; echo "<promise>DONE</promise>"; exit 0;;
  honest) echo made > made.txt; echo "<promise>DONE</promise>"; exit 0;;
esac
n=$(git rev-list --count HEAD)
echo "$n" > "step-$n.txt"; git add "step-$n.txt"; git commit -qm "Step $n"
echo "$n" >> "$NOTES/runs"
echo more >> uncommitted.txt
[ "$n" -ge 2 ] && echo "<promise>DONE</promise>"
exit 0
`;

test('a worker does queued tasks, the result is a branch, and only done work is verified', async (t) => {
  // Green from the start: only the work itself can be the proof.
  const keys = 'max_iterations: 2\nvalidation: ["true"]\nopen_questions: optional\ncompletion_promise: DONE';
  const others = ['liar', 'honest', 'hidden'];
  const tasks = [
    ...others.map((name) => ({ name, keys })),
    { name: 'ignored', keys: keys.replace('true', 'test -s made.log') },
  ];
  const f = await fleet(t, { tasks: [{ name: 'a' }, ...tasks], agent: AGENT, files: { '.gitignore': '*.log\n' } });
  const id = f.add('jobs/a');
  const added = tasks.map(({ name }) => [name, f.add(`jobs/${name}`)] as const);
  const worker = f.worker('one');
  const result = await f.ended(id);
  assert.equal(result.outcome, 'complete', `${result.reason}\n${worker.said()}`);
  assert.equal(result.iterations, 2);
  assert.equal(result.branch, `ralph/${id}`);
  assert.equal(f.git(`log --format=%s main..refs/heads/ralph/${id} -- step-1.txt step-2.txt`), 'Step 2\nStep 1');
  assert.equal(f.git(`show refs/heads/ralph/${id}:uncommitted.txt`), 'more\nmore');
  for (const [name, each] of added) {
    const { outcome, verified, iterations, reason } = await f.ended(each);
    assert.equal(verified, name === 'honest', `${name}: ${outcome}: ${reason}\n${worker.said()}`);
    if (name !== 'liar') assert.deepEqual([outcome, iterations], ['complete', 1], reason);
    if (name === 'hidden') assert.match(reason, /is not what the checks saw: agent\.sh differs\./);
    if (name === 'ignored') assert.match(reason, /No branch ralph\/ignored-\S+ was pushed/);
  }
  worker.child.kill('SIGTERM');
  assert.equal(await worker.over, 0, worker.said());
});

test('status says why a loop ended and how the fleet continues it, without advice for one machine', async (t) => {
  const limited = { name: 'a', keys: 'max_iterations: 1\ncompletion_promise: DONE\ncompletion_gate: disabled' };
  const failing = { name: 'b', keys: 'stop_on_error: true' };
  const agent = '#!/bin/sh\ncat > /dev/null\n[ "$RALPH_LOOP" = a ] && exit 0\necho "No key." >&2; exit 127\n';
  const f = await fleet(t, { tasks: [limited, failing], agent });
  const ids = [f.add('jobs/a'), f.add('jobs/b')];
  const worker = f.worker('one');
  for (const id of ids) {
    const { reason, report } = await f.ended(id);
    assert.doesNotMatch(reason, /ralph-loop|\.\.|\."/, reason);
    assert.match(report, /^ {2}\d+ iterations? of \d+, /m);
    assert.doesNotMatch(report, /ralph-loop|Undo/);
    assert.match(reason, /^Stopped/);
  }
  const [used = '', failed = ''] = ids;
  assert.match(f.ask(['status', failed]).stdout, new RegExp(`^continue +ralph-loop fleet retry ${failed}$`, 'm'));
  const another =
    /ralph-loop fleet add 'jobs\/a\/RALPH\.md' --repo '\S+' (--base \S+ )?--set 'agent=\.\/agent\.sh' --max-iterations N/;
  assert.match(f.ask(['status', used]).stdout, another);
  const refused = f.ask(['retry', used]);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /has used all iterations of its terms/);
  assert.match(refused.stderr, another, 'a retry would end at once');
  assert.match(worker.said(), new RegExp(`${failed}: working on jobs/b/RALPH\\.md\n[^]*${failed}: error: Stopped`));
});
