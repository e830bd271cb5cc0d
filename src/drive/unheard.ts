import type { StateOf } from '../core/schema/state.ts';
import { shorten } from '../core/shorten.ts';

const SHOWN = 300;

/**
 * What is to be told of a loop that ended before its agent could hear all that the user had said: their words, oldest
 * first, and what becomes of them. null where nothing was left.
 */
export function unheard({ steering, ended }: StateOf<'ended'>): string | null {
  if (steering.length === 0) return null;
  const words = steering.map(({ text }) => `"${shorten(text.replace(/\s+/g, ' ').trim(), SHOWN)}"`).join(', ');
  const next =
    ended.as === 'complete'
      ? 'Say it in the task of the next loop.'
      : 'It is kept: main.cjs start --resume goes on with it.';
  return `the loop ended before the agent heard what you said: ${words}. ${next}`;
}
