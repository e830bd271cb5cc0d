import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type Report, routerCall } from '../../../src/drive/router/call.ts';
import type { RouterAnswer, RouterOptions, SpawnAnswer } from '../../../src/drive/router/router.ts';
import { isDriven, startRouter } from '../../../src/drive/router/start.ts';
import type { StartedLoop } from '../../../src/drive/start/stages.ts';
import { identityOf } from '../../../src/state/process/identity.ts';
import type { Project } from './drive-project.ts';
import { approvedOf, type Ready } from './start-now.ts';

/** A session of a client: the test's own parent stands for its process. */
export function host(sessionId = 'host-1', pid: number | null = process.ppid): NodeJS.ProcessEnv {
  return { CLAUDECODE: '1', CLAUDE_CODE_SESSION_ID: sessionId, ...(pid !== null && { CLAUDE_PID: String(pid) }) };
}

export interface Called {
  readonly env?: NodeJS.ProcessEnv;
  readonly sitUntil?: number;
}

/** `router start` by the user, for a session. */
export function startedRouter({ directory, env, files }: Project, more: Partial<Ready> = {}): StartedLoop | null {
  const ready: Ready = {
    projectDir: directory,
    name: null,
    task: null,
    flags: {},
    env: { ...env, ...host() },
    at: new Date().toISOString(),
    existing: 'refuse',
    mode: 'router',
    consented: true,
    ...more,
  };
  return isDriven(files, ready) ? null : startRouter(approvedOf(ready));
}

/** How a call of the host reaches the loop. */
export function optionsOf({ env }: Project, whose: NodeJS.ProcessEnv = host()): Omit<RouterOptions, 'signal'> {
  return {
    env: { ...process.env, ...env, ...whose },
    now: () => new Date().toISOString(),
    program: 'main.cjs',
    options: '',
    sitUntil: 0,
    tell: () => undefined,
  };
}

/** A process that was there and is gone, as a state names a client. */
export async function goneClient(): Promise<{ clientPid: number; clientStartedAt: string | null }> {
  const child = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60000)'], { stdio: 'ignore' });
  const { pid, startedAt } = identityOf(child.pid ?? 0);
  child.kill('SIGKILL');
  await once(child, 'exit');
  return { clientPid: pid, clientStartedAt: startedAt };
}

/** One call of the host, with what it reports. */
export async function called(
  project: Project,
  told: Partial<Report> | null = null,
  { env: whose, sitUntil = 0 }: Called = {},
): Promise<RouterAnswer> {
  const { files } = project;
  const answer = await routerCall(
    files,
    { ...optionsOf(project, whose), sitUntil },
    told === null ? null : { spawn: null, agent: null, prompt: '', text: '', error: null, usage: null, ...told },
  );
  assert.ok(answer !== null);
  return answer;
}

export async function spawned(...args: Parameters<typeof called>): Promise<SpawnAnswer> {
  const answer = await called(...args);
  assert.ok(answer.action === 'spawn', JSON.stringify(answer));
  return answer;
}
