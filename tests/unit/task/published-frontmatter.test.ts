import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ajv, type ValidateFunction } from 'ajv';
import { parse } from 'yaml';
import * as z from 'zod';
import { checkTaskFile } from '../../../src/task/check/check-task-file.ts';
import { publishedFrontmatter } from '../../../src/task/frontmatter/schema.ts';
import { splitFrontmatter } from '../../../src/task/frontmatter/split-frontmatter.ts';
import { AUTH_FIXES, MIGRATION, MINIMAL, MULTI_ENV, SCAFFOLD, SELF_HEALING } from '../../support/example-tasks.ts';

function published(kind: 'ralph-md' | 'prompt'): { schema: Record<string, unknown>; accepts: ValidateFunction } {
  // As scripts/build.ts writes it.
  const schema = z.toJSONSchema(publishedFrontmatter(kind), {
    target: 'draft-7',
    io: 'input',
    unrepresentable: 'throw',
  });
  return { schema: schema as Record<string, unknown>, accepts: new Ajv({ strict: false }).compile(schema) };
}
const RALPH = published('ralph-md');
const PROMPT = published('prompt');

function headerOf(text: string): string {
  return splitFrontmatter(text).frontmatter;
}

/** The header of every example of the text that this format comes from. */
const EXAMPLES = {
  'the whole format': headerOf(AUTH_FIXES),
  'a minimal loop': headerOf(MINIMAL),
  'test feedback': headerOf(SELF_HEALING),
  'an environment': headerOf(MULTI_ENV),
  'a migration': headerOf(MIGRATION),
  pacing: 'items_per_iteration: 3\nreflect_every: 4\n',
  'an allowlist': `guardrails:
  shell_policy:
    mode: allowlist
    allow:
      - '^npm test$'
      - '^npm run lint$'
`,
  'a scaffold': headerOf(SCAFFOLD),
  'precise rules': `guardrails:
  block_commands:
    - { command: git, args: [push], reason: pushing is the user's }
    - pipeline: ["curl|wget", "sh|bash"]
idle: { delay: 30s, max: 3600 }
`,
};

for (const [name, frontmatter] of Object.entries(EXAMPLES)) {
  test(`an example from the documentation passes the published schema and the check: ${name}`, () => {
    assert.ok(RALPH.accepts(parse(frontmatter)), JSON.stringify(RALPH.accepts.errors));
    const errors = checkTaskFile('t/RALPH.md', `---\n${frontmatter}---\nWork.\n`).problems.filter(
      (one) => one.severity === 'error',
    );
    assert.deepEqual(errors, []);
  });
}

const BAD = [
  'max_iterations: 51',
  'max_iterations: 0',
  'maxIterations: 5',
  'timeout: 0',
  'timeout: 90 seconds',
  'inter_iteration_delay: 1.5',
  'commands: [{ name: a }]',
  'commands: [{ run: x }]',
  'commands: [{ name: a b, run: x }]',
  'commands: [{ name: a, run: " " }]',
  'commands: [{ name: a, run: x, timeout: 3601 }]',
  'commands: [{ name: a, run: x, accept: true }]',
  'args: [-x]',
  'args: owner',
  'items_per_iteration: 21',
  'reflect_every: 1',
  'completion_gate: maybe',
  'completion_promise: a<b',
  'required_outputs: [../x]',
  'required_outputs: [/x]',
  'required_outputs: [a/./b]',
  'required_outputs: [a/]',
  'stop_on_error: "yes"',
  'idle: { delay: soon }',
  'guardrails: { block_commands: [{ command: git, pipeline: [a, b] }] }',
  'guardrails: { block_commands: [{ pipeline: [a] }] }',
  'guardrails: { shell_policy: { mode: denylist } }',
  'guardrails: { shell_policy: { allow: [x] } }',
];
for (const frontmatter of BAD) {
  test(`the published schema refuses ${frontmatter}`, () => {
    assert.equal(RALPH.accepts(parse(frontmatter)), false);
  });
}

test('a PROMPT.md has the same keys, and may have more iterations', () => {
  assert.ok(PROMPT.accepts({ max_iterations: 100, timeout: 60, stop_on_error: false, inter_iteration_delay: 5 }));
  assert.equal(RALPH.accepts({ max_iterations: 100 }), false);
  const keys = ({ schema }: typeof PROMPT) => Object.keys((schema as { properties: object }).properties);
  assert.deepEqual(keys(PROMPT), keys(RALPH));
});

test('every key of the published schemas says what it is for', () => {
  const silent: string[] = [];
  const visit = (schema: unknown, path: string): void => {
    if (typeof schema !== 'object' || schema === null) return;
    const { properties, items, anyOf } = schema as { properties?: object; items?: unknown; anyOf?: unknown[] };
    for (const [key, inner] of Object.entries(properties ?? {})) {
      if (!(inner as { description?: string }).description) silent.push(`${path}${key}`);
      visit(inner, `${path}${key}.`);
    }
    for (const inner of [items, ...(anyOf ?? [])]) visit(inner, path);
  };
  visit(RALPH.schema, '');
  visit(PROMPT.schema, '');
  assert.deepEqual(silent, []);
});
