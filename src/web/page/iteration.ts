import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { costText, counted, countText } from '../../text/figures.ts';
import { followingWords } from '../../text/status-words.ts';
import type { Call, Check, Commit, Iteration, Limit, ReportData } from '../model/report-data.ts';
import { clean, clock, duration, Fold, moment, OUTCOMES, oneLine } from './text.ts';

const SHOWN_CALLS = 100;

interface PanelProps {
  readonly iteration: Iteration;
  readonly loop: string;
  /** Null if they cannot be read. */
  readonly commits: readonly Commit[] | null;
}

/** Shows the events of one iteration and its outcome. */
export function IterationPanel({ iteration, loop, commits }: PanelProps) {
  const { index, number, outcome, startedAt, said, error, reasons, steering, calls, checks, commands, brief } =
    iteration;
  const { label } = OUTCOMES[outcome];
  const now = outcome === 'open' ? calls.at(-1) : undefined;
  const title = outcome === 'idle' ? `Idle after iteration ${number}` : `Iteration ${number}: ${label}`;
  return html`<article class="panel" aria-labelledby="chosen">
    <h3 id="chosen"><span class=${`sign ${outcome}`} aria-hidden="true">${OUTCOMES[outcome].sign}</span> ${title}</h3>
    <p class="facts">${factsOf(iteration).join(' · ')} <span class="dim">from ${moment(startedAt)}</span></p>
    ${now?.outcome === 'running' && html`<p class="now"><b>Now:</b> ${oneLine(now.tool)} <code>${oneLine(now.about)}</code> <span class="dim">since ${clock(now.at)}</span></p>`}
    ${error !== null && error !== '' && html`<p class="bad">${clean(error)}</p>`}
    ${reasons.length > 0 && html`<h4>Why the claim was rejected</h4><ul>${reasons.map((reason) => html`<li class="reason">${clean(reason)}</li>`)}</ul>`}
    ${steering.length > 0 && html`<h4>Your messages</h4>${steering.map((each) => html`<blockquote>${clean(each)}</blockquote>`)}`}
    ${
      brief === true
        ? html`<p class="dim">What the agent said and called is here for the last iterations only. Of all: <code>ralph-loop logs${loop === 'default' ? '' : ` --loop ${loop}`} --activity</code></p>`
        : html`<h4>The agent's last message</h4>
    ${said === '' ? html`<p class="dim">Nothing is recorded.</p>` : html`<pre class="said" tabindex="0">${clean(said)}</pre>`}`
    }
    ${checks.length > 0 && html`<h4>Checks</h4>${checks.map((check) => html`<${CheckResult} check=${check} />`)}`}
    ${commands.length > 0 && html`<p class="dim">Commands before the prompt: ${commands.map(({ name, outcome: end, durationMs }) => `${oneLine(name)} ${end} (${duration(durationMs)})`).join(', ')}</p>`}
    ${commits === null && html`<h4>Commits</h4><p class="bad">The commits of this iteration cannot be read.</p>`}
    ${commits !== null && commits.length > 0 && html`<h4>Commits</h4>${commits.map((commit) => html`<${CommitDiff} commit=${commit} />`)}`}
    ${
      brief !== true &&
      html`<h4>Tool calls</h4>
    <${Calls} iteration=${iteration} key=${index} />`
    }
  </article>`;
}

function factsOf({ durationMs, costUsd, tokens, findings, breaker, model, ...rest }: Iteration): string[] {
  const isNear = breaker !== null && breaker.repeats > 0;
  return [
    durationMs !== null && duration(durationMs),
    costUsd !== null && costText(costUsd),
    tokens !== null && `${countText(tokens)} tokens`,
    counted(rest.toolCalls, 'tool call'),
    rest.denied > 0 && `${rest.denied} denied`,
    findings !== null && `${counted(findings, 'finding')} open`,
    // The key in words: `no progress` for `noProgress`.
    isNear &&
      `circuit breaker: ${oneLine(breaker.signal).replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)} ${breaker.repeats} of ${breaker.threshold}`,
    model !== null && oneLine(model),
    rest.decision !== '' && `then ${oneLine(followingWords(rest.decision))}`,
  ].filter((fact) => fact !== false);
}

