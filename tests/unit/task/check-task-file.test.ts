import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { checkTaskFile } from '../../../src/task/check/check-task-file.ts';
import { folderWith } from '../../support/folder.ts';

const prompt = (frontmatter: string, body = '# Task\n') =>
  checkTaskFile('PROMPT.md', `---\n${frontmatter}---\n${body}`);
const brief = (checked: ReturnType<typeof prompt>) =>
  checked.problems.map(({ path, line, column, rule, severity }) => [path, line, column, rule, severity]);

const EVERYTHING = `validation:
  - npm test
  - name: types
    run: npx tsc --noEmit
    timeout: 600
completion_signal: ALL CLEAR
completion_promise: DONE
signal_match: anywhere
reinject: pointer
idle:
  delay: 30s
  backoff: 1.5
  max_delay: 1h30m
  max: 6h
  wake: change
  watch: ["inbox/**"]
  max_quiet: 90
breaker: { findings: 0, no_progress: 4, same_reply: 3, same_error: 5, denials: 3, tdd: 3 }
budget: { max_cost: 2.5, max_tokens: 1000000, max_time: 8h, warn_at: 0.5 }
background_wait: 0
agent: qa
model: opus
effort: high
permission_mode: acceptEdits
isolation: client
guardrails:
  private_files: [.env*, "policy:secret-bearing-paths"]
  strict: true
max_iterations: 100
findings_log: docs/findings.md
`;

test('accepts every key of the table and converts durations to milliseconds', () => {
  const { frontmatter, problems, kind } = prompt(EVERYTHING);
  assert.deepEqual(problems, []);
  assert.equal(kind, 'prompt');
  assert.equal(frontmatter?.idle?.max_delay, 5_400_000);
  assert.equal(frontmatter?.idle?.max_quiet, 90_000);
  assert.equal(frontmatter?.budget?.max_time, 28_800_000);
  assert.equal(frontmatter?.background_wait, 0);
  assert.deepEqual(frontmatter?.validation?.[1], { name: 'types', run: 'npx tsc --noEmit', timeout: 600 });
});

test('accepts camelCase aliases as the same settings', () => {
  const snake = prompt(EVERYTHING).frontmatter;
  const keys = EVERYTHING.replace(/\b[a-z]+(?:_[a-z]+)+(?=:)/g, (key) =>
    key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
  );
  assert.match(keys, /maxIterations: 100[\s\S]*findingsLog/);
  const camel = prompt(keys);
  assert.deepEqual(camel.problems, []);
  assert.deepEqual(camel.frontmatter, snake);
});

test('with both spellings, snake_case wins and the other one is reported', () => {
  const checked = prompt('maxIterations: 7\nmax_iterations: 9\n');
  assert.equal(checked.frontmatter?.max_iterations, 9);
  assert.deepEqual(brief(checked), [['maxIterations', 2, 1, 'alias', 'warning']]);
});

test('missing and empty frontmatter are valid', () => {
  for (const text of ['# Task\n', '---\n---\nx', '---\n\n# nothing yet\n---\nbody', '\ufeff---\r\n---\r\nx\r\n']) {
    assert.deepEqual(checkTaskFile('.claude/ralph/PROMPT.md', text), { kind: 'prompt', frontmatter: {}, problems: [] });
  }
});

test('a RALPH.md needs frontmatter', () => {
  const { kind, frontmatter, problems } = checkTaskFile('/p/task/RALPH.md', '# Task\n');
  assert.equal(kind, 'ralph-md');
  assert.equal(frontmatter, null);
  assert.equal(problems[0]?.rule, 'no-frontmatter');
  assert.equal(checkTaskFile('x/task.md', '# Task\n').kind, 'checklist');
});

test('bad YAML, unclosed frontmatter and a non-mapping are three different errors', () => {
  assert.deepEqual(brief(prompt('a: 1\nb: @x\n')), [['', 3, 4, 'yaml', 'error']]);
  assert.deepEqual(brief(prompt('- a\n')), [['', 2, 1, 'not-a-mapping', 'error']]);
  assert.deepEqual(brief(prompt('just words\n')), [['', 2, 1, 'not-a-mapping', 'error']]);
  const unclosed = checkTaskFile('PROMPT.md', '<!-- c -->\n\n---\na: 1\n');
  assert.deepEqual(brief(unclosed), [['', 3, 1, 'unclosed-frontmatter', 'error']]);
  assert.equal(unclosed.frontmatter, null);
});

