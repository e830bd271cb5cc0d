import assert from 'node:assert/strict';
import { test } from 'node:test';
import { watchAgent } from '../../../../src/drive/runner/watch-agent.ts';
import type { RunnerEvent } from '../../../../src/engine/runner-event.ts';
import type { AgentMessage } from '../../../../src/hosts/agent/agent-message.ts';
import { readMessages } from '../../../../src/hosts/claude/agent/read-messages.ts';
import type { PermissionRule } from '../../../../src/hosts/claude/permission-rules.ts';

const told = (
  messages: readonly AgentMessage[],
  checks: readonly string[] = [],
  rules: readonly PermissionRule[] = [],
): { events: RunnerEvent[]; heard: string[] } => {
  const events: RunnerEvent[] = [];
  const heard: string[] = [];
  const watch = watchAgent(
    (event) => events.push(event),
    (id) => heard.push(id),
    checks,
    '/home/me/project',
    () => rules,
  );
  for (const message of messages) watch(message);
  return { events, heard };
};

const line = (value: object): AgentMessage[] => [...(readMessages(JSON.stringify(value)) ?? [])];
const delta = (text: string, parent: string | null = null): object => ({
  type: 'stream_event',
  event: { type: 'content_block_delta', delta: { type: 'text_delta', text } },
  parent_tool_use_id: parent,
});
const whole = (text: string): object => ({ type: 'assistant', message: { content: [{ type: 'text', text }] } });
const request = (input: number, cached: number): object => ({
  type: 'stream_event',
  event: { type: 'message_start', message: { usage: { input_tokens: input, cache_read_input_tokens: cached } } },
});

test('marks text that was streamed when it arrives whole', () => {
  const { events } = told([
    ...line(request(1, 0)),
    ...line(delta('One ')),
    ...line(delta('two.')),
    ...line(whole('One two.')),
  ]);
  assert.deepEqual(events.slice(1), [
    { type: 'agent.text-delta', text: 'One ' },
    { type: 'agent.text-delta', text: 'two.' },
    { type: 'agent.text', text: 'One two.', streamed: true },
  ]);
});

test('shows the whole text of an agent that does not stream', () => {
  assert.deepEqual(told(line(whole('One.'))).events, [{ type: 'agent.text', text: 'One.' }]);
});

test('ends a message that breaks off and is requested again where it broke', () => {
  const again = [request(1, 0), delta('One tw'), request(1, 0), delta('One two.'), whole('One two.')].flatMap(line);
  assert.deepEqual(
    told(again).events.filter(({ type }) => type !== 'agent.usage'),
    [
      { type: 'agent.text-delta', text: 'One tw' },
      { type: 'agent.text-delta', text: '…\n' },
      { type: 'agent.text-delta', text: 'One two.' },
      { type: 'agent.text', text: 'One two.', streamed: true },
    ],
  );
});

test("does not show the streamed text of subagents or the model's thinking", () => {
  const thinking = { type: 'content_block_delta', delta: { type: 'thinking_delta', thinking: 'Hm.' } };
  const messages = [delta('inner', 'toolu_1'), { type: 'stream_event', event: thinking }].flatMap(line);
  assert.deepEqual(told(messages).events, []);
});

test('the context is that of the last request, the tokens those of all, and the window the largest model’s', () => {
  const answered = { type: 'stream_event', event: { type: 'message_delta', usage: { output_tokens: 20 } } };
  const result = {
    type: 'result',
    modelUsage: { small: { contextWindow: 200_000 }, big: { contextWindow: 1_000_000 } },
  };
  const { events } = told([request(100, 1_000), answered, request(50, 1_200), answered, result].flatMap(line));
  assert.deepEqual(events.at(-1), { type: 'agent.usage', tokens: 190, context: 1_270, window: 1_000_000 });
});

test('reports a message that the agent has received by its id', () => {
  assert.deepEqual(told(line({ type: 'user', isReplay: true, uuid: 'id-1', message: { content: [] } })).heard, [
    'id-1',
  ]);
});

const called = (id: string, name: string, input: object): object => ({
  type: 'assistant',
  message: { content: [{ type: 'tool_use', id, name, input }] },
});
const failed = (id: string, content = 'x'): object => ({
  type: 'user',
  message: { content: [{ type: 'tool_result', tool_use_id: id, is_error: true, content }] },
});
const denial = (id: string, message: string): object => ({
  type: 'system',
  subtype: 'permission_denied',
  tool_use_id: id,
  message,
});

