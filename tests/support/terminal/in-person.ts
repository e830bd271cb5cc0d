import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { shellWord } from '../../../src/text/quote.ts';
import { type Answer, DIST, type Project } from '../project.ts';
import { TEST_TIMEOUT_MS } from '../until.ts';

export interface AnswerInPerson extends Answer {
  /** What the terminal showed, what was typed included. */
  readonly screen: string;
}

const MAIN = join(DIST, 'scripts', 'main.cjs');

/** Runs `main.cjs` with a terminal of its own, at which a person types; output goes to files, so that nothing else asks. */
export function inPerson(
  { dir, env }: Pick<Project, 'dir' | 'env'>,
  args: readonly string[],
  typed = 'yes',
  more: NodeJS.ProcessEnv = {},
): AnswerInPerson {
  const scratch = mkdtempSync(join(tmpdir(), 'ralph-person-'));
  try {
    const [out, err] = [join(scratch, 'stdout'), join(scratch, 'stderr')];
    const words = [process.execPath, MAIN, ...args].map(shellWord).join(' ');
    const command = `${words} > ${shellWord(out)} 2> ${shellWord(err)}`;
    const { status, stdout: shown } = spawnSync('script', ['-qec', command, '/dev/null'], {
      cwd: dir,
      env: { ...env, ...more },
      encoding: 'utf8',
      input: `${typed}\n`,
      timeout: TEST_TIMEOUT_MS,
    });
    const [stdout, stderr] = [readFileSync(out, 'utf8'), readFileSync(err, 'utf8')];
    return {
      ...{ code: status, stdout, stderr, screen: shown.replaceAll('\r', '') },
      get json() {
        return JSON.parse(stdout) as Record<string, unknown>;
      },
    };
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** Runs `main.cjs` without any terminal, also where the tests themselves have one. */
export function unattended(
  { dir, env }: Pick<Project, 'dir' | 'env'>,
  args: readonly string[],
  more: NodeJS.ProcessEnv = {},
): Pick<Answer, 'code' | 'stdout' | 'stderr'> {
  const { status, stdout, stderr } = spawnSync('setsid', ['-w', process.execPath, MAIN, ...args], {
    ...{ cwd: dir, env: { ...env, ...more }, encoding: 'utf8', input: '', timeout: TEST_TIMEOUT_MS },
  });
  return { code: status, stdout, stderr };
}
