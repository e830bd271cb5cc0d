import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkTaskFile } from '../../../src/task/check/check-task-file.ts';

const ralph = (frontmatter: string, body = 'Do it.\n') =>
  checkTaskFile('t/RALPH.md', `---\n${frontmatter}---\n${body}`);
const brief = (checked: ReturnType<typeof ralph>) =>
  checked.problems.map(({ path, line, column, rule, severity }) => [path, line, column, rule, severity]);
const rules = (checked: ReturnType<typeof ralph>) => checked.problems.map(({ path, rule }) => `${path} ${rule}`);

const WHOLE = `args: [owner]
commands:
  - name: tests
    run: npm test -- --owner={{ args.owner }}
    timeout: 60
    acceptance: true
  - name: verify
    run: ./scripts/verify.sh
max_iterations: 50
inter_iteration_delay: 0
items_per_iteration: 3
reflect_every: 4
timeout: 120
completion_promise: DONE
completion_gate: required
required_outputs: [AUTH_FIXES.md, docs/report.md]
stop_on_error: false
guardrails:
  block_commands:
    - 'git\\s+push'
    - { command: git, args: [push] }
    - { pipeline: ["curl|wget", "sh|bash"], reason: no scripts from the network }
  protected_files: ['.env*', 'policy:secret-bearing-paths']
  shell_policy:
    mode: allowlist
    allow: ['(?i)^npm test$']
`;

test('accepts every key of a task folder and its aliases', () => {
  const body = '{{ args.owner }} {{ commands.tests }} {{ commands.verify }} {{ ralph.name }}\n';
  const checked = ralph(WHOLE, body);
  assert.deepEqual(checked.problems, []);
  const aliases = WHOLE.replace(/^( *)([a-z]+(?:_[a-z]+)+)(?=:)/gm, (_, indent: string, key: string) => {
    return indent + key.replace(/_([a-z])/g, (__, letter: string) => letter.toUpperCase());
  });
  assert.match(aliases, /blockCommands[\s\S]*shellPolicy/);
  assert.deepEqual(ralph(aliases, body), checked);
});

test('reports all problems of a task folder at once, each with its path and its place', () => {
  const checked = ralph(`args: [owner, "a b", owner]
commands:
  - name: tests
    run: npm test
    timeout: 4000
    acceptance: sometimes
  - name: -x
    run: " "
  - name: tests
    run: npm run lint
  - run: 7
items_per_iteration: 21
reflect_every: 1
inter_iteration_delay: -1
timeout: 0
completion_gate: maybe
required_outputs: [a, /b, ../c]
stop_on_error: 1
guardrails:
  block_commands:
    - 'a(?!b)'
    - { command: git, pipeline: [a, b] }
    - { pipeline: [a] }
    - 5
  protected_files: ['**', 'policy:secrets']
  shell_policy:
    mode: blocklist
    allow: ['(x)\\1']
`);
  assert.equal(checked.frontmatter, null);
  assert.deepEqual(
    brief(checked).map(([path, line, column, rule]) => [path, line, column, rule]),
    [
      ['args[1]', 2, 15, 'name'],
      ['args[2]', 2, 22, 'unique'],
      ['commands[0].timeout', 6, 14, 'range'],
      ['commands[0].acceptance', 7, 17, 'type'],
      ['commands[1].name', 8, 11, 'name'],
      ['commands[1].run', 9, 10, 'not-blank'],
      ['commands[2].name', 10, 11, 'unique'],
      ['commands[3].name', 12, 5, 'required'],
      ['commands[3].run', 12, 10, 'type'],
      ['items_per_iteration', 13, 22, 'range'],
      ['reflect_every', 14, 16, 'range'],
      ['inter_iteration_delay', 15, 24, 'duration'],
      ['timeout', 16, 10, 'range'],
      ['completion_gate', 17, 18, 'one-of'],
      ['required_outputs[1]', 18, 23, 'relative-path'],
      ['required_outputs[2]', 18, 27, 'relative-path'],
      ['stop_on_error', 19, 16, 'type'],
      ['guardrails.block_commands[0]', 22, 7, 'pattern'],
      ['guardrails.block_commands[1]', 23, 7, 'type'],
      ['guardrails.block_commands[2].pipeline', 24, 19, 'range'],
      ['guardrails.block_commands[3]', 25, 7, 'type'],
      ['guardrails.protected_files[0]', 26, 21, 'glob'],
      ['guardrails.protected_files[1]', 26, 27, 'glob'],
      ['guardrails.shell_policy.allow', 29, 12, 'shell-policy'],
      ['guardrails.shell_policy.allow[0]', 29, 13, 'pattern'],
    ],
  );
});