test('YAML with duplicates, missing anchors or endless nesting is an error and never throws', () => {
  assert.deepEqual(brief(prompt('model: a\nmodel: b\n')), [['', 3, 1, 'yaml', 'error']]);
  assert.deepEqual(brief(prompt('model: *gone\n')), [['', 2, 8, 'yaml', 'error']]);
  assert.equal(prompt(`a: ${'['.repeat(50_000)}\n`).frontmatter, null);
  const bomb = `a: &a [x,x,x,x,x,x,x,x,x,x]\n${'bcdefghi'.replace(/./g, (c) => `${c}: &${c} [${`*${String.fromCharCode(c.charCodeAt(0) - 1)},`.repeat(10)}]\n`)}`;
  assert.deepEqual(
    prompt(bomb).problems.map(({ rule }) => rule),
    ['yaml'],
  );
  assert.equal(prompt(`model: x\n# ${'y'.repeat(300_000)}\n`).problems[0]?.rule, 'too-large');
});

test('a value that contains itself can still be printed', () => {
  const checked = prompt('validation: &v [*v]\n');
  assert.equal(checked.frontmatter, null);
  JSON.stringify(checked);
});

test('prints a value with its own toString like any other', () => {
  const checked = prompt('validation: [{ toString: null }]\ncommands: [{ name: { toString: 1, toJSON: 2 } }]\n');
  assert.equal(checked.frontmatter, null);
  assert.ok(checked.problems.length >= 2);
  const body = checkTaskFile('RALPH.md', '---\ncommands: [{ name: { toString: null } }]\n---\n{{ commands.a }}\n');
  assert.ok(body.problems.some(({ rule }) => rule === 'unknown-placeholder'));
});

test('frontmatter runs no code', () => {
  const { frontmatter } = checkTaskFile('PROMPT.md', '---js\nmodule.exports = { model: process.exit(7) }\n---\n');
  assert.deepEqual(frontmatter, {});
  assert.equal(
    prompt('model: !!js/function "function () { process.exit(7) }"\n').frontmatter?.model?.startsWith('function'),
    true,
  );
});

test('reports all problems at once in the order of the file, with path, place, value and rule', () => {
  const checked = prompt(`max_iterations: 500
idle:
  delay: 0
  backoff: 0.5
  wake: sometimes
validation:
  - npm test
  - run: 7
    timeout: 1.5
  - name: x
  - "  "
breaker:
  findings: -1
completion_promise: a<b
budget:
  max_time: 1h 2h
unchanged: [test/**, "!test/fixtures/**", "!(a)/b"]
may_change: ["!jest.config.js"]
required_outputs: ["!now.md"]
`);
  assert.deepEqual(brief(checked), [
    ['max_iterations', 2, 17, 'range', 'error'],
    ['idle.delay', 4, 10, 'range', 'error'],
    ['idle.backoff', 5, 12, 'range', 'error'],
    ['idle.wake', 6, 9, 'one-of', 'error'],
    ['validation[1].run', 9, 10, 'type', 'error'],
    ['validation[1].timeout', 10, 14, 'duration', 'error'],
    ['validation[2].run', 11, 5, 'required', 'error'],
    ['validation[3]', 12, 5, 'not-blank', 'error'],
    ['breaker.findings', 14, 13, 'range', 'error'],
    ['completion_promise', 15, 21, 'completion-promise', 'error'],
    ['budget.max_time', 17, 13, 'duration', 'error'],
    ['unchanged[1]', 18, 22, 'relative-path', 'error'],
    ['may_change[0]', 19, 14, 'relative-path', 'error'],
  ]);
  assert.equal(checked.problems[0]?.message, 'max_iterations must be an integer from 1 to 100, but is 500.');
  assert.equal(checked.problems[0]?.value, 500);
  assert.equal(checked.frontmatter, null);
});

test('reports the place of a key in the whole file', () => {
  const checked = checkTaskFile(
    'PROMPT.md',
    '\ufeff<!-- two\nlines -->\r\n---\r\nidle:\r\n  maxDelay: soon\r\n---\r\nWork.\r\n',
  );
  assert.deepEqual(brief(checked), [['idle.max_delay', 5, 13, 'duration', 'error']]);
});

test('an unknown key is a warning that suggests the nearest known one', () => {
  const checked = prompt('max_iteration: 3\nidle: { dealy: 1s }\nzzzzzzzzzzzz: 1\n');
  assert.deepEqual(brief(checked), [
    ['max_iteration', 2, 1, 'unknown-key', 'warning'],
    ['idle.dealy', 3, 9, 'unknown-key', 'warning'],
    ['zzzzzzzzzzzz', 4, 1, 'unknown-key', 'warning'],
  ]);
  assert.match(checked.problems[0]?.message ?? '', /Did you mean "max_iterations"\?$/);
  assert.match(checked.problems[1]?.message ?? '', /Did you mean "delay"\?$/);
  assert.match(checked.problems[2]?.message ?? '', /is not a known key and does nothing\.$/);
  assert.deepEqual(checked.frontmatter, { idle: {} });
});

