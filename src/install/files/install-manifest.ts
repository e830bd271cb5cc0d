import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Path of the manifest, relative to the project. */
export const MANIFEST_PATH = '.claude/ralph/.install.json';

/** Record of what `init` installed: a later `init` updates and `uninit` removes exactly that. */
export interface InstallManifest {
  readonly manifestVersion: 1;
  readonly version: string;
  /** SHA-256 of each file as it was written, by path relative to the project, `/` between its parts. */
  readonly files: Readonly<Record<string, string>>;
  readonly directories: readonly string[];
  readonly settings: SettingsRecord | null;
}

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
    return null; // missing, or rewritten by hand: then no file of the project counts as ours
  }
}

export interface InsertedSpan {
  readonly offset: number;
  readonly length: number;
}

/** Changes of `init` to the settings file, to undo them without a copy. Offsets count from behind a byte-order mark. */
export interface SettingsRecord {
  readonly createdFile: boolean;
  /** SHA-256 of the file as `init` left it. */
  readonly after: string;
  readonly inserted: readonly InsertedSpan[];
  readonly created: readonly string[];
}

export function withoutMark(text: string): { readonly mark: string; readonly body: string } {
  return text.startsWith('\uFEFF') ? { mark: '\uFEFF', body: text.slice(1) } : { mark: '', body: text };
}
