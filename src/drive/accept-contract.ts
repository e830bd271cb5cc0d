import { RalphError } from '../core/ralph-error.ts';
import type { Contract } from '../core/schema/contract.ts';
import type { LoopState } from '../core/schema/state.ts';
import { readContract, writeContract } from '../state/contract-store.ts';
import type { LoopFiles } from '../state/loop-files.ts';
import { readState } from '../state/read-state.ts';
import { buildContract } from '../task/build-contract.ts';
import { operate } from './operate.ts';
import { prepareContract } from './prepare-contract.ts';
import { AGENT_TEXTS, START_TEXTS } from './texts.ts';

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
