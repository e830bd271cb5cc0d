import type { RunnerEventOf, WaitReason } from '../../engine/runner-event.ts';
import { redact } from '../../text/redact/redact.ts';
import { type Paint, printable, type Style } from '../format.ts';
import { cells, fitText, wrap } from '../write-text.ts';

/** Line to be printed once above the live rows; from then on, it belongs to the scroll-back. */
export interface Line {
  readonly spans: readonly Span[];
  /** Treatment of a long line: wrapped into rows, indented like the first (`hang`), or cut. */
  readonly long: 'wrap' | 'hang' | 'cut';
}

export const BLANK: Line = { spans: [], long: 'cut' };

/** Tool call without a known outcome. */
export interface OpenCall {
  readonly id: string;
  readonly label: string;
  readonly nested: boolean;
  /** Epoch milliseconds. */
  readonly since: number;
}

/** State of the live view. Plain data: the same events give the same view. */
export interface View {
  /** True if another process drives the loop. */
  readonly attached: boolean;
  readonly lines: readonly Line[];
  /** Part of the current paragraph that is not printed yet. */
  readonly text: string;
  /** True if a blank line belongs before the agent's next words. */
  readonly gap: boolean;
  /** Kind of the last printed line: text and calls are separated by a blank line. */
  readonly last: 'blank' | 'text' | 'call' | 'other';
  readonly name: string;
  readonly status: 'starting' | 'running' | 'verifying' | 'paused' | 'ended';
  readonly next: RunnerEventOf<'agent.after-iteration'>['next'];
  readonly interrupting: boolean;
  readonly iteration: number;
  readonly maxIterations: number | null;
  /** Epoch milliseconds, shifted by the time for which the loop was stopped; null before the loop has begun. */
  readonly startedAt: number | null;
  /** Epoch milliseconds since which the loop has been paused; null if it is not. */
  readonly pausedAt: number | null;
  readonly costUsd: number | null;
  /** True if the cost of a run is unknown. */
  readonly isCostPartial: boolean;
  /** Tokens of the whole loop, without the current run. */
  readonly tokens: number;
  readonly runTokens: number;
  /** Tokens in the agent's context, and the size of its window, if known. */
  readonly context: number | null;
  readonly window: number | null;
  readonly checklist: { readonly done: number; readonly total: number } | null;
  readonly calls: readonly OpenCall[];
  /** Epoch milliseconds since which the agent of an iteration has been silent; null once it has shown something. */
  readonly silentSince: number | null;
  /** Last denied call that could be allowed, with the rule for it; or null. */
  readonly denied: { readonly call: string; readonly rule: string } | null;
  readonly pending: RunnerEventOf<'steering.pending'>['texts'];
  readonly waiting: { readonly why: WaitReason; readonly until: number } | null;
  readonly paused: string | null;
  /** Loops that run beside this one, each with a row. */
  readonly others: readonly View[];
}

export const NEW_VIEW: View = {
  attached: false,
  lines: [],
  text: '',
  gap: false,
  last: 'blank',
  name: '',
  status: 'starting',
  next: 'go-on',
  interrupting: false,
  waiting: null,
  paused: null,
  iteration: 0,
  maxIterations: null,
  startedAt: null,
  pausedAt: null,
  checklist: null,
  costUsd: null,
  isCostPartial: false,
  tokens: 0,
  runTokens: 0,
  context: null,
  window: null,
  calls: [],
  silentSince: null,
  denied: null,
  pending: [],
  others: [],
};

/** Piece of a row. Its text has no control characters and no line ends. */
export interface Span {
  readonly text: string;
  readonly style?: Style;
}

export type Row = readonly Span[];

export function rowCells(row: Row): number {
  return row.reduce((sum, { text }) => sum + cells(text), 0);
}

export function painted(row: Row, paint: Paint): string {
  return row.map(({ text, style }) => (style === undefined ? text : paint(style, text))).join('');
}

/** Cuts a row to a number of cells, with "…" in place of the rest. */
export function clipped(row: Row, columns: number): Row {
  if (rowCells(row) <= columns) return row;
  const kept: Span[] = [];
  let left = Math.max(0, columns - 1);
  for (const span of row) {
    const text = fitText(span.text, left);
    kept.push({ ...span, text });
    left -= cells(text);
    if (text !== span.text) break;
  }
  const last = kept.at(-1);
  return columns < 1 || last === undefined ? [] : [...kept.slice(0, -1), { ...last, text: `${last.text}…` }];
}

/** Pattern for an escape sequence whose end has not arrived yet. */
const UNFINISHED = /[\u001b\u009b\u009d][^\u001b]{0,200}$/;
const COMPLETE =
  /^(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|^(?:\u001b\]|\u009d)[^\u0007\u001b\u009c]*[\u0007\u009c]|^\u001b[^[\]]/;

/** Adds text of the agent. Its complete lines can be printed; the last one stays open. */
export function addText(view: View, text: string): View {
  const all = view.text + text;
  const cut = all.lastIndexOf('\n');
  if (cut === -1) return { ...view, text: all };
  const shown = all.slice(0, cut).split('\n').reduce(addLine, view);
  return { ...shown, text: all.slice(cut + 1) };
}

/** Closes the current paragraph. */
export function closeText(view: View): View {
  const closed = view.text === '' ? view : { ...addLine(view, view.text), text: '' };
  return closed.gap ? { ...closed, gap: false } : closed;
}

/** Prints every row of the current paragraph but the last, which more text may change. */
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

/** Returns the printable part of the current paragraph. */
export function openText(text: string): string {
  return flat(text.slice(0, held(text)));
}

function held(text: string): number {
  const found = UNFINISHED.exec(text);
  return found === null || COMPLETE.test(found[0]) ? text.length : found.index;
}

function addLine(view: View, line: string): View {
  const text = flat(line).trimEnd();
  // Between two paragraphs there is one blank line, whatever the agent wrote, and none at the end.
  if (text === '') return view.last === 'text' ? { ...view, gap: true } : view;
  const apart = setApart(view);
  return { ...apart, lines: [...apart.lines, { spans: [{ text }], long: 'wrap' }] };
}

/** Returns whether a blank line belongs before the agent's next text. */
export function needsGap({ last, gap }: View): boolean {
  return gap || (last !== 'text' && last !== 'blank');
}

function setApart(view: View): View {
  const lines = needsGap(view) ? [...view.lines, BLANK] : view.lines;
  return { ...view, lines, gap: false, last: 'text' };
}

function flat(text: string): string {
  return redact(printable(text)).replaceAll('\t', '    ');
}
