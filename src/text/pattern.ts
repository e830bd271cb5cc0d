/**
 * Patterns of the user: the subset of RE2 that JavaScript interprets alike. A pattern may begin with the flags `(?i)`, `(?s)`
 * and `(?m)`. JavaScript checks the syntax; this module rejects whatever RE2 does not support or interprets differently.
 */

const LEADING_FLAGS = /^(?:\(\?[ims]+\))*/;
const TOKEN = /\{\d+(?:,\d*)?\}|\\[pP](?:\{\^?\w*\}|\w)|\\x\{\w*\}|\\[\s\S]|\[:\^?\w+:\]|\[\^?\]?|\(\?P?<?.?|[\s\S]/gu;
/** Pattern for texts that are always supported: compiling TOKEN takes a tool hook longer than matching. */
const PLAIN = /^(?:[\w ^$.*+|/-]|\\[sSwWdDbB.])*$/;
/** Escapes that only RE2 supports, with a spelling that both support. */
const SPELLINGS: Readonly<Record<string, string>> = {
  '\\A': 'write ^',
  '\\z': 'write $',
  '\\a': 'write \\x07',
  '\\Q': 'put a backslash before each special character',
  '\\C': 'write .',
  '\\c': 'write \\x and two digits',
  '\\u': 'write \\x and two digits, or the character itself',
  '\\k': 'RE2 has no back-references',
};
/** Largest number of repetitions that RE2 supports; nested ones multiply. */
const MOST_REPEATED = 1000;

/** Compiles a pattern, with `whole` for entire texts. Throws a SyntaxError that names the spelling to use instead. */
export function compilePattern(pattern: string, whole = false): RegExp {
  const [head] = (pattern.startsWith('(?') && LEADING_FLAGS.exec(pattern)) || [''];
  const body = pattern.slice(head.length);
  const flags = ['i', 'm', 's'].filter((flag) => head.includes(flag)).join('');
  const problem = PLAIN.test(body) ? null : unsupported(body, flags.includes('i'));
  if (problem !== null) throw new SyntaxError(problem);
  // With (?m), ^ and $ match at line ends.
  const [start, end] = flags.includes('m') ? ['(?<![\\s\\S])', '(?![\\s\\S])'] : ['^', '$'];
  return new RegExp(whole ? `${start}(?:${body})${end}` : body, `${flags}u`);
}

/** Returns the text for matching: white space and line terminators that only JavaScript recognises become spaces. */
export function patternText(text: string): string {
  return /[\v\r\x80-\uffff]/.test(text) ? text.replace(/[^\S\t\n\f ]/g, ' ') : text;
}

function unsupported(body: string, ignoreCase: boolean): string | null {
  let inClass = false;
  let repeated = 1;
  for (const [token] of body.matchAll(TOKEN)) {
    const problem = tokenProblem(token, inClass, ignoreCase);
    if (problem !== null) return problem;
    if (!inClass && /^\{\d/.test(token)) repeated *= Math.max(1, ...token.slice(1, -1).split(',').map(Number));
    if (repeated > MOST_REPEATED) return `all repetitions together must be at most ${MOST_REPEATED}`;
    inClass = inClass ? token !== ']' : token.startsWith('[');
  }
  return null;
}

function tokenProblem(token: string, inClass: boolean, ignoreCase: boolean): string | null {
  if (token.startsWith('\\')) return escapeProblem(token, inClass, ignoreCase);
  if (inClass && token.startsWith('[:'))
    return `${token} is not supported: write the characters, such as A-Za-z or \\d`;
  if (inClass) return null;
  if (token === '[]' || token === '[^]') return 'a class cannot begin with ]: write \\]';
  if (/^[{}\]]$/.test(token)) return `a single ${token} is not supported: write \\${token}`;
  if (token.startsWith('(?P')) return 'named groups are not supported: write (?:…)';
  if (/^\(\?<?[=!]$/.test(token)) return 'RE2 has no look-around, such as (?=…) or (?!…)';
  if (token.startsWith('(?') && !/^\(\?(?::|<\w)$/.test(token))
    return 'flags count only at the beginning of a pattern: (?i), (?s), (?m)';
  return null;
}

function escapeProblem(token: string, inClass: boolean, ignoreCase: boolean): string | null {
  const spelling = SPELLINGS[token];
  if (spelling !== undefined) return `${token} is not supported: ${spelling}`;
  if (/^\\[pP](?:\w|\{\^)/.test(token))
    return `${token} is not supported: write it in braces, such as \\p{L} or \\P{L}`;
  if (token.startsWith('\\P') && (ignoreCase || inClass)) return `${token} is not supported under (?i) or in brackets`;
  if (token.startsWith('\\x{')) return `${token} is not supported: write \\x and two digits, or the character itself`;
  if (/^\\[1-9]$/.test(token)) return `${token} is not supported: write \\x and two digits, RE2 has no back-references`;
  if (/^\\[pP]/.test(token) && !/^\\[pP]\{(?:[LMNPSZ][a-z]?|C[cfos])\}$/.test(token))
    return `${token} is not supported: write a general category, such as \\p{L} or \\p{Lu}`;
  if (inClass && token === '\\b') return '\\b is not supported in brackets: write \\x08';
  const isPlain = inClass ? /^\\[^\w^$\\.*+?()[\]{}|/-]$/u : /^\\[^\w^$\\.*+?()[\]{}|/]$/u;
  return isPlain.test(token) || token === '\\_' ? `${token} is not supported: write ${token.slice(1)}` : null;
}
