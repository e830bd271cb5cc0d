import { printable } from '../printable.ts';
import { BLANK, type Line, type View } from './view.ts';
import { wrap } from './wrap.ts';

/** An escape sequence whose end has not come yet: nobody can say yet what of it is text. */
const UNFINISHED = /[\u001b\u009b\u009d][^\u001b]{0,200}$/;
const COMPLETE =
  /^(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|^(?:\u001b\]|\u009d)[^\u0007\u001b\u009c]*[\u0007\u009c]|^\u001b[^[\]]/;

/** More of what the agent says. Whole lines of it can be printed; the last one stays open. */
export function addText(view: View, text: string): View {
  const all = view.text + text;
  const cut = all.lastIndexOf('\n');
  if (cut === -1) return { ...view, text: all };
  const shown = all.slice(0, cut).split('\n').reduce(addLine, view);
  return { ...shown, text: all.slice(cut + 1) };
}

/** Whatever comes next is not part of the paragraph in progress. */
export function closeText(view: View): View {
  const closed = view.text === '' ? view : { ...addLine(view, view.text), text: '' };
  return closed.gap ? { ...closed, gap: false } : closed;
}

/** Prints all rows of the paragraph in progress but the last, which the next words may change. */
export function printRows(view: View, columns: number): View {
  const shown = openText(view.text);
  const rows = wrap(shown, columns);
  const last = rows.at(-1);
  if (rows.length < 2 || last === undefined) return view;
  const lines = rows.slice(0, -1).map(({ text }): Line => ({ spans: [{ text }], long: 'wrap' }));
  const rest = shown.slice(last.from) + view.text.slice(held(view.text));
  const apart = setApart(view);
  return { ...apart, lines: [...apart.lines, ...lines], text: rest };
}

/** The paragraph in progress as it can be shown now. */
export function openText(text: string): string {
  return flat(text.slice(0, held(text)));
}

function held(text: string): number {
  const found = UNFINISHED.exec(text);
  return found === null || COMPLETE.test(found[0]) ? text.length : found.index;
}

function addLine(view: View, line: string): View {
  const text = flat(line).trimEnd();
  // One blank line between two paragraphs, whatever the agent wrote, and none at the end.
  if (text === '') return view.last === 'text' ? { ...view, gap: true } : view;
  const apart = setApart(view);
  return { ...apart, lines: [...apart.lines, { spans: [{ text }], long: 'wrap' }] };
}

/** Whether a blank line belongs before what the agent says next. */
export function needsGap({ last, gap }: View): boolean {
  return gap || (last !== 'text' && last !== 'blank');
}

function setApart(view: View): View {
  const lines = needsGap(view) ? [...view.lines, BLANK] : view.lines;
  return { ...view, lines, gap: false, last: 'text' };
}

function flat(text: string): string {
  return printable(text).replaceAll('\t', '    ');
}
