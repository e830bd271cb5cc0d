import { LINE_END } from '../../text/characters.ts';
import type { Policy } from '../schema/contract.ts';
import { type AssembledPrompt, wholePrompt } from './assemble-prompt.ts';

/** Form in which a prompt returns to the session: `reason` reaches the model twice, `context` once. */
export interface DeliveredPrompt {
  readonly reason: string;
  readonly context: string | null;
}

/** Maximum length of a context: at 10,000 characters the client replaces it with a preview and a file. */
const CONTEXT_LIMIT = 9_000;
const REASON_LIMIT = 4_000;
const SHORT_REASON = 'Continue: the task is in the context of this message.';

/**
 * File that a pointer names: the task file, or the file with the assembled prompt. Its path is relative to the project;
 * null if that file could not be written, so that no prompt points to it.
 */
type Place = { readonly taskPath: string } | { readonly promptPath: string | null };

/** Chooses the form by the loop's `reinject` and the prompt's length. */
export function deliverPrompt(prompt: AssembledPrompt, reinject: Policy['reinject'], place: Place): DeliveredPrompt {
  const whole = wholePrompt(prompt);
  const isShort = reinject === 'auto' && whole.length <= REASON_LIMIT;
  if (reinject === 'reason' || isShort) return { reason: whole, context: null };
  if (reinject !== 'pointer' && whole.length <= CONTEXT_LIMIT) return { reason: SHORT_REASON, context: whole };
  return { reason: pointerTo(prompt, place), context: null };
}

/** Returns a pointer. The task file holds only the body, so its pointer adds what is specific to this iteration. */
function pointerTo(prompt: AssembledPrompt, place: Place): string {
  if ('taskPath' in place) {
    const { preface, body, closing } = prompt;
    return `${preface}\n\nRead ${place.taskPath} now, in full (${body.length} characters), and follow it.${sectionsOf(body)}\n\n${closing}\n`;
  }
  const whole = wholePrompt(prompt);
  return place.promptPath === null ? whole : pointerText(prompt.preface, place.promptPath, whole);
}

/** Returns the headings of a text, as an overview for the reader; empty if it has none. */
function sectionsOf(text: string): string {
  const headings = text.split(LINE_END).filter((line) => /^#{1,6} /.test(line));
  const shown = headings.slice(0, 40).map((heading) => heading.slice(0, 120));
  return shown.length > 0 ? `\nIts sections:\n${shown.join('\n')}` : '';
}

/** Returns a pointer that names the iteration, so that no two are equal, and otherwise repeats nothing of the file. */
function pointerText(preface: string, path: string, whole: string): string {
  const [header = ''] = preface.split('\n');
  return `${header}\n\nRead ${path} now, in full (${whole.length} characters), and follow it: it holds the prompt of this iteration, with the task, the output of its commands and how to end your message.${sectionsOf(whole)}\n`;
}
