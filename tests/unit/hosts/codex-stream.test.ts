import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { CODEX, sandboxFor } from '../../../src/hosts/codex/codex.ts';
import { apiFailure, rolloutReader } from '../../../src/hosts/codex/rollout.ts';
import { eventReader } from '../../../src/hosts/codex/start-codex.ts';
import { refuseUnsupported } from '../../../src/hosts/hosts.ts';
import { emptyFolder } from '../../support/folder.ts';

const read = (events: readonly object[]) => {
  const reader = eventReader(() => undefined);
  return events.flatMap((event) => reader(JSON.stringify(event)) ?? []);
};

// The sentences were recorded from Codex 0.171.0 on 2026-11-27.
const SENTENCES: readonly (readonly [string, string, number | null])[] = [
  ['You’ve hit your usage limit. Try again at 7:56 PM.', 'rate_limit', null],
  ['exceeded retry limit, last status: 429 Too Many Requests', '', 429],
  ['unexpected status 401 Unauthorized: bad key, url: http://127.0.0.1:1/v1/responses', '', 401],
  ['We’re currently experiencing high demand, which may cause temporary errors.', 'overloaded', null],
  ['Quota exceeded. Check your plan and billing details.', 'billing_error', null],
  [
    "Codex ran out of room in the model's context window. Start a new thread or clear earlier history.",
    'prompt_too_long',
    null,
  ],
  ['{"error":{"message":"bad model"}}', 'invalid_request', null],
];

test('each sentence of Codex about a failed request is read as what it is', () => {
  for (const [message, error, status] of SENTENCES) {
    const read = apiFailure(message);
    assert.deepEqual([read.error, read.status], [error, status], message);
  }
});

test('the reset of a usage limit is the next such time, or the day that is named', () => {
  const now = new Date(2026, 10, 27, 18, 0);
  const at = (message: string): string | null => apiFailure(`You’ve hit your usage limit. ${message}`, now).resetsAt;
  assert.equal(at('Try again at 7:56 PM.'), new Date(2026, 10, 27, 19, 56).toISOString());
  assert.equal(at('Try again at 12:05 AM.'), new Date(2026, 10, 28, 0, 5).toISOString());
  assert.equal(at('Try again at Nov 30th, 2026 7:56 PM.'), new Date(2026, 10, 30, 19, 56).toISOString());
  assert.equal(at('Try again later.'), null);
});

test('a command is shown as the agent wrote it, with its outcome', () => {
  const item = { id: 'item_1', type: 'command_execution', command: `/bin/bash -lc 'echo hi > a.txt'` };
  const messages = read([
    { type: 'item.started', item: { ...item, exit_code: null, status: 'in_progress' } },
    { type: 'item.completed', item: { ...item, exit_code: 1, status: 'failed' } },
  ]);
  assert.deepEqual(messages, [
    { kind: 'tool', id: 'item_1', name: 'Bash', input: { command: 'echo hi > a.txt' }, nested: false },
    { kind: 'tool-result', id: 'item_1', failed: true, nested: false },
  ]);
});

test('the last message and the tokens without their cached part are the result of a turn', () => {
  const usage = { input_tokens: 2000, cached_input_tokens: 200, cache_write_input_tokens: 50, output_tokens: 40 };
  const [text, result] = read([
    { type: 'item.completed', item: { id: 'item_2', type: 'agent_message', text: 'done' } },
    { type: 'turn.completed', usage },
  ]);
  assert.deepEqual(text, { kind: 'text', text: 'done' });
  assert.ok(result?.kind === 'result');
  assert.equal(result.text, 'done');
  assert.deepEqual(result.usage, { inputTokens: 1750, outputTokens: 40, cacheReadTokens: 200, cacheWriteTokens: 50 });
});

