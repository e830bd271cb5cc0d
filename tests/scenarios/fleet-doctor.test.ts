import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { FLEET_KEY, fleet, SOON } from '../support/fleet/fleet.ts';
import { redisServer } from '../support/fleet/redis-server.ts';
import { DIST, project } from '../support/project.ts';
import { until } from '../support/until.ts';
import { agent, task } from './support/command-agent.ts';

const AGENT = `#!/bin/sh
cat > /dev/null
n=$(git rev-list --count HEAD)
touch "$NOTES/at-$n"
while [ "$n" -ge 2 ] && [ ! -e "$NOTES/go" ]; do sleep 0.05; done
git commit -q --allow-empty -m "Step $n"
[ "$n" -ge 3 ] && echo "<promise>DONE</promise>"
exit 0
`;

test('the doctor names what a server of the fleet lacks', async (t) => {
  const f = await fleet(t, { tasks: [], agent: AGENT });
  const sound = f.ask(['doctor']);
  assert.match(sound.stdout, /✓ append-only file: on/);
  const alone = f.ask(['doctor'], { RALPH_CLAUDE: '/gone/claude' });
  assert.equal(alone.code, 0, 'a worker without Claude Code can run loops with another agent');
  assert.match(alone.stdout, /client: Claude Code was not found; only loops with another agent can run here/);
  const bare = await redisServer(t, ['--appendonly', 'no', '--maxmemory-policy', 'allkeys-lru']);
  const { code, stdout } = f.ask(['doctor'], { RALPH_FLEET_URL: bare.url, RALPH_FLEET_KEY: 'short' });
  assert.equal(code, 1);
  assert.match(stdout, /✗ append-only file: off/);
  assert.match(stdout, /✗ maxmemory-policy: allkeys-lru/);
  assert.match(stdout, /✗ key: RALPH_FLEET_KEY is missing or shorter/);
  await bare.kill();
  const gone = f.ask(['status'], { RALPH_FLEET_URL: bare.url });
  assert.equal(gone.code, 1);
  assert.match(gone.stderr, /no server answers at redis:\/\/127\.0\.0\.1/);
});

test('a member with another key is refused', async (t) => {
  const f = await fleet(t, { tasks: [], agent: AGENT });
  assert.equal(f.ask(['status']).code, 0);
  const { code, stderr } = f.ask(['status'], { RALPH_FLEET_KEY: 'x'.repeat(64) });
  assert.equal(code, 1);
  assert.match(stderr, /use a different RALPH_FLEET_KEY/);
});

test('an option of another action is refused, because it would have no effect', async (t) => {
  const f = await fleet(t, { tasks: [], agent: '' });
  for (const [words, users] of [
    [['worker', '--label', 'gpu'], 'add'],
    [['add', 'a', '--slots', '2'], 'worker'],
    [['cancel', 'a-0123456789', '--all'], 'status'],
    [['status', '--repo', f.remote], 'add, worker, doctor'],
  ] as const) {
    const { code, stderr } = f.ask(words);
    assert.equal(code, 1);
    assert.match(stderr, new RegExp(`fleet ${words[0]} has no option --\\w+, which belongs to fleet ${users}\\.`));
  }
});

test('doctor says that a server takes no writes, and why', async (t) => {
  const redis = await redisServer(t);
  const p = project(t);
  const doctor = () => p.ralph(['fleet', 'doctor'], { RALPH_FLEET_URL: redis.url, RALPH_FLEET_KEY: FLEET_KEY });
  assert.match(doctor().stdout, /✓ writes: accepted/);
  await redis.ask('CONFIG', 'SET', 'maxmemory', '1');
  const full = doctor();
  assert.match(full.stdout, /✗ writes: refused: OOM command not allowed .* needs more memory/);
  assert.equal(full.code, 1);
  await redis.ask('CONFIG', 'SET', 'maxmemory', '0');
  await redis.ask('REPLICAOF', '127.0.0.1', '1');
  assert.match(doctor().stdout, /✗ writes: refused: READONLY .* name its primary/);
});

test('without the packages one message gives the command that installs them', (t) => {
  const p = project(t);
  // A copy elsewhere finds none of the packages of this repository.
  p.sh(`cp -r "$(dirname "$(dirname "$MAIN")")" copy`, '', { MAIN: join(DIST, 'scripts', 'main.cjs') });
  const words = `"${process.execPath}" copy/scripts/main.cjs fleet status`;
  const { code, stderr } = p.sh(words, '', { RALPH_FLEET_URL: 'redis://127.0.0.1:1', RALPH_FLEET_KEY: FLEET_KEY });
  assert.equal(code, 1);
  assert.match(
    stderr,
    /needs the packages bullmq and ioredis\. Install them: npm install --prefix \S+ bullmq@6 ioredis@5/,
  );
});

