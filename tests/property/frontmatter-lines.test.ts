import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkTaskFile } from '../../src/task/check/check-task-file.ts';
import fc, { runs } from '../support/property.ts';

/** Keys that are right, each with the lines it takes. */
const RIGHT: Readonly<Record<string, readonly string[]>> = {
  validation: ['validation:', '  - npm test', '  - name: types', '    run: npx tsc'],
  idle: ['idle:', '  delay: 30s', '', '  # how long', '  max: 6h'],
  breaker: ['breaker: { findings: 3, denials: 0 }'],
  model: ['model: "a #1"'],
  agent: ['agent: |-', '  qa'],
  background_wait: ['background_wait: 5m'],
  budget: ['budget:', '  max_tokens: 1000', '  warn_at: 0.5'],
  stop_on_error: ['stop_on_error: false'],
  inter_iteration_delay: ['interIterationDelay: 3'],
  findings_log: ["findings_log: 'docs/é 🙂.md'"],
  isolation: ['isolation: >-', '  client'],
};

/** Keys that are wrong: their lines, the place in them, what is found there. */
const WRONG = [
  { lines: ['max_iterations: 51'], at: 0, column: 17, path: 'max_iterations', rule: 'range' },
  { lines: ['reflectEvery: 1'], at: 0, column: 15, path: 'reflect_every', rule: 'range' },
  { lines: ['timeout:', '  0'], at: 1, column: 3, path: 'timeout', rule: 'range' },
  { lines: ['args:', '  - a', '  # b', '  - a'], at: 3, column: 5, path: 'args[1]', rule: 'unique' },
  { lines: ['args: [a,', '  -b]'], at: 1, column: 3, path: 'args[1]', rule: 'name' },
  {
    lines: [
      'commands:',
      '  - name: t',
      '    run: |',
      '      a',
      '      b {{ args.q }}',
      '    acceptance: true',
      'completion_promise: X',
    ],
    at: 2,
    column: 10,
    path: 'commands[0].run',
    rule: 'placeholder',
  },
  { lines: ['commands:', '  - { run: x }'], at: 1, column: 5, path: 'commands[0].name', rule: 'required' },
  {
    lines: ['guardrails:', '  block_commands:', '    - ok', "    - 'a(?=b)'"],
    at: 3,
    column: 7,
    path: 'guardrails.block_commands[1]',
    rule: 'pattern',
  },
  {
    lines: ['guardrails:', '  shellPolicy: { mode: allowlist,', '    allow: [] }'],
    at: 2,
    column: 12,
    path: 'guardrails.shell_policy.allow',
    rule: 'shell-policy',
  },
  {
    lines: ['required_outputs:', '  - "a"', '  - "b/../c"'],
    at: 2,
    column: 5,
    path: 'required_outputs[1]',
    rule: 'relative-path',
  },
  { lines: ['itemsPerIteration: 0x15'], at: 0, column: 20, path: 'items_per_iteration', rule: 'range' },
] as const;

const SPACERS = ['', '# a comment: [with {{ args.x }} in it', ' '];
const HEADS = ['', '\ufeff', '<!-- a -->\n', '\ufeff\n<!--\n---\na: b\n-->\n\n', ' \t\n<!-- one --><!-- two\n-->\n'];

test('reports a problem among valid lines on its line, whatever ends the lines and precedes them', () => {
  fc.assert(
    fc.property(
      fc.shuffledSubarray(Object.keys(RIGHT)),
      fc.constantFrom(...WRONG),
      fc.nat(),
      fc.array(fc.constantFrom(...SPACERS), { minLength: 12, maxLength: 12 }),
      fc.constantFrom(...HEADS),
      fc.constantFrom('\n', '\r\n'),
      (keys, wrong, where, spacers, head, ending) => {
        const blocks = keys.map((key) => RIGHT[key] ?? []);
        const index = where % (blocks.length + 1);
        const spaced = [...blocks.slice(0, index), wrong.lines, ...blocks.slice(index)].map((lines, at) => ({
          lines: [spacers[at] ?? '', ...lines],
          at,
        }));
        const before = spaced.slice(0, index).reduce((sum, { lines }) => sum + lines.length, 0);
        const text = `${head}---\n${spaced.flatMap(({ lines }) => lines).join('\n')}\n---\nWork.\n`.replaceAll(
          '\n',
          ending,
        );
        const line = head.split('\n').length + 1 + before + 1 + wrong.at;
        const errors = checkTaskFile('RALPH.md', text).problems.filter(({ severity }) => severity === 'error');
        assert.deepEqual(
          errors.map((one) => [one.path, one.rule, one.line, one.column]),
          [[wrong.path, wrong.rule, line, wrong.column]],
          JSON.stringify(text),
        );
      },
    ),
    { numRuns: runs(1000) },
  );
});

test('the line of a placeholder in the body is its line in the file', () => {
  const filler = fc.constantFrom(
    '',
    'text',
    '```',
    '```\n<!-- x -->\n```',
    '<!-- {{ args.x }} -->',
    '<!--\n\n{{ args.x }}\n-->',
    '`{{`',
    '{{ x }}',
  );
  fc.assert(
    fc.property(fc.array(filler, { maxLength: 8 }), fc.constantFrom('\n', '\r\n'), (parts, ending) => {
      const open = parts.filter((part) => part === '```').length % 2 === 1;
      const body = [...parts, ...(open ? ['```'] : []), 'at {{ args.x }}', ''].join('\n');
      const text = `---\nmax_iterations: 3\n---\n${body}`.replaceAll('\n', ending);
      const found = checkTaskFile('RALPH.md', text).problems.filter(({ severity }) => severity === 'error');
      const last = text.split(ending).length - 1;
      const [problem] = found.slice(-1);
      assert.deepEqual([problem?.rule, problem?.line, problem?.column], ['placeholder', last, 4]);
    }),
    { numRuns: runs(250) },
  );
});

const VALUES = fc.anything({
  ...{ maxDepth: 3, withNullPrototype: false, withBigInt: false },
  key: fc.constantFrom(
    'name',
    'run',
    'timeout',
    'args',
    'command',
    'pipeline',
    'mode',
    'allow',
    'reason',
    '__proto__',
    'toString',
    '',
  ),
});

test('any value under any key ends the check with problems and without throwing', () => {
  const keys = [
    'args',
    'commands',
    'guardrails',
    'required_outputs',
    'timeout',
    'completion_gate',
    'idle',
    'validation',
    'breaker',
  ];
  fc.assert(
    fc.property(
      fc.dictionary(fc.constantFrom(...keys), VALUES),
      fc.constantFrom('RALPH.md', 'PROMPT.md'),
      (settings, path) => {
        const { problems, frontmatter } = checkTaskFile(
          path,
          `---\n${JSON.stringify(settings) ?? '{}'}\n---\n{{ commands.name }}\n`,
        );
        JSON.stringify(problems);
        assert.equal(
          frontmatter === null,
          problems.some(({ severity }) => severity === 'error'),
        );
        for (const { line, column } of problems) assert.ok((line ?? 0) >= 1 && (column ?? 0) >= 1);
      },
    ),
    { numRuns: runs(1500) },
  );
});
