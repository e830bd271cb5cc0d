import { existsSync, lstatSync, readdirSync, realpathSync, rmdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isFolder, namesIn, realPathOf, removeDrafts } from '../state/files/regular-file.ts';
import { sha256 } from '../state/hash-contract.ts';
import { RalphError } from '../text/message.ts';
import { RUNTIME_IGNORE, SCHEMA_FOLDER, TASK_SCHEMA } from './files/planned-files.ts';
import { refuseWhileLive, SETTINGS_PATH } from './init-project.ts';
import type { SettingsRecord } from './project-files.ts';
import { MANIFEST_PATH, placeFile, readManifest, readText, removeFile, safePath, writtenBy } from './project-files.ts';
import { withdrawRegistration } from './settings/withdraw-registration.ts';

/** Removes only unchanged files and empty directories. Throws `refused` while a loop is live or without `init`. */
export function uninitProject(projectDir: string, env: NodeJS.ProcessEnv) {
  const manifest = readManifest(projectDir);
  if (manifest === null) {
    refuseWhileLive(projectDir, env);
    // A project without a set-up has only the schema of its drafts.
    const removed = existsSync(join(projectDir, MANIFEST_PATH)) ? [] : removeSchemas(projectDir);
    if (removed.length > 0) return { removed, kept: [], settings: 'unchanged' as const };
    const message = `${projectDir} was not set up by init: ${MANIFEST_PATH} is missing or unreadable. Nothing was removed.`;
    throw new RalphError('refused', message);
  }
  refuseWhileLive(projectDir, env);
  const settings = withdrawSettings(projectDir, manifest.settings);
  const removed: string[] = [];
  /** Our files that were changed, and files that loops have left. */
  const kept: string[] = [];
  for (const path of Object.keys(manifest.files)) {
    const verdict = isOurs(projectDir, path, writtenBy(manifest, path));
    if (verdict !== 'gone') (verdict === 'ours' ? removed : kept).push(path);
  }
  // A draft may remain of a file that `init` did not finish.
  for (const path of Object.keys(manifest.files)) if (!kept.includes(path)) removeFile(projectDir, path);
  removed.push(...removeSchemas(projectDir));
  // Removed before the manifest as well, so that an uninit after a crash still knows them.
  removeEmptyDirectories(projectDir, manifest.directories);
  removeFile(projectDir, MANIFEST_PATH);
  removeEmptyDirectories(projectDir, manifest.directories);
  return { removed, kept, settings };
}

/** Removes the schema that drafts put into a project, if its folder has nothing of the user's. Returns what was removed. */
function removeSchemas(projectDir: string): string[] {
  const ignore = '.gitignore';
  const own = [ignore, basename(TASK_SCHEMA)];
  const folder = join(realpathSync(projectDir), SCHEMA_FOLDER);
  // Nothing behind a link is ours.
  const isHere = realPathOf(folder) === folder && isFolder(folder);
  if (isHere) for (const name of own) removeDrafts(join(folder, name));
  const names = isHere ? namesIn(folder) : [];
  // Each draft writes the schema again if it differs, but not the other file.
  const isEdited = names.includes(ignore) && readText(join(folder, ignore)) !== '*\n';
  if (isEdited || names.some((name) => !own.includes(name))) return [];
  const paths = names.map((name) => `${SCHEMA_FOLDER}/${name}`);
  for (const path of paths) removeFile(projectDir, path);
  removeEmptyDirectories(projectDir, [SCHEMA_FOLDER, dirname(SCHEMA_FOLDER)]);
  return paths;
}

function withdrawSettings(projectDir: string, record: SettingsRecord | null): 'removed' | 'restored' | 'unchanged' {
  const real = safePath(projectDir, SETTINGS_PATH);
  removeDrafts(real);
  const before = readText(real);
  // Hooks from before this set-up have no record.
  if (before === null || (record === null && !before.includes('/.claude/hooks/ralph-'))) return 'unchanged';
  const text = withdrawRegistration(before, record, SETTINGS_PATH);
  if (text === null) {
    removeFile(projectDir, SETTINGS_PATH);
    return 'removed';
  }
  if (text === before) return 'unchanged';
  placeFile(projectDir, SETTINGS_PATH, text, 0o644);
  return 'restored';
}

function isOurs(projectDir: string, path: string, written: readonly string[]): 'ours' | 'changed' | 'gone' {
  const place = join(projectDir, path);
  if (!existsSync(place)) return 'gone';
  if (lstatSync(place).isSymbolicLink()) return 'changed';
  const text = readText(safePath(projectDir, path)) ?? '';
  const same = [text, text.replaceAll('\r\n', '\n')].some((each) => written.includes(sha256(each)));
  if (!same) return 'changed';
  // Files left by loops stay, and stay out of version control.
  if (path === RUNTIME_IGNORE && readdirSync(dirname(place)).length > 1) return 'changed';
  return 'ours';
}

/** Removes the deepest directories first; one that is not empty contains files of the user and stays. */
function removeEmptyDirectories(projectDir: string, directories: readonly string[]): void {
  for (const path of [...directories].sort((a, b) => b.length - a.length)) {
    try {
      rmdirSync(safePath(projectDir, path));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'ENOTEMPTY' && code !== 'ENOENT' && code !== 'EEXIST' && code !== 'ENOTDIR') throw error;
    }
  }
}
