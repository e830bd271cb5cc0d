import assert from 'node:assert/strict';
import { test } from 'node:test';
import { redact, redactRecord } from '../../../../src/text/redact/redact.ts';
import { IS_LONG } from '../../../support/short-form.ts';

const A36 = 'aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF3gH6';
const BASE64 = 'MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj';

/** Each text, and what must be left of it. */
const MASKED: readonly [what: string, text: string, left: string][] = [
  ['an OpenAI key', `key sk-proj-${A36}-x_y ok`, 'key *** ok'],
  ['an Anthropic key', `sk-ant-api03-${A36}${A36}AA`, '***'],
  ['a Stripe key', `sk_live_${A36}.`, '***.'],
  ['GitHub tokens', `ghp_${A36} gho_${A36} ghs_${A36}`, '*** *** ***'],
  ['a fine-grained GitHub token', `(github_pat_11ABCDE_${A36})`, '(***)'],
  ['an AWS key id', 'id AKIAIOSFODNN7EXAMPLE,', 'id ***,'],
  ['Slack tokens', `xoxb-123456789012-${A36} xapp-1-${A36}`, '*** ***'],
  ['a GitLab token', 'glpat-aB3dE6gH9jK2mN5pQ8sT', '***'],
  ['an npm token', `npm_${A36}`, '***'],
  ['a Google key', 'AIzaSyA1234567890abcdefghijklmnopqrstuv', '***'],
  ['a JSON web token', 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P', '***'],
  ['an Authorization header', 'Authorization: Bearer abcdefgh', 'Authorization: Bearer ***'],
  ['a header as a program prints it', `{"authorization":"Basic dXNlcjpwYXNz"}`, '{"authorization":"Basic ***"}'],
  ['a bearer token elsewhere', `curl -H 'bearer ${A36}'`, "curl -H 'bearer ***'"],
  ['a password in an address', 'postgres://app:p@ss:w0rd@db:5432/x', 'postgres://app:***@db:5432/x'],
  ['a password without a user', 'redis://:hunter22@cache', 'redis://:***@cache'],
  ['an environment variable', 'DB_PASSWORD=hunter2 node x', 'DB_PASSWORD=*** node x'],
  ['an exported one', "export GITHUB_TOKEN='abc def'", "export GITHUB_TOKEN='***'"],
  ['one at the end of a sentence', 'set API_KEY=abc123.', 'set API_KEY=***.'],
  ['an option', '--password=hunter2 --client-secret=xyz123', '--password=*** --client-secret=***'],
  ['a query', 'GET /cb?access_token=abc123&state=1', 'GET /cb?access_token=***&state=1'],
  ['JSON', '{"apiKey": "abc123", "a": 1}', '{"apiKey": "***", "a": 1}'],
  ['JSON with an escaped quote', '{"password":"a\\"b","c":"d"}', '{"password":"***","c":"d"}'],
  ['JSON within JSON', '{"x":"{\\"password\\":\\"abc\\"}"}', '{"x":"{\\"password\\":\\"***\\"}"}'],
  ['YAML', 'db:\n  password: hunter2\n  host: x\n', 'db:\n  password: ***\n  host: x\n'],
  ['an ini file', 'secret_key = abcdef9\r\n', 'secret_key = ***\r\n'],
  ['code', 'const clientSecret = "abc123";', 'const clientSecret = "***";'],
  ['Go', 'apiKey := "abc123"', 'apiKey := "***"'],
  ['a hash of Ruby', ":password => 'abc123'", ":password => '***'"],
  ['a value within a value', 'cmd="TOKEN=abc123 run"', 'cmd="TOKEN=*** run"'],
  [
    'a private key',
    `a\n-----BEGIN RSA PRIVATE KEY-----\n${BASE64}\n${BASE64}\n-----END RSA PRIVATE KEY-----\nb`,
    'a\n-----BEGIN RSA PRIVATE KEY-----\n***\n-----END RSA PRIVATE KEY-----\nb',
  ],
  [
    'a private key that was cut off',
    `-----BEGIN PRIVATE KEY-----\n${BASE64}\n${BASE64}\nThe log goes on.`,
    '-----BEGIN PRIVATE KEY-----\n***\n\nThe log goes on.',
  ],
  [
    'a private key on one line of JSON',
    `"-----BEGIN EC PRIVATE KEY-----\\n${BASE64}\\n-----END EC PRIVATE KEY-----\\n"`,
    '"-----BEGIN EC PRIVATE KEY-----\n***\n-----END EC PRIVATE KEY-----\\n"',
  ],
];

for (const [what, text, left] of MASKED) {
  test(`Masks the secret in ${what} and changes nothing else.`, () => {
    assert.equal(redact(text), left);
    assert.equal(redact(left), left, 'a masked text stays as it is');
    assert.ok(redact(text).length <= text.length, 'no text grows');
  });
}

const KEPT = [
  'max_tokens=4096 outputTokens: 123456 token_count=10',
  'PASSWORD_MIN_LENGTH=8 passwordLength = 12',
  'tokenizer=bert-base-uncased secretary=Anna Karenina',
  'Unexpected token: } in JSON at position 3',
  'SyntaxError: Invalid or unexpected token',
  'password: must have at least eight characters',
  'Password: required',
  'if (token === expected) return token == null;',
  'const token = await getToken(request);',
  'const token = nextToken;',
  'items.map((secret) => secret.name).filter(token => isOpen)',
  'login(password=get_password(), user=1)',
  'TOKEN=$GITHUB_TOKEN PASSWORD=${DB_PASSWORD} SECRET=$(cat x)',
  'token: ${{ secrets.GITHUB_TOKEN }}',
  'apiKey: process.env.API_KEY',
  '"password": "Please enter the password that you chose when you signed up."',
  '"token": "required"',
  'PWD=/home/ada/project OLDPWD=/home/ada',
  'the class sk-folding-cube-animation-2-fast has no style',
  'http://localhost:3000/users/ada@example.com',
  'https://example.com:8080/a:b@c',
  'ada@example.com: see ssh://git@github.com/a/b.git',
  'the Bearer authentication-scheme-of-old',
  'begins with -----BEGIN PRIVATE KEY----- and ends with -----END PRIVATE KEY-----',
  'grep -r "-----BEGIN PRIVATE KEY-----" src',
  'AKIA and ghp_ and sk- and eyJ are prefixes',
  'commit 3b18e512dba79e4c8300dd08aeb37f8e728b8dad',
  'password=',
  'password=""',
  '',
];

for (const text of KEPT) {
  test(`Leaves ordinary text: ${text.slice(0, 60)}`, () => assert.equal(redact(text), text));
}

test('Masks every text within a record and keeps other values.', () => {
  const record = { a: [{ preview: 'TOKEN=abcdef', n: 1 }], b: null, c: true, d: 'x' };
  assert.deepEqual(redactRecord(record), { a: [{ preview: 'TOKEN=***', n: 1 }], b: null, c: true, d: 'x' });
});

/** A reader that goes back to the start of a run at each of its places would not come to the end of these. */
const HOSTILE = [
  'a',
  ' ',
  '-',
  '"',
  'token:',
  'token=',
  'token=$',
  'token="',
  'token=\\"',
  'token="\\"',
  'token= "\n',
  '\\',
  'password',
  'eyJaaaaaaaaaa.',
  'sk-',
  '://a:',
  '://a:b',
  '-----BEGIN PRIVATE KEY-----',
  '-----BEGIN PRIVATE KEY-----\nAAAAAAAAAAAAAAAAAAAA',
  '-----BEGIN ',
  'Authorization: ',
  'bearer ',
  'xoxb-',
  'a.b-c_',
  ')',
  'token=)))',
  'ghp_',
  'ghp_a ',
  'mysql -',
  ' -u a:',
  '--password ',
  'Cookie: a=',
  '://abcdefghij0123456789.',
  '\u001b[1mtoken=',
  '1',
  'a.b',
];

for (const piece of HOSTILE) {
  test(`Terminates for very many characters of ${JSON.stringify(piece)}.`, () => {
    // Steps that grow with the square would be 20,000,000,000.
    const text = piece.repeat(Math.ceil((IS_LONG ? 1_000_000 : 200_000) / piece.length));
    assert.ok(redact(text).length <= text.length);
    assert.ok(redact(`token="${text}`).length <= text.length + 7);
  });
}

test('prose about a secret stays as it is, and a secret in its place does not', () => {
  const pairs: ReadonlyArray<readonly [prose: string, secret: string]> = [
    ['feat: add the --token option (#12)', 'feat: add the --token hunter2abc (#12)'],
    ['Support --password flag in login', 'Support --password correcthorse in login'],
    ['add --api-key and --secret-key parameters', 'add --api-key 0123abcd4567 and more'],
    ['usage: tool --api-key KEY --token TOKEN', 'usage: tool --api-key KEY --token s3cr3tXYZ'],
    ['error: option --token requires an argument', 'error: option --token requires42x an argument'],
    ['api key: see docs', 'api key: 0123456789abcdef'],
    ['API key: required', 'API key: sdf87sdf87sdf87'],
    ['the Authorization: Bearer token header', 'the Authorization: Bearer tokenABCDEF12345 header'],
    ['Authorization: Basic credentials', 'Authorization: Basic dXNlcjpwYXNz'],
    ['Token: expired', 'Token: expiredhorse'],
    ['password: hashed', 'password: sunshineking'],
    ['- [ ] Add secret: rotation', '- [ ] Add secret: rotationhorse'],
    ['Unexpected token: identifier', 'token: 8f7d8f7d8f7d8f7d'],
    ['src/auth/token.ts: refactored', 'auth_token: refactoredhorse'],
    ['Cookie: session=<id>', 'Cookie: session=abcdef123456'],
    ['Cookie: theme=$theme; sid=<id>', 'Cookie: theme=$theme; sid=abcdef123456'],
    ['Set-Cookie: sid=<id>; Path=/; HttpOnly', 'Cookie: a=value; session=s3cr3tvalue99'],
    ['current token: identifier', 'current password: correcthorse'],
    ['the password: kubernetes', 'DB_PASSWORD=kubernetes'],
    ['--cookie-jar jar.txt', '--cookie jar=0123456789'],
    ['git config set credential.helper store', 'git config set x.token storehorse9'],
  ];
  for (const [prose, secret] of pairs) {
    assert.equal(redact(prose), prose);
    assert.ok(redact(secret).includes('***'), secret);
  }
});
