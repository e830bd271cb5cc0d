import assert from 'node:assert/strict';
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { apiFailure } from '../../../src/hosts/claude/transcript/transcript.ts';
import { GEMINI, USER_HOOKS } from '../../../src/hosts/gemini/gemini.ts';
import { geminiOutput, readGemini } from '../../../src/hosts/gemini/payload.ts';
import { parseHookInput, toolCall } from '../../../src/hosts/hook-io/hook-input.ts';
import { refuseUnsupported } from '../../../src/hosts/hosts.ts';
import { readUsage } from '../../../src/hosts/read-usage.ts';
import { emptyFolder } from '../../support/folder.ts';

/** Payload as Gemini CLI 0.61 sends it. */
const payload = (event: string, more: object): string =>
  JSON.stringify({
    session_id: 's',
    cwd: '/p',
    hook_event_name: event,
    timestamp: '2026-11-28T01:32:04.995Z',
    ...more,
  });

const read = (event: string, more: object) => {
  const input = parseHookInput(payload(event, more), readGemini);
  assert.ok(input !== null && input !== 'ignored');
  return input;
};

const NO_MARKS = { transcriptPath: null, transcriptBytes: 0, subagentBytes: {}, lastMessageIds: [], callsBytes: 0 };

/** Lines of a transcript: a message is written again with the results of its calls. */
const LINES = [
  { sessionId: 's', kind: 'main' },
  { id: 'u1', type: 'user', content: [{ text: 'do it' }] },
  {
    id: 'g1',
    type: 'gemini',
    content: 'ALL DONE',
    tokens: { input: 1000, output: 20, cached: 100, thoughts: 5, tool: 0 },
  },
  {
    id: 'g1',
    type: 'gemini',
    content: 'ALL DONE',
    tokens: { input: 1000, output: 20, cached: 100, thoughts: 5, tool: 0 },
    toolCalls: [],
  },
  { $set: { lastUpdated: '2026-11-28T01:32:05.563Z' } },
  {
    id: 'g2',
    type: 'gemini',
    content: 'Not yet.',
    tokens: { input: 2000, output: 30, cached: 0, thoughts: 0, tool: 7 },
  },
];

test('the last message of a turn stands alone, and each message is billed once', (context) => {
  const chats = join(emptyFolder(context), 'chats');
  mkdirSync(chats);
  const path = join(chats, 'session-2026-11-28T01-32-4060d5e1.jsonl');
  writeFileSync(path, '');
  const { marks } = readUsage(path, NO_MARKS);
  writeFileSync(path, LINES.map((line) => `${JSON.stringify(line)}\n`).join(''));
  // The payload has the refused claim as well.
  const turn = { prompt_response: 'ALL DONE\nNot yet.', transcript_path: path };
  assert.equal(read('AfterAgent', turn).lastMessage, 'Not yet.');
  assert.equal(read('AfterAgent', { ...turn, prompt_response: 'Other words.' }).lastMessage, 'Other words.');
  assert.equal(read('AfterAgent', { prompt_response: 'No transcript.' }).lastMessage, 'No transcript.');
  appendFileSync(path, `${JSON.stringify({ type: 'user', content: [{ functionResponse: {} }] })}\n`);
  assert.equal(read('AfterAgent', turn).lastMessage, 'Not yet.', 'control: the result of a call');
  appendFileSync(path, `${JSON.stringify({ type: 'user', content: [{ text: 'Go on.' }] })}\n`);
  assert.equal(read('AfterAgent', turn).lastMessage, '', 'a prompt without an answer repeats none');
  const { usage } = readUsage(path, marks);
  assert.deepEqual(usage, { inputTokens: 2907, outputTokens: 55, cacheReadTokens: 100, cacheWriteTokens: 0 });
});

