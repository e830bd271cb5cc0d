import assert from 'node:assert/strict';
import { test } from 'node:test';
import { evaluateToolCall } from '../../../src/guard/evaluate-tool-call.ts';
import type { GuardRules } from '../../../src/guard/guard.ts';

const RULES: GuardRules = {
  projectDir: '/p',
  home: '/home/u',
  ownFiles: ['/p/.claude/settings.json'],
  controlProgram: [],
  agentCommands: [],
  caseInsensitive: false,
  guardrails: {
    blockCommands: [],
    shellAllow: null,
    protectedFiles: ['tests/**'],
    privateFiles: [],
    strict: false,
  },
};

const patched = (...lines: string[]): string => ['*** Begin Patch', ...lines, '*** End Patch', ''].join('\n');

/** Tool shapes in which Codex applies a patch; one that is nested in a program arrives like the tool itself. */
const SHAPES: readonly (readonly [tool: string, command: (patch: string) => string])[] = [
  ['apply_patch', (patch) => patch],
  ['Bash', (patch) => `apply_patch <<'EOF'\n${patch}EOF`],
];

const ruleOf = async (tool: string, command: string, cwd = '/p'): Promise<string> => {
  const verdict = await evaluateToolCall({ tool, input: { command }, cwd }, RULES);
  return verdict.decision === 'deny' ? verdict.rule : 'allowed';
};

const many = Array.from({ length: 600 }, (_, at) => [`*** Add File: src/f${at}.js`, '+1']).flat();

const DENIED: readonly (readonly [why: string, patch: string, rule: string])[] = [
  ['adds', patched('*** Add File: tests/a.js', '+1'), 'protected_files: tests/**'],
  ['changes', patched('*** Update File: tests/a.js', '@@', '-1', '+2'), 'protected_files: tests/**'],
  ['deletes', patched('*** Delete File: tests/a.js'), 'protected_files: tests/**'],
  [
    'moves away',
    patched('*** Update File: tests/a.js', '*** Move to: src/a.js', '@@', '-1', '+2'),
    'protected_files: tests/**',
  ],
  [
    'moves into',
    patched('*** Update File: src/a.js', '*** Move to: tests/a.js', '@@', '-1', '+2'),
    'protected_files: tests/**',
  ],
  [
    'has blanks before and after its header',
    patched('  *** Add File: tests/a.js  ', '+1'),
    'protected_files: tests/**',
  ],
  ['has a carriage return', patched('*** Add File: tests/a.js\r', '+1'), 'protected_files: tests/**'],
  ['names an absolute path', patched('*** Delete File: /p/tests/a.js'), 'protected_files: tests/**'],
  ['goes through a folder', patched('*** Delete File: src/../tests/a.js'), 'protected_files: tests/**'],
  ['names it behind 600 others', patched(...many, '*** Add File: tests/a.js', '+1'), 'protected_files: tests/**'],
  ["changes the loop's files", patched('*** Update File: .claude/settings.json', '@@', '-1', '+2'), 'own-files'],
];

test('each file that a patch adds, changes, moves or deletes is judged, in every shape of the tool', async () => {
  for (const [tool, command] of SHAPES) {
    for (const [why, patch, rule] of DENIED) assert.equal(await ruleOf(tool, command(patch)), rule, `${tool}: ${why}`);
  }
});

test('a patch of other files passes, whatever its lines say', async () => {
  const harmless = patched(
    '*** Add File: notes.md',
    '+The suite is in tests/a.js; see rm -rf tests and git push --force.',
    '*** Update File: src/a.js',
    '@@',
    '-const path = "tests/b.js";',
    '+const path = "tests/c.js";',
  );
  for (const [tool, command] of SHAPES) assert.equal(await ruleOf(tool, command(harmless)), 'allowed', tool);
});

test('a relative path of a patch begins in the folder of the call', async () => {
  assert.equal(await ruleOf('apply_patch', patched('*** Delete File: a.js'), '/p/tests'), 'protected_files: tests/**');
  assert.equal(
    await ruleOf('Bash', `cd tests && apply_patch <<'EOF'\n${patched('*** Delete File: a.js')}EOF`),
    'protected_files: tests/**',
  );
});

test('control: the same texts pass in a tool that only reads', async () => {
  for (const [why, patch] of DENIED) assert.equal(await ruleOf('Read', patch), 'allowed', why);
});
