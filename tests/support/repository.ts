import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import type { TestContext } from 'node:test';
import type { Snapshot } from '../../src/engine/schema/records.ts';
import { FOLDER_LIMITS } from '../../src/task/progress/marks.ts';
import type { Comparison, SnapshotOptions } from '../../src/task/progress/snapshot.ts';
import { compare, GIT_LIMITS, snapshot } from '../../src/task/progress/snapshot.ts';
import { folderWith } from './folder.ts';
import { commitFolder, GIT_ENV } from './git.ts';

/** The task folder of these tests. */
export const TASK = 'tasks/one';
export const FILES = {
  'tasks/one/RALPH.md': 'Do it.\n',
  'tasks/one/notes.md': 'none\n',
  'src/a.ts': 'a\n',
  'src/b.ts': 'b\n',
  '.gitignore': '*.log\n',
};
export { GIT_ENV as ENV };

/** Bounds in numbers alone: how fast the machine is decides nothing. */
const TIME_MS = 300_000;
export const PATIENT = {
  folderLimits: { ...FOLDER_LIMITS, timeMs: TIME_MS },
  gitLimits: { ...GIT_LIMITS, timeMs: TIME_MS },
} satisfies SnapshotOptions;

export function git(directory: string, ...words: string[]): string {
  const who = ['-c', 'user.name=test', '-c', 'user.email=test@localhost', '-c', 'protocol.file.allow=always'];
  return execFileSync('git', [...who, ...words], { cwd: directory, env: GIT_ENV, encoding: 'utf8', stdio: 'pipe' });
}

/** A project that is the top of a repository, with these files committed. */
export function repository(context: TestContext, files: Readonly<Record<string, string>> = FILES): string {
  const directory = folderWith(context, files);
  commitFolder(directory);
  return directory;
}

export function look(directory: string, more: SnapshotOptions = {}): Promise<Snapshot> {
  return snapshot(directory, TASK, { env: GIT_ENV, ...PATIENT, ...more });
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