function CheckResult({ check: { name, run, outcome, tail } }: { readonly check: Check }) {
  return html`<details class="check">
    <summary><${Mark} good=${outcome === 'ok'} label=${outcome === 'ok' ? 'passed' : outcome} /> <b>${oneLine(name)}</b>
      ${run !== null && run !== name && html` <code>${oneLine(run)}</code>`}</summary>
    <pre tabindex="0">${clean(tail)}</pre>
  </details>`;
}

/** Shows a result by words and colour. */
export function Mark({ good, label }: { readonly good: boolean | null; readonly label: string }) {
  const tone = good === null ? 'dim' : good ? 'good' : 'bad';
  return html`<span class=${`mark ${tone}`}>${good === null ? '○' : good ? '✓' : '×'} ${label}</span>`;
}

/** Shows a commit, whose diff opens at a click. With a `note`, it is one of a list, which stays short on paper. */
export function CommitDiff({ commit: { id, subject, stat, patch }, note = '' }: { commit: Commit; note?: string }) {
  const summary = html`<code>${id.slice(0, 10)}</code> ${oneLine(subject)} <span class="dim">${oneLine(stat)}${note}</span>`;
  return html`<${Fold} summary=${summary} draw=${() => html`<${Diff} patch=${patch} />`} isPrinted=${note === ''} />`;
}

/** Shows a diff, whose lines are distinguished by sign and colour. */
export function Diff({ patch }: { readonly patch: string }) {
  return html`<pre class="diff" tabindex="0">${clean(patch)
    .split('\n')
    .map((line) => html`<span class=${lineTone(line)}>${line}${'\n'}</span>`)}</pre>`;
}

function lineTone(line: string): string {
  if (/^(?:\+\+\+|---|diff|index|@@)/.test(line)) return 'dim';
  return line.startsWith('+') ? 'good' : line.startsWith('-') ? 'bad' : '';
}

