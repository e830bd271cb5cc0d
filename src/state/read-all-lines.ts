import { statSync } from 'node:fs';
import { type Lines, readLines } from './read-lines.ts';

/** Reads every complete line of a JSON-lines file from byte `from` on, however much it is, in steps of bounded size. */
export function readOn(path: string, from: number): Lines {
  const entries: Record<string, unknown>[] = [];
  let torn = 0;
  for (let next = from; ; ) {
    const lines = readLines(path, next);
    for (const entry of lines.entries) entries.push(entry);
    torn += lines.torn;
    if (lines.next === next) return { entries, torn, next };
    next = lines.next;
  }
}

/** A whole journal; a last line without an end, as a crash leaves it, is counted among the torn ones. */
export function readAllLines(path: string): Pick<Lines, 'entries' | 'torn'> {
  const { entries, torn, next } = readOn(path, 0);
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  return { entries, torn: torn + (size > next ? 1 : 0) };
}
