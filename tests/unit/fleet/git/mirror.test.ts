import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fetchMirror, readRef } from '../../../../src/fleet/git/mirror.ts';
import { checkLoopId, checkRef, mirrorPath, placeAt, plainUrl } from '../../../../src/fleet/git/place.ts';
import { newOwner } from '../../../../src/state/lock/owner.ts';
import { ENV, git } from '../../../support/repository.ts';
import '../../../support/starts-processes.ts';
import { fleet } from './support/fleet-place.ts';

test('a mirror is made once and follows the branches and tags of the repository', async (t) => {
  const f = fleet(t);
  const place = f.place('a');
  const mirror = await fetchMirror(place, f.repository);
  assert.equal(mirror, mirrorPath(place, f.repository.id));
  git(f.remote, 'update-ref', 'refs/heads/other', f.sha);
  git(f.remote, 'update-ref', 'refs/tags/v1', f.sha);
  git(f.remote, 'update-ref', 'refs/ralph/one', f.sha);
  await fetchMirror(place, f.repository, ['refs/ralph/one']);
  assert.deepEqual(git(mirror, 'for-each-ref', '--format=%(refname)').trim().split('\n'), [
    'refs/heads/main',
    'refs/heads/other',
    'refs/ralph/one',
    'refs/tags/v1',
  ]);
  git(f.remote, 'update-ref', '-d', 'refs/heads/other');
  await fetchMirror(place, f.repository);
  assert.equal(git(mirror, 'for-each-ref', '--format=%(refname)', 'refs/heads').trim(), 'refs/heads/main');
});

test('concurrent fetches run one after the other', async (t) => {
  const f = fleet(t);
  const place = f.place('a');
  const mirrors = await Promise.all([1, 2, 3].map(() => fetchMirror(place, f.repository)));
  assert.equal(new Set(mirrors).size, 1);
  assert.deepEqual(readdirSync(join(place.dir, 'mirrors')), ['0123456789abcdef.git'], 'nobody holds it any more');
});

test('takes over locks of killed processes', async (t) => {
  const f = fleet(t);
  const place = f.place('a');
  const mirror = await fetchMirror(place, f.repository);
  git(f.remote, 'update-ref', 'refs/heads/other', f.sha);
  const { pid } = spawnSync(process.execPath, ['--version']);
  writeFileSync(`${mirror}.holder`, JSON.stringify({ ...newOwner(), pid }));
  mkdirSync(`${mirror}.dead.new`);
  writeFileSync(join(mirror, 'refs', 'heads', 'other.lock'), '');
  writeFileSync(join(mirror, 'packed-refs.lock'), '');
  const plain = spawnSync('git', ['fetch', '--quiet', 'origin', '+refs/heads/*:refs/heads/*'], {
    cwd: mirror,
    env: ENV,
  });
  assert.notEqual(plain.status, 0, 'control: git itself stays locked out');
  await fetchMirror(place, f.repository);
  assert.equal(git(mirror, 'rev-parse', 'refs/heads/other').trim(), f.sha);
  assert.equal(existsSync(`${mirror}.dead.new`), false);
});

test('the error for a repository that does not answer contains no credentials', async (t) => {
  const f = fleet(t);
  const place = f.place('a');
  const secret = 'hunter2secret';
  const url = `https://user:${secret}@127.0.0.1:9/x.git?private_token=${secret}`;
  const failing = (): Promise<void> =>
    assert.rejects(fetchMirror(place, { ...f.repository, url }), (error: Error & { code?: string }) => {
      assert.equal(error.code, 'state-io');
      assert.equal(error.message.includes(secret), false, error.message);
      return true;
    });
  await failing();
  assert.deepEqual(readdirSync(join(place.dir, 'mirrors')), [], 'no half made mirror is left');
  await fetchMirror(place, f.repository);
  await failing();
  const config = readFileSync(join(mirrorPath(place, f.repository.id), 'config'), 'utf8');
  assert.match(config, /https:\/\/127\.0\.0\.1:9\/x\.git$/m);
  assert.equal(config.includes(secret), false);
  await assert.rejects(readRef(mirrorPath(place, f.repository.id), 'refs/heads/main', place.env), { code: 'state-io' });
});

test('stores addresses without credentials and refuses those that run programs', () => {
  assert.equal(plainUrl('https://token@github.com/a/b.git'), 'https://github.com/a/b.git');
  assert.equal(plainUrl('https://u:p@host:8443/a/b.git?x=y#z'), 'https://host:8443/a/b.git');
  assert.equal(plainUrl('ssh://git:pw@host:22/a.git'), 'ssh://git@host:22/a.git');
  assert.equal(plainUrl('git@github.com:a/b.git'), 'git@github.com:a/b.git');
  assert.equal(plainUrl('/srv/git/a.git'), '/srv/git/a.git');
  for (const url of ['', '-x', '--upload-pack=x', 'ext::sh -c x', 'fd::1', 'foo://x/y', 'a\nb:c', 'relative/path']) {
    assert.throws(() => plainUrl(url), { code: 'usage' }, url);
  }
});

test('refuses ids and references that would leave their place', (t) => {
  const place = fleet(t).place('a');
  for (const id of ['', '..', '../x', '0123456789abcde', '0123456789ABCDEF', '0123456789abcdef/..']) {
    assert.throws(() => mirrorPath(place, id), { code: 'usage' }, id);
  }
  for (const id of ['', '.', '..', 'a/b', 'a..b', '-a', 'a~2', 'a.lock', 'a.', 'a\n', 'x'.repeat(130)]) {
    assert.throws(() => checkLoopId(id), { code: 'usage' }, id);
  }
  for (const ref of [
    'main',
    '-x',
    'refs/../x',
    'refs/a b',
    'refs/a:b',
    'refs/a*',
    'refs/a.lock',
    'refs//a',
    'refs/a\n',
  ]) {
    assert.throws(() => checkRef(ref), { code: 'usage' }, ref);
  }
  assert.equal(checkRef('refs/ralph/loop-1'), 'refs/ralph/loop-1');
});

test('workspaces are never in the folder of loop state, which agents may not write', (t) => {
  const { env } = fleet(t).place('a');
  const home = env['HOME'] ?? '';
  assert.equal(placeAt(null, env).dir, join(home, 'data', 'ralph-loop', 'fleet'));
  assert.equal(placeAt(null, { HOME: home }).dir, join(home, '.local', 'share', 'ralph-loop', 'fleet'));
  const closed = join(env['XDG_STATE_HOME'] ?? '', 'ralph-loop');
  mkdirSync(closed, { recursive: true });
  symlinkSync(closed, join(home, 'link'));
  for (const dir of [closed, join(closed, 'fleet'), join(home, 'link', 'new', 'fleet')]) {
    assert.throws(() => placeAt(dir, env), { code: 'usage' }, dir);
  }
  assert.equal(placeAt(`${closed}-fleet`, env).dir, `${closed}-fleet`);
});
