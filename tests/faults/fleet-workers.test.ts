import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { onPath } from '../../src/state/process/find-program.ts';
import { checkpointLine } from '../support/fleet/checkpoint-line.ts';
import { type Fleet, fleet, SOON } from '../support/fleet/fleet.ts';
import { longTest } from '../support/short-form.ts';
import { until } from '../support/until.ts';

/** Notes each run, and waits for a file `go-N` before its Nth iteration ends; the third is the last. */
const AGENT = `#!/bin/sh
cat > /dev/null
n=$(git rev-list --count HEAD)
echo $$ > "$NOTES/pid-$WORKER"
echo "+$n $WORKER" >> "$NOTES/runs"
while [ ! -e "$NOTES/go-$n" ] && [ ! -e "$NOTES/go-$WORKER" ]; do sleep 0.05; done
echo "$n" > "step-$n.txt"; git add "step-$n.txt"; git commit -qm "Step $n"
echo "-$n $WORKER" >> "$NOTES/runs"
[ "$n" -ge 3 ] && echo "<promise>DONE</promise>"
exit 0
`;

const runs = (f: Fleet): string[] => {
  const path = join(f.notes, 'runs');
  return existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : [];
};
const go = (f: Fleet, name: string): void => writeFileSync(join(f.notes, name), '');

function madeFleet(t: TestContext, agent = AGENT): Promise<Fleet> {
  return fleet(t, { tasks: [{ name: 'a' }], agent });
}

function worker(f: Fleet, name: string, env: NodeJS.ProcessEnv = {}) {
  return f.worker(name, [], { WORKER: name, ...env });
}

function steps(f: Fleet, id: string): string {
  return f.git(`log --format=%s main..refs/heads/ralph/${id} -- step-1.txt step-2.txt step-3.txt`);
}

const ALL_STEPS = 'Step 3\nStep 2\nStep 1';

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

test('a loop whose worker was killed continues from its last checkpoint', async (t) => {
  const f = await madeFleet(t);
  const id = f.add('jobs/a');
  const one = worker(f, 'one', SOON);
  go(f, 'go-1');
  await until('the second iteration', () => runs(f).includes('+2 one'));
  one.child.kill('SIGKILL');
  go(f, 'go-two');
  const two = worker(f, 'two');
  const result = await f.ended(id);
  assert.deepEqual([result.outcome, result.iterations], ['complete', 3], result.reason + two.said());
  const ran = ['+1 one', '-1 one', '+2 one', '+2 two', '-2 two', '+3 two', '-3 two'];
  assert.deepEqual([...new Set(runs(f))], ran);
  assert.equal(steps(f, id), ALL_STEPS);
  const line = checkpointLine(f.remote, id).map(({ attempt, iteration }) => `${attempt}/${iteration}`);
  assert.deepEqual(line.slice(0, 4), ['1/0', '1/1', '2/1', '2/2']);
  assert.match(line.at(-1) ?? '', /\/3$/);
  // Only a claim whose lock was lost runs an iteration again that it had not published.
  const claims = Number.parseInt(line.at(-1) ?? '', 10);
  assert.ok(runs(f).length - ran.length <= 2 * (claims - 2), `${runs(f)}; ${line}`);
});

longTest('a frozen worker ends its agent when it wakes, publishes nothing and takes other loops', async (t) => {
  const f = await madeFleet(t);
  const id = f.add('jobs/a');
  const one = worker(f, 'one', SOON);
  await until('the first iteration', () => runs(f).includes('+1 one'));
  const agent = Number(readFileSync(join(f.notes, 'pid-one'), 'utf8'));
  one.child.kill('SIGSTOP');
  worker(f, 'two');
  await until('another worker has it', () => runs(f).includes('+1 two'));
  one.child.kill('SIGCONT');
  await until('its agent has ended', () => !isAlive(agent));
  await until('it says so', () => one.said().includes('the lock could not be renewed'));
  go(f, 'go-two');
  const result = await f.ended(id);
  assert.deepEqual([result.outcome, result.iterations], ['complete', 3], result.reason);
  assert.equal(runs(f).includes('-1 one'), false);
  assert.equal(checkpointLine(f.remote, id).at(-1)?.attempt, 2);
  const next = f.add('jobs/a', ['--max-iterations', '9']);
  go(f, 'go-one');
  assert.equal((await f.ended(next)).outcome, 'complete');
});

