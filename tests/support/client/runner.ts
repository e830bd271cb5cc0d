import { spawn } from 'node:child_process';
import type { RunnerEvent } from '../../../src/engine/runner-event.ts';
import { shellWord } from '../../../src/text/quote.ts';
import { TEST_TIMEOUT_MS } from '../until.ts';
import type { PermissionMode } from './client.ts';
import type { EnvironmentChanges } from './client-environment.ts';
import { type LoopProject, mainPath } from './loop-project.ts';
import { killTree, signalQuietly } from './process-tree.ts';

export type RunnerOptions = {
  /** Default bypassPermissions; null gives no mode. */
  readonly permissionMode?: PermissionMode | null;
  /** Default `run`. */
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: EnvironmentChanges;
  /** false prints for people; default `--json`. */
  readonly json?: boolean;
  /** Gives it a terminal at which a person types yes; `stdout` is then all that this terminal shows. */
  readonly inPerson?: boolean;
  /** Default TEST_TIMEOUT_MS; then the whole tree is killed and `timedOut` is true. */
  readonly timeLimitMs?: number;
};

export type RunnerRun = {
  readonly code: number | null;
  readonly timedOut: boolean;
  readonly stdout: string;
  readonly stderr: string;
  readonly events: readonly RunnerEvent[];
};

export type RunningRunner = {
  readonly pid: number;
  readonly done: Promise<RunnerRun>;
  readonly signal: (name: NodeJS.Signals) => void;
  /** Kills the runner alone, as the system would that is short of memory. */
  readonly kill: () => void;
  readonly events: () => readonly RunnerEvent[];
};

const parse = (stdout: string): RunnerEvent[] =>
  stdout.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as RunnerEvent] : []));

/** Whole lines only: the last one may still be on its way. */
const soFar = (stdout: string): RunnerEvent[] => parse(stdout.slice(0, stdout.lastIndexOf('\n') + 1));

/** `ralph-loop run` in the project, as the user would call it. */
export const startRunner = (project: LoopProject, options: RunnerOptions = {}): RunningRunner => {
  const { permissionMode = 'bypassPermissions', command = ['run'], args = [], json = true } = options;
  const mode = permissionMode === null ? [] : ['--permission-mode', permissionMode];
  const words = [mainPath, ...command, ...mode, ...(json ? ['--json'] : []), ...args];
  const line = [process.execPath, ...words].map(shellWord).join(' ');
  const [program, given] =
    options.inPerson === true ? ['script', ['-qec', line, '/dev/null']] : [process.execPath, words];
  const child = spawn(program, given, {
    cwd: project.workspace.project,
    env: project.environment(options.env),
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  });
  child.stdin.end(options.inPerson === true ? 'yes\n' : '');
  const pid = child.pid ?? 0;
  let stdout = '';
  let stderr = '';
  let timedOut = false;
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (stdout += chunk));
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk));
  const timer = setTimeout(() => {
    timedOut = true;
    killTree(pid);
  }, options.timeLimitMs ?? TEST_TIMEOUT_MS);
  const done = new Promise<RunnerRun>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      clearTimeout(timer);
      resolve({ code, timedOut, stdout, stderr, events: json ? parse(stdout) : [] });
    });
  });
  return {
    pid,
    done,
    signal: (name) => signalQuietly(pid, name),
    kill: () => signalQuietly(pid, 'SIGKILL'),
    events: () => soFar(stdout),
  };
};

/** The same, to its end. */
export const runRunner = (project: LoopProject, options?: RunnerOptions): Promise<RunnerRun> =>
  startRunner(project, options).done;

export const ofType = <T extends RunnerEvent['type']>(
  events: readonly RunnerEvent[],
  type: T,
): Extract<RunnerEvent, { type: T }>[] =>
  events.filter((event): event is Extract<RunnerEvent, { type: T }> => event.type === type);
