/** Ends of words whose values are secrets, wherever the word stands in a name: PGPASSWORD, SECRET_KEY_BASE, X-Auth-Token. */
const SECRET_WORD = /(?:passw(?:or)?d|passphrase|secret|token|credentials?|apikey|cookie|storepass|keypass)$/;
/** Words that are secrets as the last one of a longer name. */
const LAST_WORDS = new Set(['pat', 'pwd', 'pass', 'jwt', 'otp', 'sig', 'signature', 'auth']);
const KEYS = new Set(
  'api access private secret auth signing encryption account master service admin deploy session app hmac license webhook jwt storage shared consumer subscription client'.split(
    ' ',
  ),
);
/** Words behind a secret's that make it another thing: PASSWORD_MIN_LENGTH, tokenUrl, secret_name. */
const HARMLESS_AFTER = new Set(
  'age algorithm banner budget class consent count cost domain enabled endpoint env expiration expired expires expiry field file format header hint id ids index input invalid issuer label length lifetime limit manager max min missing mode name names parser path per placeholder policy position prefix price provider rate ref required rotation schema scope scopes size store strategy timeout ttl type types uri url usage used valid validator version'.split(
    ' ',
  ),
);
/** Words before `token` that make it a word of a language model, a page, or a value of a design. */
const HARMLESS_BEFORE = new Set(
  'bos class cls color colour continuation design end eos first font last mask next pad page per sep spacing start stop sync theme unk'.split(
    ' ',
  ),
);
const FORM_OF_A_KEY = new Set(['data', 'base', 'pem', 'value', 'raw']);

export const LONGEST_NAME = 100;

const wordsOf = (name: string): string[] =>
  name
    .slice(-LONGEST_NAME)
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z]+/)
    .filter((word) => word !== '');

/** Returns whether a name is a secret's: DB_PASSWORD, PGPASSWORD, clientSecret, X-Api-Key; not max_tokens or passwordLength. */
export function isSecretName(name: string): boolean {
  const words = wordsOf(name);
  const at = words.findLastIndex((word) => SECRET_WORD.test(word));
  if (at !== -1 && words[at] === 'token' && HARMLESS_BEFORE.has(words[at - 1] ?? '')) return false;
  if (at !== -1) return !HARMLESS_AFTER.has(words[at + 1] ?? '');
  if (name === '_auth' || name === 'pwd' || name === 'psk') return true;
  while (words.length > 2 && FORM_OF_A_KEY.has(words.at(-1) ?? '')) words.pop();
  const [last = '', before = ''] = [words.at(-1), words.at(-2)];
  if (last === 'key') return KEYS.has(before);
  return before !== '' && LAST_WORDS.has(last);
}

const NO_SECRET =
  /^(?:true|false|yes|no|on|off|enabled|disabled|null|none|nil|undefined|required|optional|missing|string|str|text|bytes|buffer|number|boolean|unknown)[!?]?$/i;
/** Pattern for what stands for a secret: YOUR_TOKEN_HERE, changeme, xxx, and `id=x,src=.env` of docker. */
const STAND_IN = /^(?:your[-_].{0,200}|id=.{0,200}|change[-_]?me|x{3,}|[*•.]{3,})$/i;
/** Pattern for members of objects in code: self.password, req.headers.authorization. */
const MEMBER = /^[A-Za-z_$]+(?:\??\.[A-Za-z_$]+)+$/;

/**
 * Returns whether a value is a word or an example; or code, if the name before it is given: `token = nextToken`,
 * `password: user.password`. The value of an environment variable is no code.
 */
export function isNoSecret(value: string, name = ''): boolean {
  if (NO_SECRET.test(value) || STAND_IN.test(value)) return true;
  if (name === 'pwd' && /^(?:[~./]|[A-Z]:)/.test(value)) return true;
  if (/[a-z]/.test(name) && MEMBER.test(value)) return true;
  return name !== '' && /^[A-Za-z_$]+$/.test(value) && wordsOf(value).at(-1) === wordsOf(name).at(-1);
}