test('a reconnection is a retry, and a refused login is named as one', () => {
  const [retry, login] = read([
    { type: 'error', message: 'Reconnecting... 1/5 (We’re currently experiencing high demand.)' },
    { type: 'error', message: 'Reconnecting... 2/5 (unexpected status 401 Unauthorized: bad key)' },
  ]);
  assert.deepEqual([retry?.kind, login?.kind], ['retry', 'retry']);
  assert.ok(login?.kind === 'retry' && login.error === 'authentication_failed' && login.attempt === 2);
});

test('a mode that would ask may only read, because Codex asks nobody', () => {
  const modes = ['plan', 'default', 'manual', null, 'acceptEdits', 'dontAsk', 'bypassPermissions'];
  assert.deepEqual(modes.map(sandboxFor), [
    ...Array.from({ length: 4 }, () => 'read-only'),
    ...['workspace-write', 'workspace-write', 'danger-full-access'],
  ]);
});

test('settings that Codex cannot honour are refused by their names', () => {
  const rest = { permissionMode: 'acceptEdits', tdd: false };
  const wanted = { ...rest, iterations: true, maxCostUsd: null, stopsAtWindow: false, sandbox: 'auto' } as const;
  refuseUnsupported(CODEX, wanted);
  const all = { ...rest, iterations: true, maxCostUsd: 2, stopsAtWindow: true, sandbox: 'on' } as const;
  assert.throws(() => refuseUnsupported(CODEX, all), /budget\.max_cost.*\n.*budget\.stop_at.*\n.*sandbox\.mode/);
  assert.throws(() => refuseUnsupported(CODEX, { ...wanted, tdd: true }), /permission_mode: .* bypassPermissions/);
  refuseUnsupported(CODEX, { ...wanted, tdd: true, permissionMode: 'bypassPermissions' });
});

test('options that would move the agent, or take its hooks away, are refused', () => {
  const refused = [
    ['--cd', '/x'],
    ['-C/x'],
    ['--json'],
    ['-sread-only'],
    ['--dangerously-bypass-hook-trust'],
    ['-c', 'hooks.PreToolUse=[]'],
    ['--config=features.hooks=false'],
    ['-chooks.state={}'],
    ['a prompt'],
  ];
  for (const words of refused) assert.throws(() => CODEX.requireArgs(words, 'run'), /--/, words.join(' '));
  for (const words of [['-c', 'model="x"'], ['--profile', 'work'], ['-mgpt-5.5'], ['--add-dir=/x']])
    CODEX.requireArgs(words, 'run');
});

test('denied calls of a shell and an MCP server are shown with the reason; control: an allowed one', (t) => {
  const CODEX_HOME = emptyFolder(t);
  const day = join(CODEX_HOME, 'sessions', '2026', '11', '27');
  mkdirSync(day, { recursive: true });
  const lines = [
    { type: 'function_call', call_id: 'a', name: 'exec_command', arguments: '{"cmd":"rm a"}' },
    { call_id: 'a', output: 'Command blocked by PreToolUse hook: Not a. Command: rm a' },
    { type: 'function_call', call_id: 'b', namespace: 'mcp__db', name: 'write', arguments: '{}' },
    { call_id: 'b', output: 'Tool call blocked by PreToolUse hook: Not b. Tool: mcp__db__write' },
    { type: 'function_call', call_id: 'c', namespace: 'mcp__db', name: 'read', arguments: '{}' },
    { call_id: 'c', output: 'a row' },
  ].map((payload) => `${JSON.stringify({ type: 'response_item', payload })}\n`);
  writeFileSync(join(day, 'rollout-at-thread.jsonl'), lines.join(''));
  const reader = rolloutReader({ CODEX_HOME });
  reader.follow('thread');
  const shown = reader.read().flatMap((message) => {
    if (message.kind === 'tool') return [message.name];
    return message.kind === 'denied' ? [message.reason] : [];
  });
  assert.deepEqual(shown, ['Bash', 'Not a', 'mcp__db__write', 'Not b']);
});
