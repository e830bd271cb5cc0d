import { spawnSync } from 'node:child_process';
import { plainProgram } from './plain-program.ts';

/** Grows by 2 with a linear function and by 4 with a quadratic one, on an input of twice the length. */
const MOST_GROWTH = 3;
/** Enough that both inputs are once processed undisturbed; a quadratic function grows too much in each of them. */
const MOST_ROUNDS = 40;

const LIMIT_MS = 120_000;

/** Processor time in microseconds that the shorter input must take: less is lost in the noise of compiler and collector. */
const MIN_MICROSECONDS = 20_000;

/**
 * Writes the program that measures functions of `module` (a path from tests/support) into `directory`; returns its path.
 * It repeats a part until its processing takes long enough to be measured, and prints how much more processor time, which
 * other processes on the machine do not change, the same function takes for an input of twice the length.
 */
export function growthProgram(directory: string, module: string): Promise<string> {
  const code = `
    import * as work from ${JSON.stringify(module)};
    const [name, part, rounds] = process.argv.slice(2);
    const run = work[name];
    const used = (text) => {
      const before = process.cpuUsage();
      run(text);
      const { user, system } = process.cpuUsage(before);
      return user + system;
    };
    let text = part.repeat(1_000);
    while (used(text) < ${MIN_MICROSECONDS} || used(text) < ${MIN_MICROSECONDS}) text += text;
    const texts = [text, text + text];
    for (const text of texts) used(text);
    const best = texts.map(() => Infinity);
    for (let round = 0; round < rounds && !(best[1] / best[0] < ${MOST_GROWTH}); round++)
      for (const [index, text] of texts.entries()) best[index] = Math.min(best[index], used(text));
    process.stdout.write(String(best[1] / best[0]));
  `;
  return plainProgram(directory, code);
}

/**
 * Returns whether the function with this name of such a program takes linear time: in a process of its own, which ends
 * after two minutes, it uses less than three times the processor time for an input of twice the length.
 */
export function isLinear(program: string, name: string, part: string, rounds = MOST_ROUNDS): boolean {
  const { stdout, stderr, error } = spawnSync(process.execPath, [program, name, part, String(rounds)], {
    encoding: 'utf8',
    timeout: LIMIT_MS,
  });
  if (error !== undefined) return false;
  if (stdout === '') throw new Error(stderr);
  return Number(stdout) < MOST_GROWTH;
}
