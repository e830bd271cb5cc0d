import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDER = join(import.meta.dirname, '..', 'text', 'test-results', 'fixtures');

/** What a run of a test runner printed, and how it ended. */
export interface RunnerFixture {
  readonly name: string;
  /** Version of the runner, and where the output comes from. */
  readonly origin: string;
  readonly exitCode: number;
  /** `3 run, 1 failed, 0 skipped`, or `no runner`. */
  readonly counts: string;
  /** A line `--- | ` for each failed test. */
  readonly failures: readonly string[];
  readonly output: string;
}

/**
 * Returns every stored output. A file has the runner's version and where its outputs come from in its first line, then outputs:
 * `#### name | exit code | counts`, a line `--- | ` for each failed test, and what the runner printed, with `\e` for the escape
 * character.
 */
export function runnerFixtures(): readonly RunnerFixture[] {
  return readdirSync(FOLDER).flatMap((file) => {
    const [origin = '', ...outputs] = readFileSync(join(FOLDER, file), 'utf8').split(/^#### /m);
    return outputs.map((each) => {
      const [head = '', ...lines] = each.split('\n');
      const [name = '', exit = '', counts = ''] = head.split(' | ');
      const failures = lines.filter((line) => line.startsWith('--- | '));
      const printed = lines.filter((line) => !failures.includes(line)).join('\n');
      const exitCode = Number(/^exit (\d+)$/.exec(exit)?.[1]);
      return { name, origin, exitCode, counts, failures, output: printed.replaceAll('\\e', '\u001b') };
    });
  });
}
