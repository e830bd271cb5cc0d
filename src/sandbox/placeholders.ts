import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { namesIn, readRecord, removeIfThere } from '../state/files/regular-file.ts';
import type { LoopFiles } from '../state/loop-files.ts';
import { ifProcHides } from '../state/process/identity.ts';
import { isPlaceholder, PLACEHOLDER, versionAt } from '../state/snapshot/version.ts';

/** Names where the client's sandbox creates an empty file while a command runs, if a project lacks them (measured). */
export const SHOWN = [
  ...['.bash_profile', '.bashrc', '.gitconfig', '.gitmodules', '.idea', '.mcp.json', '.profile', '.ripgreprc'],
  ...['.vscode', '.zprofile', '.zshrc', '.claude/.cc-writes', '.claude/agents', '.claude/commands', '.claude/hooks'],
  ...['.claude/launch.json', '.claude/loop.md', '.claude/output-styles', '.claude/routines', '.claude/skills'],
  ...['.claude/scheduled_tasks.json', '.claude/settings.json', '.claude/settings.local.json', '.claude/workflows'],
];

export type PlaceholderFiles = Pick<LoopFiles, 'projectDir' | 'placeholders'>;

/** Returns the paths where the client's sandbox may create a placeholder. Its commands can write to none of them. */
export function placeholderPaths(files: PlaceholderFiles): ReadonlySet<string> {
  return new Set([...SHOWN.map((name) => join(files.projectDir, name)), ...recorded(files)]);
}

/** Returns whether a file is missing, or only a killed client's placeholder exists. */
export function isMissing(path: string): boolean {
  return !existsSync(path) || hasPlaceholder(path);
}

const hasPlaceholder = (path: string): boolean => isPlaceholder(versionAt(path, undefined, PLACEHOLDER));

/**
 * Removes the placeholders that a killed client left where files were missing at its start: they keep git from adding
 * files and from changing its settings. Keeps those of a living sandbox, where a removal would open these paths.
 */
export function removePlaceholders(files: PlaceholderFiles): void {
  const left = recorded(files).filter(hasPlaceholder);
  if (left.length === 0) return;
  const processes = namesIn('/proc').filter((name) => /^\d+$/.test(name));
  const mounts = processes.map((pid) => ifProcHides(() => readFileSync(`/proc/${pid}/mountinfo`, 'utf8'), ''));
  for (const path of left) {
    const shown = path.replace(/[\\ \t\n]/g, (letter) => `\\${letter.charCodeAt(0).toString(8).padStart(3, '0')}`);
    if (!mounts.some((text) => text.includes(` ${shown} `))) removeIfThere(path);
  }
}

function recorded({ placeholders }: PlaceholderFiles): readonly string[] {
  return readRecord<{ readonly paths: readonly string[] }>(placeholders)?.paths ?? [];
}
