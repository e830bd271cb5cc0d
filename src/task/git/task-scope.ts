import { existsSync } from 'node:fs';
import { isAbsolute, join, relative } from 'node:path';
import picomatch from 'picomatch';
import { inScope, isGlob } from '../../engine/plan/task-order.ts';
import { readRegularFile } from '../../state/files/regular-file.ts';
import { jsonOrNull } from '../../text/json.ts';
import { isWithin } from '../project-file.ts';
import { type GitOptions, runGit } from './run-git.ts';

const MOST_MANIFESTS = 500;
const MANIFEST_BYTES = 512 * 1024;

/** Resolves package names to folders and absolute paths to relative ones. Rejects only with the abort's reason. */
export async function resolveScope(
  projectDir: string,
  scope: readonly string[],
  options: GitOptions,
): Promise<string[]> {
  const isInside = (entry: string): boolean => isAbsolute(entry) && isWithin(projectDir, entry);
  const paths = scope.map((entry) => plainPath(isInside(entry) ? relative(projectDir, entry) || '.' : entry));
  const unknown = paths.filter((path) => !isGlob(path) && !existsSync(join(projectDir, path)));
  const folders = unknown.length === 0 ? new Map<string, string>() : await packageFolders(projectDir, options);
  return paths.map((path) => (unknown.includes(path) ? (folders.get(path) ?? path) : path));
}

export function isInScope(path: string, scope: readonly string[]): boolean {
  return inScope(path, scope, (glob, each) => picomatch.isMatch(each, glob, { dot: true }));
}

function plainPath(entry: string): string {
  return entry
    .replaceAll('\\', '/')
    .replace(/^(?:\.\/)+/, '')
    .replace(/^\/+|\/+$/g, '')
    .replace(/\/\*\*$/, '');
}

/** Returns the folders of the tracked packages (package.json, Cargo.toml) by name. */
async function packageFolders(projectDir: string, options: GitOptions): Promise<ReadonlyMap<string, string>> {
  const words = ['ls-files', '-z', '--', ':(glob)**/package.json', ':(glob)**/Cargo.toml'];
  const answer = await runGit(projectDir, words, { ...options, timeMs: 5_000 });
  const files = answer.kind === 'answer' ? answer.text.split('\0').slice(0, MOST_MANIFESTS) : [];
  const found = new Map<string, string>();
  for (const file of files) {
    const name = file === '' ? null : packageName(readRegularFile(join(projectDir, file), MANIFEST_BYTES) ?? '');
    const folder = file.slice(0, Math.max(0, file.lastIndexOf('/')));
    if (name !== null && !found.has(name)) found.set(name, folder === '' ? '.' : folder);
  }
  return found;
}

function packageName(text: string): string | null {
  const manifest = jsonOrNull(text) as { readonly name?: unknown } | null;
  if (manifest === null) return /^name\s*=\s*"([^"]+)"/m.exec(text)?.[1] ?? null;
  return typeof manifest.name === 'string' ? manifest.name : null;
}
