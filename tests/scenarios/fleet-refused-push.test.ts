import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Fleet, fleet } from '../support/fleet/fleet.ts';
import { until } from '../support/until.ts';

/** A fleet whose repository refuses every push while `closed` is among the notes. */
async function refusing(t: TestContext, agent: string) {
  const f = await fleet(t, { tasks: [{ name: 'a' }], agent: `#!/bin/sh\ncat > /dev/null\n${agent}` });
  const closed = join(f.notes, 'closed');
  writeFileSync(join(f.remote, 'hooks', 'pre-receive'), `#!/bin/sh\n[ ! -e '${closed}' ]\n`, { mode: 0o755 });
  return { f, closed };
}

const waitsForIt = (f: Fleet, id: string, state: string) =>
  f.reaches(id, 'waits for the repository', (loop) => loop.state === state && loop.progress?.waits === 'repository');

test('a loop whose repository takes no push waits outside its slot, says so, and goes on by itself', async (t) => {
  const { f, closed } = await refusing(t, 'echo "<promise>DONE</promise>"\n');
  writeFileSync(closed, '');
  const id = f.add('jobs/a');
  const { said } = f.worker('one', ['--slots', '1']);
  await waitsForIt(f, id, 'waiting');
  assert.match(
    said(),
    /the repository took no push\. Check that this machine may push to it\.\n[\s\S]*pre-receive hook/,
  );
  assert.doesNotMatch(said(), /^hint:/m);
  assert.match(f.ask(['status', id]).stdout, /^state +waiting \(repository\)$/m);
  rmSync(closed);
  assert.equal((await f.ended(id)).outcome, 'complete');
});

test('a complete loop whose branch alone is refused says so while it waits, and is published later', async (t) => {
  const { f, closed } = await refusing(t, 'echo made > made.txt\necho "<promise>DONE</promise>"\n');
  const hook = `#!/bin/sh\nread -r _ _ ref\ncase $ref in refs/heads/*) [ ! -e '${closed}' ];; esac\n`;
  writeFileSync(join(f.remote, 'hooks', 'pre-receive'), hook, { mode: 0o755 });
  writeFileSync(closed, '');
  const id = f.add('jobs/a');
  const { said } = f.worker('one');
  await waitsForIt(f, id, 'waiting');
  assert.match(said(), /the repository took no push/);
  assert.match(f.ask(['logs', id]).stdout, /notice .*the repository took no push/, 'where its user looks');
  rmSync(closed);
  const { outcome, branch, verified, reason } = await f.ended(id);
  assert.deepEqual([outcome, branch, verified], ['complete', `ralph/${id}`, false]);
  assert.match(reason, /Whether branch \S+ is what the checks saw is unknown/);
});

test('a second signal ends a worker that cannot publish an iteration, which another one repeats', async (t) => {
  const agent = '[ -e "$NOTES/again" ] || touch "$NOTES/closed"\necho "<promise>DONE</promise>"\n';
  const { f, closed } = await refusing(t, agent);
  const id = f.add('jobs/a');
  const { child, said, over } = f.worker('one');
  await waitsForIt(f, id, 'working');
  assert.match(f.ask(['status', id]).stdout, /^state +working \(repository\)$/m);
  const isTold = (): boolean => /notice .*the repository took no push/.test(f.ask(['logs', id]).stdout);
  await until('the log says why', isTold);
  child.kill('SIGTERM');
  await until('the first is taken', () => said().includes('a second signal'));
  child.kill('SIGTERM');
  await over;
  writeFileSync(join(f.notes, 'again'), '');
  rmSync(closed);
  f.worker('two');
  const { outcome, iterations } = await f.ended(id);
  assert.deepEqual([outcome, iterations], ['complete', 1]);
});

test('a worker whose server is gone ends after a signal', async (t) => {
  const { f } = await refusing(t, 'exit 0\n');
  const { child, said, over } = f.worker('one', [], { RALPH_FLEET_LOCK: '1s' });
  await until('the worker is ready', () => said().includes('waiting for loops'));
  await f.redis.kill();
  await until('the worker has noticed', () => /ECONNREFUSED|closed/i.test(said()));
  child.kill('SIGTERM');
  assert.equal(await over, 1, said());
});
