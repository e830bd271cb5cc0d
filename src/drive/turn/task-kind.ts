import type { CheckResult } from '../../engine/events.ts';
import type { PlanAttempt } from '../../engine/plan/attempt.ts';
import type { Contract } from '../../engine/schema/contract.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { recordNotice } from '../../state/event-stream.ts';
import { hashContract } from '../../state/hash-contract.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { show } from '../../state/process/program.ts';
import { commandGuard } from '../control/command-guard.ts';
import { readSeen } from '../prompt/seen-record.ts';
import { recordEvent } from '../records/journal.ts';
import { HOOK_TEXTS } from './messages.ts';
import type { Dispatched, Driver, Prompt, PromptStep, Turn } from './turn.ts';

export type Listener = Pick<Driver<unknown>, 'notify' | 'tell'>;

/** Result of opening a prompt; `made` is a word if slow work was aborted. */
export type OpenedPrompt = Dispatched | { readonly turn: Turn; readonly made: Prompt | 'aborted' | 'superseded' };

export interface TaskKind {
  readonly openPrompt: (turn: Turn, step: PromptStep, listener: Listener) => Promise<OpenedPrompt>;
  /** Verifies a claim. Rejects with the abort reason once `turn.signal` is aborted. */
  readonly verify: (turn: Turn) => Promise<{ readonly results: readonly CheckResult[]; readonly plan?: PlanAttempt }>;
}

/** Maximum number of files that one run of the checks reports as written. */
const MOST_WRITTEN = 20;

/** Reports changes of files on which the checks rely and which the task was free to change. */
async function noteChanges(
  files: LoopFiles,
  contract: Contract,
  state: LoopState,
  before: ReadonlyMap<string, string>,
  { env, now }: Pick<Turn['context'], 'env' | 'now'>,
): Promise<void> {
  const { changedScripts, scriptsOf, writtenAt } = await import('../../task/pinned-scripts/contract-scripts.ts');
  const { newPrograms } = await import('../../task/pinned-scripts/pinned-programs.ts');
  const watched = changedScripts({ scripts: contract.watched ?? {} }, files.projectDir).map(({ what }) => what);
  const known = { ...contract.scripts, ...contract.watched };
  const added = Object.keys(scriptsOf(contract)).filter((key) => !Object.hasOwn(known, key));
  for (const what of [...watched, ...added.map((key) => `${key} was added`), ...newPrograms(contract, env)]) {
    const text = `${what} since the start; the checks rest on it`;
    recordNotice(files, state, { at: now(), kind: 'change', text, key: `change ${what}` });
  }
  // A process of the agent may have presented another file to the checks than the one that was compared.
  const written = [...writtenAt([...before.keys()], files.projectDir)].filter(
    ([key, time]) => before.get(key) !== time,
  );
  for (const [key] of written.slice(0, MOST_WRITTEN)) {
    const text = `${key} was written while the checks ran; they rest on it`;
    recordNotice(files, state, { at: now(), kind: 'change', text, key: `written ${key}` });
  }
}

/** Place where checks run. Default: the project or a clean copy of it, as the contract says. */
type CheckPlace = { readonly where: 'project' } | { readonly where: 'commit'; readonly commit: string };

/** Reports that the agent left the branch of the start: a claim is judged by what is checked out. */
async function noteBranch({ files, env, now }: Turn['context'], contract: Contract, state: LoopState): Promise<void> {
  const { startPointOf } = await import('../../task/git/start-point.ts');
  const branch = startPointOf(files, contract)?.tree.branch ?? null;
  if (branch === null) return;
  const { runGit } = await import('../../task/git/run-git.ts');
  const found = await runGit(files.projectDir, ['rev-parse', 'HEAD', '--symbolic-full-name', 'HEAD'], { env });
  if (found.kind !== 'answer') return;
  const [at = '', on = ''] = found.text.split('\n');
  if (on === branch) return;
  const short = (name: string): string => name.replace('refs/heads/', '');
  const where = on.startsWith('refs/') ? `the branch ${short(on)}` : `no branch, at ${at.slice(0, 12)}`;
  const text = `the agent left the branch ${short(branch)}: the project is on ${where}; the checks ran there`;
  recordNotice(files, state, { at: now(), kind: 'change', text, key: `branch ${where}` });
}

/** Runs the contract's checks; returns none if there are none. */
export async function runChecks(
  { context, loaded, signal: made }: Turn,
  place: CheckPlace | null = null,
): Promise<readonly CheckResult[]> {
  const { files, env } = context;
  const { stored, state } = loaded;
  if (stored === null) return [];
  // The stored hash is unproved until it is verified here, before anything runs.
  if (hashContract(stored.contract) !== state.contractHash)
    return [{ name: 'contract', outcome: 'changed', detail: show(HOOK_TEXTS.contractChanged, state) }];
  const signal = made();
  const { contract } = stored;
  const { iteration } = state;
  const scenarios =
    contract.tdd === undefined
      ? []
      : await (await import('../tdd/prove-again.ts')).proveAgain(files, contract, { env, signal, now: context.now });
  const { runGate } = await import('../../task/commands/gate.ts');
  const { writtenAt } = await import('../../task/pinned-scripts/contract-scripts.ts');
  const { checkUnchanged, unchangedFiles } = await import('../control/protection.ts');
  const { viewOf } = await import('../../task/git/git-view.ts');
  const { isInDependency } = await import('../../task/commands/installed-dependencies.ts');
  // A clean copy contains installed files as links, which changes their time.
  const fixed = [...Object.keys(contract.scripts), ...unchangedFiles(files, contract)].filter(
    (key) => contract.verifyIn === undefined || !isInDependency(key),
  );
  const before = writtenAt(fixed, files.projectDir);
  const gate = await runGate(contract, files.projectDir, {
    signal,
    env,
    iteration,
    blockingRule: commandGuard(contract),
    onCheck: (name) => {
      const event = { type: 'check.started', at: context.now(), loopId: state.loopId, iteration, name };
      recordEvent(files, context.now(), event);
    },
    seen: readSeen(files, contract),
    ...(contract.verifyIn &&
      place?.where !== 'project' && {
        copies: { root: files.copies, view: viewOf(files, contract), ...(place && { commit: place.commit }) },
      }),
  });
  await noteChanges(files, contract, state, before, context);
  await noteBranch(context, contract, state);
  const unchanged = checkUnchanged(files, contract, env).map((result) => ({ ...result, refutesOnly: true as const }));
  return [...scenarios, ...gate, ...unchanged];
}
