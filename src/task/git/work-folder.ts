import { lstatSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isOfDeadProcess, namesIn, uniqueToken } from '../../state/files/regular-file.ts';

const OURS = /^ralph-(?:index|plain|rules)-(.+)$/;
/** Age below which a folder stays: in another container its process looks dead from here. */
const YOUNG_MS = 3_600_000;

/** Makes a folder for a moment in a git folder, where the sandbox can write, and removes those that killed processes left. */
export function workFolder(gitDir: string, purpose: 'index' | 'plain' | 'rules'): string {
  for (const name of namesIn(gitDir)) {
    const path = join(gitDir, name);
    if (!isOfDeadProcess(OURS.exec(name)?.[1] ?? '')) continue;
    const there = lstatSync(path, { throwIfNoEntry: false });
    if (there?.isDirectory() && Date.now() - there.mtimeMs > YOUNG_MS) rmSync(path, { recursive: true, force: true });
  }
  const folder = join(gitDir, `ralph-${purpose}-${uniqueToken()}`);
  mkdirSync(folder, { mode: 0o700 });
  return folder;
}