for (const [pattern, reason] of [
  ['(?<!a)b', /look-around/],
  ['(a)\\1', /back-references/],
  ['a++', /Nothing to repeat/],
  ['\\p{Letter}', /general category/],
  ['(a{40}){40}', /at most 1000/],
  ['[a', /Unterminated character class/],
  ['a(?i)b', /only at the beginning/],
  ['  ', /blank/],
] as const) {
  test(`refuses the pattern ${pattern} with its reason`, () => {
    const { problems } = ralph(`guardrails: { block_commands: [${JSON.stringify(pattern)}] }\n`);
    assert.match(problems[0]?.message ?? '', reason);
  });
}

test('an allowlist needs patterns, and a blocklist may have none', () => {
  const policy = (text: string) => rules(ralph(`guardrails: { shell_policy: { ${text} } }\n`));
  assert.deepEqual(policy('mode: allowlist'), ['guardrails.shell_policy.allow shell-policy']);
  assert.deepEqual(policy('mode: allowlist, allow: []'), ['guardrails.shell_policy.allow shell-policy']);
  assert.deepEqual(policy('mode: blocklist, allow: [a]'), ['guardrails.shell_policy.allow shell-policy']);
  assert.deepEqual(policy('mode: blocklist'), []);
  assert.deepEqual(policy('allow: [a]'), ['guardrails.shell_policy.mode required']);
});

for (const glob of ['*', '**', '**/*', '/**', './**', '{*,x}', '***', '?(*)*', '/']) {
  test(`protecting ${glob} would leave nothing to work on`, () => {
    const { problems } = ralph(`guardrails: { protected_files: [${JSON.stringify(glob)}] }\n`);
    assert.match(problems[0]?.message ?? '', /match everything/);
  });
}

test('globs that match a part of a project can be protected', () => {
  const globs = ['.env*', '*.pem', 'src/**', '**/*.ts', '*.*', '/etc/**', 'a', '.git/**', '[a-c]*'];
  assert.deepEqual(ralph(`guardrails: { protected_files: ${JSON.stringify(globs)} }\n`).problems, []);
});

test('a command gets at most the time of its iteration, 300 s by default', () => {
  const commands = (timeout: number) => `commands: [{ name: a, run: x, timeout: ${timeout}, acceptance: true }]\n`;
  const gate = 'completion_promise: DONE\n';
  assert.deepEqual(rules(ralph(gate + commands(300))), []);
  assert.deepEqual(rules(ralph(gate + commands(301))), ['commands[0].timeout command-timeout']);
  assert.deepEqual(rules(ralph(`${gate}timeout: 400\n${commands(301)}`)), []);
  assert.deepEqual(rules(ralph(`${gate}timeout: 30\n${commands(31)}`)), ['commands[0].timeout command-timeout']);
});

