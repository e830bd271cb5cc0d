import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { findClientBinary } from '../support/client/client-binary.ts';

/**
 * Builds, checks and writes the marketplace (dist/) to a folder or commits it to a branch of this repository. It pushes
 * nothing.
 *   npm run release -- --dest FOLDER | --branch NAME
 */
const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const dist = join(root, 'dist');
const { values } = parseArgs({ options: { dest: { type: 'string' }, branch: { type: 'string' } } });
const { dest, branch } = values;

if ((dest === undefined) === (branch === undefined)) {
  console.error('usage: npm run release -- --dest FOLDER | --branch NAME');
  process.exit(1);
}
validate(['plugin', 'validate', join(dist, 'plugin'), '--strict']);
validate(['plugin', 'validate', join(dist, 'plugin'), '--profile', 'directory']);
validate(['plugin', 'validate', dist, '--strict']);
if (dest !== undefined) writeTo(resolve(dest));
if (branch !== undefined) commitTo(branch);
console.log(`The marketplace is in ${dest ?? `the branch ${branch}`}.`);

/** Throws if the client refuses dist/. In a home of its own, so that nothing of the user's is read or changed. */
function validate(args: readonly string[]): void {
  const home = mkdtempSync(join(tmpdir(), 'ralph-release-'));
  try {
    execFileSync(findClientBinary(), args, { env: { PATH: process.env['PATH'], HOME: home }, stdio: 'pipe' });
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

function writeTo(folder: string): void {
  const isOther = existsSync(folder) && readdirSync(folder).some((name) => name !== '.git');
  if (isOther && !existsSync(join(folder, '.claude-plugin', 'marketplace.json'))) {
    throw new Error(`${folder} holds something else than a marketplace; choose an empty folder`);
  }
  mkdirSync(folder, { recursive: true });
  for (const name of readdirSync(folder)) {
    if (name !== '.git') rmSync(join(folder, name), { recursive: true });
  }
  cpSync(dist, folder, { recursive: true });
}

/** Commits dist/ to a branch that holds nothing else, by an index of its own: no file of this checkout is touched. */
function commitTo(name: string): void {
  const own = mkdtempSync(join(tmpdir(), 'ralph-release-'));
  const env = { ...process.env, GIT_INDEX_FILE: join(own, 'index') };
  const git = (...args: string[]): string => execFileSync('git', args, { cwd: dist, env, encoding: 'utf8' }).trim();
  try {
    const repository = ['--git-dir', git('rev-parse', '--absolute-git-dir'), '--work-tree', dist];
    git(...repository, 'add', '--all', '--force', '.');
    const tree = git(...repository, 'write-tree');
    const [parent, released] = git('for-each-ref', '--format=%(objectname) %(tree)', `refs/heads/${name}`).split(' ');
    if (released === tree) return;
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
    const parents = parent ? ['-p', parent] : [];
    git('update-ref', `refs/heads/${name}`, git('commit-tree', tree, ...parents, '-m', `Release ${version}`));
  } finally {
    rmSync(own, { recursive: true, force: true });
  }
}
