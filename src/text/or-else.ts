/** Returns what `work` returns, or `otherwise` if it throws: for what may be gone, torn or closed to us. */
export function orElse<T, U>(work: () => T, otherwise: U): T | U {
  try {
    return work();
  } catch {
    return otherwise;
  }
}

/** The value of a JSON text; null if it is none, as a line that a crash tore. */
export function jsonOrNull(text: string): unknown {
  return orElse(() => JSON.parse(text), null);
}
