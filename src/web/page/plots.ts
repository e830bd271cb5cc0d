import { html } from 'htm/preact';
import { costText, countText } from '../../text/figures.ts';
import type { Iteration, Limit, ReportData } from '../model/report-data.ts';
import { duration } from './text.ts';

interface Figure {
  readonly name: string;
  readonly value: (iteration: Iteration) => number | null;
  readonly text: (value: number) => string;
  /** Its sum is a figure, too. */
  readonly isTotal?: true;
  /** Limit that ends the loop, drawn as a line. */
  readonly limit?: number;
  /** How much of the limit is used, with what no iteration counts; null if unknown. */
  readonly used?: number | null;
}

/** Number of iterations from which on a plot shows more than the table. */
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
    // Time includes waits; a clock that was set back takes nothing away.
    const time = Date.parse(each.endedAt ?? each.startedAt) - Date.parse(first.startedAt);
    sum = name === 'time' ? Math.max(sum, time) : sum + (own.value(each) ?? 0);
    after.set(each, sum);
  }
  const { text } = own;
  return [{ name: `${own.name} so far`, value: (each) => after.get(each) ?? null, text, limit, used }];
}

/** Draws one plot for each figure that is known for any iteration, and for each limit with a figure. */
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

/** Draws a bar for each iteration, as wide as all of them fit, and the limit. The table of figures has the exact ones. */
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
