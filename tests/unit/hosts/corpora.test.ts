import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { after, test } from 'node:test';
import { evaluateToolCall } from '../../../src/guard/evaluate-tool-call.ts';
import type { Verdict } from '../../../src/guard/guard.ts';
import { hookHost } from '../../../src/hosts/hook-hosts.ts';
import { parseHookInput, toolCall } from '../../../src/hosts/hook-io/hook-input.ts';
import { someOf } from '../../support/short-form.ts';
import * as ownFiles from '../guard/corpus/attacks-on-own-files.ts';
import * as onRules from '../guard/corpus/attacks-on-rules.ts';
import * as blocked from '../guard/corpus/blocked-commands.ts';
import { EVERYDAY } from '../guard/corpus/everyday-commands.ts';
import * as again from '../guard/corpus/examined-again.ts';
import * as examined from '../guard/corpus/examined-attacks.ts';
import { EXAMINED_EVERYDAY } from '../guard/corpus/examined-everyday.ts';
import { HARMLESS } from '../guard/corpus/harmless-commands.ts';
import * as heldOut from '../guard/corpus/held-out.ts';
import * as named from '../guard/corpus/named-own-files.ts';
import * as possible from '../guard/corpus/possible-writes.ts';
import { PROJECT_COMMANDS } from '../guard/corpus/project-commands.ts';
import * as together from '../guard/corpus/put-together.ts';
import * as second from '../guard/corpus/second-reading.ts';
import * as secret from '../guard/corpus/secret-commands.ts';
import * as trades from '../guard/corpus/trades.ts';
import { createCorpusProject, NO_RULES, RULES } from '../guard/support/corpus-project.ts';
import '../../support/starts-processes.ts';

const project = createCorpusProject();
after(() => rmSync(project.root, { recursive: true, force: true }));

const ATTACKS = [
  ownFiles,
  onRules,
  blocked,
  again,
  examined,
  heldOut,
  named,
  possible,
  together,
  second,
  secret,
  trades,
];
const commandsIn = (value: unknown): string[] =>
  typeof value === 'string' ? [value] : Object.values(value ?? {}).flatMap(commandsIn);
const COMMANDS = [...new Set([ATTACKS, EVERYDAY, EXAMINED_EVERYDAY, HARMLESS, PROJECT_COMMANDS].flatMap(commandsIn))];

/** Payload before a shell call, by host. A command inside a program of Codex arrives like one by itself (tests/facts). */
const SHELLS: Readonly<Record<string, (command: string) => object>> = {
  'claude-code': (command) => ({ hook_event_name: 'PreToolUse', tool_name: 'Bash', tool_input: { command } }),
  codex: (command) => ({ hook_event_name: 'PreToolUse', tool_name: 'Bash', tool_input: { command }, turn_id: 't' }),
  gemini: (command) => ({ hook_event_name: 'BeforeTool', tool_name: 'run_shell_command', tool_input: { command } }),
};

const { 'precise rules': GUARDRAILS = NO_RULES } = RULES;

/** Judges a payload as the hook of its host does, under the rules of the corpus. */
async function judge(name: string, payload: object, guardrails = GUARDRAILS): Promise<Verdict> {
  const host = hookHost(['--host', name]);
  assert.ok(host !== null);
  const text = JSON.stringify({ session_id: 's', cwd: project.dir, tool_use_id: 'u', ...payload });
  const input = parseHookInput(text, host.read);
  assert.ok(input !== null && input !== 'ignored');
  const { name: tool, input: own } = toolCall(input);
  return evaluateToolCall({ tool, input: own, cwd: input.cwd }, { ...project.rules, guardrails });
}

test('every command of the corpora is judged on each host as on Claude Code', async () => {
  const played = someOf(COMMANDS, 6);
  const differs: string[] = [];
  let denied = 0;
  for (const raw of played) {
    const command = project.fill(raw);
    const shell = (name: string): Promise<Verdict> => judge(name, SHELLS[name]?.(command) ?? {});
    const [claude, codex, gemini] = [await shell('claude-code'), await shell('codex'), await shell('gemini')];
    if (claude.decision === 'deny') denied += 1;
    if (JSON.stringify(gemini) !== JSON.stringify(claude)) differs.push(`gemini: ${raw}`);
    if (JSON.stringify(codex) !== JSON.stringify(claude)) differs.push(`codex: ${raw}`);
  }
  assert.deepEqual(differs, []);
  assert.ok(denied > played.length / 4, `only ${denied} of ${played.length} are denied at all`);
});

test('a file that Claude Code may not write is written by no patch, in any form of it', async () => {
  const paths = ['.env', '.env.production', 'deploy/prod.yaml', 'config/app.pem', 'secrets/token.txt'];
  const patch = (...lines: string[]): string => ['*** Begin Patch', ...lines, '*** End Patch', ''].join('\n');
  const patches = (path: string): readonly string[] => [
    patch(`*** Add File: ${path}`, '+x'),
    patch(`*** Update File: ${path}`, '@@', '-x', '+y'),
    patch(`*** Delete File: ${path}`),
    patch('*** Update File: src/index.ts', `*** Move to: ${path}`, '@@', '-x', '+y'),
  ];
  const forms = (text: string): readonly object[] => [
    { tool_name: 'apply_patch', tool_input: { command: text } },
    { tool_name: 'Bash', tool_input: { command: `apply_patch <<'EOF'\n${text}EOF` } },
    { tool_name: 'Bash', tool_input: { command: `cd src && cd .. && apply_patch <<'EOF'\n${text}EOF` } },
  ];
  for (const [path, wanted] of [...paths.map((path) => [path, 'deny'] as const), ['src/index.ts', 'allow'] as const]) {
    const write = {
      hook_event_name: 'PreToolUse',
      tool_name: 'Write',
      tool_input: { file_path: `${project.dir}/${path}` },
    };
    assert.equal((await judge('claude-code', write)).decision, wanted, path);
    for (const text of patches(path))
      for (const form of forms(text)) {
        const verdict = await judge('codex', { hook_event_name: 'PreToolUse', ...form });
        assert.equal(verdict.decision, wanted, `${path}: ${JSON.stringify(form)}`);
        // Control: without the rules, the same patch passes.
        const open = await judge('codex', { hook_event_name: 'PreToolUse', ...form }, NO_RULES);
        assert.equal(open.decision, 'allow', path);
      }
  }
});
