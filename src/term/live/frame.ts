import { pausedText } from '../../engine/messages.ts';
import { costText, countText } from '../../text/figures.ts';
import { formatDuration } from '../../text/time.ts';
import { cells, graphemes, wrap } from '../write-text.ts';
import type { InputLine } from './input.ts';
import { LIVE_TEXTS } from './messages.ts';
import { clipped, needsGap, openText, type Row, rowCells, type Span, type View } from './view.ts';

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** Rows at the bottom that are redrawn, and the cursor's position in them. */
export interface Frame {
  readonly rows: readonly Row[];
  readonly cursor: { readonly row: number; readonly column: number };
}

/** Height from which a blank row separates the bottom. */
const ROOMY = 16;
const MOST_CALLS = 5;
const MOST_INPUT = 6;

/** Lays out the bottom of the terminal at `at` (epoch milliseconds). Never exceeds the terminal. Pure. */
export function frameOf(view: View, input: InputLine, { columns, rows }: Size, at: number): Frame {
  // A row that fills the terminal to its edge would leave the cursor between two rows.
  const width = Math.max(1, columns - 1);
  const field = inputRows(
    input,
    shortened(hintOf(view), width - PROMPT.length),
    width,
    Math.max(1, Math.min(MOST_INPUT, rows - 2)),
  );
  const above = [
    ...textRows(view, columns),
    ...callRows(view, at),
    ...(rows < ROOMY ? [] : [[]]),
    ...pendingRows(view),
    ...deniedRows(view),
    ...waitRows(view, at),
    ...view.others.map((other) => statusBar(other, width, at)),
    statusBar(view, width, at),
  ].map((row) => clipped(row, width));
  const room = Math.max(0, rows - 1 - field.rows.length);
  const shown = room === 0 ? [] : above.slice(-room);
  return {
    rows: [...shown, ...field.rows],
    cursor: { row: shown.length + field.cursor.row, column: field.cursor.column },
  };
}

function textRows(view: View, columns: number): Row[] {
  const last = wrap(openText(view.text), columns).at(-1)?.text ?? '';
  if (last.trim() === '') return [];
  return needsGap(view) ? [[], [{ text: last }]] : [[{ text: last }]];
}

function callRows({ calls: open, silentSince, last, text }: View, at: number): Row[] {
  const silent = silentSince === null ? [] : [{ label: LIVE_TEXTS.noWordYet, nested: false, since: silentSince }];
  const calls = open.length === 0 ? silent : open;
  if (calls.length === 0) return [];
  const shown = calls.slice(-MOST_CALLS);
  const rows = shown.map(({ label, nested, since }): Row => {
    const passed = Math.floor(Math.max(0, at - since) / 1000) * 1000;
    const time = passed === 0 ? '' : ` (${formatDuration(passed)})`;
    return [{ text: `${nested ? '    ' : '  '}… ${label}${time}`, style: 'dim' }];
  });
  const hidden = calls.length - shown.length;
  const more: Row[] = hidden > 0 ? [[{ text: `  … ${LIVE_TEXTS.more(hidden)}`, style: 'dim' }]] : [];
  return [...(last === 'text' && text === '' ? [[]] : []), ...more, ...rows];
}

function pendingRows({ pending }: View): Row[] {
  return pending.map(({ text, delivery }) => [
    { text: `  ↳ ${LIVE_TEXTS.pending[delivery]}: ${text.replace(/\s+/g, ' ').trim()}`, style: 'dim' },
  ]);
}

function deniedRows({ denied, status }: View): Row[] {
  return denied === null || status === 'ended' ? [] : [[{ text: LIVE_TEXTS.allow(denied.rule), style: 'yellow' }]];
}

function waitRows({ waiting, status }: View, at: number): Row[] {
  if (waiting === null || status === 'paused') return [];
  const left = Math.ceil(Math.max(0, waiting.until - at) / 1000) * 1000;
  const when = left === 0 ? LIVE_TEXTS.due : LIVE_TEXTS.inTime(formatDuration(left));
  return [[{ text: LIVE_TEXTS.waiting[waiting.why](when), style: 'cyan' }]];
}

function hintOf({ status, waiting, attached, others, next }: View): string {
  if (others.length > 0) return LIVE_TEXTS.hints.several;
  if (status === 'ended') return '';
  if (attached) return status === 'paused' ? LIVE_TEXTS.hints.attachedPaused : LIVE_TEXTS.hints.attached;
  if (status === 'paused') return LIVE_TEXTS.hints.paused;
  if (waiting !== null) return LIVE_TEXTS.hints.wait;
  return next === 'stop' ? LIVE_TEXTS.hints.stopping : LIVE_TEXTS.hints.work;
}

/** Omits keys between the first and the last one while the hint is too long. */
function shortened(hint: string, width: number): string {
  const [first = '', , ...others] = hint.split(' · ');
  return others.length === 0 || cells(hint) <= width ? hint : shortened([first, ...others].join(' · '), width);
}

