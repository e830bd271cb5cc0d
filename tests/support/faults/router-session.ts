import { existsSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Report, routerCall } from '../../../src/drive/router/call.ts';
import { loopFiles } from '../../../src/state/loop-files.ts';

/**
 * A session that would drive the router loop of a project, and does once it may: every call it makes three times, and
 * each of its agents answers at once. Each answer is a line on stdout: `busy`, or what it was and of which spawn.
 * Usage: router-session.cjs PROJECT SESSION WAY. The way `numberless` reports without the number of the spawn, and with
 * another text each time, and must be caught. Any other is a file: before it is there, no agent of this session answers.
 */
const [projectDir = '', sessionId = '', way = ''] = process.argv.slice(2);
const env = { ...process.env, CLAUDECODE: '1', CLAUDE_CODE_SESSION_ID: sessionId, CLAUDE_PID: String(process.pid) };
const NOBODY = { agent: null, prompt: '', error: null, usage: null };
const files = loopFiles(projectDir, null, env);

type Answer = NonNullable<Awaited<ReturnType<typeof routerCall>>>;

async function call(told: Report | null): Promise<Answer> {
  const options = { env, now: () => new Date().toISOString(), program: 'main.cjs', options: '', sitUntil: 0 };
  const answer = await routerCall(files, { ...options, tell: () => undefined }, told);
  if (answer === null) throw new Error('told to go');
  return answer;
}

async function thrice(of: (time: number) => Report | null): Promise<Answer> {
  const answers = [await call(of(0))];
  // A client that gives up on a call and makes it again can have both at work.
  if (Math.random() < 0.5) answers.push(...(await Promise.all([call(of(1)), call(of(2))])));
  else answers.push(await call(of(1)), await call(of(2)));
  const differ = answers.some((answer) => answer.action === 'spawn' && answer.spawn !== spawnOf(answers));
  if (way !== 'numberless' && differ) say('differs');
  return answers.at(-1) as Answer;
}

/** Of the last answer: who drives a loop is given the same piece of work each time they ask. */
function spawnOf(answers: readonly Answer[]): number | null {
  const last = answers.at(-1);
  return last?.action === 'spawn' ? last.spawn : null;
}

function say(line: string): void {
  writeSync(1, `${line}\n`);
}

async function drive(): Promise<void> {
  let answer = await thrice(() => null);
  while (!(answer.action === 'stop' && answer.status !== 'busy')) {
    if (answer.action === 'stop') {
      say('busy');
      await sleep(10 + Math.random() * 40);
      // Whoever drives the loop is not to be disturbed by another's report either.
      const told = Math.random() < 0.3 ? { ...NOBODY, spawn: null, text: `of ${sessionId}` } : null;
      answer = await call(told);
      continue;
    }
    if (answer.action === 'wait') {
      say(`wait ${answer.why}`);
      answer = await thrice(() => null);
      continue;
    }
    const { spawn } = answer;
    say(`spawn ${spawn}`);
    while (way !== '' && way !== 'numberless' && !existsSync(way)) await sleep(5);
    const text = `Work of spawn ${spawn}.`;
    answer = await thrice((time) =>
      way === 'numberless' ? { ...NOBODY, spawn: null, text: `${text} ${time}` } : { ...NOBODY, spawn, text },
    );
  }
  say(`stop ${answer.status}`);
}

void drive();