test('a key that belongs into a mapping is named with it', () => {
  const checked = prompt('max_cost: 5\nprotectedFiles: [a]\nwatch: [b]\nzzz: 1\n');
  const hints = checked.problems.map(({ message }) => /Did you mean "(.*)"\?$/.exec(message)?.[1]);
  assert.deepEqual(hints, ['budget.max_cost', 'guardrails.protected_files', 'idle.watch', undefined]);
});

test('a glob that begins with an exclamation mark is named for what it is, in guardrails too', () => {
  const checked = prompt(
    'unchanged: ["!a/**"]\nguardrails: {protected_files: ["*.lock", "!yarn.lock"], private_files: ["**"]}\n',
  );
  const [unchanged, protects, hides] = checked.problems.map(({ message }) => message);
  for (const message of [unchanged, protects])
    assert.match(message ?? '', /must not begin with "!", which takes in every/);
  assert.match(hides ?? '', /must not match everything/);
});

test('a key that JavaScript defines on objects is as unknown as any other', () => {
  const checked = prompt('__proto__: { max_iterations: 3 }\nconstructor: 1\ntoString: 2\n');
  assert.deepEqual(
    checked.problems.map(({ rule }) => rule),
    ['unknown-key', 'unknown-key', 'unknown-key'],
  );
  assert.equal(checked.frontmatter?.max_iterations, undefined);
});

test('a key without a value counts as left out, with a warning', () => {
  const checked = prompt('idle:\nmodel:\n');
  assert.deepEqual(checked.frontmatter, {});
  assert.deepEqual(brief(checked), [
    ['idle', 2, 1, 'no-value', 'warning'],
    ['model', 3, 1, 'no-value', 'warning'],
  ]);
});

test('idle keys that contradict each other are an error that names the key', () => {
  assert.deepEqual(brief(prompt('idle: { delay: 10m, max_delay: 5m }\n')), [
    ['idle.max_delay', 2, 32, 'idle-order', 'error'],
  ]);
  assert.deepEqual(brief(prompt('idle: { delay: 7h }\n')), [['idle.max', 2, 7, 'idle-order', 'error']]);
  assert.deepEqual(brief(prompt('idle: { delay: 10m }\n')), []);
  assert.deepEqual(brief(prompt('idle: {}\n')), []);
});

test('another error does not hide problems of idle keys or names', () => {
  const checked = prompt(
    'model: 7\nidle: { delay: 2m, max: 1m }\nvalidation: [{ name: a, run: x }, { name: a, run: y }, 5]\n',
  );
  assert.deepEqual(
    checked.problems.map(({ path, rule }) => [path, rule]),
    [
      ['model', 'type'],
      ['idle.max', 'idle-order'],
      ['validation[1].name', 'unique'],
      ['validation[2]', 'type'],
    ],
  );
});

test('a loop of a task folder gets at most 50 iterations', () => {
  const text = '---\nmax_iterations: 51\n---\nWork.\n';
  assert.equal(checkTaskFile('RALPH.md', text).problems[0]?.rule, 'range');
  assert.equal(checkTaskFile('task.md', text).problems[0]?.rule, 'range');
  assert.deepEqual(checkTaskFile('PROMPT.md', text).problems, []);
});

for (const path of ['/etc/passwd', '../x.md', 'a/../b', 'C:/x', 'a\\b', 'dir/', './x.md', ' x', '""']) {
  test(`the findings log has to be a file of the project: ${path} is not`, () => {
    const checked = prompt(`findings_log: ${path === '""' ? path : `'${path}'`}\n`);
    assert.deepEqual(
      checked.problems.map(({ rule }) => rule),
      ['relative-path'],
    );
  });
}

test('an unknown policy is an error', () => {
  const { problems } = prompt('guardrails: { private_files: ["policy:secrets"] }\n');
  assert.equal(problems[0]?.path, 'guardrails.private_files[0]');
  assert.equal(problems[0]?.severity, 'error');
});

test('warns of a section of validation commands that nothing enforces', () => {
  const body = 'Do it.\n\n## Validation Commands\n\n- `npm test`\n';
  assert.deepEqual(brief(prompt('', body)), [['validation', 5, 1, 'unenforced-validation', 'warning']]);
  assert.deepEqual(brief(checkTaskFile('PROMPT.md', body)), [['validation', 3, 1, 'unenforced-validation', 'warning']]);
  assert.deepEqual(brief(prompt('validation: [npm test]\n', body)), []);
  assert.deepEqual(brief(prompt('', '```\n## Validation Commands\n```\n')), []);
});

