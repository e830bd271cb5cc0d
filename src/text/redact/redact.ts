import { isNamedAlike, isNoSecret, isSecretName, LONGEST_NAME, MASK, redactCommands } from './command-forms.ts';
import { tokenForms } from './token-forms.ts';

/** Pattern for sk- keys. Stylesheets have similar names: only a key has a long part without a hyphen, and a digit. */
const SK_KEY = /(?<![\w-])sk-[\w-]{20,}/g;
/** Pattern for a signed token, and for an encrypted one with its five parts. */
const JSON_WEB_TOKEN = /(?<![\w-])eyJ[\w-]{8,}\.(?:eyJ[\w-]{8,}(?:\.[\w-]*)?|[\w-]*(?:\.[\w-]{8,}){3})/g;
const HEADER =
  /(\b(?:proxy-)?authorization\\{0,4}["']?[ \t]{0,8}[:=][ \t]{0,8}\\{0,4}["']?)((?:bearer|basic|token|digest|negotiate|apikey|key|ssws|aws4-hmac-sha256)[ \t]{1,8}[^\s"'`\\]{4,}|(?=[^\s\d"'`\\]{0,60}\d)[^\s"'`\\]{12,})/gi;
const SCHEME = /^[a-z][\w-]*[ \t]+/i;
const COOKIES =
  /(?<![\w-])((?:set-)?cookie\\{0,4}["']?[ \t]{0,8}:[ \t]{0,8}\\{0,4}["']?)([\w.-]{1,100}=[^\r\n"'`\\]{4,})/gi;
/** Pattern for the form of a cookie (`name=value`, `session=<id>`), and for its description. */
const NO_COOKIE =
  /^\s*(?:[\w.-]{1,100}=(?:value\b|[<${(])[^=]*|(?:path|domain|max-age|expires|samesite)=.*|httponly|secure|partitioned)\s*$/i;
const BEARER = /(\bbearer,?[ \t]{1,8})([\w.~+/-]{16,}=*)/gi;
const URL_PASSWORD =
  /(:\/\/[^\s/:@"'`<>]*:)(?![${][^\s/@]*@|\d{1,5},[\w.-]{1,100}:\d|(?<=\.[a-z]{2,20}:)\d{1,5},)[^\s/"'`<>]{3,}@/g;
/** Pattern for a user in an address that is itself a token. */
const URL_TOKEN = /(:\/\/)((?=[^\s/:@"'`<>]{0,40}\d)[\w.~-]{20,})(?=@)/g;
/** Addresses whose path is the secret: webhooks of chats and callbacks, and bots. */
const WEBHOOK =
  /(\/\/hooks\.slack\.com\/(?:services|workflows|triggers)\/|\/\/(?:\w+\.)?discord(?:app)?\.com\/api\/(?:v\d+\/)?webhooks\/\d{5,}\/|\/\/(?:[\w-]+\.webhook\.office\.com\/webhookb2|outlook\.office\.com\/webhook)\/|\/\/api\.telegram\.org\/bot|\/\/hooks\.zapier\.com\/hooks\/catch\/|\/\/chat\.googleapis\.com\/v1\/spaces\/|\/\/maker\.ifttt\.com\/[^\s"'`]{1,100}\/key\/)[^\s"'`<>)\]]{8,}/g;
const HOOK = /(\/(?:hooks?|webhooks?)\/)((?=[^\s"'`/]{0,60}\d)[\w-]{20,})/g;
const QUERY_SIGNATURE =
  /([?&](?:(?:x-(?:amz|goog)-(?:signature|security-token)|sig|signature|code|key|auth)=(?=[^\s&"'`<>]{0,200}\d)|pwd=))[^\s&"'`<>]{8,}/gi;
/** An XML element, whose name says what its text is. */
const ELEMENT = /(<([\w.:-]{4,60})(?:\s[^<>]{0,100})?>)([^<>\s]{3,200})(?=<\/\2>)/g;
/** A setting as in Kubernetes, Compose, task definitions and files of .NET and Java: a name, then its value. */
const PAIR =
  /(?<![\w-])["']?(?:name|key)["']?[ \t]{0,8}[:=][ \t]{0,8}["']?([\w.-]{3,100})["']?(?:[, \t]|\r?\n){1,60}["']?value["']?[ \t]{0,8}[:=][ \t]{0,8}(?=\S)/gi;
/** Value of a pair whose name is not an environment variable's: a step of a test and its result, a setting. */
const FIGURE_OR_WORDS = /^(?:\d{1,5}|[a-z]+(?:-[a-z]+)+)$/;
/** Pattern for an option with its value after a space, `--password x`, and for a setting: `aws configure set NAME x`. */
const OPTION =
  /(?:(?<![\w-])--?(?=[a-z][\w-]{3})([a-z][\w-]{2,60})|\b(?:config|configure|secret|env|variable)[ \t]{1,4}set[ \t]{1,4}([\w./:-]{4,100})(?:[ \t]{1,4}(?:-b|--body|--value))?|\b(?:set[ \t]{1,4}-[a-z]{1,3}|setx|setenv|ENV)[ \t]{1,4}(\w{4,100}))[ \t]{1,4}(?=[^\s-])/gi;
/** Pattern for a call that sets what its first argument names, `setenv("NAME", "value")`, and for aligned columns of names and values. */
const SET =
  /\b(?:(?:[sS]et|put)(?:_?[eE]nv|Item|default|_var|Property|EnvironmentVariable|_property)?|define)\(["']([\w.-]{3,100})["'],[ \t]{0,4}(?=["'`])|^[ \t]{0,8}([A-Z][A-Z\d_]{3,100})(?:\t|[ \t]{2,60})(?=(?=[^\s\d]{0,99}\d)[^\s|]{8,200}[ \t]{0,8}$)/gm;
const COLOUR = /\u001b\[[0-9;:]*m/g;

/** Pattern that every secret of a form below matches, so that most texts need only one check. */
const MAY_HOLD =
  /[=:|]|[\w-]{14}|eyJ|[Bb][Ee][Aa][Rr][Ee][Rr]|-----BEGIN|(?:^|\s)-[\w-]|<\/|["']|\b(?:login|machine|ENV|set\w{0,3}|requirepass|masterauth|sqlplus)\s|[A-Z](?:\t| {2})|---/;

/** Pattern for a word of the minimum length of all tokens of known forms. */
const LONG_WORD = /[\w.~+/%=-]{14}/;
/** Pattern that every name of a secret matches; only such texts are compared with the words of names. */
const MAY_NAME = /pass|secret|token|credential|key|cookie|auth|pat|pw|jwt|otp|sig|psk/i;

/** An instant or a loop's id: every record has these, and they only look as if they could contain a secret. */
const PLAIN = /^(?:\d{4}-\d\d-\d\dT[\d:.]{8,12}Z|loop-[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})$/;

/**
 * Masks secrets in a text: API keys and tokens of known forms, bearer tokens, cookies, private key blocks, values whose name
 * contains password, secret, token or the like, arguments of options that take one, and passwords and tokens in addresses.
 * All other text stays byte for byte, except that a text with a secret loses its colours, which can split a secret. No text
 * grows. Takes linear time for any text. A secret without a known form or name is not recognised.
 */
export function redact(text: string): string {
  if (!text.includes('\u001b')) return redactPlain(text);
  const plain = text.replace(COLOUR, '');
  const masked = redactPlain(plain);
  return masked === plain ? text : masked;
}

function redactPlain(text: string): string {
  if (PLAIN.test(text) || !MAY_HOLD.test(text)) return text;
  let out = redactKeyBlocks(text);
  if (LONG_WORD.test(out)) {
    for (const { mark, pattern } of tokenForms()) {
      if (out.includes(mark)) out = out.replace(new RegExp(pattern, 'g'), MASK);
    }
  }
  if (out.includes('eyJ')) out = out.replace(JSON_WEB_TOKEN, MASK);
  if (out.includes('sk-'))
    out = out.replace(SK_KEY, (found) => (/\d/.test(found) && /[A-Za-z0-9]{16}/.test(found) ? MASK : found));
  if (/authorization|bearer|cookie/i.test(out)) {
    out = out
      .replace(HEADER, (whole, head: string, value: string) => {
        const [scheme = ''] = SCHEME.exec(value) ?? [];
        const secret = value.slice(scheme.length);
        return REFERENCE.test(secret) || isNoSecret(secret, 'authorization') ? whole : head + scheme + MASK;
      })
      .replace(BEARER, (whole, head: string, token: string) => (/\d/.test(token) ? head + MASK : whole))
      .replace(COOKIES, (whole, head: string, value: string) =>
        value.split(';').every((pair) => NO_COOKIE.test(pair)) ? whole : head + MASK,
      );
  }
  if (out.includes('://')) {
    const forms = [URL_TOKEN, WEBHOOK, HOOK, QUERY_SIGNATURE];
    out = forms.reduce((text, form) => text.replace(form, `$1${MASK}`), out.replace(URL_PASSWORD, `$1${MASK}@`));
  }
  if (out.includes('</')) {
    out = out.replace(ELEMENT, (whole, head: string, name: string, value: string) =>
      isSecretName(name) && !isNoSecret(value) && !REFERENCE.test(value) ? head + MASK : whole,
    );
  }
  out = redactCommands(out);
  if (!MAY_NAME.test(out)) return out;
  out = redactAfter(redactAfter(out, OPTION, '='), SET, '=');
  if (/\bvalue\b/i.test(out)) out = redactAfter(out, PAIR, ':');
  return redactAssignments(/(?:^|\s)\|\s|^[ |+:-]*-{3}/m.test(out) ? redactTables(out) : out);
}

/** Pattern for the line between a table's head and its rows, in Markdown and in database output. */
const RULE = /^[\s|+:-]{3,}$/;
/** Pattern for a cell that may be a secret: a word with a letter and a digit, but not a date, type or number. */
const CELL = /(?<=^\s*`?)(?!\d{4}-\d\d-\d\d|\w+\()(?=[^\s\d]*\d)(?=[^\sA-Za-z]*[A-Za-z])[^\s`]{8,}(?=`?\s*$)/;

/** Pattern for a cell that holds a name. */
const NAME_CELL = /^\s*`?([\w.-]{3,60})`?\s*$/;

/** Masks the secrets in tables: below the name of one, and in the cell beside it. */
function redactTables(text: string): string {
  let above: readonly boolean[] = [];
  let secret: readonly boolean[] = [];
  const lines = text.split('\n').map((line) => {
    if (line.includes('---') && RULE.test(line)) secret = above;
    else if (!/\S/.test(line) || line.startsWith('(')) secret = [];
    const cells = line.split(/(?<!\S)\|(?!\S)/);
    above = cells.map((cell) => MAY_NAME.test(cell) && isSecretName(NAME_CELL.exec(cell)?.[1] ?? ''));
    if (![...secret, ...above].includes(true)) return line;
    const masked = cells.map((cell, at) =>
      (secret[at] || above[at - 1]) && !isNoSecret(cell.trim()) ? cell.replace(CELL, MASK) : cell,
    );
    return masked.join('|');
  });
  return lines.join('\n');
}

/** Masks the values after a form that names them in one of its groups. */
function redactAfter(text: string, form: RegExp, separator: '=' | ':'): string {
  let out = '';
  let done = 0;
  for (const found of text.matchAll(form)) {
    const [whole, ...names] = found;
    const name = names.find((one) => one !== undefined) ?? '';
    if (found.index < done || !isSecretName(name)) continue;
    const value = valueAt(text, found.index + whole.length, separator, name);
    if (value === null || value.to - value.from < MASK.length) continue;
    if (form === PAIR && /[a-z]/.test(name) && FIGURE_OR_WORDS.test(text.slice(value.from, value.to))) continue;
    out += text.slice(done, value.from) + MASK;
    done = value.to;
  }
  return out + text.slice(done);
}

/** Masks secrets in every text, at any depth, of a record that is written as JSON. */
export function redactRecord<T extends object>(record: T): T {
  return JSON.parse(JSON.stringify(record, (_key, value) => (typeof value === 'string' ? redact(value) : value))) as T;
}

const MARK = /-----(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g;
/** Pattern for key text; shorter texts between two marks are words in prose. */
const KEY_TEXT = /[A-Za-z0-9+/=]{16}/;
/** Pattern for text after an opening mark whose block was cut off: lines of the key, or line ends escaped by JSON. */
const CUT_OFF = /(?:[ \t]*(?:\\r)?(?:\\n|\r?\n)[ \t]*[A-Za-z0-9+/=]{16,})+/y;

/** Masks the text between the marks of a private key, and after a mark whose end was cut off. */
function redactKeyBlocks(text: string): string {
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
    out += `${text.slice(done, from)}\n${MASK}\n`;
    done = to;
  }
  return out + text.slice(done);
}

function endOfCutOff(text: string, from: number): number {
  CUT_OFF.lastIndex = from;
  return CUT_OFF.test(text) ? CUT_OFF.lastIndex : from;
}

/** Pattern for a name and its separator. The name begins at a boundary, so that a long word is read once. */
const NAMED =
  /(?<![\w.-])([\w.-]+)\\{0,4}(?:["']\]?)?(?:: [&\w.[\]<>| ]{1,40}(?== ?["'`]))?((?:[ \t]is)?[ \t]{0,8}(?::=|=>|\|\|=|\?\?=|[:=])[ \t]{0,8})/g;
const QUOTE = /\\{0,4}(?:"""|'''|["'`])/y;
/** Pattern for a value on the next line, including a YAML block. */
const BELOW =
  /(?:[|>][+-]?[ \t]*)?(?:\r?\n[ \t]*){1,3}((?=[^\s\d]*\d)(?=[^\sA-Za-z]*[A-Za-z])[\w+/=.~!@#$%^&*-]{10,200})(?=[ \t]*(?:[\r\n]|$))/y;
/** Pattern for a value up to its end, so that a list of values is read only once. */
const BARE = /(?:(?![,;][\w.$]{1,60}[=:})])[^\s"'`&<>\\])+/y;
/** Pattern for the end of a value in code and lists of settings: `a=1,b=2`. */
const NEXT_NAME = /[,;](?=[\w.$]{1,60}[=:})])/;
/** Pattern for a value that must be the rest of its line, up to a maximum length. */
const BOUNDED = /[^\s"'`&<>\\]{1,512}/y;

/** Pattern for a reference, a placeholder, the rest of an operator, or a mask. */
const REFERENCE = /^(?:[$<[({*=:%]|(?:process\.env|os\.environ|env|secrets|vars)\b|[\w.]+(?:\(|\[\w+\]))/;
/** Pattern for a message about a field of this name. */
const SAYS = /^(?:is|must|has|should|cannot|does|needs) /;
/** Maximum number of words of a pass phrase; more are a sentence. */
const MOST_WORDS = 6;

/** Masks the values of names that contain password, secret, token or key: KEY=value, JSON, YAML, options. */
function redactAssignments(text: string): string {
  let out = '';
  let done = 0;
  NAMED.lastIndex = 0;
  for (let found = NAMED.exec(text); found !== null; found = NAMED.exec(text)) {
    const [, name = '', separator = ''] = found;
    const [, word = ''] = WORD_BEFORE.exec(text.slice(Math.max(0, found.index - LONGEST_WORD), found.index)) ?? [];
    const isPhrase = !isSecretName(name) && word !== '' && isSecretName(`${word}_${name}`);
    if (!isPhrase && !isSecretName(name)) continue;
    if (/^pwd$/i.test(name) && text[found.index - 1] !== ';' && FOLDER.test(text.slice(NAMED.lastIndex))) continue;
    const value = valueAt(text, NAMED.lastIndex, separator, name);
    if (value === null || value.to - value.from < MASK.length) continue;
    const secret = text.slice(value.from, value.to);
    // `API key: 0123…` in prose, and `unexpected token: identifier`.
    if (isPhrase && !/\d/.test(secret)) continue;
    if (/token$/i.test(name) && OF_A_PARSER.test(word) && /^[a-z]+$/i.test(secret)) continue;
    out += text.slice(done, value.from) + MASK;
    done = value.to;
    NAMED.lastIndex = value.to;
  }
  return out + text.slice(done);
}

/** Pattern for a folder, as in the shell's PWD; that of a connection string is a password. */
const FOLDER = /^\\{0,4}["'`]?(?:[\w-]{0,100}[~./]|[A-Z]:|pwd\b)/;
/** Pattern for the word before a name, as in `API key`, and the maximum length of the word with the blank. */
const WORD_BEFORE = /(?<![\w.-])([a-z]+)[ \t]$/i;
const LONGEST_WORD = 16;
/** Words that make a token one of a parser. */
const OF_A_PARSER = /^(?:unexpected|expected|illegal|unknown|next|current|last|previous)$/i;
/** Pattern for prose about a secret: `token: expired`, `password: hashed`, `token: refreshes before use`. */
const SAID_OF_IT =
  /^(?:re)?(?:accept|add|cach|chang|creat|delet|encrypt|expir|fail|factor|fresh|generat|hash|hidden|ignor|issu|ject|mask|dact|mov|nam|pars|pass|reject|revok|rotat|skipp|stor|updat|us|validat|verifi|writ)(?:e[ds]?|ing|ion|es|ed|s)?$/i;

interface Span {
  readonly from: number;
  readonly to: number;
}

/** Returns the range of the secret after a separator; null if there is none. */
function valueAt(text: string, at: number, separator: string, name = ''): Span | null {
  QUOTE.lastIndex = at;
  const [quote] = QUOTE.exec(text) ?? [];
  if (quote !== undefined) return quotedAt(text, at + quote.length, quote, name);
  BELOW.lastIndex = at;
  const [, below] = (separator.trim() === ':' && BELOW.exec(text)) || [];
  if (below !== undefined && !isNoSecret(below, name))
    return { from: BELOW.lastIndex - below.length, to: BELOW.lastIndex };
  if (REFERENCE.test(text.slice(at, at + LONGEST_NAME))) return null;
  const form = separator === '=' ? BARE : BOUNDED;
  form.lastIndex = at;
  const [bare] = form.exec(text) ?? [];
  if (bare === undefined) return null;
  const [first = ''] = bare.split(NEXT_NAME, 1);
  const value = first.replace(/[),;.\]}]{1,8}$/, '');
  const end = at + bare.length;
  if (isNoSecret(value, name)) return null;
  return separator === '=' || isSure(separator, value, text.slice(end, end + 9))
    ? { from: at, to: at + value.length }
    : null;
}

/** Returns whether a value is a secret. After a colon, common in prose, it must end its line or a quotation and be more than a word. */
function isSure(separator: string, value: string, rest: string): boolean {
  if (value.length < 6 || !/^(?:[ \t]{0,8}(?:[\r\n]|$)|\\{0,4}["'])/.test(rest)) return false;
  return separator.trim() === ':' ? !(separator !== ':' && SAID_OF_IT.test(value)) : /\d/.test(value);
}

function quotedAt(text: string, from: number, quote: string, name: string): Span | null {
  let to = text.indexOf(quote, from);
  if (quote.length === 1) while (to > from && isEscaped(text, to)) to = text.indexOf(quote, to + 1);
  if (to === -1) return null;
  const value = text.slice(from, to);
  const words = value.split(/\s+/, MOST_WORDS + 1);
  const sentence = value.includes('\n') || words.length > MOST_WORDS || SAYS.test(value);
  return sentence || isNoSecret(value) || isNamedAlike(value, name) || REFERENCE.test(value.slice(0, LONGEST_NAME))
    ? null
    : { from, to };
}

function isEscaped(text: string, at: number): boolean {
  let slashes = 0;
  while (text[at - slashes - 1] === '\\') slashes += 1;
  return slashes % 2 === 1;
}
