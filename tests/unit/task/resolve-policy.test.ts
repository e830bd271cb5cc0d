import assert from 'node:assert/strict';
import { test } from 'node:test';
import { policy as policySchema } from '../../../src/engine/schema/contract.ts';
import { checkTaskFile } from '../../../src/task/check/check-task-file.ts';
import { costProblem } from '../../../src/task/frontmatter/key-problems.ts';
import type { Frontmatter } from '../../../src/task/frontmatter/schema.ts';
import { resolvePolicy } from '../../../src/task/settings/resolve-policy.ts';
import { DEFAULT_POLICY } from '../../support/contract-terms.ts';

type Input = Parameters<typeof resolvePolicy>[0];

function resolved(input: Omit<Input, 'kind'> & Partial<Pick<Input, 'kind'>> = {}) {
  const answer = resolvePolicy({ kind: 'prompt', ...input });
  if (!answer.ok) assert.fail(JSON.stringify(answer.problems));
  return answer;
}

function refused(input: Omit<Input, 'kind'> & Partial<Pick<Input, 'kind'>>) {
  const answer = resolvePolicy({ kind: 'prompt', ...input });
  assert.equal(answer.ok, false);
  return answer.problems;
}

function frontmatter(text: string, path = 'PROMPT.md') {
  const checked = checkTaskFile(path, `---\n${text}---\nWork.\n`);
  assert.deepEqual(checked.problems, []);
  return checked.frontmatter;
}

test('without settings the defaults of the table apply', () => {
  const { policy, settings, sources } = resolved();
  assert.deepEqual(policy, DEFAULT_POLICY);
  assert.deepEqual(settings, {
    accept: 'ask',
    baseline: true,
    validation: [],
    unchanged: [],
    mayChange: [],
    mayRun: [],
    verifyIn: 'project',
    findingsLog: '.ralph/findings.md',
    agent: null,
    model: null,
    effort: null,
    permissionMode: null,
    isolation: 'project',
    commitMessage: null,
    commitFooters: [],
    sandbox: { mode: 'off', allow_write: [], deny_write: [], deny_read: [], network: false },
    worktreeSetup: null,
    worktreeCopy: [],
    notify: {
      on: ['complete', 'blocked', 'paused', 'limit', 'error'],
      command: null,
      url: null,
      template: 'json',
      bell: true,
    },
    guardrails: { blockCommands: [], shellAllow: null, protectedFiles: [], privateFiles: [], strict: false },
    task: null,
  });
  assert.ok(Object.values(sources).every((source) => source === 'default'));
  assert.equal(sources['breaker.same_reply'], 'default');
});

test('merges the keys of notify one by one and refuses what cannot be sent', () => {
  const { settings, sources } = resolved({
    frontmatter: frontmatter('notify:\n  "on": [blocked]\n  command: [notify-send, the loop]\n'),
    configs: { 'user config': { notify: { url: 'https://example.org/hook', template: 'slack' } } },
  });
  assert.deepEqual(settings.notify, {
    on: ['blocked'],
    command: ['notify-send', 'the loop'],
    url: 'https://example.org/hook',
    template: 'slack',
    bell: true,
  });
  assert.equal(sources['notify.url'], 'user config');
  const problems = refused({
    configs: { 'user config': { notify: { on: ['done'], command: [], url: 'file:///etc/passwd' } } },
  });
  assert.deepEqual(problems.map(({ path }) => path).sort(), ['notify.command', 'notify.on[0]', 'notify.url']);
});

