import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { begunByCommand, interruptedAt, wasInterrupted } from '../../../src/hosts/claude/transcript/transcript.ts';
import { folderWith } from '../../support/folder.ts';

const said = (content: unknown, more: object = {}): object => ({
  type: 'user',
  promptId: 'prompt-1',
  message: { role: 'user', content },
  ...more,
});
const FEEDBACK = said('Stop hook feedback:\n[ralph] Iteration 2 of 9.', { isMeta: true });
const COMMAND = [said('<bash-input>ls</bash-input>'), said('<bash-stdout>a</bash-stdout>')];
const CALL = [{ type: 'assistant', message: { content: [] } }, said([{ type: 'tool_result', content: 'fine' }])];

for (const [what, entries, expected] of [
  ['a command of the user, answered at once', [FEEDBACK, ...COMMAND], true],
  ['a command of the user, answered after a tool call', [FEEDBACK, ...COMMAND, ...CALL], true],
  ['the loop, after an earlier command of the user', [...COMMAND, FEEDBACK, ...CALL], false],
  ['a command of the user under another id', [FEEDBACK, said('<bash-input>ls', { promptId: 'prompt-2' })], false],
  ['a prompt', [said('go on'), ...CALL], false],
  ['nothing that the transcript holds', [], false],
] as const) {
  test(`recognises a turn under the id of the previous prompt, begun by ${what}`, (t) => {
    const path = join(folderWith(t), 'transcript.jsonl');
    writeFileSync(path, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
    assert.equal(begunByCommand(path, 'prompt-1'), expected);
  });
}

const AFTER = '2026-11-30T22:00:05.000Z';
const ESC = said([{ type: 'text', text: '[Request interrupted by user]' }], { timestamp: AFTER });
const ABORTED = { timestamp: AFTER, type: 'event_msg', payload: { type: 'turn_aborted', reason: 'interrupted' } };
const ended = (...states: readonly string[]): object => ({
  ...{ timestamp: AFTER, type: 'gemini', content: '', toolCalls: states.map((status) => ({ status })) },
});

for (const [what, entries, expected] of [
  ['Claude Code', [ESC], AFTER],
  ['Claude Code, before commands of the user', [ESC, ...COMMAND, { type: 'file-history-snapshot' }], AFTER],
  ['Codex', [ABORTED], AFTER],
  ['Gemini CLI', [ended('cancelled'), { $set: { lastUpdated: AFTER } }], AFTER],
  ['Gemini CLI, of a silent model', [{ timestamp: AFTER, type: 'info', content: 'Request cancelled.' }], AFTER],
  ['Claude Code, before the last prompt', [{ ...ESC, timestamp: '2026-11-30T21:59:59.000Z' }], null],
  [
    'a tool, which only prints these words',
    [said([{ type: 'tool_result', content: '[Request interrupted by user]' }])],
    null,
  ],
  ['a subagent', [{ ...ESC, isSidechain: true }], null],
  [
    'Codex, for another turn of the client',
    [{ ...ABORTED, payload: { type: 'turn_aborted', reason: 'replaced' } }],
    null,
  ],
  ['Gemini CLI, of one call among others', [ended('cancelled', 'success')], null],
] as const) {
  test(`finds an interruption of the turn in the transcript: ${what}`, (t) => {
    const path = join(folderWith(t), 'transcript.jsonl');
    writeFileSync(path, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
    assert.equal(interruptedAt(path, '2026-11-30T22:00:00.000Z'), expected);
  });
}

test('knows whether the user interrupted the turn of a prompt, by its id in Claude Code and Codex', (t) => {
  const path = join(folderWith(t), 'transcript.jsonl');
  const other = { ...ABORTED, payload: { ...ABORTED.payload, turn_id: 'turn-1' } };
  writeFileSync(path, [ESC, other, ...COMMAND].map((entry) => `${JSON.stringify(entry)}\n`).join(''));
  const asked = ['prompt-1', 'turn-1', 'prompt-2'].map((id) => wasInterrupted(path, id));
  assert.deepEqual(asked, [true, true, false]);
});
