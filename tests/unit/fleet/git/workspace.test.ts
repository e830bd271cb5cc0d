import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { makeCheckpoint, pushCheckpoint } from '../../../../src/fleet/git/checkpoint.ts';
import { loopsDir } from '../../../../src/fleet/git/place.ts';
import { closeWorkspace, openWorkspace, staleWorkspaces, type Workspace } from '../../../../src/fleet/git/workspace.ts';
import { confine } from '../../../../src/sandbox/bubblewrap.ts';
import { newOwner } from '../../../../src/state/lock/owner.ts';
import { loopFiles } from '../../../../src/state/loop-files.ts';
import { ENV, git } from '../../../support/repository.ts';
import '../../../support/starts-processes.ts';
import { type Fleet, fleet, LOOP, meta, open, REF, status } from './support/fleet-place.ts';

const outside = ({ dir, env }: Workspace): string => loopFiles(dir, null, env).outsideDir;

test('a workspace begins clean and detached, with the branches and tags of the repository', async (t) => {
  const f = fleet(t);
  git(f.remote, 'update-ref', 'refs/tags/v1', f.sha);
  const ws = await open(t, f, f.place('a'));
  assert.equal(status(ws), `# branch.oid ${f.sha}\n# branch.head (detached)\n`);
  assert.equal(git(ws.dir, 'rev-parse', 'origin/main', 'v1'), `${f.sha}\n${f.sha}\n`);
  assert.equal(git(ws.dir, 'describe', '--tags').trim(), 'v1');
});

test("an agent's changes to branches, settings and stashes stay in its workspace", async (t) => {
  const f = fleet(t);
  const place = f.place('a');
  const ws = await open(t, f, place);
  writeFileSync(join(ws.dir, 'src/a.txt'), 'changed\n');
  git(ws.dir, 'stash', '--quiet');
  git(ws.dir, 'branch', 'own');
  git(ws.dir, 'config', 'core.hooksPath', '/elsewhere');
  const other = await openWorkspace(place, { ...request(f), loopId: 'loop-2' });
  t.after(() => closeWorkspace(other));
  assert.equal(git(other.dir, 'stash', 'list'), '');
  assert.equal(git(other.dir, 'branch', '--list', 'own'), '');
  assert.throws(() => git(other.dir, 'config', '--get', 'core.hooksPath'));
});

const request = (f: Fleet, checkpoint: string | null = null) => ({
  ...{ repository: f.repository, loopId: LOOP, branch: 'ralph/one', base: { sha: f.sha }, checkpoint },
});

test('leaves a workspace in use alone and gives the next one its own folder', async (t) => {
  const f = fleet(t);
  const place = f.place('a');
  const [one, two] = [await open(t, f, place), await open(t, f, place)];
  assert.notEqual(one.dir, two.dir);
  assert.notEqual(outside(one), outside(two));
  writeFileSync(join(one.dir, 'mark'), 'mark');
  assert.deepEqual(staleWorkspaces(place), []);
  closeWorkspace(two);
  assert.equal(existsSync(two.home), false);
  assert.equal(readFileSync(join(one.dir, 'mark'), 'utf8'), 'mark');
});

test('a closed workspace leaves nothing behind, and closing it again is not an error', async (t) => {
  const f = fleet(t);
  const place = f.place('a');
  const ws = await open(t, f, place);
  mkdirSync(outside(ws), { recursive: true });
  writeFileSync(join(outside(ws), 'contract.json'), '{}');
  const gone = outside(ws);
  closeWorkspace(ws);
  closeWorkspace(ws);
  assert.deepEqual(readdirSync(loopsDir(place)), []);
  assert.equal(existsSync(gone), false);
  assert.deepEqual(readdirSync(dirname(gone)), []);
});