test('a RALPH.md, a task.md and a PROMPT.md take the same keys, a plan does not take those of one task', () => {
  const body = '\n- [ ] {{ commands.tests }} {{ commands.stats }}\n';
  const checked = (path: string) => checkTaskFile(path, `---\n${WHOLE}open_questions: optional\n---\n${body}`);
  const [ralphMd, ...others] = ['x/RALPH.md', 'x/task.md', 'PROMPT.md'].map(checked);
  assert.deepEqual(
    ralphMd?.problems.filter(({ severity }) => severity === 'error'),
    [],
  );
  for (const { frontmatter } of others) assert.deepEqual(frontmatter, ralphMd?.frontmatter);
  const plan = checkTaskFile('plan.md', `---\n${WHOLE}---\n`, 'plan');
  assert.deepEqual(rules(plan), [
    'args task-file-only',
    'commands task-file-only',
    'items_per_iteration task-file-only',
    'reflect_every task-file-only',
    'completion_gate task-file-only',
    'required_outputs task-file-only',
  ]);
  assert.match(plan.problems[0]?.message ?? '', /args belongs in a task file \(PROMPT\.md, RALPH\.md or task\.md\)/);
});

test('checks placeholders of a PROMPT.md with arguments or commands, and treats them as text otherwise', () => {
  const body = 'Fix {{ args.what }}.\n';
  assert.deepEqual(checkTaskFile('PROMPT.md', `---\nmodel: opus\n---\n${body}`).problems, []);
  assert.deepEqual(rules(checkTaskFile('PROMPT.md', `---\nargs: [who]\n---\n${body}`)), [' placeholder']);
});

test('suggests the right spelling for a misspelt key of a rule', () => {
  const checked = ralph('guardrails:\n  block_comands: [x]\n  block_commands:\n    - { comand: git }\n');
  assert.deepEqual(brief(checked), [
    ['guardrails.block_comands', 3, 3, 'unknown-key', 'warning'],
    ['guardrails.block_commands[0].command', 5, 7, 'required', 'error'],
    ['guardrails.block_commands[0].comand', 5, 9, 'unknown-key', 'warning'],
  ]);
});

test('an undeclared argument is an error in its place, in the body and in commands', () => {
  const checked = ralph(
    'args: [owner]\ncommands:\n  - name: t\n    run: x {{ args.owners }}\n',
    'One {{ commands.t }}\n<!-- {{ args.gone }} -->\nTwo {{ args.owners }} {{ args.owner }}\n',
  );
  assert.deepEqual(brief(checked), [
    ['commands[0].run', 5, 10, 'placeholder', 'error'],
    ['', 9, 5, 'placeholder', 'error'],
  ]);
  assert.match(checked.problems[1]?.message ?? '', /declares no "owners"\. Did you mean "owner"\?$/);
  assert.equal(checked.frontmatter, null);
});

test('warns of an undefined command, which is empty, and of an unknown name, which stays', () => {
  const checked = ralph('', '{{ commands.test }}\n  {{ ralph.mood }} {{ commands.* }} {{ x }}\n');
  assert.deepEqual(brief(checked), [
    ['', 3, 1, 'unknown-placeholder', 'warning'],
    ['', 4, 3, 'unknown-placeholder', 'warning'],
  ]);
});