test('a denied call is not a failed one: it has a reason and the option that allows it', () => {
  const approval = 'This command requires approval';
  const { events } = told(
    [
      called('1', 'Bash', { command: 'node check.mjs' }),
      denial('1', approval),
      failed('1'),
      called('2', 'Bash', { command: 'rm *' }),
      denial('2', approval),
      failed('2'),
      called('3', 'Bash', { command: 'git push' }),
      failed('3', 'PreToolUse:Bash hook error: [blocked by guardrail: push] no'),
      called('4', 'Write', { file_path: 'a' }),
      denial('4', 'Not granted.'),
      failed('4'),
      called('5', 'Bash', { command: 'false' }),
      failed('5'),
    ].flatMap(line),
  );
  assert.deepEqual(
    events.flatMap((event) => (event.type === 'tool.ended' ? [[event.outcome, event.reason, event.allow]] : [])),
    [
      ['denied', approval, "-- --allowedTools 'Bash(node check.mjs)'"],
      ['denied', approval, undefined],
      ['denied', '[blocked by guardrail: push] no', undefined],
      ['denied', 'Not granted.', "-- --allowedTools 'Write'"],
      ['failed', undefined, undefined],
    ],
  );
});

test('a call that a rule of the user refuses names the rule and its file, and no option', () => {
  const rules = [
    { kind: 'deny', rule: 'Bash(git push:*)', path: '/home/me/project/.claude/settings.json' },
    { kind: 'deny', rule: 'Bash(node of-user.mjs)', path: '/home/me/.claude/settings.json' },
    { kind: 'ask', rule: 'Bash(npm *)', path: '/home/me/project/.claude/settings.local.json' },
    { kind: 'deny', rule: 'Bash(curl *)', path: '/home/me/.claude/settings.json' },
  ] as const;
  const refusal = (command: string): string => `Permission to use Bash with command ${command} has been denied.`;
  const asked = "Claude requested permissions to use Bash, but you haven't granted it yet.";
  const byMode =
    "Permission to use Bash has been denied because Claude Code is running in don't ask mode. IMPORTANT: no.";
  const calls = [
    ['git push origin', refusal('git push origin')],
    ['echo hi && FOO=1 timeout 5 git push', refusal('echo hi && FOO=1 timeout 5 git push')],
    ['node of-user.mjs', refusal('node of-user.mjs')],
    ['npm publish', asked, 'rule'],
    ['touch z', refusal('touch z')],
    ['node x', asked],
    ['node x', byMode, 'mode'],
  ] as const;
  const { events } = told(
    calls.flatMap(([command, message, type], index) =>
      [
        called(String(index), 'Bash', { command }),
        { ...denial(String(index), message), decision_reason_type: type },
        failed(String(index)),
      ].flatMap(line),
    ),
    ['npm publish'],
    rules,
  );
  const ended = events.flatMap((event) => (event.type === 'tool.ended' ? [event] : []));
  const named = ended.map(({ reason = '', allow }) => [reason.replace(/^.*?(?:denied|yet)\. ?/, ''), allow]);
  assert.deepEqual(named.slice(0, 6), [
    [
      'Your rule Bash(git push:*) in .claude/settings.json forbids it; an option cannot allow it. Change the rule.',
      undefined,
    ],
    [
      'Your rule Bash(git push:*) in .claude/settings.json forbids it; an option cannot allow it. Change the rule.',
      undefined,
    ],
    [
      'Your rule Bash(node of-user.mjs) in /home/me/.claude/settings.json forbids it; an option cannot allow it. Change the rule.',
      undefined,
    ],
    [
      'Your rule Bash(npm *) in .claude/settings.local.json has a person approve it; an option cannot allow it. Change the rule.',
      undefined,
    ],
    [
      'One of your rules forbids it, perhaps Bash(git push:*) in .claude/settings.json or Bash(node of-user.mjs) in /home/me/.claude/settings.json or Bash(curl *) in /home/me/.claude/settings.json; an option cannot allow it. Change the rule.',
      undefined,
    ],
    ['', "-- --allowedTools 'Bash(node x)'"],
  ]);
  assert.equal(ended[6]?.allow, "-- --allowedTools 'Bash(node x)'", 'control: the mode, which an option overrides');
  const notices = events.flatMap((event) => (event.type === 'agent.notice' ? [event.message] : []));
  assert.deepEqual(notices, [
    'The agent may not run the check npm publish, so it cannot test its work. Your rule Bash(npm *) in .claude/settings.local.json has a person approve it; an option cannot allow it. Change the rule.',
  ]);
});

test('announces a denied check once and at once', () => {
  const call = (id: string, command: string) =>
    [called(id, 'Bash', { command }), denial(id, 'No.'), failed(id)].flatMap(line);
  const { events } = told(
    [...call('1', 'ls'), ...call('2', 'npm test | tail'), ...call('3', 'npm test')],
    ['npm test'],
  );
  assert.deepEqual(
    events.flatMap((event) => (event.type === 'agent.notice' ? [event.message] : [])),
    [
      "The agent may run the check npm test only in these words. Allow this call, too: -- --allowedTools 'Bash(npm test | tail)'",
    ],
  );
});

test('shows a path below the project relative to it', () => {
  const call = (path: string): AgentMessage => ({
    kind: 'tool',
    id: path,
    name: 'Read',
    input: { file_path: path },
    nested: false,
  });
  const { events } = told([call('/home/me/project/src/a.ts'), call('/etc/hosts')]);
  assert.deepEqual(
    events.flatMap((event) => (event.type === 'tool.started' ? [event.about] : [])),
    ['src/a.ts', '/etc/hosts'],
  );
});
