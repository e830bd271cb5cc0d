import { type Dirent, readdirSync, realpathSync } from 'node:fs';
import { isAbsolute, join, relative, sep } from 'node:path';
import { markFile, type ReadBudget } from './file-marks.ts';
import { isLeftOut, isLeftOutFolder } from './left-out.ts';
import { type Marks, marksBuilder } from './marks.ts';

export interface FolderLimits {
  /** Files and folders that are looked at. */
  readonly entries: number;
  /** Read at most, of all files together. */
  readonly bytes: number;
  /** After this nothing more is looked at, but for the first hundred files and folders. */
  readonly timeMs: number;
}

/** So many are looked at however late it is: only other programs can hold so few up. */
const LEAST_ENTRIES = 100;

export const FOLDER_LIMITS: FolderLimits = { entries: 2_000, bytes: 16 * 1024 * 1024, timeMs: 150 };

/**
 * The marks of a task folder's files, without what tools make and what is the loop's own. `taskDir` is relative to the
 * project, '' is the project itself. Follows no link; a folder that really lies outside the project is not looked at.
 * Never throws.
 */
export function markFolder(projectDir: string, taskDir: string, limits: FolderLimits = FOLDER_LIMITS): Marks {
  const found = marksBuilder('task');
  const budget: ReadBudget = { files: limits.entries, bytes: limits.bytes };
  const deadline = performance.now() + limits.timeMs;
  const folders = [taskDir];
  let left = limits.entries;
  if (!isInside(projectDir, join(projectDir, taskDir))) {
    found.miss('outside');
    return found.build();
  }
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const entry of entriesOf(join(projectDir, folder), found.miss)) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory() ? isLeftOutFolder(entry.name) : isLeftOut(path, taskDir)) continue;
      left -= 1;
      const isLate = limits.entries - left > LEAST_ENTRIES && performance.now() > deadline;
      if (left < 0 || isLate) {
        found.miss(left < 0 ? 'files' : 'time');
        return found.build();
      }
      if (entry.isDirectory()) folders.push(path);
      else found.add(path, markFile(join(projectDir, path), budget));
    }
  }
  return found.build();
}

/** In a fixed order, so that a bound cuts the same files each time. */
function entriesOf(folder: string, miss: (limit: string) => void): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') miss('unreadable');
    return [];
  }
}

function isInside(projectDir: string, folder: string): boolean {
  try {
    const inside = relative(realpathSync(projectDir), realpathSync(folder));
    return !isAbsolute(inside) && inside !== '..' && !inside.startsWith(`..${sep}`);
  } catch {
    return true; // gone: that it holds nothing is what there is to see
  }
}
