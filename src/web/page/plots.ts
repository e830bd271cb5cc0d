import { html } from 'htm/preact';
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { costText, countText, dollarText } from '../../text/figures.ts';
import type { Iteration, Limit, ReportData } from '../model/report-data.ts';
import { duration } from './text.ts';

interface Figure {
  readonly name: string;
  readonly value: (iteration: Iteration) => number | null;
  readonly text: (value: number) => string;
  /** Returns a short text for an axis. */
  readonly tick?: (value: number) => string;
  /** Distances between the lines of its axis, if they must be whole. */
  readonly steps?: number[];
  /** Limit that ends the loop, drawn as a line. */
  readonly limit?: number;
  /** How much of the limit is used, with what no iteration counts; null if unknown. */
  readonly used?: number | null;
}

/** Number of iterations from which on a plot shows more than the table. */
const LEAST = 5;

const WHOLE = [1, 10, 100, 1_000, 10_000].flatMap((unit) => [unit, 2 * unit, 5 * unit]);
const SECONDS = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1_200, 1_800];
const TIMES = [...SECONDS, ...[1, 2, 4, 6, 12, 24, 48, 120, 240].map((hours) => hours * 3_600)].map((s) => s * 1_000);

export const FIGURES: readonly Figure[] = [
  {
    name: 'Cost',
    value: ({ costUsd }) => costUsd,
    text: costText,
    tick: (amount) => (Number.isInteger(amount) ? `$${amount}` : dollarText(amount)),
  },
  { name: 'Time', value: ({ durationMs }) => durationMs, text: duration, steps: TIMES },
  { name: 'Tokens', value: ({ tokens }) => tokens, text: countText },
  {
    name: 'Context used',
    value: ({ context, window }) => (context === null || !window ? null : (100 * context) / window),
    text: (value) => `${Math.round(value)} %`,
  },
  { name: 'Open findings', value: ({ findings }) => findings, text: countText, steps: WHOLE },
  {
    name: 'Circuit breaker',
    value: ({ breaker }) => (breaker === null ? null : (100 * breaker.repeats) / breaker.threshold),
    text: (value) => `${Math.round(value)} %`,
    limit: 100,
  },
  { name: 'Denied calls', value: ({ denied }) => denied, text: countText, steps: WHOLE },
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
  return [{ ...own, name: `${own.name} so far`, value: (each) => after.get(each) ?? null, limit, used }];
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

function Plot({ figure, iterations }: { readonly figure: Figure; readonly iterations: readonly Iteration[] }) {
  const place = useRef<HTMLDivElement>(null);
  const values = iterations.map(figure.value);
  const known = values.filter((value) => value !== null);
  const sum = known.reduce((total, value) => total + value, 0);
  const isTotal = ['Cost', 'Time', 'Tokens', 'Denied calls'].includes(figure.name);
  const { used, limit = 0, text } = figure;
  const most = text(used ?? Math.max(...known));
  const ofAll = used === undefined ? `at most ${most}` : `${most} of ${text(limit)}`;
  const head = isTotal ? `${text(sum)} in total` : ofAll;
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    let plot: uPlot | null = null;
    const draw = (): void => {
      plot?.destroy();
      plot = new uPlot(optionsOf(figure, element.clientWidth), dataOf(figure, iterations, values), element);
    };
    draw();
    const dark = matchMedia('screen and (prefers-color-scheme: dark)');
    const resized = new ResizeObserver(([entry]) => {
      if (plot !== null && entry !== undefined && Math.abs(entry.contentRect.width - plot.width) > 1) draw();
    });
    resized.observe(element);
    dark.addEventListener('change', draw);
    return () => {
      resized.disconnect();
      dark.removeEventListener('change', draw);
      plot?.destroy();
    };
  }, [figure.name, figure.limit, JSON.stringify(values)]);
  return html`<figure>
    <figcaption><b>${figure.name}</b> <span class="dim">${head}</span></figcaption>
    <div class="plot" ref=${place} role="img" aria-label=${`${figure.name} over ${known.length} iterations, ${head}`}></div>
  </figure>`;
}

function dataOf({ limit }: Figure, iterations: readonly Iteration[], values: (number | null)[]): uPlot.AlignedData {
  const places = iterations.map(({ index }) => index);
  return limit === undefined ? [places, values] : [places, values, places.map(() => limit)];
}

function optionsOf({ text, tick = text, name, limit, steps }: Figure, width: number): uPlot.Options {
  const css = getComputedStyle(document.documentElement);
  const colour = (variable: string): string => css.getPropertyValue(variable).trim();
  const axis = {
    stroke: colour('--dim'),
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { show: false },
    font: '11px system-ui, sans-serif',
  };
  return {
    width,
    height: 130,
    legend: { show: false },
    cursor: { y: false, points: { size: 6 } },
    scales: { x: { time: false }, y: { range: (_plot, _low, high) => [0, high > 0 ? high * 1.1 : 1] } },
    axes: [
      {
        ...axis,
        size: 24,
        values: (_plot, ticks) => ticks.map((value) => (Number.isInteger(value) ? String(value) : '')),
      },
      {
        ...axis,
        size: 64,
        values: (_plot, ticks) => ticks.map((value) => tick(value)),
        ...(steps && { incrs: steps }),
      },
    ],
    series: [
      {},
      {
        label: name,
        stroke: colour('--accent'),
        fill: colour('--wash'),
        width: 1.5,
        points: { size: 4 },
        ...(uPlot.paths.stepped && { paths: uPlot.paths.stepped({ align: 1 }) }),
      },
      ...(limit === undefined
        ? []
        : [{ label: 'limit', stroke: colour('--bad'), width: 1, dash: [4, 4], points: { show: false } }]),
    ],
  };
}
