import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Meta } from '../../../../../src/fleet/git/checkpoint.ts';
import { fetchMirror } from '../../../../../src/fleet/git/mirror.ts';
import { type FleetPlace, type FleetRepository, placeAt } from '../../../../../src/fleet/git/place.ts';
import { closeWorkspace, openWorkspace, type Workspace } from '../../../../../src/fleet/git/workspace.ts';
import { emptyFolder } from '../../../../support/folder.ts';
import { ENV, git } from '../../../../support/repository.ts';

export const LOOP = 'loop-1';
export const REF = `refs/ralph/${LOOP}`;

/** A bare repository with one commit, and places of work on as many machines as asked for. */
export interface Fleet {
  readonly base: string;
  readonly remote: string;
  readonly repository: FleetRepository;
  readonly sha: string;
  /** Makes the place of another machine: its own folder, home and state folder. */
  place(name: string): FleetPlace & { readonly env: NodeJS.ProcessEnv };
}

export function fleet(
  t: Pick<TestContext, 'after'>,
  fill: (dir: string) => void = someFiles,
  format: 'sha1' | 'sha256' = 'sha1',
): Fleet {
  const base = emptyFolder(t);
  const [remote, seed] = [join(base, 'remote.git'), join(base, 'seed')];
  for (const path of [remote, seed]) mkdirSync(path);
  git(remote, 'init', '--quiet', '--bare', `--object-format=${format}`, '--initial-branch=main');
  git(seed, 'init', '--quiet', `--object-format=${format}`, '--initial-branch=main');
  fill(seed);
  git(seed, 'add', '--all');
  git(seed, 'commit', '--quiet', '--message', 'first');
  git(seed, 'push', '--quiet', remote, 'main');
  return {
    ...{ base, remote, repository: { id: '0123456789abcdef', url: remote } },
    sha: git(seed, 'rev-parse', 'HEAD').trim(),
    place: (name) => {
      const home = join(base, name, 'home');
      mkdirSync(home, { recursive: true });
      const env = { ...ENV, HOME: home, XDG_STATE_HOME: join(base, name, 'state'), XDG_DATA_HOME: join(home, 'data') };
      return { ...placeAt(null, env), env };
    },
  };
}

export function someFiles(dir: string): void {
  for (const folder of ['src', 'docs']) mkdirSync(join(dir, folder));
  for (const name of ['src/a.txt', 'src/b.txt', 'src/c.txt', 'docs/d.txt', 'docs/e.txt']) {
    writeFileSync(join(dir, name), `${name}\n`);
  }
  writeFileSync(join(dir, 'run.sh'), '#!/bin/sh\n');
  chmodSync(join(dir, 'run.sh'), 0o755);
  symlinkSync('src/a.txt', join(dir, 'link'));
  writeFileSync(join(dir, '.gitignore'), 'ignored/\n*.log\n');
}

/** Opens the loop, at its base or from a checkpoint, and closes it after the test. */
export async function open(
  t: Pick<TestContext, 'after'>,
  { repository, sha }: Fleet,
  place: FleetPlace,
  checkpoint: string | null = null,
): Promise<Workspace> {
  await fetchMirror(place, repository);
  const request = { repository, loopId: LOOP, branch: 'ralph/one', base: { sha }, checkpoint };
  const ws = await openWorkspace(place, request);
  t.after(() => closeWorkspace(ws));
  return ws;
}

export function meta(iteration = 1): Meta {
  return {
    ...{ v: 1, loopId: LOOP, generation: 1, attempt: 1, iteration, takeOvers: 0, signedOff: false },
    ...{ lastCommand: null, contractDigest: 'digest', spent: { costUsd: 0.5, tokens: 1000 } },
    ...{ outcome: null, reason: '' },
    at: '2026-01-02T03:04:05.000Z',
  };
}

/** What git says of an agent's work tree: branch, staged and unstaged changes, untracked files. */
export function status({ dir }: Pick<Workspace, 'dir'>): string {
  return git(dir, 'status', '--porcelain=v2', '--branch', '--untracked-files=all', '-z').replaceAll('\0', '\n');
}

/** Every path below a work tree except its git folder and runtime files, with kind, mode and content. */
export function listing({ dir }: Pick<Workspace, 'dir'>): string {
  const script =
    'find . \\( -path ./.git -o -path ./.claude/context \\) -prune -o ! -type d -printf "%y %m %p -> %l\\n" | LC_ALL=C sort';
  const names = execFileSync('/bin/sh', ['-c', script], { cwd: dir, encoding: 'latin1' });
  const sums =
    'find . \\( -path ./.git -o -path ./.claude/context \\) -prune -o -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum';
  return names + execFileSync('/bin/sh', ['-c', sums], { cwd: dir, encoding: 'latin1' });
}
