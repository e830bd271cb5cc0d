import { html, render } from 'htm/preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { costText, counted } from '../../text/figures.ts';
import type { Control, LoopRow, ReportData, RunData } from '../model/report-data.ts';
import { type Access, act, type Link, type Shown, takeAccess, useLoops, useReport } from './connection.ts';
import { ReportView, RunView } from './report-view.ts';
import { Badge, duration, oneLine, paper, spentMs, When } from './text.ts';

/** Command that starts a loop here. */
const START = document.querySelector<HTMLMetaElement>('meta[name=start]')?.content;

type Filter = 'all' | 'running' | 'waiting' | 'yours' | 'complete' | 'over';

const FILTERS: readonly (readonly [Filter, string])[] = [
  ['all', 'All'],
  ['running', 'Running'],
  ['waiting', 'Waiting'],
  ['yours', 'Needs you'],
  ['complete', 'Complete'],
  ['over', 'Incomplete'],
];

function groupOf({ live, status, waitingUntil }: LoopRow): Filter {
  if (!live) return status === 'complete' ? 'complete' : 'over';
  if (status === 'running' || status === 'verifying') return 'running';
  return waitingUntil !== null || status === 'waiting' || status === 'queued' ? 'waiting' : 'yours';
}

/** Returns the key of the loop that the address names; null if it names none. */
function useKey(): string | null {
  const [key, setKey] = useState<string | null>(() => location.hash.slice(1) || null);
  useEffect(() => {
    const follow = (): void => setKey(location.hash.slice(1) || null);
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);
  return key;
}

/** Shows a run, and the selected one of its loops, in one file. */
function RunReport({ data }: { readonly data: RunData }) {
  const key = useKey();
  const chosen = data.loops.find(({ row }) => row.key === key);
  return html`<nav class="bar" aria-label="Report"><a href="#" aria-current=${chosen ? 'false' : 'page'}>All tasks</a></nav>
    <main>${chosen === undefined ? html`<${RunView} data=${data} />` : html`<${ReportView} data=${chosen} />`}</main>`;
}

/** Shows all loops, and the selected one, live. */
function Dashboard() {
  const access = useMemo(takeAccess, []);
  const { rows, total, link, changed } = useLoops(access);
  const key = useKey();
  const data = useReport(access, key, key === null ? 0 : (changed[key] ?? 0));
  useEffect(() => {
    document.title =
      key !== null && data !== null && typeof data !== 'string' ? `${titleOf(data)} · ralph-loop` : 'ralph-loop';
  }, [key, data]);
  // The link that was followed is gone, and the focus with it.
  useEffect(() => (key === null ? undefined : document.getElementById('main')?.focus()), [key]);
  return html`<a class="skip" href="#main" onClick=${skip}>Skip to content</a>
    <nav class="bar" aria-label="Dashboard"><a href="#" aria-current=${key === null ? 'page' : 'false'}>All loops</a><span class=${`link ${link}`} role="status"><span aria-hidden="true">●</span> ${LINKS[link]}</span></nav>
    <main id="main" tabindex="-1">
      ${
        link === 'refused'
          ? html`<p class="empty">This page needs the address that its command printed: its end is the key. Open that address again.</p>`
          : key === null
            ? html`<${Loops} rows=${rows} total=${total} access=${access} />`
            : html`<${Chosen} data=${data} access=${access} />`
      }
    </main>`;
}

function titleOf(data: ReportData | RunData): string {
  return 'keys' in data ? data.run.title : data.row.title;
}

function skip(event: Event): void {
  event.preventDefault();
  document.getElementById('main')?.focus();
}

function useNow(): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, []);
  return now;
}

const LINKS: Readonly<Record<Link, string>> = {
  connecting: 'connecting …',
  open: 'live',
  lost: 'not connected; trying again …',
  refused: 'no access',
};

/** Shows the selected loop; redrawn only for news of this loop. */
function Chosen({ data, access }: { readonly data: Shown; readonly access: Access | null }) {
  return useMemo(() => {
    if (data === null) return html`<p class="empty" role="status">Reading …</p>`;
    if (data === 'missing') return html`<p class="empty">This loop no longer exists. <a href="#">All loops</a></p>`;
    if (data === 'failed')
      return html`<p class="empty">This loop cannot be read now. The page tries again when there is news of it.</p>`;
    if ('keys' in data) return html`<${RunView} data=${data} />`;
    const { waitingUntil } = data.row;
    const controls = html`${waitingUntil !== null && html`<${Countdown} until=${waitingUntil} />`}
      ${access?.act && data.row.controls.length > 0 && html`<${Controls} row=${data.row} access=${access} />`}`;
    return html`<${ReportView} data=${data} controls=${controls} access=${access} />`;
  }, [data, access, paper.isPrinting]);
}

