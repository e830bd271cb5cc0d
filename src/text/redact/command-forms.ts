/** Replacement for a secret, no longer than the shortest secret, so that no text grows. */
export const MASK = '***';

/** Pattern for the part of a command line, of limited length, from the program to one of these options. */
function upTo(programs: string, options: string): string {
  return `(\\b(?:${programs})\\b[^\\r\\n;|&]{0,200}?\\s${options}["']?)`;
}

const ARGUMENT = `([^\\s"'$\\\\-][^\\s"'$\\\\]{2,})`;

function options(programs: string, names: string, value = ARGUMENT): RegExp {
  return new RegExp(upTo(programs, names) + value, 'g');
}

/**
 * Places where programs and their files contain a secret without a name and a separator: a text without which the pattern cannot
 * match, and the pattern, whose first group precedes the secret. It is created for the first text with the mark.
 */
const FORMS: ReadonlyArray<readonly [mark: string, pattern: () => RegExp]> = [
  // no space: `-p NAME` is a database
  [' -p', () => options('mysql\\w*|mariadb(?:-\\w+)?|7z\\w*', '-p')],
  [
    ' -p',
    () =>
      options(
        'mongo(?:sh|dump|restore|import|export)?|sshpass|(?:docker|podman|nerdctl|helm registry|az|oc|oras|crane) login|az login|cqlsh|twine upload',
        '-p[ \\t]{0,2}',
      ),
  ],
  [' -a', () => options('redis-cli|valkey-cli', '-a[ \\t]{1,2}')],
  [' -w', () => options('ldap\\w+', '-w[ \\t]{0,2}')],
  [' -P', () => options('zip|unzip|sqlcmd|bcp', '-P[ \\t]{0,2}')],
  [' -N', () => options('ssh-keygen', '-N[ \\t]{1,2}')],
  [' -k', () => options('nuget push|openssl enc', '-k[ \\t]{1,2}')],
  [' --auth', () => options('netlify', '--auth[ \\t=]{1,2}')],
  [' -a', () => options('https?|xh', '-a[ \\t]{1,2}', '([^\\s:"\'$]{1,100}:[^\\s"\'$\\\\]{3,})')],
  [' -b', () => options('curl', '-b[ \\t]{0,2}', '([\\w.-]{1,100}=[^\\r\\n"\'`\\\\]{4,})')],
  [' -U', () => options('smbclient|rpcclient', '-U[ \\t]{0,2}[^\\s%]{1,100}%')],
  [' -u', () => options('lftp', '-u[ \\t]{0,2}[^\\s,]{1,100},')],
  ['pass:', () => /(\s-(?:pass|passin|passout)[ \t]{1,2}pass:)([^\s"'$]{3,})/g],
  ['/p:', () => /(\s\/p:)([^\s"'$]{3,})/g],
  ['/user:', () => /(\s\/user:[^\s]{1,100}[ \t]{1,2})([^\s"'$/*-][^\s"'$]{2,})/g],
  [
    '--password-stdin',
    () => /(\becho[ \t]{1,4}(?:-n[ \t]{1,4})?["']?)([^\s"'$|]{3,})(?=["']?[ \t]{0,4}\|[^\r\n]{1,200}--password-stdin)/g,
  ],
  ['oracle:thin:', () => /(oracle:thin:[^\s/@]{1,100}\/)([^\s@]{3,512})(?=@)/g],
  ['sqlplus', () => /(\bsqlplus[ \t]{1,4}(?:-\w{1,2}[ \t]{1,4})?[^\s/@]{1,100}\/)([^\s@"']{3,})(?=@)/g],
  ['password', () => /(\blogin[ \t\r\n]{1,8}\S{1,100}[ \t\r\n]{1,8}password[ \t]{1,8})([^\s$]\S{2,})/g],
  [
    'password',
    // In prose, other words follow.
    () =>
      /(\bmachine[ \t]{1,8}[\w-]{1,60}\.[\w.-]{1,100}[ \t\r\n]{1,8}password[ \t]{1,8})([^\s$]\S{2,})(?=[ \t\r\n]{1,8}(?:login|account|machine|default|macdef|port)\b|[ \t]{0,8}(?:[\r\n#]|\\n|$)|(?<=["']))/g,
  ],
  ['Private-Lines', () => /(\bPrivate-Lines: \d{1,3}\r?\n)((?:[A-Za-z0-9+/=]{16,64}\r?\n?){1,400})/g],
  ['requirepass', () => /(\brequirepass[ \t]{1,8}"?)([^\s"$]{3,})/g],
  ['masterauth', () => /(\bmasterauth[ \t]{1,8}"?)([^\s"$]{3,})/g],
  [':', () => /(^[\w.*-]{1,100}:(?:5432|\*):[\w*-]{1,100}:[\w*.-]{1,100}:)(\S{3,})$/gm],
  [
    "'",
    () =>
      /(\b(?:identified(?:[ \t]{1,4}with[ \t]{1,4}\w{1,60})?[ \t]{1,4}by|(?:with|encrypted|(?:user|role)[ \t]{1,4}\S{1,60})[ \t]{1,4}password)[ \t]{1,4}')([^'\r\n]{3,200})(?=')/gi,
  ],
  ['"auth', () => /("auth"[ \t]{0,4}:[ \t]{0,4}")((?=[A-Za-z]{0,200}[\d+/=])[A-Za-z0-9+/]{12,}={0,2})(?=")/g],
];

/** Secrets as arguments: `-u user:password` of curl and the like. */
const USER_OPTION = /(\s(?:-u|--user|--proxy-user|-U)[ \t=]{0,4}["']?[^\s:"'$/\\]{0,100}:)(?!\/\/)([^\s"'$\\]{3,})/g;
/** Programs for which this option names a user and a group, a revision, or nothing. */
const OTHER_USERS =
  /\b(?:docker|podman|nerdctl|kubectl|tar|chown|install|pip3?|git|sort|rsync|sudo|su|ps|diff|runuser|chroot|gosu|socat)\b/;
const COMMAND_LENGTH = 200;

/** Masks secrets that programs take as arguments of short options, in statements, or as words of their files. */
export function redactCommands(text: string): string {
  let out = text;
  for (const [mark, pattern] of FORMS) if (out.includes(mark)) out = out.replace(pattern(), `$1${MASK}`);
  if (!out.includes('-u') && !out.includes('-U')) return out;
  return out.replace(USER_OPTION, (whole, head: string, _secret: string, at: number) => {
    const before = out.slice(Math.max(0, at - COMMAND_LENGTH), at);
    const command = before.slice(Math.max(...[...'\n;|&'].map((end) => before.lastIndexOf(end))) + 1);
    return OTHER_USERS.test(command) ? whole : head + MASK;
  });
}

/** Returns whether a list has a word. Not a set: creating the sets took every tool hook longer than all its searches. */
const isIn = (list: string, word: string): boolean => !word.includes(' ') && ` ${list} `.includes(` ${word} `);

/** Ends of words whose values are secrets, wherever the word is in a name: PGPASSWORD, SECRET_KEY_BASE, X-Auth-Token. */
const SECRET_WORD = /(?:passw(?:or)?d|passphrase|secret|token|credentials?|apikey|cookie|storepass|keypass)$/;
/** Words that mean a secret only as the last word of a longer name. */
const LAST_WORDS = 'pat pwd pw pass jwt otp sig signature auth';
const KEYS =
  'api access private secret auth signing encryption account master service admin deploy session app hmac license webhook jwt storage shared consumer subscription client';
/** Words after a secret's name that make it something else: PASSWORD_MIN_LENGTH, tokenUrl, secret_name. */
const HARMLESS_AFTER =
  'age algorithm banner budget class consent count cost domain enabled endpoint env expiration expired expires expiry field file format header helper hint id ids index input invalid issuer jar label length lifetime limit manager max min missing mode name names parser path per placeholder policy position prefix price provider rate ref required rotation schema scope scopes size store strategy timeout ttl type types uri url usage used valid validator version';
/** Words before `token` that make it a token of a language model, a page, or a design value. */
const HARMLESS_BEFORE =
  'bos class cls color colour continuation design end eos first font last mask next pad page per sep spacing start stop sync theme unk';
const FORM_OF_A_KEY = 'data base pem value raw';

export const LONGEST_NAME = 100;

const wordsOf = (name: string): string[] =>
  name
    .slice(-LONGEST_NAME)
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z]+/)
    .filter((word) => word !== '');

/** Pattern for the name of a source file, as reports print it before a message: `token.ts: 3 errors`. */
const SOURCE_FILE = /\.(?:[cm]?[jt]sx?|py|go|rs|rb|java|kt|php|cs|cpp|swift|sh|md)$/;

/** Returns whether a name is a secret's: DB_PASSWORD, PGPASSWORD, clientSecret, X-Api-Key; not max_tokens or passwordLength. */
export function isSecretName(name: string): boolean {
  if (SOURCE_FILE.test(name)) return false;
  const words = wordsOf(name);
  const at = words.findLastIndex((word) => SECRET_WORD.test(word));
  if (at !== -1 && words[at] === 'token' && isIn(HARMLESS_BEFORE, words[at - 1] ?? '')) return false;
  if (at !== -1) return !words.slice(at + 1).some((word) => isIn(HARMLESS_AFTER, word));
  if (/^(?:_auth|psk|pwd)$/i.test(name)) return true;
  while (words.length > 2 && isIn(FORM_OF_A_KEY, words.at(-1) ?? '')) words.pop();
  const [last = '', before = ''] = [words.at(-1), words.at(-2)];
  if (last === 'key') return isIn(KEYS, before);
  return before !== '' && isIn(LAST_WORDS, last);
}

const NO_SECRET =
  /^(?:true|false|yes|no|on|off|enabled|disabled|null|none|nil|undefined|required|optional|missing|include|same-origin|omit|string|str|text|bytes|buffer|number|boolean|unknown)[!?]?$/i;
/** Words that follow the name of an option or field in prose, and words for a value in usage texts. */
const PROSE =
  'and any are argument arguments as at auth authentication authorization bcrypt be by can cannot credentials docs empty field fields first flag flags for from given has have header headers identifier if in input instead into invalid is it its jwt kubernetes later may must name names needs not of on only oauth option options or over param parameter parameters prefix prompt requires scheme scrypt see session should store support supports text that the then this to token type value values vault via was when where which while will with without works';

/** Pattern for placeholders of secrets: YOUR_TOKEN_HERE, changeme, xxx, and `id=x,src=.env` of docker; for versions, dates, rules. */
const STAND_IN =
  /^(?:your[-_].{0,200}|id=.{0,200}|change[-_]?me|x{3,}|[*•.]{3,}|[\^~<>=v]{0,3}\d{1,4}(?:\.\d{1,6}){1,2}|\d{4}-\d\d-\d\d(?:T.{0,20})?|(?:required|nullable|string)\|.{0,200})$/i;
/** Pattern for a constant, and for a file with an extension. */
const NAME_OR_FILE = /^(?:[A-Z]+(?:_[A-Z]+)+|[~.\w-]*(?:\/[\w.-]+)+\.[a-z]{1,5})$/;
/** Pattern for members of objects in code: self.password, req.headers.authorization. */
const MEMBER = /^[A-Za-z_$]+(?:\??\.[A-Za-z_$]+)+$/;

/**
 * Returns whether a value is a word or an example or, if the name before it is given, code: `token = nextToken`,
 * `password: user.password`. The value of an environment variable is not code.
 */
export function isNoSecret(value: string, name = ''): boolean {
  if (NO_SECRET.test(value) || STAND_IN.test(value) || NAME_OR_FILE.test(value)) return true;
  // Prose does not put a sentence after the name of an environment variable.
  if (!/^[A-Z][A-Z\d_]*$/.test(name) && isIn(PROSE, value.toLowerCase())) return true;
  if (/[a-z]/.test(name) && MEMBER.test(value)) return true;
  return isNamedAlike(value, name);
}

/** Returns whether a value is a name that ends like its own: `--api-key KEY`, `token = nextToken`. */
export function isNamedAlike(value: string, name: string): boolean {
  return name !== '' && /^[A-Za-z_$]+$/.test(value) && wordsOf(value).at(-1) === wordsOf(name).at(-1);
}