test('flag, environment, frontmatter, project config, user config and default win in this order', () => {
  const layers: readonly (readonly [name: string, input: Omit<Input, 'kind'>])[] = [
    ['flag', { flags: { max_iterations: '11' } }],
    ['environment', { env: { RALPH_MAX_ITERATIONS: '12' } }],
    ['frontmatter', { frontmatter: frontmatter('max_iterations: 13\n') }],
    ['project config', { configs: { 'project config': { maxIterations: 14 }, 'user config': { max_iterations: 15 } } }],
    ['user config', { configs: { 'user config': { max_iterations: 15 } } }],
  ];
  for (const [index, [name]] of layers.entries()) {
    const left = layers.slice(index).toReversed();
    const { policy, sources } = resolved(Object.assign({}, ...left.map(([, input]) => input)));
    assert.equal(policy.maxIterations, 11 + index);
    assert.equal(sources['max_iterations'], name);
  }
  assert.equal(resolved().policy.maxIterations, 25);
});

test('merges groups key by key', () => {
  const { policy, sources } = resolved({
    flags: { 'breaker.findings': '7', 'idle.delay': '10s' },
    frontmatter: frontmatter('idle: { max: 1h }\nbreaker: { findings: 1, denials: 0 }\n'),
    configs: { 'user config': { breaker: { tdd: 9, denials: 8 }, idle: { backoff: 3, max: '2h' } } },
  });
  assert.deepEqual(policy.breaker, { findings: 7, noProgress: 0, sameReply: 3, sameError: 5, denials: 0, tdd: 9 });
  assert.equal(policy.idle?.delayMs, 10_000);
  assert.equal(policy.idle?.backoff, 3);
  assert.equal(policy.idle?.maxMs, 3_600_000);
  assert.deepEqual(
    ['breaker.findings', 'breaker.denials', 'breaker.tdd', 'idle', 'idle.max', 'idle.wake'].map((key) => sources[key]),
    ['flag', 'frontmatter', 'user config', 'flag', 'frontmatter', 'default'],
  );
});

test('a list of a higher layer replaces the lower one whole', () => {
  const { settings } = resolved({
    frontmatter: frontmatter('validation: [npm test]\n'),
    configs: { 'project config': { validation: ['make check', 'make lint'] } },
  });
  assert.deepEqual(settings.validation, ['npm test']);
});

test('reads the variables of the environment and ignores empty ones', () => {
  const { policy } = resolved({
    env: { RALPH_COMPLETION_SIGNAL: 'OVER', RALPH_CIRCUIT_BREAKER_THRESHOLD: '0', RALPH_MAX_ITERATIONS: '' },
  });
  assert.deepEqual(policy.completion, { kind: 'signal', text: 'OVER' });
  assert.equal(policy.breaker.findings, 0);
  assert.equal(policy.maxIterations, 25);
});

for (const [value, because] of [
  ['0', '"?0'],
  ['101', '101'],
  ['many', '"many"'],
  ['2.5', '2.5'],
] as const) {
  test(`RALPH_MAX_ITERATIONS=${value} is an error that names its source`, () => {
    const [problem, ...more] = refused({ env: { RALPH_MAX_ITERATIONS: value } });
    assert.deepEqual(more, []);
    assert.equal(problem?.path, 'max_iterations');
    assert.match(
      problem?.message ?? '',
      new RegExp(
        `^RALPH_MAX_ITERATIONS in the environment: max_iterations must be an integer from 1 to 100, but is ${because}\\.$`,
      ),
    );
  });
}

test('an invalid value is an error even if a valid one wins', () => {
  const problems = refused({
    flags: { max_iterations: 3 },
    env: { RALPH_MAX_ITERATIONS: 'x', RALPH_COMPLETION_SIGNAL: 'a\nb' },
    configs: { 'project config': { max_iterations: 900 }, 'user config': [] },
  });
  assert.deepEqual(
    problems.map(({ rule, message }) => [rule, /^(.*?): /.exec(message)?.[1]]),
    [
      ['completion-signal', 'RALPH_COMPLETION_SIGNAL in the environment'],
      ['type', 'RALPH_MAX_ITERATIONS in the environment'],
      ['range', 'the project config'],
      ['not-a-mapping', 'the user config'],
    ],
  );
});

