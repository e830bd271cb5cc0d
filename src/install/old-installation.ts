import { mkdirSync, renameSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { freePath } from '../state/files/regular-file.ts';
import { HOOKS_HOME, LAUNCHERS, type PlannedFile } from './files/planned-files.ts';
import { BUNDLE_HOME, plainText } from './places.ts';
import { type InstallManifest, readText, safePath } from './project-files.ts';
import type { SettingsSource } from './settings/settings-sources.ts';
import { hooksIn, isOurHook, otherStopHooks } from './settings/stop-hooks.ts';
import { withoutHooks } from './settings/withdraw-registration.ts';

/** Programs of another loop where ours belong, and the settings that run them. Paths are relative to the project. */
export interface OldInstallation {
  readonly files: readonly string[];
  /** Texts of settings files without the entries that run them. */
  readonly settings: ReadonlyMap<string, string>;
  readonly entries: number;
}

const SETTINGS = ['.claude/settings.json', '.claude/settings.local.json'] as const;

/**
 * Finds what an older loop has left in the project: program files that no `init` wrote, and entries that run them or are a
 * loop's Stop hook. Prompts, guardrails and other texts are the user's and stay. Throws `refused` for broken settings.
 */
export function findOldInstallation(
  projectDir: string,
  plan: readonly PlannedFile[],
  manifest: InstallManifest | null,
  sources: readonly SettingsSource[],
  env: NodeJS.ProcessEnv,
): OldInstallation {
  const files = plan.flatMap(({ path, content }) => {
    if (!isProgram(path) || manifest?.files[path] !== undefined) return [];
    const current = readText(safePath(projectDir, path));
    return current === null || plainText(current) === plainText(content) ? [] : [path];
  });
  const loops = otherStopHooks(projectDir, sources, env).filter(({ isOfLoop }) => isOfLoop);
  const names = files.filter((path) => path.startsWith(`${HOOKS_HOME}/`)).map((path) => basename(path));
  const settings = new Map<string, string>();
  let entries = 0;
  for (const path of SETTINGS) {
    const before = readText(safePath(projectDir, path));
    if (before === null || before.trim() === '') continue;
    const text = withoutHooks(before, path, (entry) => {
      const [hook] = hooksIn({ hooks: { Stop: [{ hooks: [entry] }] } }, path);
      if (hook === undefined || isOurHook(entry)) return false;
      const isOld =
        names.some((name) => hook.command.includes(name)) || loops.some(({ command }) => command === hook.command);
      if (isOld) entries++;
      return isOld;
    });
    if (text !== before) settings.set(path, text);
  }
  return { files, settings, entries };
}

/** Moves the files into a folder of this day, and returns its path. Nothing is overwritten or deleted. */
export function moveAside(projectDir: string, { files }: OldInstallation, now: string): string {
  const folder = freePath(join(projectDir, '.claude', 'ralph', `replaced-${now.slice(0, 10)}`), '', '-');
  for (const path of files) {
    const target = join(folder, ...path.split('/').slice(1));
    mkdirSync(dirname(target), { recursive: true });
    renameSync(safePath(projectDir, path), target);
  }
  return folder;
}

function isProgram(path: string): boolean {
  return LAUNCHERS.includes(path) || [BUNDLE_HOME, HOOKS_HOME].some((folder) => path.startsWith(`${folder}/`));
}
