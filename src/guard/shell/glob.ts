/** Matches a file name against a shell glob in linear time. Extended globs count as `*`, which matches more. */
export function matchesGlob(pattern: string, name: string, caseInsensitive = false): boolean {
  const tokens = tokensOf(caseInsensitive ? pattern.toLowerCase() : pattern);
  return matchesTokens(tokens, caseInsensitive ? name.toLowerCase() : name, () => true);
}

/** A star, or a test of one item: a character of a name, a name of a path. */
export type Token = 'star' | ((item: string) => boolean);

/** Matches items in linear time: whenever the rest does not match, the last star takes one more item if it may. */
export function matchesTokens(
  tokens: readonly Token[],
  items: ArrayLike<string>,
  mayTake: (item: string) => boolean,
): boolean {
  let token = 0;
  let at = 0;
  let starToken = -1;
  let starAt = 0;
  while (at < items.length) {
    const current = tokens[token];
    if (current === 'star') {
      starToken = token;
      starAt = at;
      token += 1;
    } else if (current?.(items[at] ?? '')) {
      token += 1;
      at += 1;
    } else if (starToken >= 0 && mayTake(items[starAt] ?? '')) {
      token = starToken + 1;
      starAt += 1;
      at = starAt;
    } else return false;
  }
  while (tokens[token] === 'star') token += 1;
  return token === tokens.length;
}

function tokensOf(pattern: string): Token[] {
  const tokens: Token[] = [];
  for (let at = 0; at < pattern.length; at += 1) {
    const character = pattern.charAt(at);
    const extended = '?*+@!'.includes(character) && pattern[at + 1] === '(';
    if (extended) {
      const close = pattern.indexOf(')', at);
      at = close === -1 ? pattern.length : close;
      tokens.push('star');
    } else if (character === '*' || character === '\0') {
      if (tokens.at(-1) !== 'star') tokens.push('star');
    } else if (character === '?') tokens.push(() => true);
    else if (character === '[') {
      const close = pattern.indexOf(']', pattern[at + 1] === '!' || pattern[at + 1] === '^' ? at + 3 : at + 2);
      if (close === -1) tokens.push((other) => other === '[');
      else {
        tokens.push(bracket(pattern.slice(at + 1, close)));
        at = close;
      }
    } else {
      if (character === '\\') at += 1;
      const literal = pattern.charAt(at);
      tokens.push((other) => other === literal);
    }
  }
  return tokens;
}

function bracket(body: string): (character: string) => boolean {
  // A character class ([:alpha:]) counts as any character: matching too much is safe.
  if (body.includes('[:')) return () => true;
  const negated = body.startsWith('!') || body.startsWith('^');
  const members = negated ? body.slice(1) : body;
  return (character) => {
    for (let at = 0; at < members.length; at += 1) {
      const to = members[at + 2];
      if (members[at + 1] === '-' && to !== undefined) {
        if (character >= members.charAt(at) && character <= to) return !negated;
        at += 2;
      } else if (members[at] === character) return !negated;
    }
    return negated;
  };
}

const GLOB_SYNTAX = '\\*?[]!@+()';

/** Returns a glob that matches only this text. */
export function escapeGlob(text: string): string {
  return Array.from(text, (character) => (GLOB_SYNTAX.includes(character) ? `\\${character}` : character)).join('');
}