function Countdown({ until }: { readonly until: string }) {
  const now = useNow();
  return html`<p class="countdown" role="timer">${left(until, now)}</p>`;
}

function left(until: string, now: number): string {
  const seconds = Math.ceil((Date.parse(until) - now) / 1_000);
  return seconds > 0 ? `continues in ${duration(seconds * 1_000)}` : 'continues now';
}

interface LoopsProps {
  readonly rows: readonly LoopRow[] | null;
  readonly total: number;
  readonly access: Access | null;
}

function Loops({ rows, total, access }: LoopsProps) {
  const now = useNow();
  const [filter, setFilter] = useState<Filter>('all');
  const [word, setWord] = useState('');
  if (rows === null) return html`<p class="empty" role="status">Reading …</p>`;
  if (rows.length === 0)
    return html`<p class="empty">No loop has run here yet. Start one with <code>${START}</code>; it appears here at once.</p>`;
  const wanted = word.toLowerCase();
  const matches = rows.filter(({ name, title, task, project }) =>
    `${name} ${title} ${task} ${project}`.toLowerCase().includes(wanted),
  );
  const shown = filter === 'all' ? matches : matches.filter((row) => groupOf(row) === filter);
  const known = rows.flatMap(({ costUsd }) => costUsd ?? []);
  const isLess = known.length < rows.length || rows.some(({ isCostPartial }) => isCostPartial);
  const sum = known.reduce((sum, each) => sum + each, 0);
  // "At least $0.00" would say nothing.
  const spent = costText(isLess && sum === 0 ? null : sum, isLess);
  const what = rows.every(({ tasks }) => tasks !== undefined) ? 'run' : 'loop';
  return html`<h1>${total > rows.length ? `${rows.length} of ${counted(total, what)}` : counted(rows.length, what)} <span class="dim">${spent} in total</span></h1>
    <div class="filters">
      <div role="group" aria-label="Which loops">${FILTERS.map(([value, label]) => html`<button aria-pressed=${filter === value} onClick=${() => setFilter(value)}>${label} <span class="dim">${value === 'all' ? matches.length : matches.filter((row) => groupOf(row) === value).length}</span></button>`)}</div>
      <label>Find <input type="search" value=${word} onInput=${(event: Event) => setWord((event.target as HTMLInputElement).value)} /></label>
    </div>
    ${shown.length === 0 ? html`<p class="empty">No loop matches.</p>` : html`<ul class="loops">${shown.map((row) => html`<${Row} key=${row.key} row=${row} now=${now} access=${access} />`)}</ul>`}`;
}

interface RowProps {
  readonly row: LoopRow;
  readonly now: number;
  readonly access?: Access | null;
}

