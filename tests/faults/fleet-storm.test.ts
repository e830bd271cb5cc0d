import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkpointLine } from '../support/fleet/checkpoint-line.ts';
import { type FleetLoopStatus, type FleetMachine, fleet, SOON } from '../support/fleet/fleet.ts';
import fc from '../support/property.ts';

/** `npm run stress:fleet` has the long form: 100 loops, 5 iterations, 20 kills, 5 freezes, 3 restarts of the server. */
const size = (name: string, otherwise: number): number => Number(process.env[`RALPH_STORM_${name}`] ?? otherwise);
const LOOPS = size('LOOPS', 3);
const ITERATIONS = size('ITERATIONS', 2);
const KILLS = size('KILLS', 2);
const FREEZES = size('FREEZES', 1);
const RESTARTS = size('RESTARTS', 1);
const WORKERS = ['one', 'two', 'three'];
/** How long an agent works: a short storm is not to be over before its blows. */
const WORK_SECONDS = LOOPS > 10 ? 1 : 2;
/** Longer than the lock of a worker. */
const FROZEN_MS = 6_000;
/** It only ends what hangs. */
const LONGEST_MS = 20 * 60_000 + LOOPS * ITERATIONS * 60_000;

/** One commit a run; says who works on what, so that two at once are seen. */
const AGENT = `#!/bin/sh
cat > /dev/null
id=$(ls jobs | head -1)
n=$(git rev-list --count HEAD)
loop=$(basename "$(dirname "$PWD")")
echo "+ $loop $n $WORKER" >> "$NOTES/runs"
sleep ${WORK_SECONDS}
echo "$n" > "step-$n.txt"; git add "step-$n.txt"; git commit -qm "Step $n"
echo "- $loop $n $WORKER" >> "$NOTES/runs"
[ "$n" -ge ${ITERATIONS} ] && echo "<promise>DONE</promise>"
exit 0
`;

type Blow = { readonly kind: 'kill' | 'freeze' | 'restart'; readonly afterMs: number; readonly whom: number };

function storm(): Blow[] {
  const kinds = [
    ...Array.from({ length: KILLS }, () => 'kill' as const),
    ...Array.from({ length: FREEZES }, () => 'freeze' as const),
    ...Array.from({ length: RESTARTS }, () => 'restart' as const),
  ];
  const blow = fc.record({ afterMs: fc.integer({ min: 500, max: 4_000 }), whom: fc.nat(WORKERS.length - 1) });
  const order = fc.shuffledSubarray(kinds, { minLength: kinds.length });
  const [shuffled = kinds] = fc.sample(order, { numRuns: 1, seed: 11 });
  return fc
    .sample(blow, { numRuns: kinds.length, seed: 7 })
    .map((each, at) => ({ ...each, kind: shuffled[at] ?? 'kill' }));
}

test('a storm of kills, freezes and restarts loses, repeats and forks nothing', { timeout: LONGEST_MS }, async (t) => {
  const keys = 'max_iterations: 50\ncompletion_promise: DONE\ncompletion_gate: disabled';
  const tasks = Array.from({ length: LOOPS }, (_, at) => ({ name: `t${at}`, keys }));
  const f = await fleet(t, { tasks, agent: AGENT });
  const words = ['--repo', f.remote, '--agent', './agent.sh', '--take-overs', '50'];
  const added = f.ask(['add', ...tasks.map(({ name }) => `jobs/${name}`), ...words]);
  assert.equal(added.code, 0, added.stderr);
  const ids = added.stdout.trim().split('\n');
  assert.equal(ids.length, LOOPS);
  const begin = (name: string): FleetMachine => f.worker(name, ['--slots', '2'], { ...SOON, WORKER: name });
  const workers = WORKERS.map(begin);
  const loops = (): (FleetLoopStatus & { loopId: string })[] => {
    const { code, stdout } = f.ask(['status', '--json']);
    return code === 0 ? (JSON.parse(stdout) as { loops: (FleetLoopStatus & { loopId: string })[] }).loops : [];
  };
  let struck = 0;
  for (const { kind, afterMs, whom } of storm()) {
    await sleep(afterMs);
    if (loops().filter(({ result }) => result !== null).length === LOOPS) break;
    struck += 1;
    const victim = workers[whom];
    const name = WORKERS[whom];
    assert.ok(victim !== undefined && name !== undefined);
    if (kind === 'kill') {
      victim.child.kill('SIGKILL');
      await victim.over;
      workers[whom] = begin(name);
    } else if (kind === 'freeze') {
      victim.child.kill('SIGSTOP');
      await sleep(FROZEN_MS);
      victim.child.kill('SIGCONT');
    } else {
      await f.redis.kill();
      await sleep(afterMs / 4);
      await f.redis.start();
    }
  }
  for (const id of ids) {
    await f.reaches(id, 'is over', ({ result, failure }) => result !== null || failure !== null, LONGEST_MS);
  }
  const now = loops();
  assert.equal(now.length, LOOPS);
  const runs = readFileSync(join(f.notes, 'runs'), 'utf8').trim().split('\n');
  t.diagnostic(`${struck} blows; ${runs.filter((line) => line.startsWith('+')).length} runs for ${LOOPS * ITERATIONS}`);
  const said = workers.map((worker) => worker.said()).join('');
  const all = Array.from({ length: ITERATIONS }, (_, at) => ITERATIONS - at);
  for (const { loopId, result, failure } of now) {
    assert.deepEqual(
      [failure, result?.outcome, result?.iterations],
      [null, 'complete', ITERATIONS],
      `${loopId}\n${said}`,
    );
    const paths = all.map((n) => `step-${n}.txt`).join(' ');
    const steps = f.git(`log --format=%s main..refs/heads/ralph/${loopId} -- ${paths}`);
    assert.equal(steps, all.map((n) => `Step ${n}`).join('\n'), loopId);
    const line = checkpointLine(f.remote, loopId);
    assert.equal(line.at(-1)?.iteration, ITERATIONS);
  }
  // Each blow costs at most the iterations at work on the workers that it hit.
  const began = runs.filter((line) => line.startsWith('+')).length;
  const slots = 2 * WORKERS.length;
  assert.ok(began <= LOOPS * ITERATIONS + struck * slots, `${began} runs`);
});
