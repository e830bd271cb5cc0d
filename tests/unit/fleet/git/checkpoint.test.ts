import assert from 'node:assert/strict';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { makeCheckpoint, pushCheckpoint, readCheckpoint } from '../../../../src/fleet/git/checkpoint.ts';
import { fetchMirror, readRef } from '../../../../src/fleet/git/mirror.ts';
import { ownGit } from '../../../../src/fleet/git/place.ts';
import type { Workspace } from '../../../../src/fleet/git/workspace.ts';
import { git } from '../../../support/repository.ts';
import '../../../support/starts-processes.ts';
import { fleet, listing, meta, open, REF, someFiles, status } from './support/fleet-place.ts';

/** Checkpoints a work tree that `change` made, and opens it on another machine. */
async function travel(
  t: TestContext,
  change: (dir: string) => void,
  fill?: (dir: string) => void,
): Promise<{ readonly from: Workspace; readonly to: Workspace; readonly sha: string }> {
  const f = fleet(t, fill);
  const from = await open(t, f, f.place('a'));
  change(from.dir);
  const [before, index] = [status(from), readFileSync(join(from.dir, '.git', 'index'))];
  const sha = await makeCheckpoint(from, meta());
  assert.deepEqual(readFileSync(join(from.dir, '.git', 'index')), index, 'the index of the agent is untouched');
  assert.equal(status(from), before);
  assert.equal(await pushCheckpoint(from, REF, sha, null), 'pushed');
  const to = await open(t, f, f.place('b'), sha);
  return { from, to, sha };
}

test('restores commits, staged, unstaged and untracked files', async (t) => {
  const odd = 'untracked/with spaces\nand a line break ü.txt';
  const { from, to } = await travel(t, (dir) => {
    const at = (path: string): string => join(dir, path);
    writeFileSync(at('committed.txt'), 'by the agent\n');
    git(dir, 'add', 'committed.txt');
    git(dir, 'commit', '--quiet', '--message', 'second');
    writeFileSync(at('src/a.txt'), 'staged\n');
    git(dir, 'add', 'src/a.txt');
    writeFileSync(at('src/b.txt'), 'staged first\n');
    git(dir, 'add', 'src/b.txt');
    writeFileSync(at('src/b.txt'), 'then changed\n');
    rmSync(at('src/c.txt'));
    git(dir, 'rm', '--quiet', 'docs/d.txt', 'docs/e.txt');
    chmodSync(at('run.sh'), 0o644);
    rmSync(at('link'));
    symlinkSync('no where', at('link'));
    mkdirSync(at('untracked'));
    writeFileSync(at(odd), 'odd\n');
    writeFileSync(Buffer.concat([Buffer.from(`${dir}/untracked/`), Buffer.from([0x66, 0xff, 0xfe])]), 'bytes\n');
    symlinkSync('../src', at('untracked/folder link'));
    writeFileSync(at('untracked/new.sh'), '#!/bin/sh\n', { mode: 0o755 });
    writeFileSync(at('untracked/empty'), '');
  });
  assert.equal(status(to), status(from));
  assert.equal(listing(to), listing(from));
  assert.equal(git(to.dir, 'log', '--format=%s'), 'second\nfirst\n');
  assert.equal(git(to.dir, 'diff', '--cached'), git(from.dir, 'diff', '--cached'));
  assert.equal(existsSync(join(to.dir, 'docs')), false, 'a folder without files goes as git lets it go');
});

test('control: a plain clone of the commit has none of the uncommitted files', async (t) => {
  const f = fleet(t);
  const [from, to] = [await open(t, f, f.place('a')), await open(t, f, f.place('b'))];
  writeFileSync(join(from.dir, 'src/a.txt'), 'changed\n');
  assert.notEqual(status(to), status(from));
  assert.notEqual(listing(to), listing(from));
});

test('restores a file in the place of a folder, and a folder in that of a file', async (t) => {
  const { from, to } = await travel(t, (dir) => {
    rmSync(join(dir, 'src'), { recursive: true });
    writeFileSync(join(dir, 'src'), 'a file now\n');
    rmSync(join(dir, 'run.sh'));
    mkdirSync(join(dir, 'run.sh'));
    writeFileSync(join(dir, 'run.sh', 'inner'), 'inner\n');
    rmSync(join(dir, 'docs'), { recursive: true });
    mkdirSync(join(dir, 'other'));
    writeFileSync(join(dir, 'other', 'd.txt'), 'behind a link\n');
    symlinkSync('other', join(dir, 'docs'));
  });
  assert.equal(status(to), status(from));
  assert.equal(listing(to), listing(from));
});

