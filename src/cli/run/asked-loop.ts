import { preparedTerms } from '../../drive/start/consent.ts';
import { type ConsentTerms, consentTerms, diffTerms, showTerms } from '../../drive/start/consent-terms.ts';
import type { StartRequest } from '../../drive/start/prepare-contract.ts';
import { prepareContract } from '../../drive/start/prepare-contract.ts';
import { listThere, termsOf } from '../../drive/tdd/tdd-terms.ts';
import { START_TEXTS, withPrefix } from '../../drive/turn/messages.ts';
import type { Contract } from '../../engine/schema/contract.ts';
import { readContract } from '../../state/contract-store.ts';
import { type LoopFiles, loopFiles } from '../../state/loop-files.ts';
import type { readState } from '../../state/read-state.ts';
import { RalphError } from '../../text/ralph-error.ts';
import type { CommandContext } from '../command.ts';
import { briefly, liveLoops, loopTable } from '../live-loops.ts';
import { ASKED_FOR, approves } from '../start/approve.ts';
import { startFlags } from '../start/start-request.ts';
import { onePath } from '../task-place.ts';

/** A loop that an agent has asked for, and the command that starts it as it was asked for. */
export interface AskedLoop {
  readonly context: CommandContext;
  readonly contract: Contract;
}

/**
 * The loop that `run --consent [NAME]` means: the one of that name, or the only one that awaits consent. What the agent
 * gave on its command line counts where the user gives nothing else. Throws RalphError where there is none, or several.
 */
export function askedLoop(called: CommandContext): AskedLoop {
  const { values } = called;
  const beside = ['task', 'path', 'resume', 'fresh', 'worktree', 'arg', 'tdd'].find((key) => values[key] !== undefined);
  if (beside !== undefined) {
    throw new RalphError('usage', `--consent starts a loop as it was asked for: it takes no --${beside}.`);
  }
  const files = awaiting(called);
  const stored = readContract(files);
  if (stored === null) throw new RalphError('contract-missing', START_TEXTS.noContract);
  const { contract } = stored;
  const given = startFlags(called);
  const asked = Object.entries(contract.flags).filter(([key]) => given[key] === undefined);
  const set = [...asked.map(([key, value]) => `${key}=${value}`), ...texts(values['set'])];
  const context: CommandContext = {
    ...called,
    files,
    positionals: [],
    values: {
      ...values,
      set,
      resume: true,
      loop: files.name ?? undefined,
      tdd: contract.tdd !== undefined || undefined,
    },
  };
  return { context, contract };
}

/** Shows what would run, and asks whether it may. Returns the terms that the user approved, or null for a no. */
export async function approveAsked(
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
  if (await approves(context, ASKED_FOR, lines, 'Start it?')) return terms;
  context.err(withPrefix(START_TEXTS.notAgreed, { name: files.name, mode: 'runner' }));
  return null;
}

function awaiting(called: CommandContext): LoopFiles {
  const { positionals, values, projectDir, env } = called;
  const word = onePath('run --consent', positionals);
  if (word !== null && values['loop'] !== undefined) throw new RalphError('usage', 'name the loop once.');
  const name = word ?? called.files.name;
  const waiting = liveLoops(called).filter(
    ({ found, files }) => files.projectDir === loopFiles(projectDir, null, env).projectDir && isAwaiting(found),
  );
  const meant = name === null ? waiting : waiting.filter(({ files }) => files.name === name);
  const [only, ...more] = meant;
  if (only === undefined) {
    const which = name === null ? 'no loop here awaits' : `there is no loop ${name} here that awaits`;
    throw new RalphError('no-loop', `${which} your consent. ralph-loop list shows the loops of this project.`);
  }
  if (more.length === 0) return only.files;
  throw new RalphError(
    'usage',
    `${meant.length} loops await your consent. Say which one: ralph-loop run --consent NAME.\n${loopTable(meant.map(briefly))}`,
  );
}

function isAwaiting(found: ReturnType<typeof readState>): boolean {
  // A router's loop stays with its session: ralph-loop start --consent.
  return found.kind === 'loop' && found.state.status === 'awaiting-consent' && found.state.mode !== 'router';
}

function texts(values: CommandContext['values'][string]): string[] {
  return Array.isArray(values) ? values.map(String) : [];
}