test('a call has the name and the input of Claude Code, its directory, and the same id before and after', () => {
  const input = { command: 'rm a.txt', dir_path: 'tests' };
  const before = read('BeforeTool', { tool_name: 'run_shell_command', tool_input: input });
  const after = read('AfterTool', { tool_name: 'run_shell_command', tool_input: input, tool_response: {} });
  assert.deepEqual([before.event, before.cwd, toolCall(before).name], ['PreToolUse', '/p/tests', 'Bash']);
  assert.equal(toolCall(before).id, toolCall(after).id);
  assert.notEqual(toolCall(before).id, '');
  const names = ['write_file', 'replace', 'read_file', 'save_memory'].map(
    (name) => toolCall(read('BeforeTool', { tool_name: name, tool_input: {} })).name,
  );
  assert.deepEqual(names, ['Write', 'Edit', 'Read', 'save_memory']);
  const searched = { pattern: 'x', dir_path: '.', include_pattern: '*.ts' };
  const search = toolCall(read('BeforeTool', { tool_name: 'grep_search', tool_input: searched }));
  assert.deepEqual([search.name, search.input['glob']], ['Grep', '*.ts'], 'a filtered search reads what it may match');
  const served = { tool_name: 'mcp_db_read_row', mcp_context: { server_name: 'db', tool_name: 'read_row' } };
  assert.equal(toolCall(read('BeforeTool', served)).name, 'mcp__db__read_row');
});

test('the reason that continues a session is no message of the user', () => {
  const { reason } = JSON.parse(geminiOutput('Stop', { decision: 'block', reason: 'Go on.' }).stdout) as {
    reason: string;
  };
  assert.match(reason, /Go on\.$/);
  assert.equal(parseHookInput(payload('BeforeAgent', { prompt: reason }), readGemini), 'ignored');
  assert.equal(read('BeforeAgent', { prompt: 'Go on.' }).event, 'UserPromptSubmit');
});

test('a denial, an end and a text for the agent have the form that Gemini CLI reads', () => {
  const deny = { hookEventName: 'PreToolUse', permissionDecision: 'deny', permissionDecisionReason: 'no' } as const;
  const out = (event: string, answer: Parameters<typeof geminiOutput>[1]): unknown => {
    const { stdout, stderr, code } = geminiOutput(event, answer);
    assert.deepEqual([stderr, code], ['', 0]);
    return stdout === '' ? null : JSON.parse(stdout);
  };
  assert.deepEqual(out('PreToolUse', { hookSpecificOutput: deny }), { decision: 'deny', reason: 'no' });
  assert.deepEqual(out('PreToolUse', { continue: false, stopReason: 'over', hookSpecificOutput: deny }), {
    continue: false,
    stopReason: 'over',
    decision: 'deny',
    reason: 'no',
  });
  const check = {
    hookEventName: 'PreToolUse',
    permissionDecision: 'allow',
    permissionDecisionReason: 'a check',
  } as const;
  assert.equal(out('PreToolUse', { hookSpecificOutput: check }), null, 'it would be asked about as any other call');
  assert.deepEqual(
    out('PostToolUse', { hookSpecificOutput: { hookEventName: 'PostToolUse', additionalContext: 'Hear.' } }),
    {
      hookSpecificOutput: { hookEventName: 'AfterTool', additionalContext: 'Hear.' },
    },
  );
  assert.deepEqual(out('Stop', { systemMessage: 'Complete.' }), { systemMessage: 'Complete.' });
});

test('a run with a new client for each iteration is refused, and so are options that the loop sets', () => {
  const rest = { permissionMode: null, tdd: true };
  const wanted = { ...rest, iterations: false, maxCostUsd: null, stopsAtWindow: false, sandbox: 'auto' } as const;
  refuseUnsupported(GEMINI, wanted);
  assert.throws(
    () => refuseUnsupported(GEMINI, { ...wanted, iterations: true }),
    /agent: Gemini CLI works in sessions only/,
  );
  GEMINI.requireArgs(['--include-directories', '../lib', '--prompt-file'], 'start');
  for (const word of ['-p', '--prompt=x', '--resume', '--approval-mode=yolo', '-y'])
    assert.throws(() => GEMINI.requireArgs([word], 'start'), /sets this option/, word);
});