/** First calls of an iteration, or the newest ones of the current iteration, newest first. */
function Calls({ iteration: { calls, toolCalls: count, outcome } }: Pick<PanelProps, 'iteration'>) {
  const [shown, setShown] = useState(SHOWN_CALLS);
  const isOpen = outcome === 'open';
  if (count === 0) return html`<p class="dim">None.</p>`;
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Tool calls">
    <table class="calls">
      <thead><tr><th scope="col">At</th><th scope="col">Tool</th><th scope="col">About</th><th scope="col" class="number">Time</th><th scope="col">Result</th></tr></thead>
      <tbody>${(isOpen ? calls.slice(-shown).reverse() : calls.slice(0, shown)).map((call) => html`<${CallRow} call=${isOpen || call.outcome !== 'running' ? call : { ...call, outcome: 'no result' }} />`)}</tbody>
    </table>
    ${calls.length > shown && html`<button onClick=${() => setShown(shown + 500)}>Show ${Math.min(500, calls.length - shown)} ${isOpen ? 'earlier' : 'more'}</button>`}
    ${count > calls.length && html`<p class="dim">${counted(count - calls.length, 'more call')} counted, not recorded one by one.</p>`}
  </div>`;
}

type ShownCall = Omit<Call, 'outcome'> & { readonly outcome: string };

function CallRow({ call: { at, tool, about, outcome, durationMs, reason, nested } }: { readonly call: ShownCall }) {
  const good = outcome === 'running' || outcome === 'no result' ? null : outcome === 'ok';
  return html`<tr>
    <td class="dim">${clock(at)}</td>
    <td>${nested === true && html`<span class="dim" title="by a subagent">↳ </span>`}${oneLine(tool)}</td>
    <td><code>${oneLine(about)}</code>${reason !== undefined && html`<div class="bad">${oneLine(reason)}</div>`}</td>
    <td class="number">${durationMs === null ? '' : duration(durationMs)}</td>
    <td><${Mark} good=${good} label=${outcome} /></td>
  </tr>`;
}

interface Figure {
  readonly name: string;
  readonly value: (iteration: Iteration) => number | null;
  readonly text: (value: number) => string;
  /** True if its sum is a figure, too. */
  readonly isTotal?: true;
  /** Limit that ends the loop, drawn as a line. */
  readonly limit?: number;
  /** Share of the limit that is used, including usage outside iterations; null if unknown. */
  readonly used?: number | null;
}

/** Number of iterations from which a plot shows more than the table. */
const LEAST = 5;

export const FIGURES: readonly Figure[] = [
  { name: 'Cost', value: ({ costUsd }) => costUsd, text: costText, isTotal: true },
  { name: 'Time', value: ({ durationMs }) => durationMs, text: duration, isTotal: true },
  { name: 'Tokens', value: ({ tokens }) => tokens, text: countText, isTotal: true },
  {
    name: 'Context used',
    value: ({ context, window }) => (context === null || !window ? null : (100 * context) / window),
    text: (value) => `${Math.round(value)} %`,
  },
  { name: 'Open findings', value: ({ findings }) => findings, text: countText },
  {
    name: 'Circuit breaker',
    value: ({ breaker }) => (breaker === null ? null : (100 * breaker.repeats) / breaker.threshold),
    text: (value) => `${Math.round(value)} %`,
    limit: 100,
  },
  { name: 'Denied calls', value: ({ denied }) => denied, text: countText, isTotal: true },
];

/** Returns the usage of a limit after each iteration; empty for a limit without a figure. */
function usedOf({ name, limit, used }: Limit, iterations: readonly Iteration[]): Figure[] {
  const [first] = iterations;
  const own = FIGURES.find((figure) => figure.name.toLowerCase() === name);
  if (first === undefined || own === undefined || iterations.every((each) => own.value(each) === null)) return [];
  const after = new Map<Iteration, number>();
  let sum = 0;
  for (const each of iterations) {
    // Time includes waits; a clock that was set back subtracts nothing.
    const time = Date.parse(each.endedAt ?? each.startedAt) - Date.parse(first.startedAt);
    sum = name === 'time' ? Math.max(sum, time) : sum + (own.value(each) ?? 0);
    after.set(each, sum);
  }
  const { text } = own;
  return [{ name: `${own.name} so far`, value: (each) => after.get(each) ?? null, text, limit, used }];
}

/** Draws one plot for each figure known for any iteration, and for each limit with a figure. */
export function Plots({ data: { iterations, limits, row } }: { readonly data: ReportData }) {
  const done = iterations.filter(({ outcome }) => outcome !== 'open');
  const figures = [...FIGURES, ...limits.flatMap((limit) => usedOf(limit, done))];
  const known = figures.filter(({ value, name }) =>
    done.some((iteration) => value(iteration) !== null && (name !== 'Denied calls' || iteration.denied > 0)),
  );
  if (done.length < LEAST || known.length === 0) return null;
  return html`<section aria-labelledby="plots">
    <h2 id="plots">Plots</h2>
    ${row.mode === 'hook' && html`<p class="dim">In a session, Claude Code reports tokens and cost late: those of an iteration's last answer can count for the next one.</p>`}
    <div class="plots">${known.map((figure) => html`<${Plot} key=${figure.name} figure=${figure} iterations=${done} />`)}</div>
  </section>`;
}

/** Draws a bar for each iteration, as wide as fits, and the limit. The table has the exact figures. */
function Plot({ figure, iterations }: { readonly figure: Figure; readonly iterations: readonly Iteration[] }) {
  const { name, value, text, isTotal, limit, used } = figure;
  const values = iterations.map(value);
  const known = values.filter((each) => each !== null);
  const highest = Math.max(...known);
  const sum = known.reduce((total, each) => total + each, 0);
  const most = text(used ?? highest);
  const ofAll = used === undefined ? `at most ${most}` : `${most} of ${text(limit ?? 0)}`;
  const head = isTotal ? `${text(sum)} in total, ${ofAll} in one` : ofAll;
  const top = Math.max(highest, limit ?? 0) * 1.1 || 1;
  const y = (each: number): number => 100 - (100 * each) / top;
  const bars = values.map((each, at) => (each === null ? '' : `M${at} 100V${y(each).toFixed(2)}h1V100`));
  const ends = [iterations[0], iterations.at(-1)].map((each) => html`<span>${each?.index}</span>`);
  return html`<figure>
    <figcaption><b>${name}</b> <span class="dim">${head}</span></figcaption>
    <svg class="plot" viewBox=${`0 0 ${values.length} 100`} preserveAspectRatio="none" role="img" aria-label=${`${name} over ${known.length} iterations, ${head}`}>
      <path d=${bars.join('')} />
      ${limit !== undefined && html`<path class="limit" d=${`M0 ${y(limit)}h${values.length}`} />`}
    </svg>
    <p class="ends dim" aria-hidden="true">${ends}</p>
  </figure>`;
}
