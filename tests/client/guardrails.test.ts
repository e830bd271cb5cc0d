import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inTaskFolder, type TaskLoop } from '../support/client/task-loop.ts';
import { bash, type MessageReply, type Script, steps, text, tool } from '../support/model/scripted-model.ts';
import { IS_LONG, longTest, someOf } from '../support/short-form.ts';

const GUARDRAILS = `guardrails:
  block_commands:
    - 'git\\s+push'
    - { command: npm, args: [publish], reason: Releases are made by people. }
    - { pipeline: ["curl|wget|cat", "sh|bash"] }
  protected_files: ['config/*.lock', 'policy:secret-bearing-paths']
  private_files: ['private/**']`;

const withRules = (rules: string, more = ''): string => `---\nmax_iterations: 9\n${more}${rules}\n---\nDo the work.\n`;

const files = {
  'config/deps.lock': 'first\n',
  'private/plan.txt': 'the-secret-plan\n',
  'install.sh': 'touch installed\n',
  'notes.txt': 'first\n',
};

interface Attempt {
  readonly call: MessageReply;
  readonly rule: string;
  /** By what lies on the disk afterwards, or what the model got. */
  readonly ran: (loop: TaskLoop, answer: string) => boolean;
}

const has = (path: string) => (loop: TaskLoop) => loop.workspace.has(path);
const shown = (_loop: TaskLoop, answer: string) => answer.includes('the-secret-plan');
const absolute = (path: string) => (project: string) => `${project}/${path}`;

/** Under bypassPermissions the client itself stops none of them. */
const attempts = (project: string): readonly Attempt[] => [
  { call: bash('touch pushed; git push --force'), rule: 'git\\s+push', ran: has('pushed') },
  {
    call: bash('touch published; npm --silent publish . || true'),
    rule: '{command: npm, args: [publish]}',
    ran: has('published'),
  },
  { call: bash('cat install.sh | env bash'), rule: '{pipeline: [curl|wget|cat, sh|bash]}', ran: has('installed') },
  {
    call: tool('Write', { file_path: absolute('config/new.lock')(project), content: 'second\n' }),
    rule: 'protected_files: config/*.lock',
    ran: has('config/new.lock'),
  },
  {
    call: bash('(cd config && echo second > other.lock)'),
    rule: 'protected_files: config/*.lock',
    ran: has('config/other.lock'),
  },
  {
    call: bash('mkdir -p .ssh && touch .ssh/key'),
    rule: 'protected_files: policy:secret-bearing-paths',
    ran: has('.ssh/key'),
  },
  {
    call: tool('Read', { file_path: absolute('private/plan.txt')(project) }),
    rule: 'private_files: private/**',
    ran: shown,
  },
  {
    call: bash('ln private/plan.txt my-task/RALPH_PROGRESS.md'),
    rule: 'private_files: private/**',
    ran: has('my-task/RALPH_PROGRESS.md'),
  },
  { call: bash('cat private/plan.txt'), rule: 'private_files: private/**', ran: shown },
  { call: bash('grep -r secret-plan --include=*.txt .'), rule: 'private_files: private/**', ran: shown },
];

/** A subagent makes one call of each tool: what the rules forbid, they forbid by the same code. */
const triedBy = (who: 'main' | 'subagent', project: string): readonly Attempt[] => {
  const named = ({ call }: Attempt): unknown => call.blocks.map((block) => 'name' in block && block.name).join();
  return attempts(project).filter(
    (each, at, all) => who === 'main' || all.findIndex((other) => named(other) === named(each)) === at,
  );
};

/** What each of the calls was answered, in order. */
const answersTo = ({ project }: TaskLoop, who: 'main' | 'subagent', calls: number): string[] =>
  project.model.requests
    .filter(({ kind }) => kind === who)
    .slice(1, 1 + calls)
    .map(({ sinceText }) => sinceText);

/** Beside the rules: words in a message, reading what is only protected, writing what is not. */
const harmless: readonly MessageReply[] = [
  bash('echo "to do: npm publish" > todo.txt'),
  bash('cat config/deps.lock && echo fine'),
  bash('npm --version > version.txt'),
];