longTest('a restart of the server neither loses nor repeats an iteration', async (t) => {
  const f = await madeFleet(t);
  const id = f.add('jobs/a');
  const one = worker(f, 'one', { RALPH_FLEET_LOCK: '10m' });
  await until('the first iteration', () => runs(f).includes('+1 one'));
  await f.redis.kill();
  await f.redis.start();
  go(f, 'go-1');
  await until('the second iteration', () => runs(f).includes('+2 one'));
  await f.redis.kill();
  go(f, 'go-one');
  await until('the second iteration has ended', () => runs(f).includes('-2 one'));
  await f.redis.start();
  const result = await f.ended(id);
  assert.deepEqual([result.outcome, result.iterations], ['complete', 3], result.reason + one.said());
  assert.deepEqual(
    runs(f).filter((line) => line.startsWith('-')),
    ['-1 one', '-2 one', '-3 one'],
  );
  checkpointLine(f.remote, id);
});

longTest('no iteration starts while the repository does not answer, and none is repeated afterwards', async (t) => {
  const f = await madeFleet(t);
  const id = f.add('jobs/a');
  worker(f, 'one');
  await until('the first iteration', () => runs(f).includes('+1 one'));
  renameSync(f.remote, `${f.remote}.away`);
  go(f, 'go-one');
  await until('the first iteration has ended', () => runs(f).includes('-1 one'));
  await f.reaches(id, 'a push has failed', ({ progress }) => progress?.waits === 'repository');
  renameSync(`${f.remote}.away`, f.remote);
  const result = await f.ended(id);
  assert.deepEqual([result.outcome, result.iterations], ['complete', 3], result.reason);
  assert.deepEqual(runs(f), ['+1 one', '-1 one', '+2 one', '-2 one', '+3 one', '-3 one']);
});

test('a loop that kills each of its workers ends by itself', async (t) => {
  const killer = `#!/bin/sh\ncat > /dev/null\necho "+1 $WORKER" >> "$NOTES/runs"\nkill -9 "$(cat "$NOTES/$WORKER.pid")"\nsleep 60\n`;
  const f = await madeFleet(t, killer);
  const id = f.add('jobs/a', ['--take-overs', '1']);
  for (const name of ['one', 'two']) {
    const victim = worker(f, name, SOON);
    writeFileSync(join(f.notes, `${name}.pid`), String(victim.child.pid));
    await victim.over;
  }
  worker(f, 'three');
  const result = await f.ended(id);
  assert.equal(result.outcome, 'take-overs', result.reason);
  assert.deepEqual(runs(f), ['+1 one', '+1 two']);
});

/** A git whose push of a checkpoint waits for a file once an iteration has ended; `change` edits the words of the push. */
function slowGit(f: Fleet, change: string): NodeJS.ProcessEnv {
  const real = onPath('git', process.env) ?? 'git';
  const bin = join(f.base, 'bin');
  mkdirSync(bin);
  const script = `#!/bin/sh
case " $* " in
*" push "*refs/ralph/*)
  if [ -e "$NOTES/hold" ]; then
    touch "$NOTES/push-waits"
    while [ ! -e "$NOTES/push-go" ]; do sleep 0.05; done
    ${change}
    "${real}" "$@"; code=$?
    echo $code > "$NOTES/pushed"
    exit $code
  fi;;
esac
exec "${real}" "$@"
`;
  writeFileSync(join(bin, 'git'), script, { mode: 0o755 });
  return { PATH: `${bin}:${f.env['PATH']}` };
}

/** Without the lease: every `--force-with-lease` of the push becomes `--force`. */
const WITHOUT_LEASE = `for word do
      shift
      case "$word" in --force-with-lease*) word=--force;; esac
      set -- "$@" "$word"
    done`;

/** A worker freezes with a push on its way, which arrives after another worker has taken the loop over. */
async function latePush(t: TestContext, change: string): Promise<{ f: Fleet; id: string; pushed: string }> {
  const f = await madeFleet(t);
  const id = f.add('jobs/a');
  const one = worker(f, 'one', { ...slowGit(f, change), ...SOON });
  await until('the first iteration', () => runs(f).includes('+1 one'));
  go(f, 'hold');
  go(f, 'go-one');
  await until('a push is on its way', () => existsSync(join(f.notes, 'push-waits')));
  one.child.kill('SIGSTOP');
  worker(f, 'two');
  await until('another worker has it', () => runs(f).includes('+1 two'));
  go(f, 'push-go');
  const pushed = await until('the push was answered', () => {
    const path = join(f.notes, 'pushed');
    return existsSync(path) && (readFileSync(path, 'utf8').trim() || null);
  });
  one.child.kill('SIGCONT');
  return { f, id, pushed };
}

test('a push that arrives after a take-over is refused', async (t) => {
  const { f, id, pushed } = await latePush(t, '');
  assert.notEqual(pushed, '0');
  go(f, 'go-two');
  const result = await f.ended(id);
  assert.deepEqual([result.outcome, result.iterations], ['complete', 3], result.reason);
  // Beside a load others may take over as well. Nothing of the frozen worker follows, and no iteration is told twice.
  const line = checkpointLine(f.remote, id).map(({ attempt, iteration }) => `${attempt}/${iteration}`);
  assert.match(line.join(' '), /^(?:1\/0 )+(?:[2-9]\/0 )+/);
  const counted = [...new Set(line)].map((mark) => mark.split('/')[1]).filter((iteration) => iteration !== '0');
  assert.deepEqual([...new Set(counted)], ['1', '2', '3']);
  assert.equal(steps(f, id), ALL_STEPS);
});

