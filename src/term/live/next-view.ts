import { reportLines } from '../../engine/end-report.ts';
import { billedTokens } from '../../engine/policy/budget.ts';
import type { RunnerEvent, RunnerEventOf } from '../../engine/runner-event.ts';
import { timeText } from '../../text/figures.ts';
import { oneLine } from '../../text/quote.ts';
import { commandText, deniedText, isSaidLater, printable, runFigures } from '../format.ts';
import { LIVE_TEXTS } from './messages.ts';
import { addText, BLANK, closeText, type Line, type OpenCall, type Span, type View } from './view.ts';

/** Tools of the client that start a subagent. */
const SUBAGENTS: ReadonlySet<string> = new Set(['Agent', 'Task']);

type Next<T extends RunnerEvent['type']> = (view: View, event: RunnerEventOf<T>, at: number) => View;

const NEXT: { readonly [T in RunnerEvent['type']]: Next<T> } = {
  'run.started': loopStarted,
  'iteration.started': (view, { begins, maxIterations, task, spent }, at) => ({
    ...heading(view, LIVE_TEXTS.iteration(begins, maxIterations, task && oneLine(task))),
    iteration: begins,
    maxIterations,
    status: 'running',
    interrupting: false,
    waiting: null,
    paused: null,
    calls: [],
    silentSince: at,
    context: null,
    runTokens: 0,
    ...spent,
  }),
  'command.started': (view, event, since) =>
    begun(closeText(view), { id: commandId(event), label: oneLine(event.name), nested: false, since }),
  'command.ran': (view, event) =>
    call(without(view, commandId(event)), mark(event.outcome === 'ok'), commandText(event), false),
  'agent.text-delta': (view, { text }) => addText(atWork(view), text),
  'agent.text': (view, { text, streamed }) => closeText(streamed === true ? view : addText(atWork(view), text)),
  'tool.started': (view, event, at) => toolStarted(atWork(view), event, at),
  'tool.ended': toolCall,
  'agent.usage': (view, { tokens, context, window }) => ({
    ...view,
    runTokens: tokens,
    context,
    window: window ?? view.window,
  }),
  'agent.checklist': (view, { done, total }) => ({ ...view, checklist: { done, total } }),
  'steering.pending': (view, { texts }) => ({ ...view, pending: texts }),
  'steering.sent': (view, { texts }) =>
    texts.reduce((shown, text) => said(shown, LIVE_TEXTS.youSaid(oneLine(text)), 'cyan'), view),
  'agent.interrupting': (view) => ({ ...view, interrupting: true }),
  'agent.after-iteration': (view, { next }) => ({ ...(next === 'pause' ? atWork(view) : view), next }),
  'loop.paused': (view, { reason }) => {
    // The runner reads the state, so it may report a pause before the event of its request.
    if (reason === 'operator' && view.next === 'pause' && view.status === 'running') return view;
    return { ...closeText(view), status: 'paused', waiting: null, paused: reason, calls: [], silentSince: null };
  },
  'agent.notice': (view, { message, allowed }) => ({
    ...said(view, `ralph-loop: ${message}`, 'yellow'),
    denied: view.denied?.rule === allowed ? null : view.denied,
  }),
  'agent.ended': agentEnded,
  'wait.started': (view, { why, until }) => ({ ...view, waiting: { why, until: Date.parse(until) } }),
  'verification.started': (view, { unclaimed }) => ({
    ...said(view, LIVE_TEXTS.verifying(unclaimed !== true), 'cyan'),
    status: 'verifying',
  }),
  'run.ended': loopEnded,
};

/** Returns the view after another event, at `at` (epoch milliseconds). Pure. */
export function nextView(view: View, told: RunnerEvent, at: number): View {
  // Pieces of the agent's text are made printable where they are joined.
  const event = told.type === 'agent.text-delta' ? told : fitToShow(told);
  return withClock((NEXT[event.type] as Next<RunnerEvent['type']>)(view, event, at), at);
}

/** Stops the clock at a pause and restarts it after it: `max_time` does not count a pause. */
function withClock(view: View, at: number): View {
  const { status, startedAt, pausedAt } = view;
  if (status === 'paused') return pausedAt === null ? { ...view, pausedAt: at } : view;
  if (pausedAt === null || startedAt === null || status === 'ended') return view;
  return { ...view, pausedAt: null, startedAt: startedAt + Math.max(0, at - pausedAt) };
}

function loopStarted(view: View, event: RunnerEventOf<'run.started'>): View {
  const { taskPath, iteration, maxIterations, startedAt, stoppedMs = 0, costUsd, usage } = event;
  const name = oneLine(event.name ?? 'default');
  const told = said(view, LIVE_TEXTS.started(event.name && name, taskPath, maxIterations), 'bold');
  const began = {
    name,
    iteration,
    maxIterations,
    costUsd,
    startedAt: Date.parse(startedAt) + stoppedMs,
    pausedAt: null,
    tokens: billedTokens(usage),
  };
  return { ...told, ...began, status: 'running' };
}