const delegate = tool('Agent', {
  description: 'work',
  prompt: 'do it',
  subagent_type: 'general-purpose',
  run_in_background: false,
});

/** The main agent makes the calls, or a subagent of it. */
const by = (who: 'main' | 'subagent', calls: readonly MessageReply[]): Script => {
  if (who === 'main') return steps([...calls, text('That was all.')]);
  const subagent = steps([...calls, text('The subagent is done.')]);
  const main = steps([delegate, text('That was all.')]);
  return {
    main: main.main,
    subagent: subagent.main,
    problems: () => [main, subagent].flatMap((each) => each.problems?.() ?? []),
  };
};

// A subagent under the same rules is also in the router's tests.
for (const who of someOf(['main', 'subagent'] as const, 2)) {
  test(`what a rule forbids does not run for the ${who === 'main' ? 'agent' : 'subagent'}, which learns it; other calls run`, async () => {
    const script = (workspace: { readonly project: string }) =>
      by(who, [...triedBy(who, workspace.project).map(({ call }) => call), ...harmless]);
    await inTaskFolder({ ralph: withRules(GUARDRAILS), files }, script, async (loop) => {
      const run = await loop.run({ args: ['--max-iterations', '1'] });
      assert.equal(run.code, 2, run.said);
      const { workspace, project } = loop;
      const tried = triedBy(who, workspace.project);
      const answers = answersTo(loop, who, tried.length);
      for (const [index, { rule, ran }] of tried.entries()) {
        const answer = answers[index] ?? '';
        assert.ok(answer.includes(`[blocked by guardrail: ${rule}]`), `${rule}: ${answer}`);
        assert.equal(ran(loop, answer), false, rule);
      }
      if (who === 'main') assert.match(answers[1] ?? '', /Releases are made by people\./);
      assert.equal(workspace.read('config/deps.lock'), 'first\n');
      assert.equal(workspace.read('todo.txt'), 'to do: npm publish\n');
      assert.match(workspace.read('version.txt'), /^\d+\.\d+/);

      const calls = project.calls();
      const denied = calls.filter(({ phase }) => phase === 'denied');
      assert.deepEqual(
        denied.map(({ rule }) => rule),
        tried.map(({ rule }) => rule),
      );
      assert.equal(calls.filter(({ phase }) => phase === 'done').length, harmless.length + (who === 'main' ? 0 : 1));
      assert.ok(denied.every(({ agentId }) => (agentId === undefined) === (who === 'main')));
    });
  });
}

/** Half of them in the short form: the control is about the rules, and not about each of them. */
const controlled = (project: string): readonly Attempt[] => someOf(attempts(project), 2);

test('control: without the rules every one of these calls runs', async () => {
  const script = (workspace: { readonly project: string }) =>
    by(
      'main',
      controlled(workspace.project).map(({ call }) => call),
    );
  await inTaskFolder({ standIn: !IS_LONG, ralph: withRules(''), files }, script, async (loop) => {
    await loop.run({ args: ['--max-iterations', '1'] });
    const tried = controlled(loop.workspace.project);
    const answers = answersTo(loop, 'main', tried.length);
    for (const [index, { rule, ran }] of tried.entries()) assert.equal(ran(loop, answers[index] ?? ''), true, rule);
    assert.equal(loop.project.calls().filter(({ phase }) => phase === 'denied').length, 0);
  });
});

longTest('three iterations of only denials trip the breaker, whatever rules they break', async () => {
  const push = bash('git push');
  const main = steps([
    ...[push, bash('echo allowed'), text('one')],
    ...[push, text('two')],
    ...[tool('Write', { file_path: 'config/new.lock', content: 'x' }), text('three')],
    ...[bash('cat private/plan.txt'), push, text('four')],
  ]);
  await inTaskFolder({ standIn: true, ralph: withRules(GUARDRAILS), files }, main, async ({ run, project }) => {
    const { code, said } = await run();
    assert.equal(code, 2, said);
    assert.equal(project.ended().as, 'circuit-open');
    assert.match(said, /circuit breaker \(denials\): every tool call was denied in 3 iterations in a row/);
    assert.equal(project.iterations().length, 4);
  });
});