test('control: without the lease the push of a frozen worker replaces what another has published', async (t) => {
  const { f, id, pushed } = await latePush(t, WITHOUT_LEASE);
  assert.equal(pushed, '0');
  const claimed = checkpointLine(f.remote, id).some(({ attempt }) => attempt === 2);
  assert.equal(claimed, false, 'the claim of the second worker is gone');
});

/** A git that waits for a file before it reads the branch of a loop. */
function slowRead(f: Fleet): NodeJS.ProcessEnv {
  const bin = join(f.base, 'bin');
  mkdirSync(bin);
  const script = `#!/bin/sh
case " $* " in
*" ls-remote "*refs/heads/ralph/*)
  touch "$NOTES/read-waits"
  while [ ! -e "$NOTES/read-go" ]; do sleep 0.05; done;;
esac
exec "${onPath('git', process.env) ?? 'git'}" "$@"
`;
  writeFileSync(join(bin, 'git'), script, { mode: 0o755 });
  return { PATH: `${bin}:${f.env['PATH']}` };
}

/** A worker is about to publish its loop when references of it move to another commit. Returns where the branch is then. */
async function latePublication(t: TestContext, moved: readonly string[]): Promise<{ branch: string; other: string }> {
  const f = await madeFleet(t);
  const id = f.add('jobs/a');
  go(f, 'go-one');
  const one = worker(f, 'one', slowRead(f));
  await until('it is about to publish', () => existsSync(join(f.notes, 'read-waits')));
  const other = f.git("commit-tree 'main^{tree}' -p main -m other");
  for (const ref of moved) f.git(`update-ref ${ref}/${id} ${other}`);
  go(f, 'read-go');
  await until(
    'the worker is through',
    () => f.status(id).result ?? one.said().includes('another worker has taken over'),
  );
  return { branch: f.git(`rev-parse refs/heads/ralph/${id}`), other };
}

longTest('a worker that was overtaken before it published leaves the branch alone', async (t) => {
  const { branch, other } = await latePublication(t, ['refs/ralph', 'refs/heads/ralph']);
  assert.equal(branch, other);
});

longTest('control: without a newer checkpoint the worker publishes over the branch', async (t) => {
  const { branch, other } = await latePublication(t, ['refs/heads/ralph']);
  assert.notEqual(branch, other);
});

const FULL = ['write error: No space left on device', "sha1 file 'index.lock' write error. Out of diskspace"];
for (const [number, said] of FULL.entries())
  longTest(`a loop says that its worker's disk is full (${number + 1}), and continues once it has room`, async (t) => {
    const f = await madeFleet(t);
    const bin = join(f.base, 'bin');
    mkdirSync(bin);
    // A git that finds no room for objects.
    const script = `#!/bin/sh
case " $* " in
*" commit-tree "*) [ ! -e "$NOTES/full" ] || { echo "fatal: ${said}" >&2; exit 128; };;
esac
exec "${onPath('git', process.env) ?? 'git'}" "$@"
`;
    writeFileSync(join(bin, 'git'), script, { mode: 0o755 });
    go(f, 'full');
    go(f, 'go-one');
    const id = f.add('jobs/a');
    const one = worker(f, 'one', { PATH: `${bin}:${f.env['PATH']}` });
    await f.reaches(id, 'says so', ({ state, progress }) => state === 'waiting' && progress?.waits === 'disk-full');
    assert.ok(one.said().includes(said), one.said());
    rmSync(join(f.notes, 'full'));
    const result = await f.ended(id);
    assert.deepEqual([result.outcome, result.iterations], ['complete', 3], result.reason + one.said());
  });

longTest('a server without room for more delays a loop and does not fail it', async (t) => {
  const f = await madeFleet(t);
  const id = f.add('jobs/a');
  const one = worker(f, 'one');
  await until('the first iteration', () => runs(f).includes('+1 one'));
  await f.redis.ask('CONFIG', 'SET', 'maxmemory', '1');
  go(f, 'go-one');
  await until('the worker says so', () => one.said().includes('OOM command not allowed'));
  await f.redis.ask('CONFIG', 'SET', 'maxmemory', '0');
  const result = await f.ended(id);
  assert.deepEqual([result.outcome, result.iterations], ['complete', 3], result.reason);
  assert.deepEqual(
    [...new Set(runs(f))].filter((line) => line.startsWith('-')),
    ['-1 one', '-2 one', '-3 one'],
  );
});
