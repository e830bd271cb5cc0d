import { TerminalScreen } from '../../../src/text/terminal-screen.ts';
import { TestOutput } from '../../../src/text/test-results/test-output.ts';
import { ranNothing, type TestSummary } from '../../../src/text/test-results/test-summary.ts';

/** Returns what the table of runners reads from an output; null if it shows no test run. */
export function summaryOf(output: string): TestSummary | null {
  const tests = new TestOutput('/project');
  const screen = new TerminalScreen((line) => tests.line(line));
  for (const line of output.split('\n')) screen.line(line);
  screen.close();
  return tests.summary();
}

/** Whether a command that printed this recognised a test runner and executed nothing. */
export function isVacuousGreen(output: string): boolean {
  return ranNothing(summaryOf(output));
}
