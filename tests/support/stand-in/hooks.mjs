import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';

/** Runs the hooks of one event at the same time, and joins their answers in the order in which they are registered. */
export async function runHooks(registered, payload, subject, session, show) {
  const asked = registered.filter(({ matcher }) => matches(matcher, subject));
  const input = JSON.stringify(payload);
  const starts = payload.hook_event_name === 'SessionStart';
  const runs = await Promise.all(asked.map((hook) => run(hook, input, starts, session, show)));
  const joined = { context: [], systemMessage: null, denied: null, blocked: null, stops: false };
  for (const [index, { code, stdout, stderr }] of runs.entries()) {
    const { statusMessage, command, onFailure } = asked[index];
    const answer = code === 0 && stdout.trimStart().startsWith('{') ? JSON.parse(stdout) : {};
    const own = answer.hookSpecificOutput ?? {};
    const refused = code === 2 || (code !== 0 && onFailure === 'block');
    if (own.additionalContext) joined.context.push(own.additionalContext);
    if (answer.systemMessage)
      joined.systemMessage = [joined.systemMessage, answer.systemMessage].filter(Boolean).join('\n');
    if (own.permissionDecision === 'deny') joined.denied ??= own.permissionDecisionReason;
    if (refused && payload.hook_event_name === 'PreToolUse') joined.denied ??= stderr.trim();
    if (answer.decision === 'block') joined.blocked ??= { reason: answer.reason, by: statusMessage ?? command };
    if (answer.continue === false) joined.stops = true;
  }
  return joined;
}

function matches(matcher, subject) {
  if (matcher === '' || matcher === '*') return true;
  return /^[\w|]+$/.test(matcher) ? matcher.split('|').includes(subject) : new RegExp(matcher).test(subject);
}

function run({ command, args }, input, starts, { cwd, envFile }, show) {
  const hook_id = randomUUID();
  show({ subtype: 'hook_started', hook_id });
  const exports = starts ? { CLAUDE_ENV_FILE: envFile } : {};
  const env = { ...process.env, ...exports, CLAUDE_PROJECT_DIR: cwd, CLAUDE_PID: String(process.pid) };
  return new Promise((resolve) => {
    const child =
      args === undefined ? spawn('/bin/sh', ['-c', command], { cwd, env }) : spawn(command, args, { cwd, env });
    let [stdout, stderr] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (chunk) => (stdout += chunk));
    child.stderr.setEncoding('utf8').on('data', (chunk) => (stderr += chunk));
    // A hook that does not read what it is given, as `exit 0`.
    child.stdin.on('error', () => undefined).end(input);
    child.on('close', (code) => {
      show({ subtype: 'hook_response', hook_id, output: stdout, stdout, stderr, exit_code: code });
      resolve({ code, stdout, stderr });
    });
  });
}
