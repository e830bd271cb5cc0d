/** Returns the result of `work`, or `otherwise` if it throws: for what is only shown or guessed. For evidence there is `ifOutOfReach`. */
export function orElse<T, U>(work: () => T, otherwise: U): T | U {
  try {
    return work();
  } catch {
    return otherwise;
  }
}

/** Parses JSON; null if it is invalid, such as a line torn by a crash. */
export function jsonOrNull(text: string): unknown {
  return orElse(() => JSON.parse(text), null);
}
