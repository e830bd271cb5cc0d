import type { EngineEvent, EventOf } from '../../engine/events.ts';
import type { ChecklistStand } from '../../engine/identity/items.ts';
import { show } from '../../state/process/program.ts';
import { digest } from '../../text/digest.ts';
import type { Message } from '../../text/message.ts';
import type { ProtectionReport } from '../control/restore-protected.ts';
import { checklistWarnings } from '../prompt/loop-checklist.ts';
import type { TaskText } from '../prompt/read-task.ts';
import { HOOK_TEXTS } from '../turn/messages.ts';
import { type Dispatched, dispatch, type Turn } from '../turn/turn.ts';

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

/** Announces a restored state before anything is decided. */
export function announceRestored(turn: Turn): Dispatched {
  const { restored } = turn.loaded;
  if (restored === null) return { turn, effects: [] };
  const at = turn.context.now();
  const { turn: after, effects } = dispatch(turn, { type: 'noticed', at, key: `restored ${at}`, warning: restored });
  return { turn: { ...after, loaded: { ...after.loaded, restored: null } }, effects };
}