test('no part of the first prompt makes Gemini CLI read a file', () => {
  const terms = { permissionMode: null, model: null, effort: null, checks: [], mayRun: [], hooks: [], own: [] };
  const [, prompt] = GEMINI.sessionArgs({
    ...terms,
    prompt: 'Use @types/node. "@.env" and \\@there',
    headless: true,
    session: null,
    settings: '{}',
  });
  assert.equal(prompt, '--prompt=Use \\@types/node. "\\@.env" and \\@there');
});

test('whatever keeps Gemini CLI from running our hooks is a problem', async (context) => {
  const root = emptyFolder(context);
  const write = (name: string, content: unknown): string => {
    mkdirSync(join(root, dirname(name)), { recursive: true });
    writeFileSync(join(root, name), typeof content === 'string' ? content : JSON.stringify(content));
    return join(root, name);
  };
  for (const { hooks } of Object.values(USER_HOOKS.groups({ node: 'n', hookPath: (file) => file })).flat())
    for (const { command } of hooks) write(/[\w-]+\.cjs/.exec(command)?.[0] ?? '', '');
  const place = { node: process.execPath, hookPath: (file: string) => join(root, file) };
  const groups = USER_HOOKS.groups(place);
  const env = {
    HOME: root,
    GEMINI_CLI_SYSTEM_SETTINGS_PATH: write('system.json', {}),
    GEMINI_CLI_SYSTEM_DEFAULTS_PATH: write('defaults.json', {}),
  };
  const cwd = join(root, 'project');
  write('project/.gemini/settings.json', {});
  const trusted = { [root]: 'TRUST_FOLDER' };
  const problem = async (settings: object, more: object = {}): Promise<string | null> => {
    write('.gemini/settings.json', settings);
    return (await USER_HOOKS.problem(() => '', { ...place, cwd, env: { ...env, ...more } }))?.text ?? null;
  };
  write('.gemini/trustedFolders.json', trusted);
  assert.equal(await problem({ hooks: groups }), null);

  const [own] = groups['BeforeTool']?.[0]?.hooks ?? [];
  assert.ok(own !== undefined);
  const before = (hook: object, more: object = {}) => ({
    hooks: { ...groups, BeforeTool: [{ ...more, hooks: [hook] }] },
  });
  assert.match(
    String(
      await problem({
        hooks: {
          ...groups,
          BeforeTool: [],
          AfterTool: [...(groups['AfterTool'] ?? []), ...(groups['BeforeTool'] ?? [])],
        },
      }),
    ),
    /BeforeTool has none/,
  );
  assert.match(String(await problem(before({ ...own, command: `exit 0; ${own.command}` }))), /BeforeTool has none/);
  const ended = own.command.replace('exit 0; ', 'exit 0; exit 0; ');
  assert.match(String(await problem(before({ ...own, command: ended }))), /BeforeTool is not as/);
  assert.match(String(await problem(before({ ...own, timeout: 1 }))), /BeforeTool is not as/);
  assert.match(String(await problem(before(own, { matcher: 'none' }))), /BeforeTool is not as/);
  assert.match(String(await problem({ hooks: groups }, { GITHUB_SHA: '1' })), /withholds RALPH_ACTIVE/);

  const redaction = (enabled: boolean) => ({
    security: { environmentVariableRedaction: { enabled, blocked: ['ralph_active'] } },
  });
  for (const file of ['project/.gemini/settings.json', 'system.json', 'defaults.json']) {
    write(file, redaction(true));
    assert.match(String(await problem({ hooks: groups })), /blocked names variables/, file);
    write(file, redaction(false));
    assert.equal(await problem({ hooks: groups }), null);
    write(file, { hooksConfig: { enabled: false } });
    assert.match(String(await problem({ hooks: groups })), /switches all hooks off/, file);
    write(file, {});
  }

  // The system's settings prevail over the user's, and those over the system's defaults.
  const on = { hooksConfig: { enabled: true } };
  write('defaults.json', { hooksConfig: { enabled: false }, ...redaction(true) });
  const plain = { security: { environmentVariableRedaction: { enabled: false } } };
  assert.equal(await problem({ hooks: groups, ...on, ...plain }), null);
  assert.match(String(await problem({ hooks: groups, ...plain })), /switches all hooks off/);
  assert.match(String(await problem({ hooks: groups, ...on })), /blocked names variables/);
  const other = { security: { environmentVariableRedaction: { blocked: ['A'] } } };
  assert.equal(await problem({ hooks: groups, ...on, ...other }), null);
  write('defaults.json', {});
  write('project/.gemini/settings.json', { hooksConfig: { enabled: false } });
  assert.match(String(await problem({ hooks: groups, ...on })), /switches all hooks off/);
  write('system.json', on);
  assert.equal(await problem({ hooks: groups }), null);
  write('system.json', {});
  write('project/.gemini/settings.json', {});

  const untrusted = /not one that Gemini CLI trusts/;
  write('.gemini/trustedFolders.json', { ...trusted, [cwd]: 'DO_NOT_TRUST' });
  assert.match(String(await problem({ hooks: groups })), untrusted);
  assert.equal(await problem({ hooks: groups }, { GEMINI_CLI_TRUST_WORKSPACE: 'true' }), null);
  assert.equal(await problem({ hooks: groups, security: { folderTrust: { enabled: false } } }), null);
  write('.gemini/trustedFolders.json', { [`${cwd}/x`]: 'TRUST_PARENT' });
  assert.equal(await problem({ hooks: groups }), null);
  write('.gemini/trustedFolders.json', { [`${cwd}/x`]: 'TRUST_FOLDER' });
  assert.match(String(await problem({ hooks: groups })), untrusted);
});

