import assert from 'node:assert/strict';
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { promptOfSubagent, readEndedSubagent, readSubagent } from '../../../src/hosts/claude/transcript/subagent.ts';
import { emptyFolder } from '../../support/folder.ts';

const usage = { input_tokens: 100, output_tokens: 20, cache_read_input_tokens: 3, cache_creation_input_tokens: 4 };

function said(id: string, stopReason: string, ...blocks: readonly object[]): string {
  return blocks
    .map((block) => ({
      type: 'assistant',
      isSidechain: true,
      message: { id, role: 'assistant', stop_reason: stopReason, content: [block], usage },
    }))
    .map((entry) => JSON.stringify(entry))
    .join('\n');
}

const text = (value: string): object => ({ type: 'text', text: value });
const TOOL = { type: 'tool_use', name: 'Bash', input: {} };
const RESULT = JSON.stringify({ type: 'user', message: { content: [{ type: 'tool_result', content: 'x' }] } });

function aRecord(t: TestContext, lines: readonly string[]): NodeJS.ProcessEnv {
  const config = emptyFolder(t);
  const folder = join(config, 'projects', '-a-project', 'session-1', 'subagents');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'agent-a1.jsonl'), `${lines.join('\n')}\n`);
  return { CLAUDE_CONFIG_DIR: config, CLAUDE_CODE_SESSION_ID: 'session-1' };
}

test("reads all blocks of a subagent's last message and counts its tokens once", (t) => {
  const env = aRecord(t, [
    said('m1', 'tool_use', text('I look.'), TOOL),
    RESULT,
    said('m2', 'end_turn', text('Done.'), text('DONE')),
    '{"type":"api-request-shape"}',
    '{"torn',
  ]);
  assert.deepEqual(readSubagent('a1', env), {
    text: 'Done.\nDONE',
    finished: true,
    usage: { inputTokens: 200, outputTokens: 40, cacheReadTokens: 6, cacheWriteTokens: 8 },
  });
});

test('reads the prompt with which a subagent began', (t) => {
  const content = 'Work on b.\nNow.';
  const begun = JSON.stringify({ type: 'user', message: { role: 'user', content } });
  const env = aRecord(t, [begun, said('m1', 'tool_use', TOOL), RESULT, said('m2', 'end_turn', text('Done.'))]);
  assert.deepEqual([promptOfSubagent('a1', env), promptOfSubagent('a2', env)], [content, '']);
});

test('a subagent whose last message calls a tool is still at work', (t) => {
  const env = aRecord(t, [said('m1', 'tool_use', text('I look.'), TOOL)]);
  assert.equal(readSubagent('a1', env)?.finished, false);
});

test('waits for the last message of a finished subagent, which the client writes late', async (t) => {
  const env = aRecord(t, [said('m1', 'tool_use', text('I look.'), TOOL), RESULT]);
  const record = join(
    env['CLAUDE_CONFIG_DIR'] ?? '',
    'projects',
    '-a-project',
    'session-1',
    'subagents',
    'agent-a1.jsonl',
  );
  const late = setTimeout(() => appendFileSync(record, `${said('m2', 'end_turn', text('Done.'))}\n`), 200);
  assert.equal(readSubagent('a1', env)?.finished, false, 'control: it is not there yet');
  // However late this process is at it: by its clock no time passes.
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() });
  const work = await readEndedSubagent('a1', env);
  clearTimeout(late);
  assert.deepEqual([work?.finished, work?.text], [true, 'Done.']);
});

test('a subagent that was sent a new message after its last one is at work again', (t) => {
  const more = JSON.stringify({ type: 'user', message: { role: 'user', content: 'Look once more.' } });
  const env = aRecord(t, [said('m1', 'end_turn', text('Done.')), more, '{"type":"attachment","by":"user"}']);
  assert.equal(readSubagent('a1', env)?.finished, false);
});

test('finds no record for a subagent of another session, for none, and for a name that is a path', (t) => {
  const env = aRecord(t, [said('m1', 'end_turn', text('Done.'))]);
  assert.equal(readSubagent('a2', env), null);
  assert.equal(readSubagent('../../session-1/subagents/agent-a1', env), null);
  assert.equal(readSubagent('a1', { ...env, CLAUDE_CODE_SESSION_ID: 'session-2' }), null);
  assert.equal(readSubagent('a1', { CLAUDE_CONFIG_DIR: '/nowhere' }), null);
});

test('counts all tokens of a record that is longer than one read', (t) => {
  const long = Array.from({ length: 40 }, (_, index) => said(`m${index}`, 'tool_use', text('x'.repeat(500_000)), TOOL));
  const env = aRecord(t, [...long, said('last', 'end_turn', text('Done.'))]);
  assert.equal(readSubagent('a1', env)?.usage?.outputTokens, 41 * 20);
});
