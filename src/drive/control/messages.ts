import type { FileChange } from '../../state/snapshot/snapshot.ts';
import { advise, type Message, offer } from '../../text/message.ts';
import { excerpt, listed, oneLine } from '../../text/quote.ts';

const MOST_NAMED = 8;

/** Point at which a change of a protected file was detected. */
export type Found =
  | { readonly when: 'call'; readonly tool: string; readonly callId: string }
  | { readonly when: 'turn' | 'background' | 'checks' | 'verification' | 'idle' };

const MOMENTS: Record<Exclude<Found['when'], 'call'>, string> = {
  turn: 'at the end of the turn',
  background: 'after background work',
  checks: 'after the checks',
  verification: 'before the checks',
  idle: 'between two calls',
};

export const PROTECTION_TEXTS = {
  restored: (list: string, found: Found, archive: string): string =>
    `${list}: restored ${momentOf(found)}. The replaced versions are in ${archive}.`,
  failed: (list: string, found: Found): string =>
    `${list}: found changed ${momentOf(found)}, and could not be restored, because the snapshot has no copy, or the file or folder is immutable, mounted or read-only.`,
  usersChange: (list: string): Message =>
    advise(`${list}: no call of the agent made this change, so it was kept.`, 'Adopt it', 'accept'),
  leftAlone: (list: string): string => `${list}: no call of the agent made this change, so it was left.`,
  outside: (list: string, found: Found): string =>
    `${list}: found changed ${momentOf(found)}. It is outside the project, where ralph-loop writes nothing.`,
  toAgent: (list: string): string =>
    `[restored by guardrail: protected_files] This call changed files that the user protects: ${list}. They were restored. Do the task without changing them; if that is impossible, say so in your reply.`,
  toAgentFailed: (list: string): string =>
    `[guardrail: protected_files] This call changed files that the user protects: ${list}. Undo these changes, and do the task without them.`,
  notKept: (count: number): string =>
    `${count === 1 ? 'One protected file is' : `${count} protected files are`} beyond the 5,000 files and 64 MiB that are kept: changes are reported, but cannot be undone.`,
  notWatched: 'There are too many protected files to watch all of them. Name fewer under guardrails.protected_files.',
  unmatched: (named: readonly string[]): string =>
    `No file matches ${excerpt(oneLine(named.join('; ')), 400)} yet. Check the spelling.`,
  fixed: (list: string): string => `changed since the start of the loop: ${list}. Restore these files.`,
  noSnapshot: 'the snapshot of the start is missing, so no file can be compared with it.',
} as const;

/** The state was created by another program. */
export const FOUR_KEYS = offer('Another program wrote this state file, and only a session can continue it.', {
  'Take the loop over': 'resume',
  'Archive it': 'reset',
});

function momentOf(found: Found): string {
  return found.when === 'call' ? `after ${found.tool}` : MOMENTS[found.when];
}

/** Lists changed files; those in the project are relative to it. */
export function changeList(changes: readonly FileChange[], projectDir: string): string {
  const names = changes.map(({ path, was }) => `${shownPath(path, projectDir)} (${was})`);
  return listed(names, MOST_NAMED);
}

export function shownPath(path: string, projectDir: string): string {
  return path.startsWith(`${projectDir}/`) ? path.slice(projectDir.length + 1) : path;
}

export const NEWER_STATE = (path: string): string =>
  `the state file ${path} was written by a newer ralph-loop. Update this one, or move that file away.`;
