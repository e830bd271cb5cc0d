import { type Key, NOTHING_UNREAD, readKeys } from './keys.ts';

/** A lone Escape is a key when nothing follows it for so long; a sequence comes at once. */
const ESCAPE_MS = 40;
/** A paste of which nothing more comes is over, whether or not its end was seen. */
const PASTE_MS = 1_000;

export interface KeyReader {
  readonly read: (chunk: string) => void;
  /** What is not read yet is forgotten. */
  readonly stop: () => void;
}

/** Cuts what the terminal sends into keys, in order. */
export function keyReader(onKey: (key: Key) => void): KeyReader {
  let unread = NOTHING_UNREAD;
  let waiting: NodeJS.Timeout | undefined;
  const hear = (chunk: string, last: boolean): void => {
    clearTimeout(waiting);
    const read = readKeys(unread, chunk, last);
    unread = read.unread;
    for (const key of read.keys) onKey(key);
    if (unread.rest === '' && !unread.pasting) return;
    waiting = setTimeout(() => hear('', true), unread.pasting ? PASTE_MS : ESCAPE_MS);
  };
  return {
    read: (chunk) => hear(chunk, false),
    stop: () => {
      clearTimeout(waiting);
      unread = NOTHING_UNREAD;
    },
  };
}