test('works in a repository with SHA-256 names', async (t) => {
  const f = fleet(t, someFiles, 'sha256');
  const from = await open(t, f, f.place('a'));
  writeFileSync(join(from.dir, 'src/a.txt'), 'changed\n');
  rmSync(join(from.dir, 'src/b.txt'));
  const sha = await makeCheckpoint(from, meta());
  assert.equal(sha.length, 64);
  assert.equal(await pushCheckpoint(from, REF, sha, null), 'pushed');
  const to = await open(t, f, f.place('b'), sha);
  assert.equal(status(to), status(from));
  assert.equal(listing(to), listing(from));
});

test('leaves ignored files where they are', async (t) => {
  const { to } = await travel(t, (dir) => {
    mkdirSync(join(dir, 'ignored'));
    writeFileSync(join(dir, 'ignored', 'x'), 'x');
    writeFileSync(join(dir, 'a.log'), 'log');
    mkdirSync(join(dir, '.git', 'info'), { recursive: true });
    writeFileSync(join(dir, '.git', 'info', 'exclude'), 'private\n');
    writeFileSync(join(dir, 'private'), 'private');
    writeFileSync(join(dir, 'seen'), 'seen');
  });
  for (const path of ['ignored', 'a.log', 'private']) assert.equal(existsSync(join(to.dir, path)), false, path);
  assert.equal(existsSync(join(to.dir, 'seen')), true);
});

test('restores a conflict that the agent has not resolved with its three sides', async (t) => {
  const { from, to } = await travel(t, (dir) => {
    git(dir, 'checkout', '--quiet', '-b', 'other');
    writeFileSync(join(dir, 'src/a.txt'), 'theirs\n');
    git(dir, 'commit', '--quiet', '--all', '--message', 'theirs');
    git(dir, 'checkout', '--quiet', '--detach', 'HEAD^');
    writeFileSync(join(dir, 'src/a.txt'), 'ours\n');
    git(dir, 'commit', '--quiet', '--all', '--message', 'ours');
    assert.throws(() => git(dir, 'merge', '--quiet', 'other'));
  });
  assert.equal(status(to), status(from));
  assert.match(status(to), /^u UU /m);
  assert.equal(git(to.dir, 'show', ':3:src/a.txt'), 'theirs\n');
});

test('restores a change on a branch of the agent detached, at the same commit', async (t) => {
  const { from, to } = await travel(t, (dir) => {
    git(dir, 'checkout', '--quiet', '-b', 'own');
    writeFileSync(join(dir, 'src/a.txt'), 'on a branch\n');
    git(dir, 'commit', '--quiet', '--all', '--message', 'on a branch');
  });
  assert.equal(git(to.dir, 'rev-parse', 'HEAD'), git(from.dir, 'rev-parse', 'HEAD'));
  assert.match(status(to), /branch\.head \(detached\)/);
});

test('line ends and filters of the repository change no byte of a checkpoint', async (t) => {
  const { from, to } = await travel(
    t,
    (dir) => {
      assert.equal(readFileSync(join(dir, 'dos.txt'), 'utf8'), 'one\r\n');
      writeFileSync(join(dir, 'dos.txt'), 'one\r\ntwo\nthree\r\n');
      writeFileSync(join(dir, 'new.txt'), 'mixed\r\nlines\n');
    },
    (dir) => {
      someFiles(dir);
      writeFileSync(join(dir, '.gitattributes'), '*.txt text eol=crlf\n');
      writeFileSync(join(dir, 'dos.txt'), 'one\n');
    },
  );
  assert.equal(listing(to), listing(from));
  assert.equal(status(to), status(from));
});