/** Leaves a workspace as a killed worker does. */
async function abandoned(t: TestContext, f: Fleet, place: ReturnType<Fleet['place']>): Promise<Workspace> {
  const ws = await open(t, f, place);
  const { pid } = spawnSync(process.execPath, ['--version']);
  writeFileSync(`${ws.home}.holder`, JSON.stringify({ ...newOwner(), pid }));
  closeWorkspace(ws);
  assert.equal(existsSync(ws.dir), true);
  return ws;
}

test('leaves a workspace alone that was taken over before it was closed', async (t) => {
  const f = fleet(t);
  const ws = await open(t, f, f.place('a'));
  writeFileSync(`${ws.home}.holder`, JSON.stringify(newOwner()));
  closeWorkspace(ws);
  assert.equal(existsSync(ws.dir), true);
});

test('lists workspaces of dead workers, partial ones too, which can be closed', async (t) => {
  const f = fleet(t);
  const place = f.place('a');
  const ws = await abandoned(t, f, place);
  mkdirSync(join(loopsDir(place), 'loop-9~2', 'work'), { recursive: true });
  const stale = staleWorkspaces(place);
  assert.deepEqual(stale.map(({ home }) => home).sort(), [ws.home, join(loopsDir(place), 'loop-9~2')].sort());
  for (const each of stale) closeWorkspace(each);
  assert.deepEqual(staleWorkspaces(place), []);
});

test('opening a loop whose worker died removes what it left and takes another path', async (t) => {
  const f = fleet(t);
  const place = f.place('a');
  const dead = await abandoned(t, f, place);
  writeFileSync(join(dead.dir, 'left'), 'left');
  const next = await open(t, f, place);
  assert.notEqual(next.dir, dead.dir, 'a git that the dead one started may still write there');
  assert.equal(existsSync(dead.home), false);
  assert.equal(existsSync(join(next.dir, 'left')), false);
});

test('refuses a missing commit and a checkpoint of another loop, and leaves nothing behind', async (t) => {
  const f = fleet(t);
  const place = f.place('a');
  const nowhere = '1'.repeat(40);
  await assert.rejects(
    openWorkspace(place, { ...request(f), base: { sha: nowhere } }),
    /no longer has commit 111111111111/,
  );
  const ws = await open(t, f, f.place('b'));
  const sha = await makeCheckpoint(ws, { ...meta(), loopId: 'another' });
  assert.equal(await pushCheckpoint(ws, REF, sha, null), 'pushed');
  await assert.rejects(openWorkspace(place, request(f, sha)), /belongs to loop another/);
  await assert.rejects(openWorkspace(place, request(f, nowhere)), /fetch|neither in the mirror/);
  assert.equal(existsSync(loopsDir(place)) ? readdirSync(loopsDir(place)).length : 0, 0);
});

/** A checkpoint that someone made by hand, with these entries in one of its folders. */
function forged(f: Fleet, good: string, folder: 'work' | 'state', entries: string): string {
  const mk = (input: string): string => {
    const words = ['hash-object', '-w', '-t', 'tree', '--literally', '--stdin'];
    const made = spawnSync('git', words, { cwd: f.remote, env: ENV, input: Buffer.from(input, 'latin1') });
    assert.equal(made.status, 0, made.stderr.toString());
    return made.stdout.toString().trim();
  };
  const raw = (mode: string, name: string, sha: string): string =>
    `${mode} ${name}\0${Buffer.from(sha, 'hex').toString('latin1')}`;
  const tree = mk(entries);
  const rows = git(f.remote, 'ls-tree', good)
    .trim()
    .split('\n')
    .map((line) => /^(\d+) \w+ (\w+)\t(.+)$/.exec(line) ?? []);
  const all = rows.map(([, , sha = '', name = '']) => raw('40000', name, name === folder ? tree : sha)).join('');
  const commit = git(f.remote, 'commit-tree', mk(all), '-p', `${good}^1`, '-m', 'forged').trim();
  git(f.remote, 'update-ref', REF, commit);
  return commit;
}

