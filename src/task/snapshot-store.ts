import { readRegularFile } from '../state/read-regular-file.ts';
import { writeAtomically } from '../state/write-atomically.ts';
import { SNAPSHOT_VERSION, type Snapshot } from './task-progress.ts';

/** Within its bounds a snapshot has less than a quarter of this. */
const MAX_BYTES = 8 * 1024 * 1024;

/** Keeps a snapshot for the process that will compare with it. Throws what the system says; then the old one stands. */
export function writeSnapshot(path: string, snapshot: Snapshot): void {
  writeAtomically(path, JSON.stringify(snapshot), 0o600);
}

/** The snapshot that lies there; null where there is none, or anything else. Never throws. */
export function readSnapshot(path: string): Snapshot | null {
  const text = readRegularFile(path, MAX_BYTES);
  if (text === null) return null;
  try {
    const value: unknown = JSON.parse(text);
    return isSnapshot(value) ? value : null;
  } catch {
    return null; // no JSON
  }
}

function isSnapshot(value: unknown): value is Snapshot {
  if (!isMapping(value)) return false;
  const { version, taskDir, task, git, gitLimit } = value;
  if (version !== SNAPSHOT_VERSION || typeof taskDir !== 'string' || !isMarks(task)) return false;
  return (git === null || isGitState(git)) && (gitLimit === null || typeof gitLimit === 'string');
}

function isGitState(value: unknown): boolean {
  if (!isMapping(value)) return false;
  const { head, index, tree, committed } = value;
  return typeof head === 'string' && isTexts(index) && isMarks(tree) && (committed === null || isCommitted(committed));
}

function isCommitted(value: unknown): boolean {
  if (!isMapping(value)) return false;
  const { since, files, onlyLeftOut } = value;
  return typeof since === 'string' && isTextList(files) && typeof onlyLeftOut === 'boolean';
}

function isMarks(value: unknown): boolean {
  return (
    isMapping(value) && isTexts(value['files']) && typeof value['complete'] === 'boolean' && isTextList(value['limits'])
  );
}

function isTexts(value: unknown): boolean {
  return isMapping(value) && Object.values(value).every((text) => typeof text === 'string');
}

function isTextList(value: unknown): boolean {
  return Array.isArray(value) && value.every((text) => typeof text === 'string');
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
