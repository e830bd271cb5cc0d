#!/usr/bin/env node
// A stand-in for Claude Code that costs a tenth of its processor time. It speaks the client's protocols with hooks, model
// and runner as the client does under -p and bypassPermissions: tests/client/stand-in.test.ts holds both side by side.
// What it does not know it refuses, so that no test passes on a guess: background shells, subagents, other modes,
// refusals, prompts that are too long.
import { randomUUID } from 'node:crypto';
import { appendFileSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { ApiFailure, hasLogin, persistently } from './failures.mjs';
import { runHooks } from './hooks.mjs';
import { ask, costOf, MODEL, noUsage, plus } from './model.mjs';
import { readSettings } from './settings.mjs';
import { endShells, prepared, runTool } from './tools.mjs';

const VERSION = '2.1.330';
const words = process.argv.slice(2);

/** Options that take a value. */
const WITH_VALUE = new Set(
  '--settings --permission-mode --session-id --resume --setting-sources --output-format --input-format --max-turns'.split(
    ' ',
  ),
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
  else if (['--allowedTools', '--disallowedTools'].includes(word))
    while (at + 1 < words.length && !words[at + 1].startsWith('--')) at++;
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
const sessionId = options['--resume'] ?? options['--session-id'] ?? randomUUID();
const maxTurns = Number(options['--max-turns'] ?? Number.POSITIVE_INFINITY);
const transcript = join(process.env.CLAUDE_CONFIG_DIR, 'projects', cwd.replaceAll(/[^\w]/g, '-'), `${sessionId}.jsonl`);
const settings = readSettings(cwd, options['--setting-sources'] ?? 'user,project,local', options['--settings']);
Object.assign(process.env, settings.env);
const session = { cwd, sessionId, transcript, envFile: join(dirname(transcript), `${sessionId}.env.sh`) };
const before = options['--resume'] === undefined ? [] : conversation();
const messages = before.map(({ role, content }) => ({ role, content }));
let promptId;
let total = usedBy(before);
let turns = 0;
let stopReason = null;
let failed = false;
let knowsLimits = false;
let abort = new AbortController();
/** What came over standard input and has not reached the model. */
const queue = [];

const print = (line) => process.stdout.write(`${JSON.stringify({ ...line, session_id: sessionId })}\n`);
const note = (entry) =>
  appendFileSync(
    transcript,
    `${JSON.stringify({ isSidechain: false, ...entry, timestamp: new Date().toISOString(), version: VERSION, sessionId })}\n`,
  );

/** What the transcript has of the conversation so far. */
function conversation() {
  return readFileSync(transcript, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
    .flatMap(({ message, isApiErrorMessage }) => (isApiErrorMessage ? [] : [message]));
}

/** Each message is one line for each of its blocks. */
function usedBy(said) {
  const byId = new Map(said.flatMap(({ id, usage }) => (usage === undefined ? [] : [[id, usage]])));
  return [...byId.values()].reduce(plus, noUsage());
}

/** Runs the hooks of an event, prints what they say, and gives their answers as one. */
async function hooks(event, payload, subject = '') {
  const isShown = event === 'SessionStart' || (options['--include-hook-events'] === true && event !== 'StopFailure');
  const common = {
    session_id: sessionId,
    transcript_path: transcript,
    cwd,
    ...(promptId === undefined ? {} : { prompt_id: promptId }),
    ...(/^Session|^StopFailure/.test(event) ? {} : { permission_mode: 'bypassPermissions' }),
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
  const { message, began } = await persistently(
    () => ask(messages, sessionId, abort.signal),
    (retry) => print({ type: 'system', subtype: 'api_retry', ...retry }),
    abort.signal,
  );
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
  if (hasLogin() && !knowsLimits) tellLimit({ status: 'allowed', isUsingOverage: false });
  return message.content;
}

function tellLimit(info) {
  knowsLimits = true;
  print({ type: 'rate_limit_event', rate_limit_info: info });
}

/** Says and records that the API has ended the turn. Under a prompt of its own the client ends at once, hooks and all. */
async function fail({ error, message: said, status, type, limit }) {
  if (limit !== null) tellLimit({ ...limit.about, unifiedWindows: limit.windows });
  turns += 1;
  stopReason = 'stop_sequence';
  const content = [{ type: 'text', text: said }];
  const message = { id: randomUUID(), role: 'assistant', model: '<synthetic>', content, usage: noUsage() };
  const shown = limit === null ? {} : { api_error_params: { rate_limit_info: limit.about } };
  const noted = limit === null ? {} : { apiError: 'usage_limit_reached', quotaLimits: limit.about };
  const line = { type: 'assistant', message, error };
  print({ ...line, parent_tool_use_id: null, is_api_error_message: true, api_error_status: status, ...shown });
  note({ ...line, isApiErrorMessage: true, apiErrorStatus: status, apiErrorType: type, ...noted });
  if (options['--input-format'] === 'stream-json') await hooks('StopFailure', { error, last_assistant_message: said });
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
      if (turns >= maxTurns) return 'max_turns';
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

/** What the last line says of a turn that has ended so. */
function outcome(reason, refused) {
  if (reason === 'aborted_streaming') return { subtype: 'error_during_execution', is_error: true, stop_reason: null };
  if (reason === 'max_turns') {
    turns += 1;
    const errors = [`Reached maximum number of turns (${maxTurns})`];
    return { subtype: 'error_max_turns', is_error: true, stop_reason: stopReason, errors };
  }
  const end = { subtype: 'success', stop_reason: stopReason };
  if (refused === null) return { ...end, is_error: false, result: lastText() };
  return { ...end, is_error: true, api_error_status: refused.status, result: refused.message };
}

/** Runs a turn from its prompt, and prints its result; `uuid` names a prompt from standard input. */
async function work(text, uuid) {
  promptId = randomUUID();
  turns = 0;
  const submitted = await hooks('UserPromptSubmit', { prompt: text });
  print({ type: 'system', subtype: 'init', cwd, model: MODEL, permissionMode: 'bypassPermissions' });
  hear(text, { promptSource: 'sdk' });
  if (uuid !== undefined)
    print({ type: 'user', message: messages.at(-1), parent_tool_use_id: null, uuid, isReplay: true });
  tell([
    ...started.context.splice(0).map((said) => `SessionStart hook additional context: ${said}`),
    ...submitted.context.map((said) => `UserPromptSubmit hook additional context: ${said}`),
  ]);
  let reason;
  let refused = null;
  try {
    reason = await turn();
  } catch (error) {
    if (error instanceof ApiFailure) {
      await fail(error);
      reason = 'api_error';
      refused = error;
    } else if (abort.signal.aborted) {
      reason = 'aborted_streaming';
      abort = new AbortController();
    } else throw error;
  }
  const { input_tokens: inputTokens, output_tokens: outputTokens, ...cache } = total;
  failed = refused !== null || reason === 'max_turns';
  print({
    type: 'result',
    ...outcome(reason, refused),
    terminal_reason: reason,
    num_turns: turns,
    total_cost_usd: costOf(total),
    usage: total,
    modelUsage: {
      [MODEL]: {
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

async function leave() {
  await hooks('SessionEnd', { reason: 'other' });
  process.exitCode = failed ? 1 : 0;
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
const source = options['--resume'] === undefined ? 'startup' : 'resume';
const started = await hooks('SessionStart', { source }, source);
if (options['--input-format'] !== 'stream-json') {
  await work(prompt);
  await leave();
} else {
  let working = false;
  let closed = false;
  const next = async () => {
    if (working) return;
    working = true;
    for (let message = queue.shift(); message !== undefined; message = queue.shift())
      await work(message.text, message.uuid);
    working = false;
    if (closed) await leave();
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
