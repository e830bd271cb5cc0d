import { redactAssignments } from './redact-assignments.ts';
import { redactKeyBlocks } from './redact-key-blocks.ts';

/** What stands in a secret's place: no longer than the shortest that is masked, so that a text never grows. */
const MASK = '***';

/** Forms by which a key or a token is known wherever it stands. Each begins at a boundary, so that nothing is read twice. */
const TOKENS: readonly RegExp[] = [
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

/** Stylesheets have names that begin so, too: only a key has a long piece without a hyphen, and a digit. */
const SK_KEY = /(?<![\w-])sk-[\w-]{20,}/g;
const AUTHORIZATION =
  /(\bauthorization\\{0,4}["']?[ \t]{0,8}[:=][ \t]{0,8}\\{0,4}["']?(?:bearer|basic|token)[ \t]{1,8})[^\s"'`\\]{4,}/gi;
const BEARER = /(\bbearer[ \t]{1,8})([\w.~+/-]{16,}=*)/gi;
const URL_PASSWORD = /(:\/\/[^\s/:@"'`<>]*:)[^\s/"'`<>,]{3,}@/g;

/**
 * The same text with what looks like a secret masked: API keys and tokens of the common forms, bearer tokens, private key
 * blocks, values given to a name that says password, secret, token or key, and passwords in addresses. Everything else
 * stays byte for byte, and no text grows. Takes time in proportion to the text, whatever it holds. A secret without a
 * known form or name is not seen.
 */
export function redact(text: string): string {
  let out = redactKeyBlocks(text, MASK);
  for (const form of TOKENS) out = out.replace(form, MASK);
  out = out
    .replace(SK_KEY, (found) => (/\d/.test(found) && /[A-Za-z0-9]{16}/.test(found) ? MASK : found))
    .replace(AUTHORIZATION, `$1${MASK}`)
    .replace(BEARER, (whole, head: string, token: string) => (/\d/.test(token) ? head + MASK : whole))
    .replace(URL_PASSWORD, `$1${MASK}@`);
  return redactAssignments(out, MASK);
}

/** The same for every text within a record that is written as JSON, whatever its depth. */
export function redactRecord<T extends object>(record: T): T {
  return JSON.parse(JSON.stringify(record, (_key, value) => (typeof value === 'string' ? redact(value) : value))) as T;
}
