import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { FLEET_KEY, type Fleet, fleet } from '../support/fleet/fleet.ts';
import { redisServer } from '../support/fleet/redis-server.ts';

const PLAN = '# Plan\n\n- [ ] **Task 1: First**\n- [ ] **Task 2: Second**\n';
const ONE = '- [ ] **Task 1: Make it**\n  - Acceptance: it is there\n';

const made = (t: TestContext): Promise<Fleet> =>
  fleet(t, { tasks: [{ name: 'a' }, { name: 'odd näme $(x)' }], agent: '', files: { 'PLAN.md': PLAN, 'ONE.md': ONE } });

interface Refused {
  readonly words: readonly string[];
  readonly says: RegExp;
}

test('what cannot be queued is refused in one message that says where and what to do', async (t) => {
  const f = await made(t);
  const remote = f.remote.replaceAll('.', '\\.');
  mkdirSync(join(f.base, 'plain'));
  const cases: readonly Refused[] = [
    {
      words: ['jobs/none'],
      says: new RegExp(`^ralph-loop: ${remote} has no task jobs/none at main\\. Commit the task`),
    },
    { words: ['jobs/a', 'jobs/none'], says: /has no task jobs\/none at main/ },
    { words: ['../outside.md'], says: /^ralph-loop: \.\.\/outside\.md is outside the repository\. Name a task by/ },
    { words: ['/etc/passwd'], says: /^ralph-loop: \/etc\/passwd is outside the repository/ },
    { words: ['ONE.md'], says: /ONE\.md is a plan/ },
    { words: ['PLAN.md'], says: /PLAN\.md is a plan, which .* Run it on one machine: ralph-loop run PLAN\.md --plan/ },
    {
      words: ['jobs/a', '--base', 'nowhere'],
      says: new RegExp(`${remote} has no branch, tag or commit nowhere\\. .*--base`),
    },
  ];
  for (const { words, says } of cases) {
    const { code, stdout, stderr } = f.ask(['add', ...words, '--agent', './agent.sh', '--repo', f.remote]);
    assert.deepEqual([code, stdout], [1, ''], words.join(' '));
    assert.match(stderr, says);
    assert.equal(stderr.includes('/loops/'), false, 'no path of a folder that is gone');
  }
  const elsewhere: readonly (readonly [url: string, says: RegExp])[] = [
    ['remote.git', /the address of the repository is invalid: .* absolute path/],
    [join(f.base, 'plain'), /the repository did not answer\. .*\n.*does not appear to be a git repository/],
    ['ssh://user:pass@127.0.0.1:1/r.git', /contains credentials\. Leave them out/],
  ];
  for (const [url, says] of elsewhere) {
    const { code, stderr } = f.ask(['add', 'jobs/a', '--agent', './agent.sh', '--repo', url]);
    assert.equal(code, 1);
    assert.match(stderr, says);
  }
  assert.match(await f.redis.ask('EXISTS', 'ralph:loops', 'bull:ralph-default:wait'), /^:0/);
  assert.equal(f.git('for-each-ref refs/ralph refs/heads/ralph'), '');
  assert.match(f.add('jobs/odd näme $(x)'), /^odd-name-x-[0-9a-z]{10}$/);
});

test('a task that leads out of the repository through a link is refused', async (t) => {
  const f = await made(t);
  const work = join(f.base, 'first');
  writeFileSync(join(f.base, 'outside.md'), 'Do it.\n');
  symlinkSync('../outside.md', join(work, 'linked.md'));
  const git = (...words: string[]): void => void execFileSync('git', ['-C', work, ...words], { env: f.env });
  git('add', 'linked.md');
  git('commit', '-qm', 'linked');
  git('push', '-q', f.remote, 'main');
  const { code, stderr } = f.ask(['add', 'linked.md', '--agent', './agent.sh', '--repo', f.remote]);
  assert.equal(code, 1);
  assert.doesNotMatch(stderr, /submission-/);
});

test('add says that the task here is not the one that the fleet runs', async (t) => {
  const f = await made(t);
  const words = ['add', 'jobs/a', '--agent', './agent.sh', '--repo', f.remote];
  const project = join(f.base, 'first');
  const add = () => f.ask([...words, '--project', project]).stderr;
  assert.doesNotMatch(add(), /in this project/, 'control: it is the same');
  writeFileSync(join(project, 'jobs', 'a', 'RALPH.md'), 'changed\n');
  assert.match(add(), /jobs\/a\/RALPH\.md in this project differs from the one at main, which the fleet runs\./);
});

test('a server that refuses the connection is named without its password', async (t) => {
  const f = await made(t);
  const { url, ask } = await redisServer(t);
  await ask('CONFIG', 'SET', 'requirepass', 'p/w@rd');
  const host = url.replace('redis://', '');
  const cases: readonly (readonly [url: string, says: RegExp])[] = [
    [url, /refuses the connection \(NOAUTH .*\)\. Correct user, password and database in RALPH_FLEET_URL/],
    [`redis://:wrong@${host}`, /refuses the connection \(WRONGPASS/],
    [`redis://:p/w@rd@${host}`, /RALPH_FLEET_URL is not an address such as/],
    [`redis://:p%2Fw%40rd@${host}/99`, /refuses the connection \(ERR DB index is out of range\)/],
    [host, /RALPH_FLEET_URL is not an address such as/],
  ];
  for (const [place, says] of cases) {
    const { code, stderr } = f.ask(['status'], { RALPH_FLEET_URL: place });
    assert.equal(code, 1, place);
    assert.match(stderr, says);
    assert.doesNotMatch(stderr, /wrong@|rd@|internal error/);
  }
  const sound = f.ask(['status'], { RALPH_FLEET_URL: `redis://:p%2Fw%40rd@${host}`, RALPH_FLEET_KEY: FLEET_KEY });
  assert.equal(sound.code, 0, sound.stderr);
});

test('a server without room for more refuses add and keeps nothing of it', async (t) => {
  const f = await made(t);
  const words = ['add', 'jobs/a', '--agent', './agent.sh', '--repo', f.remote];
  assert.equal(f.ask(['status']).code, 0);
  await f.redis.ask('CONFIG', 'SET', 'maxmemory', '1');
  const { code, stderr } = f.ask(words);
  await f.redis.ask('CONFIG', 'SET', 'maxmemory', '0');
  assert.equal(code, 1);
  assert.match(stderr, /the Redis server refused a command of the fleet \(OOM .*ralph-loop fleet doctor/);
  assert.equal(f.status(f.add('jobs/a')).state, 'queued');
});

test('a job whose sender was killed before it was listed is listed when the work is added again', async (t) => {
  const f = await made(t);
  const id = f.add('jobs/a');
  await f.redis.ask('DEL', 'ralph:loops');
  assert.equal(f.ask(['status', id]).code, 1);
  assert.equal(f.add('jobs/a'), id);
  assert.equal(f.status(id).state, 'queued');
});
