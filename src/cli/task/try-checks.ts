import { relative } from 'node:path';
import { runChecksNow } from '../../drive/start/baseline.ts';
import { prepareContract } from '../../drive/start/prepare-contract.ts';
import { START_TEXTS } from '../../drive/turn/messages.ts';
import { baselineOf } from '../../engine/policy/proof.ts';
import { baselineText } from '../../engine/proof-texts.ts';
import type { Baseline } from '../../engine/schema/proof.ts';
import { buildContract } from '../../task/settings/build-contract.ts';
import { readArguments } from '../../task/settings/task-settings.ts';
import { printable } from '../../term/format.ts';
import { RalphError } from '../../text/message.ts';
import { type CommandContext, valuesOf } from '../command.ts';
import { watchChecks } from '../start/first-checks.ts';

/** What the checks of a task file say now. */
export interface TriedChecks {
  readonly checks: Baseline['checks'];
  /** Says of each check that could not run what would help. */
  readonly problems: readonly string[];
  readonly lines: readonly string[];
}

/** Runs the checks of a task file once. Returns null if a signal ended them. Throws RalphError as a start would. */
export async function tryChecks(context: CommandContext, path: string): Promise<TriedChecks | null> {
  const { projectDir, env, files } = context;
  const read = readArguments(valuesOf(context, 'arg'));
  if ('problem' in read) throw new RalphError('usage', read.problem);
  const { terms } = prepareContract({
    ...{ projectDir, name: null, task: relative(projectDir, path), args: read.args, flags: {}, env },
    ...{ at: context.now(), consented: true, headless: false, launched: false, mode: 'runner' },
    ...{ clientVersion: null, bundleDir: null },
  });
  const { contract } = buildContract({ ...terms, loopId: 'check' });
  const now = await watchChecks(context, (options) => runChecksNow(files, contract, options));
  if (now === null) return null;
  const { checks } = baselineOf(now.results);
  const isGreen = checks.length > 0 && checks.every(({ outcome }) => outcome === 'passed');
  return {
    checks,
    problems: now.problems,
    lines: [
      checks.length === 0 ? 'There are no checks to run.' : `Checks: ${printable(baselineText({ checks }))}.`,
      ...now.problems.map((problem) => printable(problem)),
      ...(isGreen ? [START_TEXTS.allPass] : []),
    ],
  };
}
