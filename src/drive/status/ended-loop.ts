import type { LoopState, StateOf, TerminalStatus } from '../../engine/schema/state.ts';
import { findEndedContract, type LoopFiles, readContract, readLoop } from '../../state/loop-files.ts';
import { show } from '../../state/process/program.ts';
import { endedState } from '../../state/with-state.ts';
import { advise, type Message } from '../../text/message.ts';
import { shorten } from '../../text/quote.ts';
import { HOOK_TEXTS, LAUNCH_TEXTS } from '../turn/messages.ts';

interface Standing {
  readonly status: TerminalStatus | 'paused';
  readonly state: LoopState | null;
  /** Null for a live loop that is not paused. */
  readonly message: Message | string | null;
}

export function standing(files: LoopFiles, loopId: string): Standing {
  const live = readLoop(files, loopId);
  if (live?.status === 'paused') {
    const { reason, message } = live.paused;
    return { status: reason === 'interrupted' ? 'interrupted' : 'paused', state: live, message };
  }
  if (live !== null && live.status !== 'ended') return { status: 'interrupted', state: live, message: null };
  // An ended loop has no contract: while a contract exists, the archive proves nothing.
  if (readContract(files)?.contract.loopId === loopId)
    return { status: 'error', state: null, message: HOOK_TEXTS.vanished };
  const state = endedState(files, loopId);
  if (state === null) {
    const hasEnded = findEndedContract(files, loopId) !== null;
    return { status: 'error', state, message: hasEnded ? LAUNCH_TEXTS.unknownEnd : HOOK_TEXTS.gone(files) };
  }
  return { status: state.ended.as, state, message: state.ended.message };
}

/** Returns whether the completion of a loop has a proof. */
export function isVerified(state: LoopState | null): boolean {
  return state?.status === 'ended' && state.ended.verified;
}

const SHOWN = 300;

/** Lists the user's messages that the agent never received, and what happens to them; null if there are none. */
export function undeliveredText({ steering, ended, name, mode }: StateOf<'ended'>): string | null {
  const messages = steering.filter(({ announces }) => announces === undefined);
  if (messages.length === 0) return null;
  const words = messages.map(({ text }) => `"${shorten(text.replace(/\s+/g, ' ').trim(), SHOWN)}"`).join(', ');
  const text = `The loop ended before the agent received your messages: ${words}.`;
  if (ended.as === 'complete') return `${text} Put them into the task of the next loop.`;
  return show(advise(`${text} They are kept.`, 'Resume', 'resume'), { name, mode });
}