test('warns of waking on change with nothing to watch', () => {
  assert.deepEqual(brief(prompt('idle: { wake: change }\n')), [['idle.wake', 2, 15, 'nothing-to-watch', 'warning']]);
  assert.deepEqual(brief(prompt('idle: { wake: change, watch: [inbox/**] }\n')), []);
});

test('warns of a plan that is given as a prompt, with the line of its first task', () => {
  const plan = 'Words.\n\n- [ ] **Task 1: Schema**\n  - Acceptance: it works\n';
  const found = (path: string, text: string) =>
    checkTaskFile(path, text).problems.map(({ rule, line, severity }) => [rule, line, severity]);
  assert.deepEqual(found('plan.md', plan), [['plan-as-prompt', 3, 'warning']]);
  assert.deepEqual(found('plan.md', `---\nmax_iterations: 3\n---\n${plan}`), [['plan-as-prompt', 6, 'warning']]);
  const numbered = '1. [ ] (no-change) **Task 1: Schema**\n   - **Acceptance**: it works\n';
  assert.deepEqual(found('plan.md', numbered), [['plan-as-prompt', 1, 'warning']]);
  assert.deepEqual(found('plan.md', '* [ ] Task a: B\n  Acceptance: it works\n'), [['plan-as-prompt', 1, 'warning']]);
  assert.deepEqual(checkTaskFile('plan.md', plan, 'plan').problems, []);
  for (const prompt of ['- [ ] Task 1: x\n', '- [ ] do it\n  - Acceptance: it works\n']) {
    assert.deepEqual(found('PROMPT.md', prompt), []);
  }
});

test('an empty body is an error of a prompt and of a RALPH.md, wherever the file ends', () => {
  for (const body of ['', '\n\n', '<!-- nothing -->\n']) {
    const problems = (path: string) => checkTaskFile(path, `---\nmodel: x\n---\n${body}`).problems;
    for (const path of ['PROMPT.md', 'a/RALPH.md'])
      assert.deepEqual(
        problems(path).map(({ rule, severity }) => [rule, severity]),
        [['empty-body', 'error']],
      );
  }
  assert.deepEqual(brief(checkTaskFile('PROMPT.md', '')), [['', 1, 1, 'empty-body', 'error']]);
});

test('a template is an error until its placeholder is replaced', () => {
  const ready = ['fix-tests', 'security-audit']; // nothing in these has to be filled in
  const names = readdirSync('templates/presets').filter((name) => !ready.includes(name));
  const presets = names.map((name) => `templates/presets/${name}/RALPH.md`);
  for (const path of ['templates/PROMPT.md', ...presets]) {
    const text = readFileSync(path, 'utf8');
    const unfilled = (of: string) => checkTaskFile(path, of).problems.filter(({ rule }) => rule === 'unfilled');
    assert.deepEqual(
      unfilled(text).map(({ severity }) => severity),
      ['error'],
      path,
    );
    const [line = 0] = unfilled(text).map((problem) => problem.line ?? 0);
    assert.deepEqual(
      unfilled(
        text
          .split('\n')
          .with(line - 1, 'Write the parser.')
          .join('\n'),
      ),
      [],
      path,
    );
  }
});

test('refuses an unknown permission mode with the known ones', () => {
  const [problem] = prompt('permission_mode: yolo\n').problems;
  assert.equal(
    problem?.message,
    'permission_mode must be one of acceptEdits, auto, bypassPermissions, default, dontAsk, manual, plan, but is "yolo".',
  );
});

test('an empty value of a key that protects the user is an error', () => {
  for (const settings of [
    'guardrails:',
    'guardrails: { block_commands: null }',
    'budget: { max_cost: }',
    'validation:',
  ]) {
    assert.deepEqual(
      prompt(`${settings}\n`).problems.map(({ rule, severity }) => [rule, severity]),
      [['no-value', 'error']],
      settings,
    );
  }
});

