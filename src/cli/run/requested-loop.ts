import { preparedTerms } from '../../drive/start/consent.ts';
import { type ConsentTerms, consentTerms, diffTerms, showTerms } from '../../drive/start/consent-terms.ts';
import { prepareContract, type StartRequest } from '../../drive/start/prepare-contract.ts';
import { listThere, termsOf } from '../../drive/tdd/tdd-terms.ts';
import { START_TEXTS, withPrefix } from '../../drive/turn/messages.ts';
import type { Contract } from '../../engine/schema/contract.ts';
import { readContract } from '../../state/contract-store.ts';
import { type LoopFiles, loopFiles } from '../../state/loop-files.ts';
import { RalphError } from '../../text/ralph-error.ts';
import { liveLoops, onlyOf } from '../choose-loop.ts';
import { type CommandContext, valuesOf } from '../command.ts';
import { approves, REQUEST_HEADING } from '../start/approve.ts';
import { startFlags } from '../start/start-request.ts';
import { onePath } from '../task-place.ts';

/** A loop that an agent requested, and the command line that starts it as requested. */
interface RequestedLoop {
  readonly context: CommandContext;
  readonly contract: Contract;
}

/**
 * Finds the loop of `run --consent [NAME]`: the named one, or the only one that awaits consent. Settings of the agent's
 * command line hold unless the user gives others. Throws RalphError if there is none, or several.
 */
export function requestedLoop(context: CommandContext): RequestedLoop {
  const { values } = context;
  const stray = ['task', 'path', 'resume', 'fresh', 'worktree', 'arg', 'tdd'].find((key) => values[key] !== undefined);
  if (stray !== undefined) {
    throw new RalphError('usage', `--consent starts a loop as it was asked for: it takes no --${stray}.`);
  }
  const files = loopAwaitingRun(context);
  const stored = readContract(files);
  if (stored === null) throw new RalphError('contract-missing', START_TEXTS.noContract);
  const { contract } = stored;
  const flags = startFlags(context);
  const former = Object.entries(contract.flags).filter(([key]) => flags[key] === undefined);
  const set = [...former.map(([key, value]) => `${key}=${value}`), ...valuesOf(context, 'set')];
  const own = { set, resume: true, loop: files.name ?? undefined, tdd: contract.tdd !== undefined || undefined };
  return { context: { ...context, files, positionals: [], values: { ...values, ...own } }, contract };
}

/** Shows what would run, and asks for approval. Returns the terms that the user approved, or null for a no. */
export async function approveRequestedLoop(
  context: CommandContext,
  contract: Contract,
  request: StartRequest,
): Promise<ConsentTerms | null> {
  const { files } = context;
  const list = contract.tdd === undefined ? null : listThere(files, context.now());
  const terms = preparedTerms(prepareContract(request), list);
  const changes = diffTerms(consentTerms(contract, list), terms).map((line) => `  ${line}`);
  if (list !== null && termsOf(list).hash !== contract.tdd?.hash) changes.push('  the list of scenarios');
  const complete = `  ${list?.completed.length} of ${list?.scenarios.length} scenarios complete: ralph-loop tdd status`;
  const lines = [
    ...showTerms(terms),
    ...(list === null ? [] : [complete]),
    ...(changes.length === 0 ? [] : ['Changed since it was asked for:', ...changes]),
  ];
  if (await approves(context, REQUEST_HEADING, lines, 'Start it?')) return terms;
  context.err(withPrefix(START_TEXTS.notAgreed, { name: files.name, mode: 'runner' }));
  return null;
}

/** A router's loop is not among them: it stays with its session, and `start --consent` approves it. */
function loopAwaitingRun(context: CommandContext): LoopFiles {
  const { positionals, values, projectDir, env } = context;
  const word = onePath('run --consent', positionals);
  if (word !== null && values['loop'] !== undefined) throw new RalphError('usage', 'name the loop once.');
  const name = word ?? context.files.name;
  const ownDir = loopFiles(projectDir, null, env).projectDir;
  const waiting = liveLoops(context).filter(
    ({ found, files, status }) =>
      files.projectDir === ownDir &&
      status === 'awaiting-consent' &&
      (found.kind !== 'loop' || found.state.mode !== 'router') &&
      (name === null || files.name === name),
  );
  const only = onlyOf(waiting, 'loops await your consent', 'run --consent NAME');
  if (only !== undefined) return only.files;
  const which = name === null ? 'no loop here awaits' : `there is no loop ${name} here that awaits`;
  throw new RalphError('no-loop', `${which} your consent. ralph-loop list shows the loops of this project.`);
}
