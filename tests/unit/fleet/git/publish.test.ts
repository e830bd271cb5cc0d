import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { makeCheckpoint } from '../../../../src/fleet/git/checkpoint.ts';
import { fetchMirror } from '../../../../src/fleet/git/mirror.ts';
import { ownBranch, type PublishOutcome, publish } from '../../../../src/fleet/git/publish.ts';
import { closeWorkspace, openWorkspace, type Workspace } from '../../../../src/fleet/git/workspace.ts';
import { git } from '../../../support/repository.ts';
import '../../../support/starts-processes.ts';
import { type Fleet, fleet, LOOP, meta, open, someFiles } from './support/fleet-place.ts';

const BRANCH = 'ralph/one';
const REPORT = 'The end.\n\n`$(touch pwned)` and 100 % more\n';

function send(ws: Workspace, how: 'none' | 'branch' | 'pull-request', expected: string | null = null) {
  return publish(ws, { branch: BRANCH, how, base: 'main', report: REPORT, expected });
}

const tip = (f: Fleet): string => git(f.remote, 'rev-parse', `refs/heads/${BRANCH}`).trim();

function commit(ws: Workspace, name: string): string {
  writeFileSync(join(ws.dir, name), `${name}\n`);
  git(ws.dir, 'add', name);
  git(ws.dir, 'commit', '--quiet', '--message', `Add ${name}`);
  return git(ws.dir, 'rev-parse', 'HEAD').trim();
}

test('the commits of a workspace become a branch, and nothing is pushed without being asked', async (t) => {
  const f = fleet(t);
  const ws = await open(t, f, f.place('a'));
  const sha = commit(ws, 'new.txt');
  assert.equal((await send(ws, 'none')).kind, 'none');
  assert.throws(() => tip(f));
  const { kind, sha: pushed, pullRequest } = await send(ws, 'branch');
  assert.deepEqual([kind, pushed, pullRequest], ['pushed', sha, null]);
  assert.equal(tip(f), sha);
});

test('does not publish work without commits', async (t) => {
  const f = fleet(t);
  const ws = await open(t, f, f.place('a'));
  assert.equal((await send(ws, 'branch')).kind, 'same');
  assert.throws(() => tip(f));
});

test('publishes what the agent left uncommitted in a last commit, without files of the loop', async (t) => {
  const f = fleet(t, (dir) => {
    someFiles(dir);
    writeFileSync(join(dir, '.gitattributes'), '*.txt text eol=crlf\n');
  });
  const ws = await open(t, f, f.place('a'));
  commit(ws, 'new.txt');
  writeFileSync(join(ws.dir, 'rest.txt'), 'rest\r\n');
  rmSync(join(ws.dir, 'src/b.txt'));
  for (const folder of ['.claude', '.ralph/job', 'jobs/.ralph-runner']) {
    mkdirSync(join(ws.dir, folder), { recursive: true });
    writeFileSync(join(ws.dir, folder, 'own.txt'), 'own\n');
  }
  const { kind } = await send(ws, 'branch');
  assert.equal(kind, 'pushed');
  assert.equal(git(f.remote, 'log', '--format=%s', BRANCH), `Work of the loop ${LOOP}\nAdd new.txt\nfirst\n`);
  assert.equal(git(f.remote, 'show', '--name-status', '--format=', BRANCH), 'A\trest.txt\nD\tsrc/b.txt\n');
  assert.equal(git(f.remote, 'show', `${BRANCH}:rest.txt`), 'rest\n', 'as the repository stores lines');
  assert.equal(git(ws.dir, 'log', '--format=%s'), 'Add new.txt\nfirst\n', 'the workspace is as it was');
});

test('publishing the same work again makes no second commit', async (t) => {
  const f = fleet(t);
  const ws = await open(t, f, f.place('a'));
  commit(ws, 'new.txt');
  writeFileSync(join(ws.dir, 'rest.txt'), 'rest\n');
  const { sha } = await send(ws, 'branch');
  rmSync(join(ws.home, 'git', 'objects'), { recursive: true });
  mkdirSync(join(ws.home, 'git', 'objects', 'info'), { recursive: true });
  const objects = [join(ws.mirror, 'objects'), join(ws.dir, '.git', 'objects')];
  writeFileSync(join(ws.home, 'git', 'objects', 'info', 'alternates'), `${objects.join('\n')}\n`);
  const again = await send(ws, 'branch', sha);
  assert.deepEqual([again.kind, again.sha, tip(f)], ['pushed', sha, sha]);
  writeFileSync(join(ws.dir, 'rest.txt'), 'more\n');
  const other = await send(ws, 'branch', sha);
  assert.equal(other.kind, 'pushed');
  assert.notEqual(tip(f), sha);
});

