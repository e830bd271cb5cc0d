/** Replacement for a secret, no longer than the shortest masked one, so that a text never grows. */
const MASK = '***';

/** Patterns for keys and tokens anywhere in a text. Each begins at a boundary, so that nothing is read twice. */
const tokenForms = (): readonly RegExp[] => [
  /(?<!\w)(?:sk|rk)_(?:live|test)_\w{10,}/g,
  /(?<!\w)gh[oprsu]_[A-Za-z0-9]{20,}/g,
  /(?<!\w)github_pat_\w{20,}/g,
  /(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])/g,
  /(?<![\w-])xox[abeoprs]-[A-Za-z0-9-]{10,}/g,
  /(?<![\w-])xapp-[A-Za-z0-9-]{10,}/g,
  /(?<![\w-])glpat-[\w-]{20,}/g,
  /(?<!\w)npm_[A-Za-z0-9]{30,}/g,
  /(?<!\w)hf_[A-Za-z0-9]{30,}/g,
  /(?<![\w-])AIza[\w-]{35}/g,
  /(?<![\w-])eyJ[\w-]{8,}\.eyJ[\w-]{8,}(?:\.[\w-]*)?/g, // JSON web tokens
];
/** Beginnings of these tokens and of SK_KEY: compiling their expressions takes longer than reading most texts. */
const TOKEN_BEGINS = /_(?:live|test)_|gh[oprsu]_|github_pat_|A[KS]IA|xox|xapp-|glpat-|npm_|hf_|AIza|eyJ|(?<!\w)sk-/;

/** Pattern for sk- keys. Stylesheets have similar names: only a key has a long piece without a hyphen, and a digit. */
const SK_KEY = /(?<![\w-])sk-[\w-]{20,}/g;
const AUTHORIZATION =
  /(\bauthorization\\{0,4}["']?[ \t]{0,8}[:=][ \t]{0,8}\\{0,4}["']?(?:bearer|basic|token)[ \t]{1,8})[^\s"'`\\]{4,}/gi;
const BEARER = /(\bbearer[ \t]{1,8})([\w.~+/-]{16,}=*)/gi;
const URL_PASSWORD = /(:\/\/[^\s/:@"'`<>]*:)[^\s/"'`<>,]{3,}@/g;

/** Pattern that every secret of a form below matches, so that most texts need one check. */
const MAY_HOLD = /[=:]|[\w-]{14}|eyJ|[Bb][Ee][Aa][Rr][Ee][Rr]|-----BEGIN/;

/**
 * Masks secrets in a text: API keys and tokens of the common forms, bearer tokens, private key blocks, values with a name
 * that contains password, secret, token or key, and passwords in addresses. All other text stays byte for byte, and no text
 * grows. Takes linear time for any text. A secret without a known form or name is not recognised.
 */
export function redact(text: string): string {
  if (!MAY_HOLD.test(text)) return text;
  let out = redactKeyBlocks(text, MASK);
  if (TOKEN_BEGINS.test(out)) {
    for (const form of tokenForms()) out = out.replace(form, MASK);
    out = out.replace(SK_KEY, (found) => (/\d/.test(found) && /[A-Za-z0-9]{16}/.test(found) ? MASK : found));
  }
  if (/authorization|bearer/i.test(out)) {
    out = out
      .replace(AUTHORIZATION, `$1${MASK}`)
      .replace(BEARER, (whole, head: string, token: string) => (/\d/.test(token) ? head + MASK : whole));
  }
  if (out.includes('://')) out = out.replace(URL_PASSWORD, `$1${MASK}@`);
  return redactAssignments(out, MASK);
}

/** Masks secrets in every text of a record that is written as JSON, at any depth. */
export function redactRecord<T extends object>(record: T): T {
  return JSON.parse(JSON.stringify(record, (_key, value) => (typeof value === 'string' ? redact(value) : value))) as T;
}

const MARK = /-----(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g;
/** Pattern for key text; shorter texts between two marks are words in prose. */
const KEY_TEXT = /[A-Za-z0-9+/=]{16}/;
/** Pattern for text after an opening mark whose block was cut off: lines of the key, or line ends escaped by JSON. */
const CUT_OFF = /(?:[ \t]*(?:\\r)?(?:\\n|\r?\n)[ \t]*[A-Za-z0-9+/=]{16,})+/y;

/** Masks the text between the marks of a private key, and after a mark whose end was cut off. */
function redactKeyBlocks(text: string, mask: string): string {
  if (!text.includes('PRIVATE KEY')) return text;
  const marks = [...text.matchAll(MARK)];
  let out = '';
  let done = 0;
  for (const [index, mark] of marks.entries()) {
    if (mark[1] !== 'BEGIN') continue;
    const from = mark.index + mark[0].length;
    const next = marks[index + 1];
    const to = next?.[1] === 'END' ? next.index : endOfCutOff(text, from);
    if (!KEY_TEXT.test(text.slice(from, to))) continue;
    out += `${text.slice(done, from)}\n${mask}\n`;
    done = to;
  }
  return out + text.slice(done);
}

function endOfCutOff(text: string, from: number): number {
  CUT_OFF.lastIndex = from;
  return CUT_OFF.test(text) ? CUT_OFF.lastIndex : from;
}

/** Pattern for a name and its separator. The name begins at a boundary, so that a long word is read once. */
const NAMED = /(?<![\w.-])([\w.-]+)\\{0,4}["']?([ \t]{0,8}(?::=|=>|[:=])[ \t]{0,8})/g;
const QUOTE = /\\{0,4}["'`]/y;
const BARE = /[^\s"'`&<>\\]+/y;
/** Pattern for a value that must be the rest of its line, up to a maximum length. */
const BOUNDED = /[^\s"'`&<>\\]{1,512}/y;

const WORDS = new Set(['password', 'passwd', 'passphrase', 'secret', 'token', 'apikey', 'credential', 'credentials']);
const KEYS = new Set(['api', 'access', 'private', 'secret', 'auth', 'signing', 'encryption', 'account']);
const NO_SECRETS = /^(?:true|false|null|none|nil|undefined|required|optional|missing|string|number|boolean|unknown)$/i;
/** Pattern for a reference, a placeholder, the rest of an operator, or a mask. */
const REFERENCE = /^(?:[$<[({*=:%]|(?:process\.env|os\.environ|env|secrets|vars)\b|[\w.]+\()/;
const LONGEST_NAME = 100;
/** Maximum number of words of a pass phrase; more are a sentence. */
const MOST_WORDS = 6;

/** Masks the values of names that contain password, secret, token or key: KEY=value, JSON, YAML, options. */
function redactAssignments(text: string, mask: string): string {
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

/** Returns the range of the secret after a separator; null if there is none. */
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

/** Returns whether a value is a secret. After a colon, common in prose, it must end its line and be more than a word. */
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

/** Returns whether a name ends like a secret's: DB_PASSWORD, clientSecret, api-key; not max_tokens or passwordLength. */
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
