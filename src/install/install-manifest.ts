import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SettingsRecord } from './settings-record.ts';

/** Path of the manifest, relative to the project. */
export const MANIFEST_PATH = '.claude/ralph/.install.json';

/** What `init` put into a project, so that a later `init` updates and `uninit` removes exactly that. */
export interface InstallManifest {
  readonly manifestVersion: 1;
  /** The version of ralph-loop that wrote it. */
  readonly version: string;
  /** SHA-256 of each file as it was written, by path relative to the project, `/` between its parts. */
  readonly files: Readonly<Record<string, string>>;
  /** Directories that were made for them. */
  readonly directories: readonly string[];
  readonly settings: SettingsRecord | null;
}

/** The project's manifest; null when there is none, or none that can be used. */
export function readManifest(projectDir: string): InstallManifest | null {
  try {
    const manifest = JSON.parse(readFileSync(join(projectDir, MANIFEST_PATH), 'utf8')) as InstallManifest;
    const usable =
      manifest.manifestVersion === 1 &&
      Object.values(manifest.files).every((digest) => typeof digest === 'string') &&
      manifest.directories.every((path) => typeof path === 'string') &&
      (manifest.settings === null || Array.isArray(manifest.settings.inserted));
    return usable ? manifest : null;
  } catch {
    return null; // missing, or rewritten by hand: then nothing in the project is taken for ours
  }
}
