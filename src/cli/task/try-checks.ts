import { relative } from 'node:path';
import { runChecksNow } from '../../drive/start/baseline.ts';
import { examineStart, type StartProblems } from '../../drive/start/examine-start.ts';
import { taskLoopName } from '../../drive/start/find-task.ts';
import { START_TEXTS } from '../../drive/turn/messages.ts';
import { baselineOf, isGreen } from '../../engine/policy/proof.ts';
import { baselineText } from '../../engine/proof-texts.ts';
import type { Baseline } from '../../engine/schema/proof.ts';
import { readArguments } from '../../task/settings/build-contract.ts';
import { hasFolder, taskKind } from '../../task/task-file.ts';
import { printable } from '../../term/format.ts';
import { RalphError } from '../../text/message.ts';
import { redact } from '../../text/redact/redact.ts';
import { type CommandContext, valuesOf } from '../command.ts';
import { watchChecks } from '../start/first-checks.ts';

export interface TriedChecks {
  /** Undefined if none ran. */
  readonly checks: Baseline['checks'] | undefined;
  /** Says, for each check that could not run, what would help. */
  readonly problems: readonly string[];
  readonly lines: readonly string[];
}

/** Returns what a start of the file would report, with this command line's arguments. Throws `usage` for unreadable ones. */
export function examineFile(context: CommandContext, path: string, plan = false): StartProblems {
  const { projectDir, env } = context;
  const args = readArguments(valuesOf(context, 'arg'));
  const task = relative(projectDir, path);
  const name = hasFolder(taskKind(task)) ? taskLoopName(projectDir, task, env) : null;
  const given = { args, plan: plan ? { from: null } : null };
  return examineStart({ projectDir, name, task, env, at: context.now(), ...given });
}

/** Runs the checks of a task once. Returns null if a signal ended them. Throws RalphError as a start would. */
export async function tryChecks(
  context: CommandContext,
  { contract, refusal, needs }: StartProblems,
): Promise<TriedChecks | null> {
  if (contract === null) throw new RalphError('task-invalid', refusal ?? '');
  const missing = needs.find(({ what }) => what === 'arguments');
  if (missing !== undefined) throw new RalphError('usage', missing.message);
  const { files } = context;
  const now = await watchChecks(context, (options) => runChecksNow(files, contract, options));
  if (now === null) return null;
  const { checks } = baselineOf(now.results);
  return {
    checks,
    problems: now.problems,
    lines: [
      checks.length === 0 ? 'There are no checks to run.' : `Checks: ${printable(redact(baselineText({ checks })))}.`,
      ...now.problems.map((problem) => printable(problem)),
      ...(isGreen({ checks }) ? [START_TEXTS.allPass] : []),
    ],
  };
}
