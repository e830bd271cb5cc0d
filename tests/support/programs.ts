import { spawnSync } from 'node:child_process';
import { onPath } from '../../src/state/process/find-program.ts';
import LISTED from './packages.json' with { type: 'json' };
import { IS_LONG } from './short-form.ts';

/** Programs that tests use and that npm does not bring, with the Debian package of each. */
const PACKAGES = { ...LISTED.needed, ...LISTED.long, ...LISTED.toolchains };

export type Program = keyof typeof PACKAGES;

/** A program that serves as well where it is installed. The full browser takes five times the processor time for a page. */
const OTHERS: Partial<Readonly<Record<Program, string>>> = LISTED.others;
/** What `npm test` needs, and what its long form needs as well. */
const NEEDED = Object.keys({ ...LISTED.needed, ...(IS_LONG && LISTED.long) }) as readonly Program[];
/** What `npm run test:projects` needs as well, where every other run has stubs. */
export const TOOLCHAINS = Object.keys(LISTED.toolchains) as readonly Program[];

/** Path of a program. Throws with the line that installs it where it is missing: its tests fail and are not skipped. */
export const pathOfProgram = (program: Program): string => {
  const path = placeOf(program);
  if (path === null) throw new Error(`This test needs ${program}. Run: ${installLine([program])}`);
  return path;
};

/** Installs what is missing where it may: as root on Debian. Throws with the line that installs the rest. */
export const installPrograms = (needed: readonly Program[] = NEEDED): void => {
  const missing = missingOf(needed);
  if (missing.length === 0) return;
  if (process.getuid?.() !== 0 || onPath('apt-get', process.env) === null) {
    throw new Error(`The tests need ${missing.join(', ')}. Run: ${installLine(missing)}`);
  }
  console.log(`Installing ${missing.join(', ')} …`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const packages = missing.map((program) => PACKAGES[program]);
  for (const words of [['update'], ['install', '--yes', '--no-install-recommends', ...packages]]) {
    spawnSync('apt-get', ['-qq', ...words], { stdio: ['ignore', 'ignore', 'inherit'], env });
  }
  const left = missingOf(needed);
  if (left.length > 0) throw new Error(`${left.join(', ')} could not be installed. Run: ${installLine(left)}`);
};

const missingOf = (programs: readonly Program[]): Program[] => programs.filter((program) => placeOf(program) === null);

const placeOf = (program: Program): string | null =>
  onPath(program, process.env) ?? onPath(OTHERS[program] ?? program, process.env);

const installLine = (programs: readonly Program[]): string =>
  `apt-get install -y ${programs.map((program) => PACKAGES[program]).join(' ')}`;
