#!/usr/bin/env node
// A stand-in for Claude Code that costs a tenth of its processor time. It speaks the client's protocols with hooks, model
// and runner as the client does under -p and bypassPermissions: tests/client/stand-in.test.ts holds both side by side.
// What it does not know it refuses, so that no test passes on a guess: background shells, subagents, other modes.
import { randomUUID } from 'node:crypto';
import { appendFileSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { runHooks } from './hooks.mjs';
import { ask, costOf, noUsage, plus } from './model.mjs';
import { readSettings } from './settings.mjs';
import { endShells, prepared, runTool } from './tools.mjs';

const VERSION = '2.1.330';
const words = process.argv.slice(2);
if (words.includes('--version')) {
  console.log(`${VERSION} (Claude Code)`);
  process.exit(0);
}

/** Options that take a value. */
const WITH_VALUE = new Set(
  '--settings --permission-mode --session-id --setting-sources --output-format --input-format'.split(' '),
);
const SWITCHES = new Set(
  '-p --verbose --include-hook-events --replay-user-messages --include-partial-messages'.split(' '),
);
const options = {};
let prompt = null;
for (let at = 0; at < words.length; at++) {
  const word = words[at];
  if (WITH_VALUE.has(word)) options[word] = words[++at];
  else if (SWITCHES.has(word)) options[word] = true;
  // Rules for tools: everything is allowed anyway.
  else if (word === '--allowedTools') while (at + 1 < words.length && !words[at + 1].startsWith('--')) at++;
  else if (prompt === null && !word.startsWith('-')) prompt = word;
  else refuse(`the stand-in does not know the option ${word}`);
}
if (options['-p'] !== true) refuse('the stand-in has no terminal');
if (options['--permission-mode'] !== 'bypassPermissions') refuse('the stand-in knows bypassPermissions only');

function refuse(why) {
  process.stderr.write(`${why}\n`);
  process.exit(64);
}

const cwd = process.cwd();
const sessionId = options['--session-id'] ?? randomUUID();
const transcript = join(process.env.CLAUDE_CONFIG_DIR, 'projects', cwd.replaceAll(/[^\w]/g, '-'), `${sessionId}.jsonl`);
const settings = readSettings(cwd, options['--setting-sources'] ?? 'user,project,local', options['--settings']);
Object.assign(process.env, settings.env);
const session = { cwd, sessionId, transcript, envFile: join(dirname(transcript), `${sessionId}.env.sh`) };
const messages = [];
let promptId;
let total = noUsage();
let turns = 0;
let stopReason = null;
let abort = new AbortController();
/** What came over standard input and has not reached the model. */
const queue = [];

const print = (line) => process.stdout.write(`${JSON.stringify({ ...line, session_id: sessionId })}\n`);
const note = (entry) =>
  appendFileSync(
    transcript,
    `${JSON.stringify({ isSidechain: false, ...entry, timestamp: new Date().toISOString(), version: VERSION, sessionId })}\n`,
  );

/** Runs the hooks of an event, prints what they say, and gives their answers as one. */
async function hooks(event, payload, subject = '') {
  const isShown = event === 'SessionStart' || options['--include-hook-events'] === true;
  const common = {
    session_id: sessionId,
    transcript_path: transcript,
    cwd,
    ...(promptId === undefined ? {} : { prompt_id: promptId }),
    ...(event.startsWith('Session') ? {} : { permission_mode: 'bypassPermissions' }),
    hook_event_name: event,
  };
  const answer = await runHooks(settings.hooks[event] ?? [], { ...common, ...payload }, subject, session, (line) => {
    if (isShown)
      print({ type: 'system', ...line, hook_event: event, hook_name: subject ? `${event}:${subject}` : event });
  });
  if (answer.systemMessage !== null && !event.startsWith('Session')) {
    const who = subject ? `${event}:${subject}` : event;
    const content = answer.systemMessage
      .split('\n')
      .map((line) => `${who} says: ${line}`)
      .join('\n');
    print({ type: 'system', subtype: 'informational', content, level: 'notice' });
  }
  return answer;
}

/** Adds what hooks tell the model: it comes behind the message of the user. */
function tell(texts) {
  if (texts.length === 0) return;
  if (messages.at(-1).role === 'system') messages.at(-1).content += `\n\n${texts.join('\n\n')}`;
  else messages.push({ role: 'system', content: texts.join('\n\n') });
}

function hear(text, entry = {}) {
  messages.push({ role: 'user', content: [{ type: 'text', text }] });
  note({ type: 'user', promptId, message: { role: 'user', content: text }, ...entry });
}

/** Takes what waits on standard input into the turn. */
async function takeQueued() {
  for (const { text, uuid } of queue.splice(0)) {
    await hooks('UserPromptSubmit', { prompt: text });
    const message = { role: 'user', content: [{ type: 'text', text }] };
    messages.push(message);
    print({ type: 'user', message, parent_tool_use_id: null, uuid, isReplay: true });
  }
}

async function answer() {
  const { message, began } = await ask(messages, sessionId, abort.signal);
  const event = (data) =>
    options['--include-partial-messages'] && print({ type: 'stream_event', event: data, parent_tool_use_id: null });
  event({ type: 'message_start', message: { ...began, content: [] } });
  total = plus(total, message.usage);
  turns += 1;
  stopReason = message.stop_reason;
  for (const [index, block] of message.content.entries()) {
    if (block.type === 'text')
      event({ type: 'content_block_delta', index, delta: { type: 'text_delta', text: block.text } });
    const line = { type: 'assistant', message: { ...began, content: [prepared(block, cwd, false)] } };
    print({ ...line, parent_tool_use_id: null });
    note({ ...line, message: { ...line.message, usage: message.usage } });
  }
  event({ type: 'message_delta', delta: { stop_reason: message.stop_reason }, usage: message.usage });
  messages.push({ role: 'assistant', content: message.content });
  return message.content;
}

/** Runs one call, or what its hooks have left of it: its result, what the model is told beside it, and whether the turn goes on. */
async function call(block) {
  const { id, name, input } = prepared(block, cwd, true);
  const about = { tool_name: name, tool_input: input, tool_use_id: id };
  const before = await hooks('PreToolUse', about, name);
  const told = before.context.map((text) => `PreToolUse:${name} hook additional context: ${text}`);
  const result = { type: 'tool_result', tool_use_id: id };
  if (before.denied !== null) {
    const content = `PreToolUse:${name} hook error: ${before.denied}`;
    return { result: { ...result, content, is_error: true }, told, stops: before.stops };
  }
  const { content, failed, response } = await runTool(name, input, session, abort.signal);
  const outcome = failed ? { error: content, is_interrupt: false } : { tool_response: response };
  const event = failed ? 'PostToolUseFailure' : 'PostToolUse';
  const after = await hooks(event, { ...about, ...outcome, duration_ms: 1 }, name);
  told.push(...after.context.map((text) => `${event}:${name} hook additional context: ${text}`));
  return { result: { ...result, content, is_error: failed }, told, stops: before.stops || after.stops };
}

/** Runs a turn to its end, which is given as the client's terminal_reason. */
async function turn() {
  for (let stopHookActive = false; ; ) {
    const content = await answer();
    const calls = content.filter(({ type }) => type === 'tool_use');
    if (calls.length > 0) {
      const done = [];
      for (const block of calls) done.push(await call(block));
      const results = done.map(({ result }) => result);
      for (const one of results)
        print({ type: 'user', message: { role: 'user', content: [one] }, parent_tool_use_id: null });
      messages.push({ role: 'user', content: results });
      note({ type: 'user', promptId, message: messages.at(-1) });
      tell(done.flatMap(({ told }) => told));
      if (done.some(({ stops }) => stops)) return 'hook_stopped';
      await takeQueued();
      continue;
    }
    const said = content.map(({ text }) => text).join('');
    const stop = await hooks('Stop', {
      stop_hook_active: stopHookActive,
      last_assistant_message: said,
      background_tasks: [],
      session_crons: [],
    });
    if (stop.blocked === null || stop.stops) return stop.stops ? 'hook_stopped' : 'completed';
    stopHookActive = true;
    turns += 1;
    const feedback = `Stop hook feedback:\n${stop.blocked.reason}`;
    hear(feedback, { isMeta: true });
    print({ type: 'user', message: messages.at(-1), parent_tool_use_id: null, isSynthetic: true });
    tell([
      `Stop hook blocking error from command: "${stop.blocked.by}": ${stop.blocked.reason}`,
      ...stop.context.map((text) => `Stop hook additional context: ${text}`),
    ]);
  }
}

function lastText() {
  const content = messages.findLast(({ role }) => role === 'assistant')?.content ?? [];
  return content.map(({ text = '' }) => text).join('');
}

/** Runs a turn from its prompt, and prints its result; `uuid` names a prompt from standard input. */
async function work(text, uuid) {
  promptId = randomUUID();
  const submitted = await hooks('UserPromptSubmit', { prompt: text });
  print({ type: 'system', subtype: 'init', cwd, model: 'claude-opus-5-5', permissionMode: 'bypassPermissions' });
  hear(text, { promptSource: 'sdk' });
  if (uuid !== undefined)
    print({ type: 'user', message: messages.at(-1), parent_tool_use_id: null, uuid, isReplay: true });
  tell([
    ...started.context.splice(0).map((said) => `SessionStart hook additional context: ${said}`),
    ...submitted.context.map((said) => `UserPromptSubmit hook additional context: ${said}`),
  ]);
  let reason;
  try {
    reason = await turn();
  } catch (error) {
    if (!abort.signal.aborted) throw error;
    reason = 'aborted_streaming';
    abort = new AbortController();
  }
  const aborted = reason === 'aborted_streaming';
  const { input_tokens: inputTokens, output_tokens: outputTokens, ...cache } = total;
  print({
    type: 'result',
    subtype: aborted ? 'error_during_execution' : 'success',
    is_error: aborted,
    terminal_reason: reason,
    stop_reason: aborted ? null : stopReason,
    num_turns: turns,
    ...(aborted ? {} : { result: lastText() }),
    total_cost_usd: costOf(total),
    usage: total,
    modelUsage: {
      'claude-opus-5-5': {
        inputTokens,
        outputTokens,
        cacheReadInputTokens: cache.cache_read_input_tokens,
        cacheCreationInputTokens: cache.cache_creation_input_tokens,
        costUSD: costOf(total),
        contextWindow: 1_000_000,
      },
    },
  });
}

async function leave(code) {
  await hooks('SessionEnd', { reason: 'other' });
  process.exitCode = code;
  process.stdin.destroy();
}

for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
])
  process.on(signal, () => {
    endShells();
    process.exit(code);
  });

mkdirSync(dirname(transcript), { recursive: true });
const started = await hooks('SessionStart', { source: 'startup' }, 'startup');
if (options['--input-format'] !== 'stream-json') {
  await work(prompt);
  await leave(0);
} else {
  let working = false;
  let closed = false;
  const next = async () => {
    if (working) return;
    working = true;
    for (let message = queue.shift(); message !== undefined; message = queue.shift())
      await work(message.text, message.uuid);
    working = false;
    if (closed) await leave(0);
  };
  createInterface({ input: process.stdin })
    .on('line', (line) => {
      const { type, uuid, message, request } = JSON.parse(line);
      if (type === 'control_request') {
        if (request.subtype === 'interrupt') abort.abort();
        const at = queue.findIndex((each) => each.uuid === request.message_uuid);
        if (at !== -1) queue.splice(at, 1);
        return;
      }
      queue.push({
        text: message.content
          .map(({ text }) => text)
          .join('\n')
          .trim(),
        uuid,
      });
      void next();
    })
    .on('close', () => {
      closed = true;
      void next();
    });
}
