import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { KEYS } from '../../src/fleet/queue/connect.ts';
import { type Fleet, fleet } from '../support/fleet/fleet.ts';
import { until } from '../support/until.ts';

/** Notes its prompt and waits for a file `go-N` before its Nth run ends; the third run is the last. */
const AGENT = `#!/bin/sh
prompt=$(cat)
n=$(git rev-list --count HEAD)
printf '%s\\n' "$prompt" > "$NOTES/new" && mv "$NOTES/new" "$NOTES/prompt-$n"
echo $$ > "$NOTES/pid"
touch "$NOTES/at-$n"
while [ ! -e "$NOTES/go-$n" ] && [ ! -e "$NOTES/go" ]; do sleep 0.05; done
echo "$n" > "step-$n.txt"; git add "step-$n.txt"; git commit -qm "Step $n"
[ "$n" -ge 3 ] && echo "<promise>DONE</promise>"
exit 0
`;

async function waitingFleet(t: TestContext): Promise<Fleet> {
  return fleet(t, { tasks: [{ name: 'a' }, { name: 'b' }], agent: AGENT });
}

const noted = (f: Fleet, name: string): boolean => existsSync(join(f.notes, name));
const go = (f: Fleet, name: string): void => writeFileSync(join(f.notes, name), '');

