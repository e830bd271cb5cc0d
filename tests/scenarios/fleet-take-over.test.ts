import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Fleet, fleet, SOON } from '../support/fleet/fleet.ts';
import { until } from '../support/until.ts';

/**
 * Makes the check and the task's own settings weaker in its first run, and claims to be done in its second, which waits
 * for the file `go`. In its third it puts the check back and does the work.
 */
const AGENT = `#!/bin/sh
cat > "$NOTES/prompt"
n=$(git rev-list --count HEAD)
echo "$n $WORKER" >> "$NOTES/runs"
[ "$n" = 2 ] && while [ ! -e "$NOTES/go" ]; do sleep 0.05; done
case $n in
1) echo 'exit 0' > check.sh; sed -i 's/^validation: .*/validation: ["true"]/' jobs/a/RALPH.md;;
2) cp "$NOTES/prompt" "$NOTES/prompt-2"; echo "<promise>DONE</promise>";;
3) cp "$NOTES/prompt" "$NOTES/prompt-3"; git checkout -q origin/main -- check.sh; touch work.txt; echo "<promise>DONE</promise>";;
esac
git add -A; git commit -q --allow-empty -m "Step $n"
exit 0
`;
const KEYS = `max_iterations: 5
completion_promise: DONE
completion_gate: disabled
validation: ["sh check.sh"]`;
const FILES = { 'check.sh': 'test -e work.txt\n' };

test('a loop whose agent changed a pinned script proves its end after a take-over all the same', async (t) => {
  const taken = await fleet(t, { tasks: [{ name: 'a', keys: KEYS }], agent: AGENT, files: FILES });
  const id = taken.add('jobs/a');
  const one = taken.worker('one', [], { ...SOON, WORKER: 'one' });
  await until('the agent is in its second run', () => runs(taken).includes('2 one'));
  one.child.kill('SIGKILL');
  await one.over;
  writeFileSync(join(taken.notes, 'go'), '');
  taken.worker('two', [], { WORKER: 'two' });
  const { outcome, verified, iterations, reason } = await taken.ended(id);
  assert.deepEqual([outcome, verified, iterations], ['complete', true, 3], reason);
  assert.equal(taken.git(`log --format=%s main..refs/heads/ralph/${id}`), 'Step 3\nStep 2\nStep 1');
  assert.match(readFileSync(join(taken.notes, 'prompt-3'), 'utf8'), /check\.sh was changed/);
  assert.deepEqual(runs(taken).slice(-2), ['2 two', '3 two']);
});

function runs(f: Fleet): string[] {
  const path = join(f.notes, 'runs');
  return existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : [];
}
