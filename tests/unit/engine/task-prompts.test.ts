import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import { assemblePrompt, wholePrompt } from '../../../src/engine/prompt/assemble-prompt.ts';
import {
  assemblePromptWithTerms,
  assembleTaskPrompt,
  type TaskPromptParts,
} from '../../../src/engine/prompt/assemble-task-prompt.ts';
import { deliverPrompt } from '../../../src/engine/prompt/deliver-prompt.ts';

/**
 * Whole prompts of task folders, as the agent reads them. Each file has in its frontmatter what differs from the parts
 * below, and after it the prompt. `UPDATE_SCENARIOS=1` writes the prompts anew: read the difference before you commit.
 */
/** From the root, where tests are run: this file is bundled elsewhere for mutation tests. */
const FOLDER = join('tests', 'scenarios', 'prompts');
const UPDATE = process.env['UPDATE_SCENARIOS'] === '1';
const HEAD = /^---\n(.*?\n)---\n/s;

const SCENARIOS = [
  'all-sections',
  'blank-progress',
  'first-iteration',
  'gate-disabled',
  'gate-disabled-validation',
  'gate-disabled-without-promise',
  'gate-optional',
  'gate-optional-validation',
  'idle-on',
  'last-rejection-later',
  'long-progress',
  'misplaced-promise',
  'no-promise-to-check',
  'one-item',
  'project-folder',
  'reflection',
  'reflection-not-due',
  'rejected-claim',
  'steering',
];

const USUAL: TaskPromptParts = {
  iteration: 2,
  maxIterations: 20,
  notices: { rejection: [], misplacedSignal: null, warnings: [] },
  steering: [],
  guardrailsPath: null,
  findings: null,
  taskPath: 'tasks/auth/RALPH.md',
  body: 'Fix the failing auth tests.\n',
  completion: { kind: 'promise', text: 'DONE' },
  idle: false,
  progress: 'Login is fixed.\nNext: logout.\n',
  terms: {
    commands: [
      { name: 'tests', run: 'npm test', timeoutSeconds: 60, acceptance: true, directory: 'project' },
      { name: 'notes', run: './notes.sh', timeoutSeconds: 60, acceptance: false, directory: 'task' },
    ],
    gate: 'required',
    requiredOutputs: ['AUTH_FIXES.md'],
    itemsPerIteration: null,
    reflectEvery: null,
  },
  validation: [],
  lastFailures: null,
  elapsedMs: 720_000,
};

/** `base` with what a scenario says in its place. A key that no prompt has is a mistake in the scenario. */
function merged<T extends object>(base: T, change: unknown, path = ''): T {
  const said: Record<string, unknown> = { ...(change as object) };
  for (const key of Object.keys(said)) assert.ok(key in base, `no prompt has a part ${path}${key}`);
  const entries = Object.entries(base).map(([key, value]) => {
    if (!(key in said)) return [key, value];
    if (typeof value === 'number') assert.equal(typeof said[key], 'number', `${path}${key}`);
    const nested = ['notices', 'terms'].includes(key);
    return [key, nested ? merged(value as object, said[key], `${key}.`) : said[key]];
  });
  return Object.fromEntries(entries) as T;
}

/** `progress: {lines: 300}` stands for so many numbered lines. */
function progressOf(change: { progress?: unknown }): object {
  const { lines } = (change.progress ?? {}) as { lines?: number };
  if (lines === undefined) return change;
  const text = Array.from(
    { length: lines },
    (_, index) => `Step ${index + 1}: what was tried, what came of it, and what is to be done next because of it.`,
  ).join('\n');
  return { ...change, progress: text };
}

test('a fixture with a part that no prompt has is found', () => {
  assert.throws(() => merged(USUAL, { iterations: 3 }), /no prompt has a part iterations/);
  assert.throws(() => merged(USUAL, { terms: { reflect: 3 } }), /no prompt has a part terms\.reflect/);
});

test('the fixtures are exactly the prompts', () => {
  assert.deepEqual(readdirSync(FOLDER).sort(), SCENARIOS.map((name) => `${name}.md`).sort());
});

for (const name of SCENARIOS) {
  test(`the prompt of a task folder: ${name.replaceAll('-', ' ')}`, () => {
    const path = join(FOLDER, `${name}.md`);
    const text = readFileSync(path, 'utf8').replaceAll('\r\n', '\n');
    const [head = '', given = ''] = HEAD.exec(text) ?? [];
    assert.notEqual(head, '', `${path} has no frontmatter`);
    const prompt = wholePrompt(assembleTaskPrompt(merged(USUAL, progressOf(parse(given) ?? {}))));
    if (UPDATE) writeFileSync(path, `${head}${prompt}`);
    else assert.equal(text.slice(head.length), prompt);
  });
}

