import type { CheckResult } from '../core/events.ts';
import type { CommandDefinition, Contract } from '../core/schema/contract.ts';
import { isVacuous } from '../core/vacuous-green.ts';
import { changedScripts } from './changed-scripts.ts';
import { checkFindingsLog } from './check-findings-log.ts';
import { gateEnvironment } from './gate-environment.ts';
import { namedScripts } from './named-scripts.ts';
import { type CommandOutcome, runCommand } from './run-command.ts';

export interface GateOptions {
  /** Ends every process that the gate has started. */
  readonly signal: AbortSignal;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Each line of output as it comes, with the name of its command. */
  readonly onLine?: (line: string, command: string) => void;
}

/**
 * Checks a claim of completion: every validation command of the contract, one after the other, then the findings log.
 * A command whose script is not what it was at the start is not run. Gives no result where there is nothing to check.
 * Rejects only with the abort's reason, once no process of the gate is left.
 */
export async function runGate(contract: Contract, projectDir: string, options: GateOptions): Promise<CheckResult[]> {
  options.signal.throwIfAborted();
  const known = new Set(Object.keys(contract.scripts));
  const unnamed = new Set(known);
  const results: CheckResult[] = [];
  for (const command of contract.validation) {
    const named = namedScripts(projectDir, command.run, known).filter((key) => known.has(key));
    const changed = changedScripts(contract, projectDir, named);
    results.push(
      changed.length > 0
        ? { name: command.name, outcome: 'changed', detail: changedText(changed.map(({ what }) => what)) }
        : await check(command, projectDir, options),
    );
    for (const key of named) unnamed.delete(key);
  }
  results.push(...changedByThemselves(contract, projectDir, [...unnamed]));
  const findings = checkFindingsLog(projectDir, contract.findingsLog);
  if (findings !== null) results.push(findings);
  return results;
}

/** Scripts that a command led to only through one that has changed itself (a package.json that is gone). */
function changedByThemselves(contract: Contract, projectDir: string, keys: readonly string[]): CheckResult[] {
  return changedScripts(contract, projectDir, keys).map(({ key, what }) => ({
    name: key,
    outcome: 'changed',
    detail: changedText([what]),
  }));
}

async function check(command: CommandDefinition, projectDir: string, options: GateOptions): Promise<CheckResult> {
  const { onLine } = options;
  const outcome = await runCommand({
    run: command.run,
    directory: projectDir,
    env: gateEnvironment(options.env),
    timeoutMs: command.timeoutSeconds * 1000,
    signal: options.signal,
    ...(onLine && { onLine: (line: string) => onLine(line, command.name) }),
  });
  return { name: command.name, ...verdict(outcome, command.timeoutSeconds) };
}

function verdict({ end, output, tests }: CommandOutcome, timeoutSeconds: number): Omit<CheckResult, 'name'> {
  const printed = output.text();
  const with_ = (text: string): string => (printed === '' ? `${text} It printed nothing.` : `${text}\n${printed}`);
  switch (end.kind) {
    case 'exit':
      if (end.code !== 0) return { outcome: 'failed', detail: with_(`exit code ${end.code}.`) };
      if (!isVacuous(tests)) return { outcome: 'ok', detail: 'exit code 0.' };
      return {
        outcome: 'vacuous',
        detail: with_('exit code 0, but by its own count it executed no test, which proves nothing.'),
      };
    case 'signal':
      return { outcome: 'failed', detail: with_(`ended by ${end.signal}.`) };
    case 'timeout':
      return { outcome: 'timeout', detail: with_(`not done after ${timeoutSeconds} s, so it was ended.`) };
    case 'unavailable':
      return { outcome: 'unavailable', detail: `it could not be started: ${end.why}.` };
    default:
      return end satisfies never;
  }
}

function changedText(what: readonly string[]): string {
  return `${what.join(', ')} since the loop started, so it was not run. Put it back as it was; where the change is right, ask the user to adopt it with: main.cjs accept.`;
}
