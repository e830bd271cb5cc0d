import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { RalphError } from '../../src/core/ralph-error.ts';
import { safePath } from '../../src/install/safe-path.ts';
import { relativePathProblem } from '../../src/task/relative-path-problem.ts';
import type { CommandContext } from './command.ts';

/** Folders of the client, of git and of loops: an agent may make folders with these commands, but none there. */
const NOT_FOR_AGENTS = /^(?:\.claude|\.git|\.ralph-runner.*)$/i;

/** Where new task folders go: the project that --project names, else the current directory. */
export function baseDir({ values, projectDir }: Pick<CommandContext, 'values' | 'projectDir'>): string {
  return values['project'] === undefined ? process.cwd() : projectDir;
}

/** The RALPH.md of a task folder that is to be, absolute. Throws `usage` or `refused` where it would lie elsewhere. */
export function newTaskFile(base: string, name: string): string {
  const plain = name.replace(/^(?:\.\/)+/, '').replace(/\/+$/, '');
  const problem = relativePathProblem(plain);
  if (problem !== null) {
    throw new RalphError('usage', `"${name}" cannot be the name of a task folder below ${base}: it ${problem}.`);
  }
  const taken = foreignSegment(plain);
  if (taken !== undefined) {
    throw new RalphError(
      'usage',
      `"${name}" cannot be the name of a task folder: ${taken} belongs to another program.`,
    );
  }
  return safePath(base, join(plain, 'RALPH.md'));
}

/** The part of a path that belongs to another program, or undefined. */
export function foreignSegment(path: string): string | undefined {
  return path.split(/[\\/]/).find((segment) => NOT_FOR_AGENTS.test(segment));
}

/** Writes a new RALPH.md with its folder. Throws `refused`, with nothing changed, where something lies there already. */
export function writeTaskFile(path: string, text: string): void {
  if (existsSync(path)) throw refusal(path);
  try {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text, { flag: 'wx' });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'EEXIST' && code !== 'ENOTDIR') throw error;
    throw refusal(path, error);
  }
}

function refusal(path: string, cause?: unknown): RalphError {
  return new RalphError(
    'refused',
    `${path} is there already, or a file lies in the place of its folder. Nothing is overwritten: choose another name.`,
    cause,
  );
}
