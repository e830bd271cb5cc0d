import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { Guardrails } from '../../../src/engine/schema/contract.ts';
import { evaluateGuardrails, ownDenial } from '../../../src/guard/evaluate-shell-command.ts';
import { evaluateToolCall } from '../../../src/guard/evaluate-tool-call.ts';
import { prepareGuard } from '../../../src/guard/guard.ts';
import { readShellCommand } from '../../../src/guard/shell/read-shell-command.ts';
import type { ShellReading } from '../../../src/guard/shell/shell-reading.ts';
import { CHANGES, NAMES_ONLY } from './corpus/possible-writes.ts';
import { PROJECT_COMMANDS } from './corpus/project-commands.ts';
import { createCorpusProject, NO_RULES } from './support/corpus-project.ts';
import '../../support/starts-processes.ts';

const project = createCorpusProject();
after(() => rmSync(project.root, { recursive: true, force: true }));
const PROTECTED = ['test/a.test.ts', '.github/workflows/ci.yml', 'package-lock.json', 'deploy/values.yaml'];
const OWN = [
  '.claude/settings.json',
  '.claude/hooks/ralph-stop-hook.cjs',
  '@HOME@/.local/state/ralph-loop/0f3a/contract.json',
];
for (const file of [
  ...PROTECTED,
  ...['test/b.test.ts', 'test/fixtures/a.json', 'test/fixtures/a.bin', 'test/fixtures/list.txt', 'test/load.js'],
  ...[
    'test/run.ts',
    'test/e2e.sh',
    'tests/test_a.py',
    'spec/a_spec.rb',
    'migrations/0001_init.sql',
    'deploy/Dockerfile',
  ],
  ...[
    'deploy/compose.yaml',
    'docs/adr/0001.md',
    'test/compose.yaml',
    'test/list.txt',
    'tests/ATest.php',
    'test/a_test.go',
  ],
]) {
  mkdirSync(dirname(join(project.dir, file)), { recursive: true });
  writeFileSync(join(project.dir, file), file);
}

const push = { command: 'git', args: ['push'], reason: null };
const TESTS: Guardrails = {
  ...NO_RULES,
  blockCommands: [push],
  protectedFiles: ['test/**', 'tests/**', 'spec/**', '.github/**', 'policy:secret-bearing-paths'],
  privateFiles: ['.env', '.env.local', '*.pem'],
};
const RELEASE: Guardrails = {
  ...NO_RULES,
  blockCommands: [push],
  protectedFiles: ['package-lock.json', '*.lock', 'migrations/**', 'deploy/**', 'docs/adr/**'],
  privateFiles: ['.env', 'secrets'],
};
const rulesFor = (file: string): Guardrails => (/^(test|\.github)/.test(file) ? TESTS : RELEASE);

/** Ways in which a shell gives the same path to a program. */
const SPELLINGS: ReadonlyArray<(file: string) => string> = [
  (file) => file,
  (file) => `./${file}`,
  (file) => `"$PWD/${file}"`,
  (file) => `src/../${file}`,
  (file) => `'${file}'`,
  (file) => `$(echo ${file})`,
  (file) => `\\${file}`,
];
const inWord = (command: string): boolean => !/(^|\s)@FILE@(\s|$)/.test(command) || /['"]|<</.test(command);
const spelled = (command: string, file: string): string[] =>
  (inWord(command) || file.startsWith('@') ? SPELLINGS.slice(0, 1) : SPELLINGS).map((spell) =>
    command.replaceAll('@FILE@', () => spell(file)),
  );

const guard = prepareGuard(project.rules);
const read = (command: string): ShellReading =>
  readShellCommand(project.fill(command), { cwd: project.dir, home: project.home });

async function isDenied(command: string, guardrails: Guardrails): Promise<boolean> {
  const call = { tool: 'Bash', input: { command: project.fill(command) }, cwd: project.dir };
  return (await evaluateToolCall(call, { ...project.rules, guardrails })).decision === 'deny';
}

async function missed(commands: readonly string[], files: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const [index, command] of commands.entries()) {
    const file = files[index % files.length] ?? '';
    for (const each of spelled(command, file)) if (!(await isDenied(each, rulesFor(file)))) found.push(each);
  }
  return found;
}

describe('a program that no row describes', () => {
  const all = [...CHANGES, ...NAMES_ONLY];
  it('is asked about in at least 600 commands', () => {
    const count =
      CHANGES.flatMap((each) => spelled(each, 'x')).length + all.flatMap((each) => spelled(each, 'x')).length;
    assert.ok(count >= 600, String(count));
  });
  it('may not change a protected file where its words say that it does', async () => {
    assert.deepEqual(await missed(CHANGES, PROTECTED), []);
  });
  it('may not be given a file of the loop at all', async () => {
    assert.deepEqual(await missed(all, OWN), []);
  });
  it('is not stopped without the rule', async () => {
    // Without what nobody knows about a program; whatever a row knows is left.
    const without = (command: string, file: string): ShellReading => {
      return { ...read(command.replaceAll('@FILE@', file)), named: [], undecidable: [] };
    };
    let through = 0;
    let own = 0;
    for (const command of all) {
      const [file = '', ownFile = ''] = [PROTECTED[0], OWN[0]];
      if ((await evaluateGuardrails('', without(command, file), guard, rulesFor(file))).denial === null) through += 1;
      if (ownDenial(without(command, ownFile), guard) === null) own += 1;
    }
    assert.ok(through >= 150, `only ${through} get through`);
    assert.ok(own >= 150, `only ${own} get through`);
  });
});

describe('commands of many kinds of projects', () => {
  it('are at least 400', () => assert.ok(PROJECT_COMMANDS.length >= 400, String(PROJECT_COMMANDS.length)));
  for (const [name, rules] of Object.entries({ 'protected tests': TESTS, 'a protected release': RELEASE }))
    it(`are all allowed under ${name}`, async () => {
      const denied: string[] = [];
      for (const command of PROJECT_COMMANDS) if (await isDenied(command, rules)) denied.push(command);
      assert.deepEqual(denied, []);
    });
});
