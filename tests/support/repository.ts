import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import type { TestContext } from 'node:test';
import type { Snapshot } from '../../src/engine/schema/stored-views.ts';
import { GIT_LIMITS } from '../../src/task/git/git-state.ts';
import { FOLDER_LIMITS } from '../../src/task/progress/marks.ts';
import { type Comparison, compare, type SnapshotOptions, snapshot } from '../../src/task/progress/snapshot.ts';
import { ENV as CLEAN } from './environment.ts';
import { project } from './folder.ts';

/** The task folder of these tests. */
export const TASK = 'tasks/one';
export const FILES = {
  'tasks/one/RALPH.md': 'Do it.\n',
  'tasks/one/notes.md': 'none\n',
  'src/a.ts': 'a\n',
  'src/b.ts': 'b\n',
  '.gitignore': '*.log\n',
};
/** Nothing of the user's own configuration. */
export const ENV: NodeJS.ProcessEnv = { ...CLEAN, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' };
/** Bounds in numbers alone: how fast the machine is decides nothing. */
const TIME_MS = 300_000;
export const PATIENT = {
  folderLimits: { ...FOLDER_LIMITS, timeMs: TIME_MS },
  gitLimits: { ...GIT_LIMITS, timeMs: TIME_MS },
} satisfies SnapshotOptions;

export function git(directory: string, ...words: string[]): string {
  const who = ['-c', 'user.name=test', '-c', 'user.email=test@localhost', '-c', 'protocol.file.allow=always'];
  return execFileSync('git', [...who, ...words], { cwd: directory, env: ENV, encoding: 'utf8', stdio: 'pipe' });
}

/** A project that is the top of a repository, with these files committed. */
export function repository(context: TestContext, files: Readonly<Record<string, string>> = FILES): string {
  const directory = project(context, files);
  git(directory, 'init', '--quiet', '--initial-branch=main');
  git(directory, 'add', '--all');
  git(directory, 'commit', '--quiet', '--message', 'first');
  return directory;
}

export function look(directory: string, more: SnapshotOptions = {}): Promise<Snapshot> {
  return snapshot(directory, TASK, { env: ENV, ...PATIENT, ...more });
}

/** How a project compares with itself before a change. */
export async function after(directory: string, change: () => void, more: SnapshotOptions = {}): Promise<Comparison> {
  const before = await look(directory, more);
  assert.equal(compare(before, await look(directory, more)).changedFiles.length, 0, 'control: nothing has changed yet');
  change();
  return compare(before, await look(directory, { ...more, since: before }));
}

export function changed(progress: Comparison['progress'], ...changedFiles: string[]): Comparison {
  return { progress, changedFiles, bounded: [] };
}