for (const [run, rule] of [
  ['echo {{ commands.a }}', 'placeholder'],
  ['cat <<E\n{{ args.x }}\nE', 'unsafe-placeholder'],
  ['echo `{{ args.x }}`', 'unsafe-placeholder'],
  ['echo # {{ args.x }}', 'unsafe-placeholder'],
  ['echo \\{{ args.x }}', 'unsafe-placeholder'],
  ['echo "${{ args.x }}"', 'unsafe-placeholder'],
  ["echo $'{{ args.x }}'", 'unsafe-placeholder'],
  ['echo $(( {{ args.x }} ))', 'unsafe-placeholder'],
  ['echo "${A:-{{ args.x }}}"', 'unsafe-placeholder'],
  ["bash -c 'echo {{ args.x }}'", 'unsafe-placeholder'],
  ['env A=1 timeout 5 sh -ec "echo {{ args.x }}"', 'unsafe-placeholder'],
  ['eval echo {{ args.x }}', 'unsafe-placeholder'],
  ['ssh host ls {{ args.x }}', 'unsafe-placeholder'],
  ['python3 -c "print(\'{{ args.x }}\')"', 'unsafe-placeholder'],
  ['node --eval={{ args.x }}', 'unsafe-placeholder'],
  ['echo "{{ args.x }}', 'unsafe-placeholder'],
  ['echo "$(bash -c \'echo {{ args.x }}\')"', 'unsafe-placeholder'],
  ['v=$(bash -c "{{ args.x }}")', 'unsafe-placeholder'],
  ['if true; then sudo bash -c "{{ args.x }}"; fi', 'unsafe-placeholder'],
  ['f() { eval {{ args.x }}; }; f', 'unsafe-placeholder'],
  ['! time eval a "{{ args.x }}"', 'unsafe-placeholder'],
  ['for i in 1 2; do { ( eval {{ args.x }} ) & } done', 'unsafe-placeholder'],
  ['diff <(bash -c {{ args.x }}) a', 'unsafe-placeholder'],
  ['find . -exec sh -c "cat {{ args.x }}" \\;', 'unsafe-placeholder'],
  [`echo ${'a'.repeat(20_000)} {{ args.x }}`, 'unsafe-placeholder'],
  ['echo "$(case a in a) echo {{ args.x }};; esac)"', 'unsafe-placeholder'],
  ['a[{{ args.x }}]=1', 'unsafe-placeholder'],
  ['[[ {{ args.x }} -eq 1 ]]', 'unsafe-placeholder'],
  ['let "n = {{ args.x }}"', 'unsafe-placeholder'],
] as const) {
  test(`a value is not allowed in ${JSON.stringify(run.slice(0, 60))}`, () => {
    const text = `args: [x]\ncompletion_promise: DONE\ncommands: [{ name: a, acceptance: true, run: ${JSON.stringify(run)} }]\n`;
    assert.deepEqual(rules(ralph(text)), [`commands[0].run ${rule}`]);
  });
}

test('warns of settings without effect', () => {
  const checked = ralph(
    'completion_gate: required\nrequired_outputs: [a.md, RALPH_PROGRESS.md]\ncommands: [{ name: a, run: x }, { name: b, run: y, acceptance: true }]\n',
  );
  assert.deepEqual(rules(checked), [
    'completion_gate nothing-to-gate',
    'required_outputs not-gated',
    'required_outputs[1] own-file',
    'commands[0].name unused-command',
    'commands[1].acceptance not-gated',
  ]);
  assert.ok(checked.frontmatter !== null);
});

for (const [gate, expected] of [
  ['completion_promise: DONE\n', []],
  ['completion_promise: DONE\ncompletion_gate: optional\n', []],
  ['completion_promise: DONE\ncompletion_gate: disabled\n', ['required_outputs not-gated']],
  ['', ['required_outputs not-gated']],
] as const) {
  test(`required outputs ${expected.length === 0 ? 'reach the agent' : 'do nothing'} under ${JSON.stringify(gate)}`, () => {
    assert.deepEqual(rules(ralph(`${gate}required_outputs: [a.md]\n`)), expected);
  });
}

test('a completion that no command supports is a warning', () => {
  const rules = (settings: string): string[] =>
    checkTaskFile('x/RALPH.md', `---\ncompletion_promise: DONE\n${settings}---\n{{ commands.a }}\n`).problems.map(
      ({ rule }) => rule,
    );
  assert.deepEqual(rules('commands: [{ name: a, run: npm test }]\n'), ['unsupported-completion']);
  assert.deepEqual(rules('commands: [{ name: a, run: npm test, acceptance: true }]\n'), []);
  assert.deepEqual(rules('commands: [{ name: a, run: npm test }]\nvalidation: [npm test]\n'), []);
});

test('shows a number that JSON cannot write as a number', () => {
  const [problem] = checkTaskFile('x/RALPH.md', '---\nidle: {backoff: .inf}\n---\nDo it.\n').problems;
  assert.match(problem?.message ?? '', /but is Infinity/);
});