function tell(f: Fleet, ...words: string[]): void {
  const { code, stderr } = f.ask(words);
  assert.equal(code, 0, stderr);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

test('cancel ends the running agent and publishes nothing', async (t) => {
  const f = await waitingFleet(t);
  const id = f.add('jobs/a');
  f.worker('one');
  await until('the agent works', () => noted(f, 'at-1'));
  const agent = Number(readFileSync(join(f.notes, 'pid'), 'utf8'));
  tell(f, 'cancel', id);
  const result = await f.ended(id);
  assert.equal(result.outcome, 'cancelled');
  await until('the agent has ended', () => !isAlive(agent));
  assert.equal(f.git(`for-each-ref refs/heads/ralph`), '');
  const again = f.ask(['cancel', id]);
  assert.equal(again.code, 1);
  assert.match(again.stderr, /has ended \(cancelled\).*fleet retry/);
});

test('no command on a complete loop advises to queue it again', async (t) => {
  const f = await fleet(t, {
    tasks: [{ name: 'a' }],
    agent: '#!/bin/sh\ncat > /dev/null\necho "<promise>DONE</promise>"\n',
  });
  const id = f.add('jobs/a');
  f.worker('one');
  assert.equal((await f.ended(id)).outcome, 'complete');
  for (const command of ['pause', 'cancel', 'retry']) {
    assert.equal(f.ask([command, id]).stderr, `ralph-loop: ${id} has ended (complete).\n`, command);
  }
});

test('a queued loop is cancelled before any agent starts', async (t) => {
  const f = await waitingFleet(t);
  const id = f.add('jobs/a');
  tell(f, 'cancel', id);
  f.worker('one');
  assert.equal((await f.ended(id)).outcome, 'cancelled');
  assert.equal(noted(f, 'at-1'), false);
});

test('pause ends the job after the iteration, and resume continues with the next', async (t) => {
  const f = await waitingFleet(t);
  const id = f.add('jobs/a');
  f.worker('one');
  await until('the agent works', () => noted(f, 'at-1'));
  tell(f, 'pause', id);
  go(f, 'go-1');
  const paused = await f.ended(id);
  assert.deepEqual([paused.outcome, paused.iterations], ['paused', 1]);
  assert.equal(noted(f, 'at-2'), false);
  go(f, 'go');
  tell(f, 'resume', id);
  const result = await f.ended(id);
  assert.deepEqual([result.outcome, result.iterations], ['complete', 3], result.reason);
  assert.equal(f.status(id).generation, 2);
  const steps = `log --format=%s main..refs/heads/ralph/${id} -- step-1.txt step-2.txt step-3.txt`;
  assert.equal(f.git(steps), 'Step 3\nStep 2\nStep 1');
});

test('a message reaches the agent once, with its next prompt', async (t) => {
  const f = await waitingFleet(t);
  const id = f.add('jobs/a');
  f.worker('one');
  await until('the agent works', () => noted(f, 'at-1'));
  tell(f, 'steer', id, 'Keep the old endpoint.');
  await until('the message is applied', async () =>
    (await f.redis.ask('XRANGE', KEYS.events(id), '-', '+')).includes('operator.steer'),
  );
  assert.match(f.ask(['logs', id]).stdout, /Keep the old endpoint/);
  go(f, 'go-1');
  await until('the second run began', () => noted(f, 'prompt-2'));
  go(f, 'go');
  await f.ended(id);
  const prompts = [2, 3].map((n) => readFileSync(join(f.notes, `prompt-${n}`), 'utf8'));
  assert.equal(prompts.filter((text) => text.includes('Keep the old endpoint.')).length, 1);
});

test('retry continues a loop that ended incomplete', async (t) => {
  const f = await waitingFleet(t);
  const id = f.add('jobs/a');
  f.worker('one');
  await until('the agent works', () => noted(f, 'at-1'));
  go(f, 'go-1');
  await until('the second run began', () => noted(f, 'at-2'));
  assert.equal(f.ask(['retry', id]).code, 1);
  tell(f, 'cancel', id);
  assert.equal((await f.ended(id)).outcome, 'cancelled');
  go(f, 'go');
  tell(f, 'retry', id);
  const result = await f.ended(id);
  assert.deepEqual([result.outcome, result.iterations], ['complete', 3], result.reason);
  assert.equal(f.ask(['retry', id]).code, 1);
});

test('a loop starts after the one that it depends on is complete', async (t) => {
  const f = await waitingFleet(t);
  const first = f.add('jobs/a');
  const second = f.add('jobs/b', ['--after', first]);
  f.worker('one', ['--slots', '2']);
  await until('the agent works', () => noted(f, 'at-1'));
  await f.reaches(second, 'waits', ({ state, progress }) => state === 'waiting' && progress?.waits === 'after');
  go(f, 'go');
  assert.equal((await f.ended(first)).outcome, 'complete');
  assert.equal((await f.ended(second)).outcome, 'complete');
});

test('a loop whose dependency did not complete ends as blocked', async (t) => {
  const f = await waitingFleet(t);
  const first = f.add('jobs/a');
  const second = f.add('jobs/b', ['--after', first]);
  tell(f, 'cancel', first);
  f.worker('one');
  assert.equal((await f.ended(first)).outcome, 'cancelled');
  const blocked = await f.ended(second);
  assert.equal(blocked.outcome, 'blocked');
  assert.match(blocked.reason, new RegExp(`loop ${first}, which it depends on, is cancelled`));
});

test('a worker that is asked to leave returns its loop, and another continues it', async (t) => {
  const f = await waitingFleet(t);
  const id = f.add('jobs/a');
  const one = f.worker('one');
  await until('the agent works', () => noted(f, 'at-1'));
  one.child.kill('SIGTERM');
  await until('it says so', () => one.said().includes('stopping after the current iterations'));
  go(f, 'go');
  assert.equal(await one.over, 0, one.said());
  f.worker('two');
  const result = await f.ended(id);
  assert.deepEqual([result.outcome, result.iterations], ['complete', 3], result.reason);
});

test('the same work is queued once', async (t) => {
  const f = await waitingFleet(t);
  const id = f.add('jobs/a');
  const again = f.ask(['add', 'jobs/a', '--repo', f.remote, '--agent', './agent.sh']);
  assert.equal(again.stdout.trim(), id);
  assert.match(again.stderr, /already queued/);
  assert.notEqual(f.add('jobs/a', ['--max-iterations', '7']), id);
});