test('a task folder has a cap of 50, whatever layer sets the value', () => {
  const [problem] = refused({ kind: 'ralph-md', env: { RALPH_MAX_ITERATIONS: '80' } });
  assert.equal(
    problem?.message,
    'the environment: max_iterations must be an integer from 1 to 50 for this kind of task, but is 80.',
  );
  assert.equal(refused({ kind: 'checklist', configs: { 'user config': { max_iterations: 51 } } }).length, 1);
  assert.equal(resolved({ kind: 'ralph-md', flags: { max_iterations: 50 } }).policy.maxIterations, 50);
  assert.equal(resolved({ kind: 'checklist' }).policy.maxIterations, 50);
});

test('unknown keys of a config are warnings', () => {
  const { problems } = resolved({ configs: { 'project config': { maxIteration: 3 } } });
  assert.equal(problems.length, 1);
  assert.match(problems[0]?.message ?? '', /^the project config: .* Did you mean "max_iterations"\?$/);
});

test('idle is off without a block and has its defaults with an empty one', () => {
  assert.equal(resolved().policy.idle, null);
  assert.deepEqual(resolved({ frontmatter: frontmatter('idle: {}\n') }).policy.idle, {
    delayMs: 30_000,
    backoff: 2,
    maxDelayMs: 300_000,
    maxMs: 21_600_000,
    wake: 'time',
    watch: [],
    maxQuietMs: null,
  });
});

test('the default max_delay follows a longer delay', () => {
  const { policy } = resolved({ frontmatter: frontmatter('idle: { delay: 10m }\n') });
  assert.equal(policy.idle?.maxDelayMs, 600_000);
});

test('checks idle keys of different layers together and names the source of each', () => {
  const [problem, ...more] = refused({
    flags: { 'idle.delay': '10m' },
    configs: { 'project config': { idle: { max_delay: '5m' } } },
  });
  assert.deepEqual(more, []);
  assert.equal(problem?.path, 'idle.max_delay');
  assert.match(problem?.message ?? '', /idle\.max_delay from the project config, idle\.delay from the flag/);
  assert.equal(
    resolved({ flags: { 'idle.delay': '7h' }, configs: { 'user config': { idle: { max: '1d' } } } }).policy.idle?.maxMs,
    86_400_000,
  );
});

test('a loop has one form of completion, depending on its kind', () => {
  const kinds = ['prompt', 'ralph-md', 'checklist', 'plan', 'tdd'] as const;
  const of = (input: Omit<Input, 'kind'>) => kinds.map((kind) => resolved({ kind, ...input }).policy.completion.kind);
  assert.deepEqual(of({}), ['signal', 'none', 'none', 'none', 'none']);
  assert.deepEqual(of({ flags: { completion_signal: 'OVER' } }), ['signal', 'none', 'signal', 'signal', 'signal']);
  assert.deepEqual(of({ flags: { completion_signal: 'OVER', completion_promise: 'DONE' } }), Array(5).fill('promise'));
});

for (const bad of ['two\nlines', 'a<b', 'a>b', '', ' x']) {
  test(`a promise is one line without angle brackets: ${JSON.stringify(bad)} is invalid`, () => {
    assert.equal(refused({ flags: { completion_promise: bad } })[0]?.rule, 'completion-promise');
  });
}

test('a signal of digits stays text', () => {
  assert.deepEqual(resolved({ flags: { completion_signal: '42' } }).policy.completion, { kind: 'signal', text: '42' });
});

test('the result matches the schema of a policy, whatever was set', () => {
  const { policy, settings } = resolved({
    flags: { 'budget.max_cost': '2.5', 'budget.warn_at': '0', 'guardrails.strict': 'true', signal_match: 'anywhere' },
    configs: {
      'user config': {
        budget: { maxTokens: 10, maxTime: '1d' },
        reinject: 'pointer',
        background_wait: '1ms',
        idle: { watch: ['a/**'] },
      },
    },
  });
  assert.deepEqual(policySchema.parse(policy), policy);
  assert.equal(settings.guardrails.strict, true);
});

