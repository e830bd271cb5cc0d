import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { Guardrails } from '../../../src/engine/schema/contract.ts';
import { evaluateToolCall } from '../../../src/guard/evaluate-tool-call.ts';
import type { TaskScope } from '../../../src/guard/guard.ts';
import * as corpus from './corpus/held-out.ts';
import { CHANGED_ELSEWHERE, READ_ELSEWHERE, RUN_ELSEWHERE, TRADES } from './corpus/trades.ts';
import { createCorpusProject, NO_RULES } from './support/corpus-project.ts';
import '../../support/starts-processes.ts';

const project = createCorpusProject();
after(() => rmSync(project.root, { recursive: true, force: true }));
for (const file of ['test/a.test.ts', 'test/a_test.go', 'test/fixtures/a.json', 'src/x.ts']) {
  mkdirSync(dirname(join(project.dir, file)), { recursive: true });
  writeFileSync(join(project.dir, file), file);
}

const scopeOf = (entries: readonly string[]): TaskScope => ({
  task: 'T1',
  entries,
  free: ['node_modules'],
  noPushTo: [],
});

async function decide(command: string, rules: Partial<Guardrails>, scope: TaskScope | null = null): Promise<string> {
  const call = { tool: 'Bash', input: { command }, cwd: project.dir };
  const guardrails = { ...NO_RULES, ...rules };
  return (await evaluateToolCall(call, { ...project.rules, guardrails, scope })).decision;
}

const PUSH = { blockCommands: [{ command: 'git', args: ['push'], reason: null }] };
const PROTECTED = { protectedFiles: ['test/**', 'package.json'] };
const PRIVATE = { privateFiles: ['.env', 'secrets/'] };

const KINDS: ReadonlyArray<
  readonly [what: string, rules: Partial<Guardrails>, denied: readonly string[], allowed: readonly string[]]
> = [
  ['a command that code or an option runs', PUSH, corpus.RUN_BY_CODE, corpus.RUNS_OTHERS],
  ['a change of a protected file', PROTECTED, corpus.CHANGED_BY_CODE, corpus.CHANGES_OTHERS],
  ['a private file that is not left out', PRIVATE, corpus.NOT_LEFT_OUT, corpus.LEFT_OUT],
  [
    'a private file that input, a query or an address names',
    { privateFiles: ['.env*', 'secrets/'] },
    READ_ELSEWHERE,
    TRADES,
  ],
  ['a command that input, a query or an address names', PUSH, RUN_ELSEWHERE, TRADES],
  ['a protected file that input, a query or an address names', PROTECTED, CHANGED_ELSEWHERE, TRADES],
];

for (const [what, rules, denied, allowed] of KINDS) {
  describe(what, () => {
    for (const command of denied) {
      it(`is denied: ${JSON.stringify(command)}`, async () => {
        assert.equal(await decide(command, rules), 'deny');
        assert.equal(await decide(command, {}), 'allow', 'control: without the rule');
      });
    }
    for (const command of allowed) {
      it(`is not seen in: ${JSON.stringify(command)}`, async () => assert.equal(await decide(command, rules), 'allow'));
    }
  });
}

describe('code that names more files than are looked at', () => {
  const code = (count: number, last: string): string =>
    `python3 <<'E'\n${Array.from({ length: count }, (_, nth) => `a('./x${nth}')`).join('\n')}\n${last}\nE`;
  for (const rules of [PRIVATE, PROTECTED])
    it(`is denied under ${Object.keys(rules)}`, async () => {
      assert.equal(await decide(code(1500, "print(open('.env').read()); open('test/a.test.ts', 'w')"), rules), 'deny');
      assert.equal(await decide(code(9000, "print(open('.env').read()); open('test/a.test.ts', 'w')"), rules), 'deny');
    });
  it('is allowed where all were looked at and none is private', async () => {
    assert.equal(await decide(code(1900, 'print(1)'), PRIVATE), 'allow');
    assert.equal(await decide(code(9000, 'print(1)'), PRIVATE), 'deny', 'control: too many');
  });
});

describe('the scope of a task', () => {
  for (const command of ['someprog --output README.md', 'git apply --directory=docs /tmp/x.patch']) {
    it(`covers files that a program writes: ${command}`, async () => {
      assert.equal(await decide(command, {}, scopeOf(['src/**'])), 'deny');
      assert.equal(await decide(command, {}, scopeOf(['README.md', 'docs/**'])), 'allow');
    });
  }
  const searches = ["find . -name '*.orig' -delete", 'find . -type d -name __pycache__ -exec rm -rf {} +'];
  for (const command of [...searches, "find . -name '*.pyc' -print0 | xargs -0 rm -f"]) {
    it(`is not left by a search that finds nothing: ${command}`, async () => {
      assert.equal(await decide(command, {}, scopeOf(['src/**'])), 'allow');
      const found = command.replace(/-name \S+/, "-name '*.md'");
      assert.equal(await decide(found, {}, scopeOf(['src/**'])), 'deny', 'control: it finds README.md');
    });
  }
});

describe('other tools', () => {
  const rules = { ...NO_RULES, ...PROTECTED, ...PRIVATE };
  const verdict = async (tool: string, input: object): Promise<string> =>
    (await evaluateToolCall({ tool, input, cwd: project.dir }, { ...project.rules, guardrails: rules })).decision;
  const at = (path: string): string => join(project.dir, path);
  const denied: ReadonlyArray<readonly [string, object]> = [
    ['PowerShell', { command: 'Remove-Item -Recurse .claude' }],
    ['PowerShell', { command: 'Move-Item .claude/hooks x' }],
    ['apply_patch', { patch: '*** Update File: .claude/settings.json\n@@\n-a\n+b' }],
    ['FutureEdit', { diff: '--- a/.claude/settings.json\n+++ b/.claude/settings.json\n' }],
    ['apply_patch', { input: '*** Begin Patch\n*** Delete File: test/a.test.ts\n' }],
    ['mcp__fs__search', { root: at('secrets') }],
    ['ReadMcpResourceTool', { server: 'fs', uri: `file://${at('.env')}` }],
    ['WebFetch', { url: `file://${at('.env')}`, prompt: 'x' }],
  ];
  const allowed: ReadonlyArray<readonly [string, object]> = [
    ['PowerShell', { command: 'Get-ChildItem -Recurse .claude' }],
    ['PowerShell', { command: 'Remove-Item -Recurse dist' }],
    ['apply_patch', { patch: '*** Update File: src/x.ts\n@@\n-a\n+b' }],
    ['FutureEdit', { diff: '--- a/src/x.ts\n+++ b/src/x.ts\n' }],
    ['mcp__fs__search', { root: at('src'), query: 'secrets/token.txt in prose' }],
    ['ReadMcpResourceTool', { server: 'issues', uri: 'issues://12/.env' }],
    ['WebFetch', { url: 'https://example.com/.env', prompt: 'what does .env mean?' }],
  ];
  for (const [tool, input] of denied)
    it(`are denied: ${tool} ${JSON.stringify(input)}`, async () => assert.equal(await verdict(tool, input), 'deny'));
  for (const [tool, input] of allowed)
    it(`may be used: ${tool} ${JSON.stringify(input)}`, async () => assert.equal(await verdict(tool, input), 'allow'));
});
