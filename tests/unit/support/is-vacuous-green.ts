import { countLine, isVacuous, NO_COUNT } from '../../../src/text/no-tests-run.ts';

/** Whether a command that printed this recognised a test runner and executed nothing. */
export function isVacuousGreen(output: string): boolean {
  return isVacuous(output.split('\n').reduce(countLine, NO_COUNT));
}