describe('the memory in a prompt', () => {
  const memoryOf = (progress: string) => {
    const { preface } = assembleTaskPrompt({ ...USUAL, progress });
    return /PROGRESS\.md\n\n(.*)\n\nUpdate it/s.exec(preface)?.[1] ?? '';
  };

  test('is whole up to 4096 characters', () => {
    assert.equal(memoryOf('x'.repeat(4096)), 'x'.repeat(4096));
    const cut = memoryOf('x'.repeat(4097));
    assert.match(cut, /\n\[\.\.\. 4097 characters in all \.\.\.\]\n/);
    assert.ok(cut.length <= 4096, `${cut.length}`);
  });

  test('is never more, however long the file is', () => {
    const cut = memoryOf('y'.repeat(3_000_000));
    assert.ok(cut.length <= 4096 && cut.length > 4000, `${cut.length}`);
  });

  test('is not cut inside a character', () => {
    for (const shift of ['', 'x']) {
      const cut = memoryOf(shift + '\u{1F642}'.repeat(4_000));
      assert.doesNotMatch(cut, /\p{Surrogate}/u);
      assert.match(cut, /\u{1F642}\n\[\.\.\. .*\]\n\u{1F642}/u);
    }
  });
});

describe('a task folder’s prompt goes back', () => {
  const client = { promptPath: 'tasks/auth/.ralph-runner/prompt.md' };
  const short = assembleTaskPrompt(USUAL);
  const long = assembleTaskPrompt({ ...USUAL, body: `# Evidence\n${'x'.repeat(9_000)}` });

  test('whole if it is short enough', () => {
    assert.deepEqual(deliverPrompt(short, 'auto', client), { reason: wholePrompt(short), context: null });
    assert.equal(deliverPrompt(short, 'context', client).context, wholePrompt(short));
  });

  test('as a pointer to the file with all of it if it is too long', () => {
    const reason = `[ralph] Iteration 2 of 20. The task folder is tasks/auth/

Read tasks/auth/.ralph-runner/prompt.md now, in full (${wholePrompt(long).length} characters), and follow it: it holds the prompt of this iteration, with the task, the output of its commands and how to end your message.
Its sections:
## Your memory: tasks/auth/RALPH_PROGRESS.md
# Evidence
## Goal
## Completion gate: required
`;
    assert.deepEqual(deliverPrompt(long, 'auto', client), { reason, context: null });
  });

  test('as a pointer at any length if the loop says so', () => {
    const { reason } = deliverPrompt(short, 'pointer', client);
    assert.match(reason, /^\[ralph\] Iteration 2 of 20\..*\n\nRead tasks\/auth\/\.ralph-runner\/prompt\.md now/);
  });

  test('in the reason at any length if no file holds it', () => {
    const { reason, context } = deliverPrompt(long, 'auto', { ...client, promptPath: null });
    assert.deepEqual([reason, context], [wholePrompt(long), null]);
  });
});

describe('a plain prompt has beside its own sections', () => {
  type Terms = TaskPromptParts['terms'];
  const NO_TERMS: Terms = { ...USUAL.terms, commands: [], requiredOutputs: [], openQuestions: 'optional' };
  const given = (terms: Partial<Terms>, change: Partial<TaskPromptParts> = {}) => {
    const parts = { ...USUAL, taskPath: 'PROMPT.md', ...change, terms: { ...NO_TERMS, ...terms } };
    return { whole: assemblePromptWithTerms(parts), plain: assemblePrompt(parts) };
  };
  const added = (terms: Partial<Terms>, change: Partial<TaskPromptParts> = {}): string => {
    const { whole, plain } = given(terms, change);
    assert.deepEqual([whole.preface, whole.body], [plain.preface, plain.body]);
    assert.ok(whole.closing.endsWith(plain.closing), whole.closing);
    return whole.closing.slice(0, whole.closing.length - plain.closing.length);
  };
  const [command] = USUAL.terms.commands;
  assert.ok(command?.acceptance);

  test('nothing where it has no terms', () => {
    assert.equal(added({}), '');
    assert.equal(added({ commands: [{ ...command, acceptance: false }] }), '');
  });

  const ASKING: readonly (readonly [string, Partial<Terms>])[] = [
    ['an output', { requiredOutputs: ['OUT.md'] }],
    ['a command that must pass', { commands: [{ ...command, acceptance: false }, command] }],
    ['questions that must be answered', { openQuestions: 'required' }],
  ];
  for (const [what, terms] of ASKING) {
    test(`its gate where it asks for ${what}, and no gate without a promise`, () => {
      assert.match(
        added(terms),
        /^[^\n]*Completion gate: required\n[\s\S]*<promise>DONE<\/promise> is checked[\s\S]*\n\n$/,
      );
      assert.match(added({ ...terms, gate: 'optional' }), /Before you give <promise>DONE<\/promise>, make sure/);
      assert.equal(added(terms, { completion: { kind: 'none' } }), '');
    });
  }

  test('its pace, and the reflection that is due, before its gate', () => {
    const all = added({ itemsPerIteration: 1, reflectEvery: 2, requiredOutputs: ['OUT.md'] }, { iteration: 4 });
    assert.match(all, /Pace\n[\s\S]*\n\n[^\n]*Reflect first\n[\s\S]*\n\n[^\n]*Completion gate: required\n/);
    assert.doesNotMatch(added({ itemsPerIteration: 1, reflectEvery: 2 }, { iteration: 3 }), /Reflect|gate/);
  });
});
