/** A name and what separates it from its value. The name begins at a boundary, so that a long word is read once. */
const NAMED = /(?<![\w.-])([\w.-]+)\\{0,4}["']?([ \t]{0,8}(?::=|=>|[:=])[ \t]{0,8})/g;
const QUOTE = /\\{0,4}["'`]/y;
const BARE = /[^\s"'`&<>\\]+/y;
/** A value that must be all that is left of its line is looked at no further than this: it is not stepped over. */
const BOUNDED = /[^\s"'`&<>\\]{1,512}/y;

const WORDS = new Set(['password', 'passwd', 'passphrase', 'secret', 'token', 'apikey', 'credential', 'credentials']);
const KEYS = new Set(['api', 'access', 'private', 'secret', 'auth', 'signing', 'encryption', 'account']);
const NO_SECRETS = /^(?:true|false|null|none|nil|undefined|required|optional|missing|string|number|boolean|unknown)$/i;
/** A reference, a placeholder, the rest of an operator, or a mask. */
const REFERENCE = /^(?:[$<[({*=:%]|(?:process\.env|os\.environ|env|secrets|vars)\b|[\w.]+\()/;
const LONGEST_NAME = 100;
/** More words than that are a sentence, not a pass phrase. */
const MOST_WORDS = 6;

/** Masks the values that are given to names which say password, secret, token or key: KEY=value, JSON, YAML, options. */
export function redactAssignments(text: string, mask: string): string {
  let out = '';
  let done = 0;
  NAMED.lastIndex = 0;
  for (let found = NAMED.exec(text); found !== null; found = NAMED.exec(text)) {
    const [, name = '', separator = ''] = found;
    if (!isSecretName(name)) continue;
    const value = valueAt(text, NAMED.lastIndex, separator);
    if (value === null || value.to - value.from < mask.length) continue;
    out += text.slice(done, value.from) + mask;
    done = value.to;
    NAMED.lastIndex = value.to;
  }
  return out + text.slice(done);
}

interface Span {
  readonly from: number;
  readonly to: number;
}

/** Where the secret behind a separator stands; null where none does. */
function valueAt(text: string, at: number, separator: string): Span | null {
  QUOTE.lastIndex = at;
  const [quote] = QUOTE.exec(text) ?? [];
  if (quote !== undefined) return quotedAt(text, at + quote.length, quote);
  if (REFERENCE.test(text.slice(at, at + LONGEST_NAME))) return null;
  const form = separator === '=' ? BARE : BOUNDED;
  form.lastIndex = at;
  const [bare] = form.exec(text) ?? [];
  if (bare === undefined) return null;
  const value = bare.replace(/[),;.\]}]{1,8}$/, '');
  const end = at + bare.length;
  if (NO_SECRETS.test(value)) return null;
  return separator === '=' || isSure(separator, value, text.slice(end, end + 9))
    ? { from: at, to: at + value.length }
    : null;
}

/**
 * In prose and code a colon says little, and a spaced sign less: the value must be all that is left of its line, and
 * behind a sign it must not be a mere word, such as the name of a variable.
 */
function isSure(separator: string, value: string, rest: string): boolean {
  if (value.length < 6 || !/^[ \t]{0,8}(?:[\r\n]|$)/.test(rest)) return false;
  return separator.trim() === ':' || /\d/.test(value);
}

function quotedAt(text: string, from: number, quote: string): Span | null {
  let to = text.indexOf(quote, from);
  if (quote.length === 1) while (to > from && isEscaped(text, to)) to = text.indexOf(quote, to + 1);
  if (to === -1) return null;
  const value = text.slice(from, to);
  const sentence = value.includes('\n') || value.split(/\s+/, MOST_WORDS + 1).length > MOST_WORDS;
  return sentence || NO_SECRETS.test(value) || REFERENCE.test(value.slice(0, LONGEST_NAME)) ? null : { from, to };
}

function isEscaped(text: string, at: number): boolean {
  let slashes = 0;
  while (text[at - slashes - 1] === '\\') slashes += 1;
  return slashes % 2 === 1;
}

/** By its last words: DB_PASSWORD, clientSecret, api-key; not max_tokens, passwordLength or tokenizer. */
function isSecretName(name: string): boolean {
  const words = name
    .slice(-LONGEST_NAME)
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z]+/)
    .filter((word) => word !== '');
  const [last = '', before = ''] = words.reverse();
  if (WORDS.has(last)) return true;
  if (last === 'key') return KEYS.has(before);
  return before !== '' && (last === 'pwd' || last === 'pass');
}
