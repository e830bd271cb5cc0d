import { createHash, type Hash } from 'node:crypto';
import { lstatSync, readdirSync, statSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import picomatch from 'picomatch';
import { ifOutOfReach, realPathOf } from '../../state/files/regular-file.ts';
import { isLeftOutFolder } from '../left-out.ts';
import { isWithin, projectPath } from '../project-file.ts';
import { commitMark } from './marks.ts';

const RUNTIME_DIR = '.claude/context/runtime';
const MAX_FILES = 20_000;
const MAX_GLOB = 4096;

/** Returns a fingerprint of presence, size and time of up to 20,000 files. Follows no link out of the project. Never throws. */
export function watchFingerprint(
  projectDir: string,
  globs: readonly string[],
  taskPath: string,
  maxFiles = MAX_FILES,
): string {
  const [real, hash] = [realOf(projectDir), createHash('sha256')];
  const walk: Walk = { projectDir, real, hash, seen: new Set(), left: maxFiles };
  if (taskPath !== '') add(walk, taskPath);
  const patterns = globs.map(pattern).filter((found) => found !== null);
  for (const base of bases(patterns))
    if (isWithin(walk.real, realOf(join(projectDir, base)))) visit(walk, base, patterns);
  if (walk.left <= 0) walk.hash.update('and more\n');
  return walk.hash.digest('hex');
}

interface Pattern {
  /** Literal prefix, relative to the project; '' for the project. */
  readonly base: string;
  readonly matches: (path: string) => boolean;
}

interface Walk {
  readonly projectDir: string;
  readonly real: string;
  readonly hash: Hash;
  readonly seen: Set<string>;
  left: number;
}

function pattern(glob: string): Pattern | null {
  // `./` and the empty glob of a damaged contract mean the project.
  const plain = glob.replace(/^(?:\.\/)+/, '') || '**';
  const { base, isGlob } = picomatch.scan(plain);
  const place = (isGlob ? base : plain).replace(/\/+$/, '');
  if (isAbsolute(plain) || place.split('/').includes('..') || plain.length > MAX_GLOB) return null;
  const folded = process.platform === 'win32' || process.platform === 'darwin';
  const matches = picomatch(isGlob ? plain : place, { dot: true, flags: folded ? 'is' : 's' });
  // A literal folder name matches everything below it.
  const beneath = isGlob ? () => false : (path: string): boolean => path.startsWith(`${place}/`);
  return { base: place, matches: (path) => matches(path) || beneath(path) };
}

function bases(patterns: readonly Pattern[]): string[] {
  const all = [...new Set(patterns.map(({ base }) => base))].sort();
  return all.filter(
    (base) =>
      !all.some((other) => other !== base && (other === '' || base.startsWith(`${other}/`)) && !isSkipped(base, other)),
  );
}

/** Returns whether a walk from `other` would skip `base`. */
function isSkipped(base: string, other: string): boolean {
  const between = base.slice(other === '' ? 0 : other.length + 1).split('/');
  return between.some((name) => isLeftOutFolder(name));
}

function visit(walk: Walk, path: string, patterns: readonly Pattern[]): void {
  const whole = join(walk.projectDir, path);
  if (walk.left <= 0 || path === RUNTIME_DIR) return;
  const entries = ifOutOfReach(() => readdirSync(whole, { withFileTypes: true }), null);
  if (entries === null) {
    if (path !== '' && patterns.some(({ matches }) => matches(path))) add(walk, path);
    return;
  }
  entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of entries) {
    const inner = path === '' ? entry.name : `${path}/${entry.name}`;
    if (entry.isDirectory()) {
      if (!isLeftOutFolder(entry.name)) visit(walk, inner, patterns);
    } else {
      walk.left -= 1;
      if (walk.left <= 0) return;
      if (patterns.some(({ matches }) => matches(inner))) add(walk, inner, entry.isSymbolicLink());
    }
  }
}

/** Adds a path. Checks only links and paths from outside the walk: resolving every file would take longer than the walk. */
function add({ projectDir, real, hash, seen }: Walk, path: string, mayLeave = true): void {
  const inside = projectPath(projectDir, projectDir, path) ?? path;
  if (seen.has(inside)) return;
  seen.add(inside);
  const whole = isAbsolute(path) ? path : join(projectDir, path);
  const isInside = mayLeave && isWithin(real, realOf(whole));
  const found = ifOutOfReach(() => (isInside ? statSync(whole) : lstatSync(whole)), null);
  hash.update(found === null ? `${inside}\0absent\n` : `${inside}\0${found.size}\0${found.mtimeMs}\n`);
}

const realOf = (path: string): string => realPathOf(path) ?? path;

/** Globs of the project without the loop's own files: task, guardrails, memory and state. */
const WORK = ['*', '!(.claude|.ralph)/**', '.claude/*', '.claude/!(ralph|context)/**'];

/** Returns a fingerprint of the project's work, which changes with every other file and every commit. */
export function projectFingerprint(projectDir: string): string {
  return `${watchFingerprint(projectDir, WORK, '')} ${commitMark(projectDir)}`;
}