test('leaves a branch alone that another process moved', async (t) => {
  const f = fleet(t);
  const [one, two] = [await open(t, f, f.place('a')), await open(t, f, f.place('b'))];
  const first = commit(one, 'one.txt');
  commit(two, 'two.txt');
  const outcomes = await Promise.all([send(one, 'branch'), send(two, 'branch')]);
  assert.deepEqual(outcomes.map(({ kind }) => kind).sort(), ['fenced', 'pushed']);
  const winner = outcomes.find(({ kind }) => kind === 'pushed')?.sha;
  assert.equal(tip(f), winner);
  const [loser, expected] = winner === first ? [two, winner] : [one, winner ?? null];
  assert.equal((await send(loser, 'branch', expected)).kind, 'pushed', 'one who knows the branch may move it');
});

test('commits that a person added to an earlier result stay: the next result has a branch beside it', async (t) => {
  const f = fleet(t);
  const ws = await open(t, f, f.place('a'));
  const branchNow = async () => ownBranch(ws, await makeCheckpoint(ws, meta()));
  commit(ws, 'one.txt');
  writeFileSync(join(ws.dir, 'rest.txt'), 'rest\n');
  assert.deepEqual(await branchNow(), { branch: BRANCH, expected: null });
  const { sha } = await send(ws, 'branch');
  commit(ws, 'two.txt');
  assert.deepEqual(await branchNow(), { branch: BRANCH, expected: sha }, 'its own last commit is replaced');
  const person = join(f.base, 'person');
  git(f.base, 'clone', '--quiet', '--branch', BRANCH, f.remote, person);
  for (const words of [
    ['commit', '--quiet', '--allow-empty', '--message', 'Fix it'],
    ['-c', 'user.name=x', 'commit', '--amend', '--quiet', '--no-edit', '--date', '2026-01-01T00:00:00Z'],
  ]) {
    git(person, 'reset', '--quiet', '--hard', `${sha}`);
    git(person, ...words);
    git(person, 'push', '--quiet', '--force', 'origin', BRANCH);
    assert.deepEqual(await branchNow(), { branch: `${BRANCH}-2`, expected: null }, words.join(' '));
  }
});

/** Opens a workspace with a gh of its own, and asks for a pull request. */
async function withGh(t: TestContext, script: string): Promise<{ f: Fleet; outcome: PublishOutcome; gh: string }> {
  const f = fleet(t);
  const place = f.place('a');
  const bin = join(f.base, 'bin');
  mkdirSync(bin);
  const gh = join(bin, 'gh');
  writeFileSync(gh, `#!/bin/sh\nprintf '%s\\n' "$@" > ${gh}.words\ncat > ${gh}.body\n${script}\n`, { mode: 0o755 });
  const env = { ...place.env, PATH: `${bin}:${place.env['PATH']}`, RALPH_FLEET_KEY: 'key' };
  await fetchMirror({ ...place, env }, f.repository);
  const ws = await openWorkspace(
    { ...place, env },
    { repository: f.repository, loopId: LOOP, branch: BRANCH, base: { sha: f.sha }, checkpoint: null },
  );
  t.after(() => closeWorkspace(ws));
  commit(ws, 'new.txt');
  return { f, outcome: await send(ws, 'pull-request'), gh };
}

test('a pull request has the end report as its body, word for word', async (t) => {
  const { f, outcome, gh } = await withGh(t, `env > "$0.env"; echo https://github.com/a/b/pull/7`);
  assert.deepEqual([outcome.kind, outcome.pullRequest], ['pushed', 'https://github.com/a/b/pull/7']);
  assert.equal(readFileSync(`${gh}.body`, 'utf8'), REPORT);
  const words = readFileSync(`${gh}.words`, 'utf8').trim().split('\n');
  assert.deepEqual(words.slice(0, 2), ['pr', 'create']);
  for (const [key, value] of [
    ['--repo', f.remote],
    ['--head', BRANCH],
    ['--base', 'main'],
  ] as const) {
    assert.equal(words[words.indexOf(key) + 1], value);
  }
  assert.doesNotMatch(readFileSync(`${gh}.env`, 'utf8'), /RALPH_FLEET/);
  assert.equal(existsSync(join(f.base, 'pwned')), false);
});

test('names a pull request that was open already, and leaves the branch pushed if gh fails', async (t) => {
  const open = await withGh(t, 'echo "a pull request already exists: https://github.com/a/b/pull/3" >&2; exit 1');
  assert.equal(open.outcome.pullRequest, 'https://github.com/a/b/pull/3');
  const failed = await withGh(t, 'echo "no login" >&2; exit 1');
  assert.deepEqual([failed.outcome.kind, failed.outcome.pullRequest], ['pushed', null]);
  assert.match(failed.outcome.message, /no login/);
  assert.equal(tip(failed.f), failed.outcome.sha);
});
