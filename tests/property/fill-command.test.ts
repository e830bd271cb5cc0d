import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { commandProblems, fillCommand } from '../../src/task/commands/fill-command.ts';
import { runOfIteration } from '../../src/task/frontmatter/placeholders.ts';
import fc, { runs } from '../support/property.ts';
import { TEST_TIMEOUT_MS } from '../support/until.ts';

/** Each prints words that hold the value X, as a person may write them. What the shell makes of them is on the right. */
const COMMANDS: readonly (readonly [run: string, words: readonly string[]])[] = [
  ['show {{ args.x }}', ['X']],
  ['show --env={{args.x}} after', ['--env=X', 'after']],
  ['show "{{ args.x }}" "a {{ args.x }} b"', ['X', 'a X b']],
  ['show "$HOME{{ args.x }}$HOME"', ['/homeX/home']],
  ["show 'a {{ args.x }} $HOME'", ['a X $HOME']],
  ["show 'it'\\''s {{ args.x }}'", ["it's X"]],
  ['show "$(printf %s {{ args.x }}; printf .)"', ['X.']],
  ['show "$(printf %s "{{ args.x }}"; printf .)" "{{ args.x }}"', ['X.', 'X']],
  ['v={{ args.x }}; show "$v"', ['X']],
  ['show a{{ args.x }}{{ args.x }}b', ['aXXb']],
  ['show a\\ #b {{ args.x }}', ['a #b', 'X']],
  ['show a\\\\{{ args.x }}', ['a\\X']],
  ['( show {{ args.x }} ) # said', ['X']],
  ["# it's\nshow {{ args.x }}", ['X']],
  ['show "${HOME}{{ args.x }}" $$ | tr -d 0-9 >/dev/null; show "{{ args.x }}"', ['X']],
  ['bash -c \'printf "%s\\0" "$1"\' _ {{ args.x }}', ['X']],
  ["show '{{{ args.x }}}' {{{ args.x }}}", ['{X}', '{X}']],
  ['show \\\n{{ args.x }} {a,{{ args.x }}}', ['X', 'a', 'X']],
];
const SHOW = 'show() { printf "%s\\0" "$@"; }\n';

const piece = fc.constantFrom(
  ...[
    "'",
    '"',
    '`',
    '$',
    '\\',
    '\n',
    '\r',
    '-',
    '--',
    '!',
    '*',
    '~',
    ' ',
    '\t',
    '#',
    ';',
    '&',
    '|',
    '<',
    '>',
    '(',
    ')',
    '=',
    'é',
    '🙂',
  ],
  ...[
    '$(touch /tmp/never)',
    '$HOME',
    '{{',
    '}}',
    '{{ ralph.iteration }}',
    '{{ args.x }}',
    '{ ralph.iteration }',
    "'\\''",
    '${x}',
    '\u0001',
    '\u2028',
    '$&',
    '$1',
  ],
);
const value = fc
  .array(fc.oneof({ weight: 4, arbitrary: piece }, fc.string({ unit: 'grapheme', maxLength: 3 })), { maxLength: 8 })
  .map((parts) => parts.join('').replaceAll('\0', ''));

function received(run: string): string[] {
  const { stdout, status, stderr } = spawnSync('bash', ['-c', SHOW + run], {
    env: { HOME: '/home', PATH: process.env['PATH'] },
  });
  assert.equal(status, 0, `${run}\n${stderr}`);
  return stdout.toString('utf8').split('\0').slice(0, -1);
}

test('bash gets exactly the value, whatever it contains and wherever it is', () => {
  fc.assert(
    fc.property(value, fc.constantFrom(...COMMANDS), (x, [run, words]) => {
      assert.deepEqual(commandProblems(run, ['x']), []);
      // A value that ends in a line's end, printed through $(…), loses it: the printf after it keeps it.
      const filled = runOfIteration(fillCommand(run, { args: { x }, name: 'n', maxIterations: 5 }), 3);
      assert.deepEqual(
        received(filled),
        words.map((word) => word.replaceAll('X', () => x)),
      );
    }),
    { numRuns: runs(300) },
  );
});

test('control: the comparison detects a value that is inserted unquoted', () => {
  const raw = 'show {{ args.x }}'.replace('{{ args.x }}', () => 'a b$HOME');
  assert.notDeepEqual(received(raw), ['a b$HOME']);
});

const SCRIPT = fc.constantFrom(
  ...[
    "'",
    '"',
    '`',
    '$',
    '$(',
    '(',
    ')',
    '((',
    '))',
    '\\',
    '\n',
    ' ',
    '#',
    ';',
    ' ;; ',
    '<<E\n',
    '\nE\n',
    '<<<',
    '${',
    '}',
    '${v}',
    "$'",
    '$"',
  ],
  ...[
    'case x in x) ',
    ' esac',
    '=~',
    '[[ x ',
    ' ]]',
    '$$',
    'a',
    '; eval ',
    "; bash -c '",
    'x=',
    '{',
    ':',
    '&& ',
    '{{ args.x }}',
    '{{ args.x }}',
    ' {{ args.x }} ',
  ],
);

test('in any accepted command, a value runs nothing', () => {
  let tried = 0;
  fc.assert(
    fc.property(fc.array(SCRIPT, { minLength: 1, maxLength: 9 }), (parts) => {
      const run = parts.join('');
      if (!run.includes('{{') || commandProblems(run, ['x']).length > 0) return;
      tried++;
      for (const x of [
        '\necho HIT >&2\n',
        '$(echo HIT >&2)',
        "'\necho HIT >&2\n'",
        '"\necho HIT >&2\n"',
        '`echo HIT >&2`',
        ')\necho HIT >&2\n',
      ]) {
        const filled = fillCommand(run, { args: { x }, name: 'n', maxIterations: 5 });
        const { stderr } = spawnSync('bash', ['-c', filled], { timeout: TEST_TIMEOUT_MS, input: '' });
        assert.doesNotMatch(stderr.toString(), /^HIT$/m, JSON.stringify(filled));
      }
    }),
    { numRuns: runs(1500) },
  );
  assert.ok(tried > runs(1500) / 50, `only ${tried} commands were let through`);
});