/** Marks the agent as working: it no longer waits. */
function atWork(view: View): View {
  return { ...view, waiting: null, status: 'running', silentSince: null };
}

function toolStarted(view: View, event: RunnerEventOf<'tool.started'>, at: number): View {
  const { id, nested } = event;
  const label = labelOf(event);
  // A subagent's calls are shown below the call that started it.
  const shown = SUBAGENTS.has(event.tool) ? call(view, { text: '▸' }, label, nested) : closeText(view);
  return begun(shown, { id, nested, label, since: at });
}

function begun(view: View, open: OpenCall): View {
  return { ...view, calls: [...without(view, open.id).calls, open] };
}

function without(view: View, id: string): View {
  return { ...view, calls: view.calls.filter((one) => one.id !== id) };
}

function commandId({ name }: { readonly name: string }): string {
  return `command ${name}`;
}

function toolCall(view: View, event: RunnerEventOf<'tool.ended'>): View {
  const done = without(view, event.id);
  const label = `${labelOf(event)} (${timeText(event.durationMs)})`;
  const shown = call(done, mark(event.outcome === 'ok'), label, event.nested);
  if (event.outcome !== 'denied') return shown;
  const denied = event.rule === undefined ? shown.denied : { call: event.id, rule: oneLine(event.rule) };
  return { ...said(shown, deniedText(event), 'yellow'), denied };
}

function agentEnded(view: View, event: RunnerEventOf<'agent.ended'>): View {
  const { outcome, message, costUsd, usage } = event;
  const closed = { ...closeText(view), calls: [], silentSince: null, interrupting: false };
  const why = isSaidLater(outcome) ? closed : said(closed, `ralph-loop: ${message}`, 'yellow');
  return {
    ...heading(why, LIVE_TEXTS.border(runFigures(event))),
    costUsd: costUsd === null ? view.costUsd : (view.costUsd ?? 0) + costUsd,
    isCostPartial: view.isCostPartial || (usage !== null && costUsd === null),
    tokens: view.tokens + (usage === null ? view.runTokens : billedTokens(usage)),
    runTokens: 0,
    // Only its own runner reports the pause that begins now.
    ...(view.next === 'pause' && { status: 'paused', paused: 'operator' }),
  };
}

function loopEnded(view: View, event: RunnerEventOf<'run.ended'>): View {
  const { status, message, text = message, report } = event;
  const style = status === 'complete' || status === 'stopped' ? 'green' : 'yellow';
  const told = said(closeText(view), `ralph-loop: ${report === undefined ? message : text}`, style);
  const lines =
    report === undefined ? [] : reportLines(report).map((text): Line => ({ spans: [{ text }], long: 'hang' }));
  return {
    ...told,
    lines: [...told.lines, ...lines],
    status: 'ended',
    calls: [],
    silentSince: null,
    waiting: null,
    pending: [],
  };
}

function labelOf({ tool, about }: { readonly tool: string; readonly about: string }): string {
  return oneLine(`${tool} ${about}`);
}

/** Removes characters that could control the terminal: an event's text comes from an agent, a file or the user. */
function fitToShow<T>(value: T): T {
  if (typeof value === 'string') return printable(value) as T;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(fitToShow) as T;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fitToShow(item)])) as T;
}

function mark(ok: boolean): Span {
  return ok ? { text: '✓', style: 'green' } : { text: '✗', style: 'red' };
}

function call(view: View, sign: Span, label: string, nested: boolean): View {
  const line: Line = { spans: [{ text: nested ? '    ' : '  ' }, sign, { text: ` ${label}` }], long: 'cut' };
  const closed = closeText(view);
  const before = closed.last === 'text' ? [BLANK] : [];
  return { ...closed, lines: [...closed.lines, ...before, line], last: 'call' };
}

/** Inserts a heading above the lines that are not printed yet. */
export function withHeading(view: View, text: string): View {
  const lines = view.lines;
  const headed = heading({ ...view, lines: [] }, text);
  return { ...headed, lines: [...headed.lines, ...lines] };
}

function heading(view: View, text: string): View {
  const closed = closeText(view);
  const before = closed.last === 'blank' ? [] : [BLANK];
  const line: Line = { spans: [{ text, style: 'bold' }], long: 'cut' };
  return { ...closed, lines: [...closed.lines, ...before, line], last: 'other' };
}

/** Adds a message of the loop, separated from the agent's paragraphs. */
function said(view: View, text: string, style: 'cyan' | 'yellow' | 'green' | 'bold'): View {
  const closed = closeText(view);
  const before = closed.last === 'text' ? [BLANK] : [];
  const lines = text
    .split('\n')
    .map((line): Line => ({ spans: [{ text: line.replaceAll('\t', '    '), style }], long: 'wrap' }));
  return { ...closed, lines: [...closed.lines, ...before, ...lines], last: 'other' };
}
