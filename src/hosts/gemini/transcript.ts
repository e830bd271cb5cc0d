import type { UsageDelta } from '../../engine/events.ts';
import { readTail } from '../../state/files/journal-lines.ts';
import { countOf, type Fields, fieldsOf, parseFields, textOf } from '../fields.ts';

/** Number of bytes to search for the last message. */
const TAIL_BYTES = 1024 * 1024;

/** Returns the text of the last message of the model; null if there is none. */
export function lastGeminiText(path: string | null): string | null {
  let text: string | null = null;
  if (path === null) return text;
  readTail(path, TAIL_BYTES, (line) => {
    const { type, content } = parseFields(line) ?? {};
    if (type === 'gemini') text = textOf(content);
    return text !== null;
  });
  return text;
}

/** Returns what a line of a transcript bills; null for another line. A message is written again with the results of its calls. */
export function geminiBilled({ type, id, tokens }: Fields): { readonly id: string; readonly usage: UsageDelta } | null {
  const { input, cached, output, thoughts, tool } = fieldsOf(tokens);
  if (type !== 'gemini' || textOf(id) === '' || tokens === undefined) return null;
  const usage = {
    inputTokens: Math.max(0, countOf(input) - countOf(cached)) + countOf(tool),
    outputTokens: countOf(output) + countOf(thoughts),
    cacheReadTokens: countOf(cached),
    cacheWriteTokens: 0,
  };
  return { id: textOf(id), usage };
}
