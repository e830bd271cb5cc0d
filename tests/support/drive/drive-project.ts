import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { type DriverContext, driverContext } from '../../../src/drive/control/ownership.ts';
import { stop } from '../../../src/drive/hook/stop/stop.ts';
import type { StartedLoop } from '../../../src/drive/start/stages.ts';
import type { LoopState } from '../../../src/engine/schema/state.ts';
import { parseHookInput } from '../../../src/hosts/hook-io/hook-input.ts';
import type { HookAnswer } from '../../../src/hosts/hook-io/stdio.ts';
import { type LoopFiles, loopFiles, parseState } from '../../../src/state/loop-files.ts';
import { emptyFolder } from '../folder.ts';
import { startNow } from './start-now.ts';

/** Who agrees in tests that have no terminal. */
export const PERSON = { terminal: '/dev/pts/9', processes: ['sh (7)'] };

/** Consent without a person and without results of checks. */
export const UNASKED = { by: null, baseline: null };

export const AT = '2026-02-28T10:00:00Z';

export interface Project {
  readonly directory: string;
  readonly env: NodeJS.ProcessEnv;
  readonly files: LoopFiles;
}

/** A project of its own for one test, with a task in it, gone after the test. */
export function aProject(t: TestContext, task = 'Do the work.\n'): Project {
  const root = emptyFolder(t);
  const directory = join(root, 'project');
  put(join(directory, '.claude', 'ralph', 'PROMPT.md'), task);
  const env = { HOME: root, XDG_STATE_HOME: join(root, 'outside'), CLAUDE_PROJECT_DIR: directory };
  return { directory, env, files: loopFiles(directory, null, env) };
}

export function put(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

/** `ralph-loop start`, by the user or by an agent. */
export function start(
  { directory, env }: Project,
  consented: boolean,
  existing: 'resume' | 'fresh' | 'refuse' = 'refuse',
  at = AT,
): StartedLoop {
  return startNow({
    ...{ projectDir: directory, name: null, task: null, flags: {}, env, at, existing, consented },
    ...{ headless: false, launched: false, clientVersion: null, bundleDir: null, baseline: null },
  });
}

/** A hook that the client calls in this session. */
export function aHook(
  { env }: Project,
  event: string,
  payload: Record<string, unknown> = {},
  more: Record<string, string> = {},
): DriverContext {
  const input = parseHookInput(JSON.stringify({ hook_event_name: event, session_id: 'session-1', ...payload }));
  assert.ok(input !== null);
  return driverContext(input, { ...env, ...more });
}

/** A Stop of session-1, decided in full. */
export function aStop(
  project: Project,
  payload: Record<string, unknown> = {},
  more: Record<string, string> = {},
): Promise<HookAnswer | null> {
  const context = aHook(project, 'Stop', { last_assistant_message: 'Some work.', ...payload }, more);
  return stop(context, { timeoutMs: 60_000, signal: () => new AbortController().signal });
}

export function stateOf({ files }: Project): LoopState {
  const read = parseState(readFileSync(files.state, 'utf8'));
  assert.ok(read.kind === 'loop', read.kind);
  return read.state;
}

/** Somebody writes into the state file. */
export function rewrite(project: Project, change: Record<string, unknown>): void {
  put(project.files.state, JSON.stringify({ ...stateOf(project), ...change }));
}