test('a flag named after the prototype sets nothing', () => {
  resolvePolicy({ kind: 'prompt', flags: { validation: '[]', 'validation.__proto__.polluted': 1 } });
  assert.equal(([] as unknown as Record<string, unknown>)['polluted'], undefined);
  for (const key of ['__proto__.polluted', 'idle.__proto__.polluted', 'idle.constructor.prototype.polluted']) {
    resolvePolicy({ kind: 'prompt', flags: { [key]: 1 } });
    assert.equal(({} as Record<string, unknown>)['polluted'], undefined, key);
  }
});

test('of a flag for a group and one for a part of it the later one wins', () => {
  assert.equal(resolved({ flags: { idle: '1', 'idle.delay': '5s' } }).policy.idle?.delayMs, 5_000);
  assert.match(
    refused({ flags: { 'idle.delay': '5s', idle: '1' } })[0]?.message ?? '',
    /^an option: idle must be a mapping/,
  );
});

test('a flag in camelCase accepts numbers and truth values too', () => {
  const { policy, settings } = resolved({ flags: { maxIterations: '7', 'guardrails.strict': 'true' } });
  assert.deepEqual([policy.maxIterations, settings.guardrails.strict], [7, true]);
});

test('refuses a cost limit if the cost is not reported', () => {
  const budget = { ...DEFAULT_POLICY.budget, maxCostUsd: 3 };
  assert.match(costProblem(budget, false) ?? '', /^budget\.max_cost is \$3, /);
  assert.equal(costProblem(budget, true), null);
  assert.equal(costProblem(DEFAULT_POLICY.budget, false), null);
});

test('only what depends on the name of the task file differs by default', () => {
  const row = (kind: 'prompt' | 'ralph-md' | 'checklist') => {
    const resolved = resolvePolicy({ kind, frontmatter: { completion_gate: 'required' } });
    assert.ok(resolved.ok);
    const { maxIterations, pace, completion, ...rest } = resolved.policy;
    const { task, ...settings } = resolved.settings;
    const { timeoutSeconds, openQuestions, ...terms } = task ?? {};
    const own = [maxIterations, pace, completion.kind, timeoutSeconds, openQuestions];
    return { own, shared: { rest, settings, terms } };
  };
  const [prompt, ralph, checklist] = [row('prompt'), row('ralph-md'), row('checklist')];
  assert.deepEqual(ralph.shared, prompt.shared);
  assert.deepEqual(checklist.shared, prompt.shared);
  const pace = { delayMs: 0, iterationTimeoutMs: 7_200_000, stopOnError: false, tracksProgress: false };
  const ofFolder = { delayMs: 0, iterationTimeoutMs: 300_000, stopOnError: true, tracksProgress: true };
  assert.deepEqual(prompt.own, [25, pace, 'signal', 7200, 'optional']);
  assert.deepEqual(ralph.own, [50, ofFolder, 'none', 300, 'required']);
  assert.deepEqual(checklist.own, [50, ofFolder, 'none', 300, 'required']);
});

test('a prompt file has terms if it sets one of their keys, and a gate if it names something to check', () => {
  const task = (frontmatter: Frontmatter, more: Partial<Parameters<typeof resolvePolicy>[0]> = {}) => {
    const resolved = resolvePolicy({ kind: 'prompt', frontmatter, ...more });
    assert.ok(resolved.ok);
    return resolved.settings.task;
  };
  assert.equal(task({ completion_promise: 'DONE', validation: ['x'] }), null);
  assert.equal(task({}, { configs: { 'project config': { reflect_every: 3 } } }), null);
  assert.equal(task({ required_outputs: ['a'] })?.gate, 'required');
  assert.equal(task({ commands: [{ name: 'a', run: 'b', acceptance: true }] })?.gate, 'required');
  assert.equal(task({ items_per_iteration: 2 })?.gate, 'disabled');
  assert.equal(task({ args: ['a'], completion_promise: 'DONE' })?.gate, 'required');
});
