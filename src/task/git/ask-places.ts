/** Flag that git does not know and prints as it is: a path may have lines, so that line ends separate nothing. */
const BETWEEN = '--ralph-loop-next';

/** Returns the words of one `git rev-parse` that answers several questions. */
export function askPlaces(...questions: readonly (readonly string[])[]): string[] {
  return ['rev-parse', ...questions.flatMap((words) => [BETWEEN, ...words]).slice(1)];
}

/** Returns the answers to these questions, in their order, or the only answer of another `git rev-parse`. */
export function placesIn(printed: string): string[] {
  return printed.replace(/\n$/, '').split(`\n${BETWEEN}\n`);
}
