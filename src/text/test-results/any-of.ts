/** Returns one expression that matches where one of these does: a single search is many times faster than one for each. */
export function anyOf(patterns: readonly RegExp[]): RegExp {
  const sources = patterns.map(({ source }) => {
    const unnamed = source.replace(/\(\?<\w+>/g, '(?:');
    return unnamed.startsWith('^') ? unnamed.slice(1) : `.*(?:${unnamed})`;
  });
  return new RegExp(`^(?:${sources.join('|')})`, 'i');
}
