import type { UsageDelta } from '../../core/events.ts';
import type { RunnerEvent } from '../../core/runner-event.ts';
import { dollarText, timeText, turnsText } from '../figures.ts';
import { printable } from '../printable.ts';
import type { Span } from './row.ts';
import { addText, closeText } from './text-flow.ts';
import { LIVE_TEXTS } from './texts.ts';
import { BLANK, type Line, type View } from './view.ts';

type Told<T extends RunnerEvent['type']> = Extract<RunnerEvent, { type: T }>;

/** What the view is after one more event, told at `at` (epoch milliseconds). Pure. */
export function nextView(view: View, event: RunnerEvent, at: number): View {
  switch (event.type) {
    case 'loop-started':
      return loopStarted(view, event);
    case 'iteration-started': {
      const { iteration, maxIterations } = event;
      const began = {
        ...{ iteration, maxIterations, status: 'running' as const, interrupting: false },
        ...{ waiting: null, paused: null, calls: [], context: null, runTokens: 0 },
      };
      return { ...heading(view, LIVE_TEXTS.iteration(iteration, maxIterations)), ...began };
    }
    case 'command-ran':
      return call(view, mark(event.outcome === 'ok'), `${event.name} (${timeText(event.durationMs)})`, false);
    case 'text-delta':
      return addText(atWork(view), event.text);
    case 'text':
      return closeText(event.streamed === true ? view : addText(atWork(view), event.text));
    case 'tool-started': {
      const { id, nested } = event;
      const open = { id, nested, label: labelOf(event), since: at };
      return { ...closeText(atWork(view)), calls: [...view.calls.filter((one) => one.id !== id), open] };
    }
    case 'tool-call':
      return toolCall(view, event);
    case 'usage':
      return { ...view, runTokens: event.tokens, context: { tokens: event.context, window: event.window } };
    case 'pending':
      return { ...view, pending: event.texts };
    case 'steered':
      return event.texts.reduce((shown, text) => said(shown, LIVE_TEXTS.youSaid(oneLine(text)), 'cyan'), view);
    case 'interrupting':
      return { ...view, interrupting: true };
    case 'finishing':
      return { ...view, stopping: true };
    case 'paused':
      return { ...closeText(view), status: 'paused', waiting: null, paused: { why: event.reason }, calls: [] };
    case 'notice':
      return said(view, `ralph: ${printable(event.message)}`, 'yellow');
    case 'agent-ended':
      return agentEnded(view, event);
    case 'waiting':
      return { ...view, waiting: { why: event.why, until: Date.parse(event.until) } };
    case 'verifying':
      return { ...said(view, LIVE_TEXTS.verifying, 'cyan'), status: 'verifying' };
    case 'loop-ended':
      return loopEnded(view, event);
    default:
      return event satisfies never;
  }
}

function loopStarted(view: View, event: Told<'loop-started'>): View {
  const { name, taskPath, iteration, maxIterations, startedAt, costUsd, usage } = event;
  const told = said(view, LIVE_TEXTS.started(name ?? 'default', printable(taskPath), maxIterations), 'bold');
  const began = { name, iteration, maxIterations, costUsd, startedAt: Date.parse(startedAt), tokens: total(usage) };
  return { ...told, ...began, status: 'running' };
}

/** An agent that says something does no longer wait for anything. */
function atWork(view: View): View {
  return view.waiting === null && view.status === 'running' ? view : { ...view, waiting: null, status: 'running' };
}

function toolCall(view: View, event: Told<'tool-call'>): View {
  const closed = { ...closeText(view), calls: view.calls.filter(({ id }) => id !== event.id) };
  const label = `${labelOf(event)} (${timeText(event.durationMs)})`;
  return call(closed, mark(event.outcome === 'ok'), label, event.nested);
}

function agentEnded(view: View, event: Told<'agent-ended'>): View {
  const { outcome, message, durationMs, turns, costUsd, usage } = event;
  const closed = { ...closeText(view), calls: [], interrupting: false };
  const why = outcome === 'ok' ? closed : said(closed, `ralph: ${printable(message)}`, 'yellow');
  // An agent that does not tell of its turns tells of no cost either.
  const told = turns === null ? [] : [turnsText(turns), dollarText(costUsd)];
  const parts = [timeText(durationMs), ...told];
  return {
    ...heading(why, LIVE_TEXTS.border(parts.join(' │ '))),
    costUsd: costUsd === null ? view.costUsd : (view.costUsd ?? 0) + costUsd,
    tokens: view.tokens + (usage === null ? view.runTokens : total(usage)),
    runTokens: 0,
  };
}

function loopEnded(view: View, { status, message, costUsd }: Told<'loop-ended'>): View {
  const cost = costUsd === null ? '' : LIVE_TEXTS.cost(dollarText(costUsd));
  const style = status === 'complete' || status === 'stopped' ? 'green' : 'yellow';
  const told = said(closeText(view), `ralph: ${status}: ${printable(message)}${cost}`, style);
  return { ...told, status: 'ended', calls: [], waiting: null, pending: [] };
}

function labelOf({ tool, about }: { readonly tool: string; readonly about: string }): string {
  return oneLine(`${tool} ${about}`);
}

/** A text as one line: what a person reads of it at a glance. */
function oneLine(text: string): string {
  return printable(text).replace(/\s+/g, ' ').trim();
}

function mark(ok: boolean): Span {
  return ok ? { text: '✓', style: 'green' } : { text: '✗', style: 'red' };
}

function call(view: View, sign: Span, label: string, nested: boolean): View {
  const line: Line = { spans: [{ text: nested ? '    ' : '  ' }, sign, { text: ` ${label}` }], long: 'cut' };
  const before = view.last === 'text' ? [BLANK] : [];
  return { ...view, lines: [...view.lines, ...before, line], last: 'call' };
}

function heading(view: View, text: string): View {
  const closed = closeText(view);
  const before = closed.last === 'blank' ? [] : [BLANK];
  const line: Line = { spans: [{ text, style: 'bold' }], long: 'cut' };
  return { ...closed, lines: [...closed.lines, ...before, line], last: 'other' };
}

/** Said by the loop, not by the agent: it comes between the agent's paragraphs. */
function said(view: View, text: string, style: 'cyan' | 'yellow' | 'green' | 'bold'): View {
  const closed = closeText(view);
  const lines = text.split('\n').map((line): Line => ({ spans: [{ text: flat(line), style }], long: 'wrap' }));
  return { ...closed, lines: [...closed.lines, ...lines], last: 'other' };
}

function flat(line: string): string {
  return line.replaceAll('\t', '    ');
}

function total({ inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens }: UsageDelta): number {
  return inputTokens + outputTokens + cacheReadTokens + cacheWriteTokens;
}