test('warns of commands that cannot run in the project, and of no others', (t) => {
  const dir = folderWith(t, {
    'package.json': '{"scripts":{"test":"x","lint:ts":"y"}}',
    Makefile: 'build test: src\n\tcc\n',
    'run.sh': '',
  });
  const check = (run: string): string | undefined => {
    const text = `---\nvalidation:\n  - ${JSON.stringify(run)}\n---\nWork.\n`;
    const { problems } = checkTaskFile('PROMPT.md', text, 'prompt', { dir, env: { PATH: process.env['PATH'] } });
    return problems[0]?.message;
  };
  const wrong: [run: string, why: RegExp][] = [
    ['nosuchcommand --all', /^validation\[0\] cannot run here: the program "nosuchcommand" is not on the PATH\.$/],
    ['true && nosuchcommand', /"nosuchcommand"/],
    ['npm run lint:tt', /package\.json has no script "lint:tt"\. Did you mean "lint:ts"\?$/],
    ['make biuld', /the Makefile has no target "biuld"\. Did you mean "build"\?$/],
  ];
  for (const [run, why] of wrong) assert.match(check(run) ?? '', why, run);
  const fine = [
    'npm test',
    'npm tst',
    'npm run lint:ts -- --fix',
    'npm ci',
    'npm run x --workspaces',
    'make',
    'make test J=1',
    "npx run-s -c test 'lint:*'",
    "npx concurrently 'npm run test' npm:lint:ts",
  ];
  const shell = [
    './run.sh',
    'cd sub && make all',
    'if true; then echo "not a program"; fi',
    'f() { x; }; f',
    '$TOOL run',
    'A=1 node -v',
  ];
  for (const run of [...fine, ...shell]) assert.equal(check(run), undefined, run);
});

test('names the project’s commands for a script that only packages have, and for the template’s check', (t) => {
  const dir = folderWith(t, {
    'package.json': '{"workspaces":["packages/*"]}',
    'packages/web/package.json': '{"scripts":{"test":"x","lint":"y"}}',
  });
  const place = { dir, env: { PATH: process.env['PATH'] } };
  const of = (text: string): unknown =>
    checkTaskFile('PROMPT.md', text, 'prompt', place).problems.map((p) => p.message);
  assert.deepEqual(of('---\nvalidation: [npm test]\n---\nWork.\n'), [
    'validation[0] cannot run here: package.json has no script "test". The project has: npm run test --workspaces --if-present.',
  ]);
  const template = readFileSync('templates/PROMPT.md', 'utf8').replace('Say the goal in one line.', 'Work.');
  assert.deepEqual(of(template), [
    "validation[0] is the template's and never passes. Write your commands there. The project has: npm run test --workspaces --if-present, npm run lint --workspaces --if-present.",
  ]);
});

test('a file that is not UTF-8 is named: an error if it is no text, a warning for replaced letters', () => {
  const of = (bytes: Buffer): unknown => brief(checkTaskFile('PROMPT.md', bytes.toString('utf8')));
  const text = 'Be brief.\nGrüße an alle.\n';
  assert.deepEqual(of(Buffer.from(text)), [], 'control');
  assert.deepEqual(of(Buffer.from(text, 'latin1')), [['', 2, 1, 'not-utf-8', 'warning']]);
  assert.deepEqual(of(Buffer.from(`\ufeff${text}`, 'utf16le')), [['', 1, 1, 'not-utf-8', 'error']]);
  assert.deepEqual(of(Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0])), [['', 1, 1, 'not-utf-8', 'error']]);
});

test('every time in a file is a duration: a bare number is seconds, a unit is allowed', () => {
  const keys = (timeout: string): string => `validation: [{ run: a, timeout: ${timeout} }]
commands: [{ name: a, run: a, timeout: ${timeout} }]
timeout: ${timeout}
inter_iteration_delay: ${timeout}
`;
  for (const [written, seconds] of [
    ['3', 3],
    ['3s', 3],
    ['"1m 30s"', 90],
    ['1h', 3600],
  ] as const) {
    const { frontmatter, problems } = prompt(keys(written), '{{ commands.a }}\n');
    assert.deepEqual(problems, [], written);
    const { validation, commands, timeout, inter_iteration_delay } = frontmatter ?? {};
    const found = [validation?.[0], commands?.[0]].map((entry) => (entry as { timeout?: number } | undefined)?.timeout);
    assert.deepEqual([...found, timeout, inter_iteration_delay], [seconds, seconds, seconds, seconds], written);
  }
  for (const written of ['0s', '61m', '1500ms', 'soon']) {
    const paths = prompt(keys(written)).problems.map(({ path }) => path);
    assert.ok(paths.includes('validation[0].timeout') && paths.includes('timeout'), written);
  }
  const { problems } = prompt('commands: [{ name: a, run: a, timeout: 2m }]\ntimeout: 60s\n', '{{ commands.a }}\n');
  assert.deepEqual(
    problems.map(({ rule }) => rule),
    ['command-timeout'],
  );
});