test('the agent and the checks of run see no variable of the fleet', (t) => {
  const p = project(t);
  task(p, 'max_iterations: 2\nvalidation: ["env >> env.txt"]');
  const command = agent(p, 'env >> env.txt; echo RALPH_AUDIT_COMPLETE_NO_FINDINGS');
  const env = { RALPH_FLEET_KEY: FLEET_KEY, RALPH_FLEET_URL: 'redis://x', VISIBLE: '1' };
  const { code, stderr } = p.ralph(['run', '--agent', command], env);
  assert.equal(code, 0, stderr);
  assert.match(p.read('env.txt'), /VISIBLE=1[\s\S]*VISIBLE=1/);
  assert.doesNotMatch(p.read('env.txt'), /RALPH_FLEET_|RALPH_FIXED_TERMS/);
});

test('loops whose jobs a server has lost are queued again from their checkpoints', async (t) => {
  const f = await fleet(t, { tasks: [{ name: 'a' }], agent: AGENT });
  const id = f.add('jobs/a');
  const one = f.worker('one');
  await until('the second iteration', () => existsSync(join(f.notes, 'at-2')));
  one.child.kill('SIGKILL');
  await one.over;
  await f.redis.ask('FLUSHALL');
  assert.match(f.ask(['status', id]).stderr, /the fleet has no loop/);
  const requeued = f.ask(['doctor', '--requeue', '--repo', f.remote]);
  assert.equal(requeued.stdout.trim(), `${id} is queued again from its last checkpoint.`, requeued.stderr);
  writeFileSync(join(f.notes, 'go'), '');
  f.worker('two');
  const result = await f.ended(id);
  assert.deepEqual([result.outcome, result.iterations], ['complete', 3], result.reason);
  assert.match(f.ask(['doctor', '--requeue', '--repo', f.remote]).stdout, /has its job/);
});

test('a paused loop that a server has lost is resumed from its checkpoint by its id', async (t) => {
  const f = await fleet(t, { tasks: [{ name: 'a' }], agent: AGENT });
  const id = f.add('jobs/a');
  const one = f.worker('one');
  await until('the second iteration', () => existsSync(join(f.notes, 'at-2')));
  assert.equal(f.ask(['pause', id]).code, 0);
  writeFileSync(join(f.notes, 'go'), '');
  assert.deepEqual((({ outcome, iterations }) => [outcome, iterations])(await f.ended(id)), ['paused', 2]);
  one.child.kill('SIGKILL');
  await one.over;
  await f.redis.ask('FLUSHALL');
  assert.match(f.ask(['resume', id]).stderr, new RegExp(`fleet doctor --requeue --repo URL ${id}$`, 'm'));
  const requeue = (...words: string[]) => f.ask(['doctor', '--requeue', '--repo', f.remote, ...words]);
  // The control: a pause is kept until its loop is named.
  assert.match(requeue().stdout, /Every unfinished loop of the repository has its job/);
  assert.match(requeue('a-0000000000').stderr, /has no checkpoint of a-0000000000/);
  assert.equal(requeue(id).stdout.trim(), `${id} is queued again from its last checkpoint.`);
  const { state, generation, progress } = f.status(id);
  assert.deepEqual([state, generation, progress?.iteration], ['queued', 2, 2]);
  f.worker('two');
  const result = await f.ended(id);
  assert.deepEqual([result.outcome, result.iterations], ['complete', 3], result.reason);
  assert.match(requeue(id).stderr, new RegExp(`${id} has ended \\(complete\\)`));
});

test('a loop whose checkpoint was deleted ends with the iterations that it is known to have had', async (t) => {
  const f = await fleet(t, { tasks: [{ name: 'a' }], agent: AGENT });
  const id = f.add('jobs/a');
  const one = f.worker('one', [], SOON);
  await until('the second iteration', () => existsSync(join(f.notes, 'at-2')));
  await until('its first one is reported', () => f.status(id).progress?.iteration === 1);
  one.child.kill('SIGKILL');
  await one.over;
  f.git(`update-ref -d refs/ralph/${id}`);
  f.worker('two');
  const result = await f.ended(id);
  assert.deepEqual([result.outcome, result.verified, result.iterations], ['checkpoint-lost', false, 1], result.reason);
});
