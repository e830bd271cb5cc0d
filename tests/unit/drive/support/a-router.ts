import assert from 'node:assert/strict';
import type { RouterAnswer, SpawnAnswer } from '../../../../src/drive/router/answer.ts';
import { routerCall } from '../../../../src/drive/router/call.ts';
import type { Report } from '../../../../src/drive/router/report.ts';
import { startRouter } from '../../../../src/drive/router/start.ts';
import type { Project } from './a-project.ts';

/** A session of a client: the test's own parent stands for its process. */
export function host(sessionId = 'host-1', pid: number | null = process.ppid): NodeJS.ProcessEnv {
  return { CLAUDECODE: '1', CLAUDE_CODE_SESSION_ID: sessionId, ...(pid !== null && { CLAUDE_PID: String(pid) }) };
}

export interface Called {
  readonly env?: NodeJS.ProcessEnv;
  readonly sitUntil?: number;
}

/** `router start` by the user, for a session. */
export function startedRouter(
  { directory, env, files }: Project,
  more: Partial<Parameters<typeof startRouter>[1]> = {},
): ReturnType<typeof startRouter> {
  return startRouter(files, {
    ...{ projectDir: directory, name: null, task: null, flags: {}, env: { ...env, ...host() } },
    ...{ at: new Date().toISOString(), existing: 'refuse', byUser: true, clientVersion: null, bundleDir: null },
    ...more,
  });
}

/** One call of the host, with what it reports. */
export async function called(
  { env, files }: Project,
  told: Partial<Report> | null = null,
  { env: whose = host(), sitUntil = 0 }: Called = {},
): Promise<RouterAnswer> {
  const answer = await routerCall(
    files,
    {
      env: { ...process.env, ...env, ...whose },
      now: () => new Date().toISOString(),
      program: 'main.cjs',
      options: '',
      sitUntil,
      tell: () => undefined,
    },
    told === null ? null : { spawn: null, text: '', error: null, usage: null, ...told },
  );
  assert.ok(answer !== null);
  return answer;
}

export async function spawned(...args: Parameters<typeof called>): Promise<SpawnAnswer> {
  const answer = await called(...args);
  assert.ok(answer.action === 'spawn', JSON.stringify(answer));
  return answer;
}
