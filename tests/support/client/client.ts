import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { ScriptedModel } from '../model/scripted-model.ts';
import { TEST_TIMEOUT_MS } from '../until.ts';
import { findClientBinary } from './client-binary.ts';
import { clientEnvironment, type EnvironmentChanges } from './client-environment.ts';
import { killTree, signalQuietly } from './process-tree.ts';
import type { JsonObject, Workspace } from './workspace.ts';

export type PermissionMode = 'default' | 'acceptEdits' | 'bypassPermissions' | 'plan' | 'dontAsk' | 'auto' | 'manual';

export type ClientOptions = {
  readonly workspace: Workspace;
  readonly model: Pick<ScriptedModel, 'url'>;
  /** Left out with `--input-format stream-json` in `args`: then write lines with `send`. */
  readonly prompt?: string;
  readonly args?: readonly string[];
  readonly env?: EnvironmentChanges;
  /** Passed as --settings. */
  readonly settings?: JsonObject;
  /** Default bypassPermissions: under -p the default mode denies Bash and Write. */
  readonly permissionMode?: PermissionMode;
  readonly cwd?: string;
  /** `claude` on the workspace's PATH, which may be the stand-in; otherwise the real client. */
  readonly fromPath?: boolean;
  /** Default TEST_TIMEOUT_MS; then the whole tree is killed and `timedOut` is true. */
  readonly timeLimitMs?: number;
};

export type ClientRun = {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly timedOut: boolean;
  readonly stdout: string;
  readonly stderr: string;
  /** The lines of stream-json output. */
  readonly messages: readonly JsonObject[];
  /** The last line of type "result": a run can print several. */
  readonly result: JsonObject | undefined;
};

export type RunningClient = {
  /** Leader of a process group of its own. */
  readonly pid: number;
  readonly done: Promise<ClientRun>;
  readonly signal: (name: NodeJS.Signals) => void;
  /** What happens at the time limit, now. */
  readonly cutOff: () => void;
  readonly send: (line: JsonObject) => void;
  readonly endInput: () => void;
  /** What has been printed so far. */
  readonly soFar: () => string;
};

const parseMessages = (stdout: string): JsonObject[] =>
  stdout.split('\n').flatMap((line) => {
    try {
      return line.startsWith('{') ? [JSON.parse(line) as JsonObject] : [];
    } catch {
      return [];
    }
  });

export const startClient = (options: ClientOptions): RunningClient => {
  const { workspace } = options;
  const args = [
    '-p',
    ...(options.prompt === undefined ? [] : [options.prompt]),
    '--output-format',
    'stream-json',
    '--verbose',
    '--permission-mode',
    options.permissionMode ?? 'bypassPermissions',
    ...(options.settings === undefined ? [] : ['--settings', JSON.stringify(options.settings)]),
    ...(options.args ?? []),
  ];
  const streaming = options.prompt === undefined;
  const program = options.fromPath === true ? join(workspace.binDir, 'claude') : findClientBinary();
  const child = spawn(program, args, {
    cwd: options.cwd ?? workspace.project,
    env: { ...clientEnvironment(workspace, options.model.url, options.env) },
    // With an open stdin and a prompt argument the client waits 3 s for more input.
    stdio: [streaming ? 'pipe' : 'ignore', 'pipe', 'pipe'],
    detached: true,
  });
  let stdout = '';
  let stderr = '';
  let timedOut = false;
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => (stdout += chunk));
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk));
  const pid = child.pid ?? 0;
  const cutOff = (): void => {
    timedOut = true;
    if (pid !== 0) killTree(pid);
  };
  const timer = setTimeout(cutOff, options.timeLimitMs ?? TEST_TIMEOUT_MS);

  const done = new Promise<ClientRun>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      clearTimeout(timer);
      const messages = parseMessages(stdout);
      resolve({
        code,
        signal,
        timedOut,
        stdout,
        stderr,
        messages,
        result: messages.findLast((line) => line.type === 'result'),
      });
    });
  });
  return {
    pid,
    done,
    signal: (name) => signalQuietly(pid, name),
    cutOff,
    send: (line) => void child.stdin?.write(`${JSON.stringify(line)}\n`),
    endInput: () => void child.stdin?.end(),
    soFar: () => stdout,
  };
};

/** Runs `claude -p` to its end. */
export const runClient = (options: ClientOptions): Promise<ClientRun> => startClient(options).done;