const PROMPT = '> ';

/** Lays out the input in rows, including the one with the cursor. */
function inputRows(input: InputLine, hint: string, width: number, most: number): Frame {
  const prompt = width > PROMPT.length + 1 ? PROMPT : '';
  if (input.text === '') {
    const row = clipped([{ text: prompt }, { text: hint, style: 'dim' }], width);
    return { rows: [row], cursor: { row: 0, column: prompt.length } };
  }
  const room = width - prompt.length;
  const { lines, cursor } = layout(input, room);
  const from = Math.max(0, Math.min(cursor.row - most + 1, lines.length - most));
  const first = cursor.row < from ? cursor.row : from;
  const rows = lines
    .slice(first, first + most)
    .map((text, index): Row => [{ text: index === 0 ? prompt : ' '.repeat(prompt.length) }, { text }]);
  return { rows, cursor: { row: cursor.row - first, column: prompt.length + cursor.column } };
}

/** Wraps the input; at the end of a full row the cursor has its own cell. */
function layout({ text, at }: InputLine, width: number): { lines: string[]; cursor: Frame['cursor'] } {
  const lines: string[] = [''];
  let column = 0;
  let cursor = { row: 0, column: 0 };
  let offset = 0;
  const begin = (): void => {
    lines.push('');
    column = 0;
  };
  for (const one of graphemes(text)) {
    const wide = one.text === '\n' ? 0 : Math.min(one.cells, width);
    if (column + wide > width) begin();
    if (offset === at) cursor = { row: lines.length - 1, column };
    offset += one.text.length;
    if (one.text === '\n') {
      begin();
      continue;
    }
    lines[lines.length - 1] += one.cells > width ? '?' : one.text;
    column += wide;
  }
  if (offset === at) {
    if (column >= width) begin();
    cursor = { row: lines.length - 1, column };
  }
  return { lines, cursor };
}

interface Part {
  readonly spans: readonly Span[];
  /** Parts with a higher number are dropped first if the terminal is narrow. */
  readonly spare: number;
}

const BETWEEN: Span = { text: ' │ ', style: 'dim' };

/** Returns what is known and fits of `ralph: NAME │ running │ iter 7/50 │ 12m │ $0.85 │ 52.1k tokens │ context 34% │ 3 of 8`. */
function statusBar(view: View, columns: number, at: number): Row {
  let parts = partsOf(view, at);
  for (;;) {
    const row = parts.flatMap(({ spans }, index) => (index === 0 ? spans : [BETWEEN, ...spans]));
    if (rowCells(row) <= columns || parts.length === 1) return row;
    const most = Math.max(...parts.map(({ spare }) => spare));
    parts = parts.filter(({ spare }) => spare !== most);
  }
}

function partsOf(view: View, at: number): Part[] {
  const { name, iteration, maxIterations, startedAt, pausedAt, costUsd, isCostPartial, context, window, checklist } =
    view;
  const tokens = view.tokens + view.runTokens;
  const dim = (text: string, spare: number): Part => ({ spans: [{ text, style: 'dim' }], spare });
  const used = context !== null && window !== null ? context / window : null;
  return [
    dim(`ralph: ${name}`, 4),
    { spans: [statusOf(view)], spare: 0 },
    ...(maxIterations === null ? [] : [dim(`iter ${iteration}/${maxIterations}`, 1)]),
    ...(startedAt === null ? [] : [dim(sinceText(startedAt, pausedAt ?? at), 3)]),
    ...(costUsd === null && !isCostPartial ? [] : [dim(costText(costUsd, isCostPartial), 2)]),
    ...(tokens === 0 ? [] : [dim(LIVE_TEXTS.tokens(countText(tokens)), 7)]),
    ...(used === null ? [] : [dim(LIVE_TEXTS.context(`${Math.round(used * 100)}%`), 6)]),
    ...(checklist === null ? [] : [dim(LIVE_TEXTS.checklist(checklist.done, checklist.total), 5)]),
  ];
}

function statusOf({ status, next, interrupting, waiting, paused }: View): Span {
  const { status: words } = LIVE_TEXTS;
  if (paused !== null && status === 'paused') return { text: pausedText(paused), style: 'yellow' };
  if (interrupting) return { text: words.interrupting, style: 'yellow' };
  if (next !== 'go-on' && status !== 'ended') return { text: words[next], style: 'yellow' };
  if (waiting !== null) return { text: words.waiting, style: 'cyan' };
  return { text: status, style: status === 'running' ? 'green' : 'cyan' };
}

/** Formats whole seconds within the first minute, then whole minutes. */
function sinceText(startedAt: number, at: number): string {
  const passed = Math.max(0, at - startedAt);
  const unit = passed < 60_000 ? 1_000 : 60_000;
  return passed < 1_000 ? '0s' : formatDuration(Math.floor(passed / unit) * unit);
}
