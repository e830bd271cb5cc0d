import { advise, type Message } from '../../text/message.ts';
import { shorten } from '../../text/quote.ts';
import { type ChecklistStand, textsOf } from './items.ts';
import type { Question } from './questions.ts';

const MOST_NAMED = 5;
const MOST_SHOWN = 120;

/** Names the first few of some texts: `"a", "b" and 3 more`. */
export function named(texts: readonly string[]): string {
  const more = texts.length - MOST_NAMED;
  const shown = texts.slice(0, MOST_NAMED).map((text) => `"${shorten(text.replaceAll('"', "'"), MOST_SHOWN)}"`);
  return more > 0 ? `${shown.join(', ')} and ${more} more` : shown.join(', ');
}

export function missingItemsText(path: string, missing: readonly string[]): Message {
  const items = missing.length === 1 ? '1 item is missing' : `${missing.length} items are missing`;
  const text = `${items} from ${path}: ${named(missing)}. The loop cannot complete without them. Put them back; check an unneeded one, with the reason behind it.`;
  return advise(text, 'Accept the list as it is', 'accept');
}

export function unreadBoxesText(path: string, unread: ChecklistStand['unread']): string {
  const [first] = unread;
  const lines = unread.slice(0, MOST_NAMED).map(({ line }) => line);
  const more = unread.length > lines.length ? ` and ${unread.length - lines.length} more` : '';
  const [where, look] =
    unread.length === 1
      ? [`Line ${first?.line}`, 'looks like an item and is none']
      : [`Lines ${lines.join(', ')}${more}`, 'look like items and are none'];
  return `${where} of ${path} ${look} ("${shorten(first?.text ?? '', MOST_SHOWN)}"). Write "- [ ] what" or "- [x] what".`;
}

export function openItemsText({ done, total }: ChecklistStand, open: readonly string[]): string {
  const count = total - done === 1 ? '1 of its items is' : `${total - done} of its ${total} items are`;
  return `${count} open: ${named(open)}. Any mark but x is open.`;
}

/** Returns a reason why a claim is refused: entries that were open are no longer there. */
export function goneText(path: string, missing: readonly string[]): string {
  const [entries, are] =
    missing.length === 1 ? ['1 entry was', 'it is'] : [`${missing.length} entries were`, 'they are'];
  return `${entries} open, and ${are} no longer in ${path}: ${named(missing)}. Put back what is missing, with its words, and close it there.`;
}

export function unreadLogText(path: string): string {
  return `${path} has text, but no finding in it can be read, or a table in HTML. Write each as "### FINDING-001: title" with a line "Status: OPEN", or "No findings."`;
}

export const UNREAD_QUESTIONS =
  'it has text, but no list item below a heading P0 or P1. Make each question a list item there, or write "No open questions."';

/** Returns a reason why a claim is refused: questions that were open were checked without an answer, or moved. */
export function evadedQuestionsText(evaded: readonly Question[]): string {
  const moved = evaded.filter(({ checked, inDone }) => checked !== true && !inDone);
  const bare = evaded.filter((question) => !moved.includes(question));
  return [
    ...(moved.length > 0 ? [`Open under P0 or P1 before, and moved without an answer: ${named(textsOf(moved))}.`] : []),
    ...(bare.length > 0
      ? [`Checked without an answer, which belongs behind or below it: ${named(textsOf(bare))}.`]
      : []),
  ].join('\n');
}
