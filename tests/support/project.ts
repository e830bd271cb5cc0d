import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { shareCodeCache } from './code-cache.ts';
import { COMMAND_PATH } from './command-path.ts';
import { emptyFolder } from './folder.ts';
import { TEST_TIMEOUT_MS } from './until.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
/** The bundle under test; RALPH_TEST_DIST names another build of it. */
export const DIST = process.env['RALPH_TEST_DIST'] ?? join(root, 'dist', 'plugin');
const MAIN = join(DIST, 'scripts', 'main.cjs');

export interface Answer {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Standard output as one JSON value. */
  readonly json: Record<string, unknown>;
}

/** A project with a home of its own, in which the command line is run as a user runs it. */
export interface Project {
  readonly dir: string;
  readonly home: string;
  readonly env: NodeJS.ProcessEnv;
  /** Runs `main.cjs` with these arguments in the project. */
  ralph(args: readonly string[], env?: NodeJS.ProcessEnv, cwd?: string): Answer;
  /** Runs a command of the project itself, such as an installed hook, with `sh`. */
  sh(command: string, input?: string, env?: NodeJS.ProcessEnv): Answer;
  write(path: string, content: string | object, mode?: number): void;
  read(path: string): string;
  has(path: string): boolean;
  /** Every file and empty directory with its content and mode: two equal trees are the same project. */
  tree(): Record<string, string>;
}

/** `newMachine`: no loop has run on it, so that it lacks the folder of ralph-loop outside of projects. */
export function project(context: TestContext, { newMachine = false } = {}): Project {
  const base = emptyFolder(context);
  const [dir, home] = [join(base, 'project'), join(base, 'home')];
  for (const made of [dir, home]) mkdirSync(made);
  if (!newMachine) shareCodeCache(join(base, 'state'));
  const env: NodeJS.ProcessEnv = {
    PATH: COMMAND_PATH,
    HOME: home,
    XDG_STATE_HOME: join(base, 'state'),
    XDG_CONFIG_HOME: join(base, 'config'),
  };
  const run = (command: string, args: readonly string[], more: NodeJS.ProcessEnv, cwd: string, input = ''): Answer => {
    const { status, stdout, stderr } = spawnSync(command, args, {
      cwd,
      env: { ...env, ...more },
      encoding: 'utf8',
      input,
      timeout: TEST_TIMEOUT_MS,
    });
    return {
      code: status,
      stdout,
      stderr,
      get json() {
        return JSON.parse(stdout) as Record<string, unknown>;
      },
    };
  };
  const at = (path: string): string => join(dir, path);
  return {
    dir,
    home,
    env,
    ralph: (args, more = {}, cwd = dir) => run(process.execPath, [MAIN, ...args], more, cwd),
    sh: (command, input = '', more = {}) => run('/bin/sh', ['-c', command], more, dir, input),
    write(path, content, mode) {
      mkdirSync(dirname(at(path)), { recursive: true });
      writeFileSync(at(path), typeof content === 'string' ? content : `${JSON.stringify(content, null, 2)}\n`);
      if (mode !== undefined) chmodSync(at(path), mode);
    },
    read: (path) => readFileSync(at(path), 'utf8'),
    has: (path) => existsSync(at(path)),
    tree: () => treeOf(dir),
  };
}

function treeOf(dir: string): Record<string, string> {
  const tree: Record<string, string> = {};
  for (const entry of readdirSync(dir, { recursive: true, encoding: 'utf8' })) {
    const path = join(dir, entry);
    const stat = lstatSync(path);
    if (stat.isDirectory()) tree[`${relative(dir, path)}/`] = '';
    else tree[relative(dir, path)] = `${(stat.mode & 0o777).toString(8)} ${readFileSync(path, 'latin1')}`;
  }
  return tree;
}
