import type { Contract } from '../../engine/schema/contract.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { readContract, type StoredContract, writeContract } from '../../state/contract-store.ts';
import { hashContract } from '../../state/hash-contract.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { readState } from '../../state/read-state.ts';
import { buildContract } from '../../task/settings/build-contract.ts';
import { RalphError } from '../../text/ralph-error.ts';
import { type Operated, operate } from '../control/operate.ts';
import { bindList } from '../tdd/tdd-terms.ts';
import { AGENT_TEXTS, HOOK_TEXTS, START_TEXTS } from '../turn/messages.ts';
import { type PreparedContract, prepareContract } from './prepare-contract.ts';

/**
 * The same for two contracts that differ in nothing that somebody would agree to: script files are read anew, when and
 * under which id the loop was made does not count. `tdd` is the list of scenarios that it works on, if any.
 */
export function agreementMark({ terms }: PreparedContract, tdd: Contract['tdd']): string {
  const loop = { ...terms, loopId: 'any', createdAt: '1970-01-01T00:00:00.000Z', ...(tdd && { tdd }) };
  return hashContract(buildContract(loop).contract);
}

/**
 * The user agrees to the loop that an agent has asked for. The contract is told first: a crash in between leaves one
 * that the user has agreed to, and a loop that is restored from it. Throws RalphError, with nothing changed, where the
 * contract is gone or is not what its hash says, or the list of scenarios is another one: nobody would know what is
 * agreed to.
 */
export function giveConsent(files: LoopFiles, env: NodeJS.ProcessEnv, at: string): Operated {
  return operate(files, env, at, () => {
    const { hash, contract } = proved(readContract(files));
    if (contract.consented) return { kind: 'consent', contractHash: hash };
    const agreed = { ...contract, consented: true };
    const next = { hash: hashContract(agreed), contract: agreed };
    const { tdd, loopId } = contract;
    if (tdd !== undefined) bindList(files, tdd, { loopId, at, consented: true, env, keep: true });
    // Under the lock, just before the state that names it: a Stop in between would take the one for a forgery of the other.
    writeContract(files, next);
    return { kind: 'consent', contractHash: next.hash };
  });
}

function proved(stored: StoredContract | null): StoredContract {
  if (stored === null) throw new RalphError('contract-missing', START_TEXTS.noContract);
  if (hashContract(stored.contract) !== stored.hash)
    throw new RalphError('contract-changed', HOOK_TEXTS.contractChanged);
  return stored;
}

/**
 * Makes what the task file and the project's scripts say now the contract of the running loop, and gives back what
 * changed, one line each. Throws RalphError with every problem of the new frontmatter; then nothing was changed.
 */
export function acceptContract(files: LoopFiles, env: NodeJS.ProcessEnv, at: string): { changes: string[] } {
  const stored = readContract(files);
  if (stored === null) throw new RalphError('contract-missing', START_TEXTS.noContract);
  const before = stored.contract;
  const { terms, checklist } = prepareContract({
    projectDir: files.projectDir,
    name: files.name,
    task: before.taskPath,
    formerArgs: before.task?.args ?? {},
    flags: before.flags,
    env,
    at: before.createdAt,
    consented: before.consented,
    headless: before.headless,
    launched: false,
    clientVersion: before.clientVersion,
    bundleDir: before.bundleDir,
    mode: modeOf(files),
    plan: before.policy.plan ?? null,
  });
  if (terms.agent !== before.agent) {
    throw new RalphError('refused', AGENT_TEXTS.changed(before.agent ?? null, terms.agent ?? null));
  }
  const next = buildContract({ ...terms, loopId: before.loopId, ...(before.tdd && { tdd: before.tdd }) });
  const changes = differences(before, next.contract);
  if (checklist !== null) changes.push(...cutList(files, checklist.total));
  if (changes.length === 0) return { changes };
  const { maxIterations } = next.contract.policy;
  operate(files, env, at, () => {
    // Under the lock, just before the state that names it: a Stop in between would take the one for a forgery of the other.
    writeContract(files, next);
    return { kind: 'accept', contractHash: next.hash, maxIterations, ...(checklist && { checklist }) };
  });
  return { changes };
}

/** A list that lost items is whole again when the user says so. */
function cutList({ state }: LoopFiles, total: number): string[] {
  const current = readState(state);
  const most = current.kind === 'loop' ? (current.state.checklist?.most ?? 0) : 0;
  return total < most ? [`the checklist: ${most} -> ${total} items`] : [];
}

function modeOf({ state }: LoopFiles): LoopState['mode'] {
  const current = readState(state);
  return current.kind === 'loop' ? current.state.mode : 'hook';
}

function differences(before: Contract, after: Contract): string[] {
  const lines: string[] = [];
  const keys = Object.keys(after) as (keyof Contract)[];
  for (const key of keys) {
    if (JSON.stringify(before[key]) === JSON.stringify(after[key])) continue;
    lines.push(
      key === 'frontmatter' ? 'the frontmatter’s text' : `${key}: ${short(before[key])} -> ${short(after[key])}`,
    );
  }
  return lines;
}

function short(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}
