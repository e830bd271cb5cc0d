import type { EngineEvent, EventOf } from '../../engine/events.ts';
import type { ChecklistStand } from '../../engine/identity/items.ts';
import type { Contract } from '../../engine/schema/contract.ts';
import { completionText } from '../../engine/signals/signals.ts';
import { liveContract, lossIn, requireEvidence } from '../../state/evidence/evidence.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { show } from '../../state/process/program.ts';
import { digest } from '../../text/digest.ts';
import type { Message } from '../../text/message.ts';
import { examineAll } from '../control/examine-protected.ts';
import type { ProtectionReport } from '../control/restore-protected.ts';
import { idleFingerprint } from '../prompt/gather-evidence.ts';
import { checklistWarnings, comparedChecklist } from '../prompt/loop-checklist.ts';
import { readTask, type TaskText } from '../prompt/read-task.ts';
import { glanceAtSeen, rememberOpenEntries } from '../prompt/seen-record.ts';
import type { Measured } from '../records/iteration-record.ts';
import { readPromptedTurn } from '../records/prompted-turn.ts';
import { tddFacts } from '../tdd/scenario-list.ts';
import { HOOK_TEXTS } from '../turn/messages.ts';
import type { Loaded, Turn } from '../turn/turn.ts';

/** Facts found in the project at the end of a turn. */
export interface Facts extends Pick<EventOf<'iteration-ended'>, 'seen' | 'projectMark'> {
  readonly measured: Measured | null;
  /** Protected files that differed at the end of the turn; null if none did. */
  readonly found: ProtectionReport | null;
  readonly task: TaskText | null;
  readonly checklist: ChecklistStand | null;
  readonly scenarios: ReturnType<typeof tddFacts>;
}

/**
 * Reads the task and remembers its open entries. `lost` says which evidence is lost. The caller holds the lock; `isLive`:
 * the contract was read under it for this very state.
 */
export function observe(
  files: LoopFiles,
  { stored, state, lost }: Loaded,
  isLive: boolean,
): Pick<Facts, 'task' | 'checklist' | 'scenarios'> & { readonly lost: Message | null } {
  if (stored === null) return { task: null, checklist: null, scenarios: {}, lost };
  const { contract } = stored;
  const task = readTask(files.projectDir, contract.taskPath);
  try {
    if (!isLive) liveContract(files, state);
    requireEvidence(files, contract);
    const seen = glanceAtSeen(files, contract);
    const checklist = task && comparedChecklist(files, contract, task, seen);
    rememberOpenEntries(files, contract, seen, checklist?.known);
    return { task, checklist: checklist?.stand ?? null, scenarios: tddFacts(files, contract), lost };
  } catch (error) {
    return { task, checklist: null, scenarios: {}, lost: lossIn(error) };
  }
}

/** Restores changed protected files that no look after a call has caught. `lost` says which evidence is lost. */
export async function restoreAtEnd(
  turn: Turn,
): Promise<{ readonly found: ProtectionReport | null; readonly lost: Message | null }> {
  try {
    return { found: await examineAll(turn, 'turn'), lost: null };
  } catch (error) {
    return { found: null, lost: lossIn(error) };
  }
}

/** Takes the fingerprints that idle detection and the circuit breaker need; null for those not needed. */
export async function takeFingerprints(
  { context, loaded: { stored, state } }: Turn,
  text: string,
): Promise<Pick<EventOf<'iteration-ended'>, 'seen' | 'projectMark'>> {
  const policy = stored?.contract.policy;
  const { files } = context;
  const { projectDir } = files;
  const watch = policy?.idle?.wake === 'change' && text.includes('ralph:state') ? policy.idle.watch : null;
  const marksProject =
    (policy?.breaker.noProgress ?? 0) > 0 || (stored !== null && isClaimUnmeasured(stored.contract, text));
  const prompted = watch === null ? null : readPromptedTurn(files, state.loopId);
  const shown = prompted?.iteration === state.iteration + 1 ? prompted.evidence : null;
  const seenIf = (watched: string | null): string | null => idleFingerprint(watched, stored?.contract, shown);
  if (watch === null && !marksProject) return { seen: seenIf(null), projectMark: null };
  const { projectFingerprint, watchFingerprint } = await import('../../task/progress/fingerprint.ts');
  return {
    seen: seenIf(watch && watchFingerprint(projectDir, watch, stored?.contract.taskPath ?? '')),
    projectMark: marksProject ? projectFingerprint(projectDir) : null,
  };
}

/** Returns whether commands decide about a claim of this loop. */
export function hasChecks(contract: Contract | undefined): boolean {
  if (contract === undefined || contract.policy.plan !== undefined) return false;
  return contract.validation.length > 0 || Boolean(contract.task?.commands.some(({ acceptance }) => acceptance));
}

/** Returns whether checks may refuse the claim of a message, in a task whose changes are not measured otherwise. */
function isClaimUnmeasured(contract: Contract, text: string): boolean {
  const { completion, breaker, pace } = contract.policy;
  const wanted = completionText(completion);
  const mayClaim = wanted !== null && text.includes(wanted) && hasChecks(contract);
  return mayClaim && breaker.sameReply > 0 && !pace.tracksProgress;
}

/** Returns notices about changed protected files, for the user and the next prompt. */
export function protectionNotices(found: ProtectionReport | null): EventOf<'noticed'>[] {
  return (found?.toUser ?? []).map((warning, index) => {
    return { type: 'noticed', at: found?.id ?? '', key: `protected ${found?.id} ${index}`, warning };
  });
}

/** Returns what the user must know before the end of the turn is decided. */
export function notices(
  { context, loaded: { state, stored, restored } }: Turn,
  task: TaskText | null,
  checklist: ChecklistStand | null,
): EngineEvent[] {
  const at = context.now();
  const events: EngineEvent[] = [];
  const add = (key: string, warning: Message | string): void => void events.push({ type: 'noticed', at, key, warning });
  if (restored !== null) add(`restored ${at}`, restored);
  if (stored === null) return events;
  if (task !== null && task.frontmatter !== stored.contract.frontmatter)
    add(`frontmatter ${digest(task.frontmatter)}`, HOOK_TEXTS.frontmatterChanged(state.taskPath));
  for (const warning of checklist === null ? [] : checklistWarnings(state.taskPath, checklist))
    add(`checklist ${digest(show(warning))}`, warning);
  return events;
}