function Row({ row, now, access = null }: RowProps) {
  const { key, name, title, status, tasks, costUsd, isCostPartial, endedAt, waitingUntil, about } = row;
  const [count, most] = tasks ? [tasks.done, tasks.total] : [row.iteration, row.maxIterations];
  const where = [row.project, row.task, name].filter((part, at, all) => part !== title && all.indexOf(part) === at);
  const seconds = Math.floor((spentMs(row, now) ?? 0) / 1_000);
  const time = endedAt === null ? `for ${duration(seconds * 1_000)}` : html`<${When} at=${endedAt} now=${now} />`;
  const isFull = !tasks && count >= most && status !== 'complete';
  return html`<li><a href=${`#${key}`}>
    <span class="name"><b>${oneLine(title)}</b> <${Badge} status=${status} verified=${row.verified} /></span>
    <span class="dim task" title=${oneLine(row.task)}>${oneLine(where.join(' · '))}</span>
    <span class="figures">
      <span class="count">${most === 0 ? '–' : html`${count}/${most}<progress class=${isFull ? 'full' : ''} max=${most} value=${count} aria-label=${tasks ? 'Tasks' : 'Iterations'}></progress>`}</span>
      <span class="number">${costText(costUsd, isCostPartial)}</span>
      <span class="dim time">${waitingUntil === null ? time : left(waitingUntil, now)}</span>
    </span>
    <span class="about dim">${oneLine(about)}</span>
  </a>${access?.act && groupOf(row) === 'yours' && html`<${RowButtons} row=${row} access=${access} />`}</li>`;
}

/** Shows the ways to continue a loop that waits for a person. */
function RowButtons({ row, access }: { readonly row: LoopRow; readonly access: Access }) {
  const [answer, setAnswer] = useState('');
  const ways = row.controls.filter((kind) => kind === 'resume' || kind === 'retry');
  if (ways.length === 0) return null;
  const give = async (kind: Control): Promise<void> => setAnswer(await act(access, row.key, { kind }));
  return html`<p class="row-buttons">${ways.map((kind) => html`<button aria-label=${`${BUTTONS[kind]} ${oneLine(row.title)}`} onClick=${() => void give(kind)}>${BUTTONS[kind]}</button>`)} <span role="status" class="dim">${answer}</span></p>`;
}

const BUTTONS: Readonly<Record<Exclude<Control, 'steer'>, string>> = {
  wake: 'Continue now',
  pause: 'Pause',
  resume: 'Resume',
  retry: 'Retry',
  stop: 'Stop after this iteration',
  cancel: 'Cancel',
};
/** Question before a loop is cancelled. */
const QUESTION = 'Cancel the loop now? The work in progress stays as it is.';

/** Moves the focus to the answer that changes nothing: the button that asked is gone. */
const takeFocus = (button: HTMLButtonElement | null): void => button?.focus();

function Controls({ row, access }: { readonly row: LoopRow; readonly access: Access }) {
  const [said, setSaid] = useState('');
  const [answer, setAnswer] = useState('');
  const [isAsked, setAsked] = useState(false);
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => setAsked(false), [row.key, row.status]);
  useEffect(() => setAnswer(''), [row.key, row.endedAt]);
  const give = async (command: object): Promise<void> => {
    setAnswer('…');
    setAnswer(await act(access, row.key, command));
  };
  const answered = (command: object | null): void => {
    setAsked(false);
    place.current?.focus();
    if (command !== null) void give(command);
  };
  const steer = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (said.trim() === '') return;
    await give({ kind: 'steer', text: said });
    setSaid('');
  };
  const kinds = row.controls.filter((kind) => kind !== 'steer');
  const atWork = row.status === 'running' || row.status === 'verifying';
  return html`<section class="controls" aria-label="Control">
    ${
      row.controls.includes('steer') &&
      html`<form onSubmit=${steer}><label>Tell the agent <input type="text" value=${said} maxlength="8000" placeholder="It is delivered once, at its next step."
      onInput=${(event: Event) => setSaid((event.target as HTMLInputElement).value)} /></label> <button disabled=${said.trim() === ''}>Send</button></form>`
    }
    <div class="buttons" tabindex="-1" ref=${place}>${
      isAsked
        ? html`<span role="alertdialog" aria-label=${QUESTION}>${QUESTION} <button class="cancel" onClick=${() => answered({ kind: 'cancel' })}>Yes, cancel</button> <button ref=${takeFocus} onClick=${() => answered(null)}>No</button></span>`
        : kinds.map(
            (kind) =>
              html`<button class=${kind} onClick=${() => (kind === 'cancel' ? setAsked(true) : give({ kind }))}>${kind === 'stop' && !atWork ? 'Stop now' : BUTTONS[kind]}</button>`,
          )
    }</div>
    <p role="status" class="dim">${answer}</p>
  </section>`;
}

const place = document.getElementById('page');
const data = JSON.parse(document.getElementById('data')?.textContent ?? 'null') as ReportData | RunData | null;
if (place !== null) {
  place.textContent = '';
  const report = (shown: ReportData | RunData) =>
    'keys' in shown ? html`<${RunReport} data=${shown} />` : html`<main><${ReportView} data=${shown} /></main>`;
  const draw = (isPrinting: boolean): void => {
    paper.isPrinting = isPrinting;
    render(data === null ? html`<${Dashboard} />` : report(data), place);
  };
  draw(false);
  addEventListener('beforeprint', () => draw(true));
  addEventListener('afterprint', () => draw(false));
}