test('under an allowlist only what matches runs, for the agent and for the task’s own commands', async () => {
  const allowlist = `commands:
  - { name: allowed, run: npm test }
  - { name: others, run: touch by-the-task }
completion_promise: DONE
guardrails:
  shell_policy:
    mode: allowlist
    allow: ['^npm test$', 'echo [a-z ]+']`;
  const script = steps([
    bash('npm test && touch chained'),
    bash('touch alone'),
    bash('echo "$(touch substituted)"'),
    bash('sudo npm test'),
    bash('env CI=1 timeout 60 npm test && echo that is allowed'),
    bash('echo redirected > out.txt'),
    text('one'),
  ]);
  const project = { 'package.json': '{"name":"p","scripts":{"test":"echo the tests have run"}}\n' };
  await inTaskFolder({ standIn: true, ralph: withRules(allowlist), files: project }, script, async (loop) => {
    const run = await loop.run({ args: ['--max-iterations', '1'] });
    assert.equal(run.code, 2, run.said);
    const [first = '', ...answers] = loop.told();
    for (const answer of answers.slice(0, 4)) assert.match(answer, /\[blocked by guardrail: shell_policy\.allowlist\]/);
    assert.match(answers[4] ?? '', /the tests have run\nthat is allowed/);
    assert.equal(loop.workspace.read('out.txt'), 'redirected\n');
    for (const path of ['chained', 'alone', 'substituted', 'by-the-task'])
      assert.equal(loop.workspace.has(path), false, path);
    assert.doesNotMatch(first, /shell_policy/, 'no placeholder asks for it');
    assert.deepEqual(
      loop.records()[0]?.commands.map(({ name, outcome, preview }) => [name, outcome, preview.split('\n').at(-1)]),
      [
        ['allowed', 'ok', 'the tests have run'],
        ['others', 'blocked', '[blocked by guardrail: shell_policy.allowlist]'],
      ],
    );
  });
});

longTest('a blocked command of the task is evidence of that, and fails as an acceptance command', async () => {
  const blocked = `commands:
  - { name: release, run: "touch released && git push", acceptance: true }
completion_promise: DONE
baseline: false
${GUARDRAILS}`;
  const ralph = `${withRules(blocked)}\n{{ commands.release }}\n`;
  const script = steps([
    bash(`printf '# P0\\n' > my-task/OPEN_QUESTIONS.md`),
    text('<promise>DONE</promise>'),
    text('I see.'),
  ]);
  await inTaskFolder({ standIn: true, ralph, files }, script, async (loop) => {
    const run = await loop.run({ args: ['--max-iterations', '2'] });
    assert.equal(run.code, 2, run.said);
    const [first = '', , second = ''] = loop.told();
    assert.match(first, /^\[blocked by guardrail: git\\s\+push\]$/m);
    assert.match(second, /release: unavailable: it was not run, since a guardrail blocks it: git\\s\+push/);
    assert.equal(loop.workspace.has('released'), false);
  });
});

for (const strict of someOf([true, false], 2)) {
  test(`code for an interpreter is ${strict ? 'denied under strict rules' : 'recorded otherwise'}`, async () => {
    const rules = `${GUARDRAILS}\n  strict: ${strict}`;
    const script = steps([bash(`node -e 'require("fs").writeFileSync("made.txt", "")'`), text('one')]);
    await inTaskFolder({ standIn: true, ralph: withRules(rules), files }, script, async (loop) => {
      const run = await loop.run({ args: ['--max-iterations', '1'] });
      assert.equal(run.code, 2, run.said);
      assert.equal(loop.workspace.has('made.txt'), !strict);
      const [call] = loop.project.calls();
      if (strict) {
        assert.deepEqual([call?.['phase'], call?.['rule']], ['denied', 'undecided']);
        assert.match(loop.told()[1] ?? '', /This is code for an interpreter, which cannot be checked/);
      } else {
        assert.match(String(call?.['undecided']), /interpreter-code/);
      }
    });
  });
}
