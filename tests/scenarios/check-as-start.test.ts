import assert from 'node:assert/strict';
import { test } from 'node:test';
import { project } from '../support/project.ts';
import { someOf } from '../support/short-form.ts';
import { unattended } from '../support/terminal/in-person.ts';

const TASK = '.claude/ralph/PROMPT.md';
const PROMPT = (keys: string): string => `---\n${keys}\n---\nDo it.\n`;
/** With another agent, a run needs no permission mode. */
const OTHER = ['--agent', 'true'];

interface BadTask {
  readonly path?: string;
  readonly text: string;
  readonly words?: readonly string[];
  /** Part of the refusal, so that a run that refuses for another reason fails the test. */
  readonly says: RegExp;
  /** What a run asks for is a note of `check`: the file has no error. */
  readonly note?: true;
  readonly config?: string;
}

const CORPUS: Readonly<Record<string, BadTask>> = {
  'an agent that starts Claude Code': {
    text: PROMPT('agent: claude -p --dangerously-skip-permissions'),
    words: [],
    says: /agent starts Claude Code itself/,
  },
  'a cost limit for another agent': {
    text: PROMPT('agent: ./a.sh\nbudget: {max_cost: 1}'),
    words: [],
    says: /budget\.max_cost needs usage figures/,
  },
  'a sandbox for another agent': {
    text: PROMPT('agent: ./a.sh\nsandbox: {mode: "on"}'),
    words: [],
    says: /a\.sh/,
  },
  'guardrails for another agent': {
    text: PROMPT('agent: ./a.sh\nguardrails: {protected_files: [tests/**]}'),
    words: [],
    says: /Guardrails cannot be enforced on an agent command/,
  },
  'two checks of one name': {
    text: PROMPT('validation: [{name: a, run: "true"}, {name: a, run: "false"}]'),
    says: /validation\[1\]\.name must be unique/,
  },
  'waits that contradict each other': {
    text: PROMPT('idle: {delay: 5m, max_delay: 1m}'),
    says: /idle/,
  },
  'an unknown value': { text: PROMPT('permission_mode: anything'), says: /permission_mode must be one of/ },
  JSON: { path: 'prd.json', text: '{"stories": []}\n', says: /JSON is no task/ },
  'an empty body': { text: '---\nmax_iterations: 3\n---\n', says: /The task is empty/ },
  'an open frontmatter': { text: '---\nmax_iterations: 3\nDo it.\n', says: /is never closed/ },
  'a template': { text: 'Describe the task here.\n', says: /The template is not filled in/ },
  'a checklist that is done': {
    path: '.ralph/a/task.md',
    text: '# Goals\n\n- [x] One\n',
    says: /nothing to do: its only item/,
  },
  'an item that is none': { path: '.ralph/a/task.md', text: '- [ ] One\n- []Two\n', says: /looks like an item/ },
  'a broken configuration file': { text: PROMPT('max_iterations: 3'), config: '{', says: /is not valid JSON/ },
  'a configuration file with a wrong value': {
    text: PROMPT('max_iterations: 3'),
    config: '{"idle": {"delay": "soon"}}',
    says: /config\.json: idle\.delay must be a duration/,
  },
  'no permission mode': { text: PROMPT('max_iterations: 3'), words: [], says: /needs a permission mode/, note: true },
  'no value for an argument': {
    path: 'job/RALPH.md',
    text: '---\nargs: [name]\ncommands: [{name: a, run: "echo {{ args.name }}"}]\n---\nDo {{ args.name }}.\n',
    says: /the argument "name" has no value/,
    note: true,
  },
  'no consent to a set-up': {
    path: 'job/RALPH.md',
    text: PROMPT('worktree_setup: npm ci'),
    says: /have not agreed to: worktree_setup: npm ci {2}\(task file\)/,
    note: true,
  },
};

for (const [what, { path = TASK, text, words = OTHER, says, note = false, config }] of someOf(
  Object.entries(CORPUS),
  3,
)) {
  test(`check says of ${what} what run refuses, word for word`, (t) => {
    const p = project(t);
    p.write(path, text);
    if (config !== undefined) p.write('.claude/ralph/config.json', config);
    const run = unattended(p, ['run', '--plain', path, ...words]);
    assert.equal(run.code, 1, run.stdout);
    assert.match(run.stderr, says);
    const check = p.ralph(['check', path]);
    assert.equal(check.code, note ? 0 : 1, check.stdout + check.stderr);
    const refusals = run.stderr
      .replace(/^(?:.*\n)*ralph-loop: /, '')
      .split('\n')
      .map((line) => line.replace(/^ {2}(?:line \d+: )?/, ''))
      .filter((line) => line !== '' && !/ cannot be started:$/.test(line));
    for (const line of refusals)
      assert.ok((check.stdout + check.stderr).includes(line), `${line}\n---\n${check.stdout}`);
    if (note) assert.match(check.stdout, new RegExp(`^Note: .*${says.source}`, 'm'));
  });
}

test('control: check has nothing to say against a task that runs', (t) => {
  const p = project(t);
  p.write(TASK, PROMPT('permission_mode: acceptEdits\nvalidation: ["true"]'));
  const { code, stdout } = p.ralph(['check']);
  assert.equal(code, 0);
  assert.match(stdout, /PROMPT\.md is fine\./);
  assert.doesNotMatch(stdout, /^Note:/m);
});
