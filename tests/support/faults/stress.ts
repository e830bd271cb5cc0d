import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';

/** One process of a stress test, over. */
export interface Past {
  readonly name: string;
  /** Updates that it said were on disk. At most one more may be there: the one it was killed in. */
  readonly acknowledged: number;
  /** It ended by itself, for this reason. */
  readonly failure: string | null;
}

export interface Verdict {
  /** Acknowledged updates that are not there. */
  readonly lost: number;
  /** Updates that are there and that nobody made. */
  readonly phantom: number;
  /** The state could not be read, or a process met such a state. */
  readonly corrupt: number;
}

export interface StressOptions {
  readonly processes: number;
  readonly kills: number;
  /** Starts one process that makes one update, or one after the other until it is killed. */
  readonly spawnUpdater: (name: string) => ChildProcess;
  /** How many updates a process said were done, by its output and, if it ended by itself, its exit code. */
  readonly acknowledged: (output: string, code: number | null) => number;
  /** So many milliseconds after its first output, or after its start, a process is killed. */
  readonly kill: { readonly after: () => number; readonly from: 'output' | 'start' };
  /** Compares what lies on disk with what the processes said. */
  readonly evaluate: (past: readonly Past[]) => Verdict;
  /** A process that ends by itself and well is no failure: it made one update and is followed by another. */
  readonly endsByItself?: boolean;
  /** Start no more than so many processes, killed or not. */
  readonly most?: number;
  /** Stop as soon as a process fails: for a control, which has shown then what it has to show. */
  readonly untilFailure?: boolean;
}

export interface StressResult extends Verdict {
  readonly acknowledged: number;
  readonly killed: number;
  readonly failures: readonly string[];
}

/**
 * Keeps so many processes at work on one state, kills each with SIGKILL at a random moment and puts another in its
 * place, until so many were killed. The moments are random and no result depends on when they fall: what counts is what
 * was acknowledged before.
 */
export async function stress(options: StressOptions): Promise<StressResult> {
  const past: Past[] = [];
  let killed = 0;
  let started = 0;
  const over = (): boolean =>
    killed >= options.kills ||
    started >= (options.most ?? Number.POSITIVE_INFINITY) ||
    (options.untilFailure === true && past.some(({ failure }) => failure !== null));
  const seat = async (): Promise<void> => {
    while (!over()) {
      started += 1;
      const one = await live(`p${started}`, options);
      if (one.wasKilled) killed += 1;
      past.push(one.past);
      if (one.past.failure !== null && options.untilFailure !== true) break; // enough: the run has failed
    }
  };
  await Promise.all(Array.from({ length: options.processes }, seat));
  const failures = past.flatMap(({ failure }) => (failure === null ? [] : [failure]));
  const acknowledged = past.reduce((sum, one) => sum + one.acknowledged, 0);
  return { ...options.evaluate(past), acknowledged, killed, failures };
}

async function live(name: string, options: StressOptions): Promise<{ past: Past; wasKilled: boolean }> {
  const child = options.spawnUpdater(name);
  let output = '';
  let errors = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  const closed = once(child, 'close');
  if (options.kill.from === 'output') await Promise.race([closed, child.stdout && once(child.stdout, 'data')]);
  const timer = setTimeout(() => child.kill('SIGKILL'), options.kill.after());
  const [code, signal] = (await closed) as [number | null, string | null];
  clearTimeout(timer);
  const wasKilled = signal === 'SIGKILL';
  const well = wasKilled || (options.endsByItself === true && code === 0);
  const failure = well ? null : `${name} ended with ${code ?? signal}: ${errors}`;
  return { past: { name, acknowledged: options.acknowledged(output, code), failure }, wasKilled };
}