test('runs no program that the agent put into its repository', async (t) => {
  const f = fleet(t);
  const from = await open(t, f, f.place('a'));
  const mark = join(f.base, 'mark');
  const script = join(f.base, 'script.sh');
  writeFileSync(script, `#!/bin/sh\necho "$0 $*" >> ${mark}\ncat\n`, { mode: 0o755 });
  mkdirSync(join(from.dir, '.git', 'hooks'), { recursive: true });
  for (const hook of ['pre-commit', 'post-index-change', 'reference-transaction', 'pre-push', 'post-commit']) {
    writeFileSync(join(from.dir, '.git', 'hooks', hook), `#!/bin/sh\necho ${hook} >> ${mark}\n`, { mode: 0o755 });
  }
  const settings = ['core.fsmonitor', 'filter.evil.clean', 'filter.evil.smudge', 'core.sshCommand', 'gpg.program'];
  for (const key of settings) git(from.dir, 'config', key, script);
  git(from.dir, 'config', 'commit.gpgSign', 'true');
  writeFileSync(join(from.dir, '.gitattributes'), '* filter=evil\n');
  writeFileSync(join(from.dir, 'src/a.txt'), 'changed\n');
  rmSync(mark, { force: true });
  const sha = await makeCheckpoint(from, meta());
  assert.equal(await pushCheckpoint(from, REF, sha, null), 'pushed');
  assert.equal(existsSync(mark), false, existsSync(mark) ? readFileSync(mark, 'utf8') : '');
  git(from.dir, 'add', 'src/a.txt');
  assert.equal(existsSync(mark), true, 'control: git of the agent runs them');
});

test('leaves out and lists a file above the limit and a nested repository', async (t) => {
  const { to, sha } = await travel(t, (dir) => {
    for (const name of ['big.bin', 'src/a.txt']) {
      writeFileSync(join(dir, name), '');
      truncateSync(join(dir, name), 50 * 1024 * 1024 + 1);
    }
    writeFileSync(join(dir, 'limit.bin'), '');
    truncateSync(join(dir, 'limit.bin'), 50 * 1024 * 1024);
    mkdirSync(join(dir, 'inner'));
    git(join(dir, 'inner'), 'init', '--quiet');
    writeFileSync(join(dir, 'inner', 'file'), 'file');
  });
  const { leftOut, ...rest } = await readCheckpoint(ownGit(to), sha, to.env);
  assert.deepEqual(rest, meta());
  assert.deepEqual(leftOut.map(({ path, why }) => `${path} ${why}`).sort(), [
    'big.bin size',
    'inner/ repository',
    'src/a.txt size',
  ]);
  assert.equal(existsSync(join(to.dir, 'big.bin')), false);
  assert.equal(existsSync(join(to.dir, 'limit.bin')), true);
  assert.equal(readFileSync(join(to.dir, 'src/a.txt'), 'utf8'), 'src/a.txt\n', 'the committed version is there');
});

test('reads a checkpoint from the mirror too, and refuses anything else', async (t) => {
  const f = fleet(t);
  const place = f.place('a');
  const ws = await open(t, f, place);
  const sha = await makeCheckpoint(ws, meta(7));
  await pushCheckpoint(ws, REF, sha, null);
  const mirror = await fetchMirror(place, f.repository, [REF]);
  assert.equal((await readCheckpoint(mirror, sha, ws.env)).iteration, 7);
  assert.equal(await readRef(mirror, REF, place.env), sha);
  assert.equal(await readRef(mirror, 'refs/ralph/other', place.env), null);
  await assert.rejects(readCheckpoint(mirror, f.sha, ws.env), /not a valid checkpoint/);
  await assert.rejects(readCheckpoint(ownGit(ws), 'HEAD', ws.env), /not a full commit name/);
});

test('does not read a work tree whose repository the agent replaced', async (t) => {
  const f = fleet(t);
  const ws = await open(t, f, f.place('a'));
  const alternates = join(ws.dir, '.git', 'objects', 'info', 'alternates');
  const ours = readFileSync(alternates, 'utf8');
  for (const text of ['', `${ours}${join(f.base, 'elsewhere')}\n`]) {
    writeFileSync(alternates, text);
    await assert.rejects(makeCheckpoint(ws, meta()), /was replaced/);
  }
  writeFileSync(alternates, ours);
  await makeCheckpoint(ws, meta());
  rmSync(join(ws.dir, '.git'), { recursive: true });
  writeFileSync(join(ws.dir, '.git'), `gitdir: ${f.remote}\n`);
  await assert.rejects(makeCheckpoint(ws, meta()), /was replaced/);
});
