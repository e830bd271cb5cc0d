import { spawnSync } from 'node:child_process';

/** Grows by 2 with a linear function and by 4 with a quadratic one, on an input of twice the length. */
const MOST_GROWTH = 3;
/** Enough that both inputs are once processed undisturbed; a quadratic function grows too much in each of them. */
const MOST_ROUNDS = 40;

/** Processor time in microseconds that the shorter input must take: less is lost in the noise of compiler and collector. */
const MIN_MICROSECONDS = 20_000;

/**
 * Returns whether a function takes linear time: in a process of its own, which ends after `limitMs`, it uses less than
 * three times the processor time for an input of twice the length. `module` exports the function as `name`; `part` is
 * repeated until its processing takes long enough to be measured. Uses processor time, which other processes on the
 * machine do not change.
 */
export function isLinear(module: URL, name: string, part: string, limitMs = 120_000): boolean {
  const code = `
    import { ${name} as run } from ${JSON.stringify(module.href)};
    const used = (text) => {
      const before = process.cpuUsage();
      run(text);
      const { user, system } = process.cpuUsage(before);
      return user + system;
    };
    let text = ${JSON.stringify(part)}.repeat(1_000);
    while (used(text) < ${MIN_MICROSECONDS} || used(text) < ${MIN_MICROSECONDS}) text += text;
    const texts = [text, text + text];
    for (const text of texts) used(text);
    const best = texts.map(() => Infinity);
    for (let round = 0; round < ${MOST_ROUNDS} && !(best[1] / best[0] < ${MOST_GROWTH}); round++)
      for (const [index, text] of texts.entries()) best[index] = Math.min(best[index], used(text));
    process.stdout.write(String(best[1] / best[0]));
  `;
  const node = [...process.execArgv.filter((flag) => !flag.startsWith('--test')), '--input-type=module', '-e', code];
  const { stdout, stderr, error } = spawnSync(process.execPath, node, { encoding: 'utf8', timeout: limitMs });
  if (error !== undefined) return false;
  if (stdout === '') throw new Error(stderr);
  return Number(stdout) < MOST_GROWTH;
}