test('a turn that its user cancelled or a failed request ended is no answer; control: other ends', (t) => {
  const path = join(emptyFolder(t), 'chat.jsonl');
  const cancelled = { type: 'info', content: 'Request cancelled.' };
  const answer = { type: 'gemini', content: 'Done.' };
  const payload = { hook_event_name: 'AfterAgent', transcript_path: path, prompt_response: 'Done.' };
  const read = (...entries: readonly object[]) => {
    writeFileSync(path, [...entries, { $set: {} }].map((entry) => `${JSON.stringify(entry)}\n`).join(''));
    return readGemini(payload);
  };
  assert.equal(read(answer, cancelled), 'ignored');
  assert.notEqual(read(cancelled, answer), 'ignored');
  for (const [said, kind] of [
    ['{"error":{"code":400,"message":"bad","status":"INVALID_ARGUMENT"}}', 'invalid-request'],
    ['No capacity (Status: UNAVAILABLE)', 'overloaded'],
    ['terminated', 'overloaded'],
    ['Too many requests (Status: RESOURCE_EXHAUSTED)', 'rate-limited'],
    ['No such model', 'other'],
  ] as const) {
    const failed = read(answer, { type: 'error', content: `[API Error: ${said}]\nPlease wait and try again later.` });
    assert.ok(failed !== 'ignored');
    const { message, ...error } = apiFailure(failed, path);
    assert.deepEqual([failed['hook_event_name'], message, error.kind], ['StopFailure', said, kind]);
  }
  for (const other of [{ type: 'error', content: 'Unknown command: /x' }, answer]) {
    const ended = read(answer, { type: 'error', content: '[API Error: old]' }, other);
    assert.equal(ended !== 'ignored' && ended['hook_event_name'], 'Stop');
  }
});
