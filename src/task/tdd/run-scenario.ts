import type { Sandbox } from '../../engine/schema/contract.ts';
import type { TddRecord, TddScenario } from '../../engine/schema/tdd.ts';
import { evaluateRun, type RunFor, type TddRun } from '../../engine/tdd/evaluate-run.ts';
import { show } from '../../state/process/program.ts';
import { redact } from '../../text/redact/redact.ts';
import { failedTestsText } from '../../text/test-results/test-summary.ts';
import { withDeciding } from '../commands/deciding-environment.ts';
import { runPinnedCommand } from '../commands/run-pinned-command.ts';
import { isTestCode } from './required-files.ts';

export interface ScenarioRun {
  /** Reason why the run does not count for the phase, or null. */
  readonly problem: string | null;
  /** True if the command ran and exited by itself, so that its output is about the code. */
  readonly ended: boolean;
  readonly output: string;
  readonly bytes: number;
  readonly exitCode: number | null;
  /** Names the failed tests in one sentence; null if the command's runner is not known. */
  readonly failedTests: string | null;
}

interface ScenarioOptions {
  readonly projectDir: string;
  readonly signal: AbortSignal;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly sandbox: Sandbox | undefined;
  readonly blockingRule: (run: string, directory: string) => Promise<string | null>;
}

/** Runs a scenario's command unless a guardrail blocks it or a script changed. Rejects only with the abort's reason. */
export async function runScenario(
  record: TddRecord,
  { id, run, timeoutSeconds }: TddScenario,
  phase: RunFor,
  { projectDir, signal, env, sandbox, blockingRule }: ScenarioOptions,
): Promise<ScenarioRun> {
  const rule = await blockingRule(run, projectDir);
  if (rule !== null) return judged(phase, { end: { kind: 'blocked', rule }, output: '', tests: null }, 0);
  const command = { name: id, run, timeoutSeconds, directory: projectDir };
  // A red test may add a script, or itself be a changing one; a green run uses the scripts of the red one.
  const listed = Object.fromEntries(Object.entries(record.scripts).filter(([path]) => !isTestCode(path)));
  const scripts = phase === 'red' ? listed : { ...record.redScripts, ...listed };
  const ran = await runPinnedCommand({ scripts, sandbox }, projectDir, command, {
    signal,
    env: withDeciding(env, record.environment),
  });
  if (ran.kind === 'changed')
    return judged(phase, { end: { kind: 'changed', what: ran.what }, output: '', tests: null }, 0);
  const { end, output, tests } = ran.outcome;
  return judged(phase, { end, output: output.text(), tests }, output.bytes());
}

function judged(phase: RunFor, run: TddRun, bytes: number): ScenarioRun {
  const { end } = run;
  const output = redact(run.output);
  const problem = evaluateRun(phase, { ...run, output });
  const failed = failedTestsText(run.tests);
  return {
    problem: problem === null ? null : show(problem),
    ended: end.kind === 'exit',
    output,
    bytes,
    exitCode: end.kind === 'exit' ? end.code : null,
    failedTests: failed && redact(failed),
  };
}
