import { formatDuration } from '../../core/duration.ts';
import { countText } from '../figures.ts';
import { type Row, rowCells, type Span } from './row.ts';
import { LIVE_TEXTS } from './texts.ts';
import type { View } from './view.ts';

interface Part {
  readonly spans: readonly Span[];
  /** The higher, the sooner it goes where the terminal is narrow. */
  readonly spare: number;
}

const BETWEEN: Span = { text: ' │ ', style: 'dim' };

/** `ralph: NAME │ running │ iter 7/50 │ 12m │ $0.847 │ 52.1k tokens │ context 34% │ 3 of 8`: what is known, and fits. */
export function statusBar(view: View, columns: number, at: number): Row {
  let parts = partsOf(view, at);
  for (;;) {
    const row = parts.flatMap(({ spans }, index) => (index === 0 ? spans : [BETWEEN, ...spans]));
    if (rowCells(row) <= columns || parts.length === 1) return row;
    const most = Math.max(...parts.map(({ spare }) => spare));
    parts = parts.filter(({ spare }) => spare !== most);
  }
}

function partsOf(view: View, at: number): Part[] {
  const { name, iteration, maxIterations, startedAt, costUsd, context, window, checklist } = view;
  const tokens = view.tokens + view.runTokens;
  const dim = (text: string, spare: number): Part => ({ spans: [{ text, style: 'dim' }], spare });
  const used = context !== null && window !== null ? context / window : null;
  return [
    dim(`ralph: ${name}`, 4),
    { spans: [statusOf(view)], spare: 0 },
    ...(maxIterations === null ? [] : [dim(`iter ${iteration}/${maxIterations}`, 1)]),
    ...(startedAt === null ? [] : [dim(sinceText(startedAt, at), 3)]),
    ...(costUsd === null ? [] : [dim(`$${costUsd.toFixed(3)}`, 2)]),
    ...(tokens === 0 ? [] : [dim(LIVE_TEXTS.tokens(countText(tokens)), 7)]),
    ...(used === null ? [] : [dim(LIVE_TEXTS.context(`${Math.round(used * 100)}%`), 6)]),
    ...(checklist === null ? [] : [dim(LIVE_TEXTS.checklist(checklist.done, checklist.total), 5)]),
  ];
}

function statusOf({ status, next, interrupting, waiting, paused }: View): Span {
  const { status: words } = LIVE_TEXTS;
  if (paused !== null && status === 'paused') return { text: words.paused(paused.why), style: 'yellow' };
  if (interrupting) return { text: words.interrupting, style: 'yellow' };
  if (next !== 'go-on' && status !== 'ended') return { text: words[next], style: 'yellow' };
  if (waiting !== null) return { text: words.waiting, style: 'cyan' };
  return { text: status, style: status === 'running' ? 'green' : 'cyan' };
}

/** Whole seconds for a minute, whole minutes after it. */
function sinceText(startedAt: number, at: number): string {
  const passed = Math.max(0, at - startedAt);
  const unit = passed < 60_000 ? 1_000 : 60_000;
  return passed < 1_000 ? '0s' : formatDuration(Math.floor(passed / unit) * unit);
}
