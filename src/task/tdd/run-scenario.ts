import type { TddPhase, TddRecord, TddScenario } from '../../engine/schema/tdd.ts';
import { evaluateRun, type TddRun } from '../../engine/tdd/evaluate-run.ts';
import { NO_COUNT } from '../../text/no-tests-run.ts';
import { runPinnedCommand } from '../commands/run-pinned-command.ts';
import { withDeciding } from './make-list.ts';

export interface ScenarioRun {
  /** null when the run counts for the phase, else why it does not. */
  readonly problem: string | null;
  /** Whether the command really ran and ended by itself: what it printed says something of the code. */
  readonly ended: boolean;
  /** What it printed: 12,000 characters at most. */
  readonly output: string;
  /** Of everything that it printed. */
  readonly bytes: number;
  readonly exitCode: number | null;
  readonly durationMs: number;
}

export interface ScenarioOptions {
  readonly projectDir: string;
  readonly signal: AbortSignal;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The guardrail that blocks this shell text in this directory (absolute), or null. */
  readonly blockingRule: (run: string, directory: string) => Promise<string | null>;
}

/**
 * Runs the evidence command of a scenario in the project and says whether it counts for the phase. It does not run where
 * a guardrail blocks it, or a script that it names was changed. Rejects only with the abort's reason, once no process of
 * it is left.
 */
export async function runScenario(
  record: TddRecord,
  { id, run, timeoutSeconds }: TddScenario,
  phase: TddPhase,
  { projectDir, signal, env, blockingRule }: ScenarioOptions,
): Promise<ScenarioRun> {
  const began = performance.now();
  const rule = await blockingRule(run, projectDir);
  if (rule !== null) return judged(phase, { end: { kind: 'blocked', rule }, output: '', tests: NO_COUNT }, 0, began);
  const command = { name: id, run, timeoutSeconds, directory: projectDir };
  // A test that is to be red may come with a new script; one that is to pass is run as it failed.
  const scripts = phase === 'red' ? record.scripts : { ...record.redScripts, ...record.scripts };
  const ran = await runPinnedCommand({ scripts }, projectDir, command, {
    signal,
    env: withDeciding(env, record.environment),
  });
  if (ran.kind === 'changed') {
    return judged(phase, { end: { kind: 'changed', what: ran.what }, output: '', tests: NO_COUNT }, 0, began);
  }
  const { end, output, tests } = ran.outcome;
  return judged(phase, { end, output: output.text(), tests }, output.bytes(), began);
}

function judged(phase: TddPhase, run: TddRun, bytes: number, began: number): ScenarioRun {
  const { end, output } = run;
  return {
    problem: evaluateRun(phase, run),
    ended: end.kind === 'exit',
    output,
    bytes,
    exitCode: end.kind === 'exit' ? end.code : null,
    durationMs: Math.round(performance.now() - began),
  };
}