test('file names in a checkpoint cannot lead outside its workspace', async (t) => {
  const f = fleet(t);
  const ws = await open(t, f, f.place('a'));
  writeFileSync(join(ws.dir, 'evil.txt'), 'evil');
  const good = await makeCheckpoint(ws, meta());
  assert.equal(await pushCheckpoint(ws, REF, good, null), 'pushed');
  const blob = git(f.remote, 'rev-parse', `${good}:work/evil.txt`).trim();
  const described = git(f.remote, 'rev-parse', `${good}:state/fleet.json`).trim();
  const places = git(f.remote, 'rev-parse', `${good}:state/place.json`).trim();
  const entry = (mode: string, name: string, sha: string): string =>
    `${mode} ${name}\0${Buffer.from(sha, 'hex').toString('latin1')}`;
  const state = (more: string): string =>
    `${entry('100644', 'fleet.json', described)}${entry('100644', 'place.json', places)}${more}`;
  let at = 0;
  for (const name of ['../evil', '..', '.git', '/evil', '../../../evil', 'a/../../evil']) {
    for (const folder of ['work', 'state'] as const) {
      at += 1;
      const place = f.place(`b${at}`);
      const sha = forged(
        f,
        good,
        folder,
        folder === 'work' ? entry('100644', name, blob) : state(entry('100644', name, blob)),
      );
      await assert.rejects(openWorkspace(place, request(f, sha)), /git failed|valid checkpoint/, `${folder} ${name}`);
      assert.deepEqual(evilBelow(join(f.base, `b${at}`)), [], name);
    }
  }
});

/** Files named so that are not in a store of objects. */
function evilBelow(dir: string): string[] {
  return readdirSync(dir, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('evil'));
}

test('does not follow a link in a checkpoint when it restores loop state', async (t) => {
  const f = fleet(t);
  const target = join(f.base, 'target');
  mkdirSync(target);
  const ws = await open(t, f, f.place('a'));
  symlinkSync(target, join(ws.dir, '.claude'));
  symlinkSync(target, join(ws.dir, 'plain'));
  await assert.rejects(makeCheckpoint(ws, meta()), /\.claude was replaced/);
  const other = await open(t, f, f.place('b'));
  const good = await makeCheckpoint(other, meta());
  assert.equal(await pushCheckpoint(other, REF, good, null), 'pushed');
  const made = spawnSync('git', ['hash-object', '-w', '--stdin'], { cwd: f.remote, env: ENV, input: target });
  const entry = `120000 .claude\0${Buffer.from(made.stdout.toString().trim(), 'hex').toString('latin1')}`;
  const sha = forged(f, good, 'work', entry);
  await assert.rejects(openWorkspace(f.place('c'), request(f, sha)), /\.claude was replaced/);
  assert.deepEqual(readdirSync(target), []);
});

/** What a confined shell command says in the workspace. */
function confined(ws: Workspace, text: string): { readonly code: number | null; readonly said: string } {
  const terms = { allowWrite: [], denyWrite: [], denyRead: [], network: false };
  const run = { text, program: '/bin/sh', words: ['-c', text], directory: ws.dir, env: ws.env };
  const { program, words, env, finish } = confine({ terms, writable: ws.dir }, run);
  const options = { cwd: ws.dir, env: env as NodeJS.ProcessEnv, encoding: 'utf8' } as const;
  const { status: code, stdout, stderr } = spawnSync(program, words, options);
  finish();
  return { code, said: stdout + stderr };
}

test('a confined command sees the history of its workspace', async (t) => {
  const f = fleet(t);
  const place = f.place('a');
  const ws = await open(t, f, place);
  assert.deepEqual(confined(ws, 'git log --format=%s'), { code: 0, said: 'first\n' });
  assert.notEqual(confined(ws, `touch ${ws.mirror}/config`).code, 0, 'and cannot write its mirror');
  const hidden = { dir: join(place.env['XDG_STATE_HOME'] ?? '', 'ralph-loop', 'fleet'), env: place.env };
  const control = await open(t, f, hidden);
  assert.notEqual(confined(control, 'git log --format=%s').code, 0, 'control: in the folder of loop state it does not');
});
