import { html } from 'htm/preact';
import { useMemo, useRef } from 'preact/hooks';
import type { Iteration, Wait } from '../model/report-data.ts';
import { OUTCOMES } from './outcomes.ts';
import { clock, duration, oneLine } from './text.ts';

interface Chosen {
  readonly iterations: readonly Iteration[];
  readonly chosen: number;
  readonly choose: (index: number) => void;
}

/** One cell for each iteration; arrow keys, Home and End move among them. */
export function Strip({ iterations, chosen, choose }: Chosen) {
  const list = useRef<HTMLDivElement>(null);
  const move = (event: KeyboardEvent): void => {
    const steps: Readonly<Record<string, number>> = {
      ...{ ArrowRight: chosen + 1, ArrowLeft: chosen - 1, Home: 1, End: iterations.length },
    };
    const target = steps[event.key];
    if (target === undefined) return;
    event.preventDefault();
    const index = Math.min(iterations.length, Math.max(1, target));
    choose(index);
    list.current?.querySelector<HTMLElement>(`[data-index="${index}"]`)?.focus();
  };
  const countOf = (wanted: string): number => iterations.filter(({ outcome }) => outcome === wanted).length;
  const counts = Object.entries(OUTCOMES).filter(([outcome]) => countOf(outcome) > 0);
  return html`<div>
    <div class="strip" role="listbox" aria-label="Iterations" aria-orientation="horizontal" ref=${list} onKeyDown=${move}>
      ${iterations.map((iteration) => html`<${Cell} key=${iteration.index} iteration=${iteration} isChosen=${iteration.index === chosen} choose=${choose} />`)}
    </div>
    <p class="legend">${counts.map(([outcome, { sign, label }]) => html`<span><span class=${`sign ${outcome}`} aria-hidden="true">${sign}</span> ${countOf(outcome)} ${label}</span>`)}</p>
  </div>`;
}

interface CellProps extends Pick<Chosen, 'choose'> {
  readonly iteration: Iteration;
  readonly isChosen: boolean;
}

/** Drawn again only if its iteration is another one: a loop may have thousands. */
function Cell({ iteration, isChosen, choose }: CellProps) {
  return useMemo(() => drawn({ iteration, isChosen, choose }), [iteration, isChosen]);
}

function drawn({ iteration, isChosen, choose }: CellProps) {
  const { index, number, outcome, denied, steering, durationMs } = iteration;
  const { sign, label } = OUTCOMES[outcome];
  const notes = `${denied > 0 ? `, ${denied} denied` : ''}${steering.length > 0 ? ', steered' : ''}`;
  const name = `${outcome === 'idle' ? 'Look' : 'Iteration'} ${number}: ${label}, ${duration(durationMs)}${notes}`;
  return html`<button class=${`cell ${outcome}${denied > 0 ? ' denied' : ''}`} role="option" data-index=${index}
    aria-selected=${isChosen} tabindex=${isChosen ? 0 : -1} aria-label=${name} title=${name} onClick=${() => choose(index)}>${sign}</button>`;
}

interface TimelineProps extends Chosen {
  readonly waits: readonly Wait[];
  readonly until: string;
}

/** The run to scale: iterations above, waits and pauses below. A slider moves through it. */
export function Timeline({ iterations, chosen, choose, waits, until }: TimelineProps) {
  const first = iterations[0];
  if (first === undefined || iterations.length < 2) return null;
  const from = Date.parse(first.startedAt);
  const span = Math.max(1, Date.parse(until) - from);
  const at = (instant: string): number => Math.min(1000, Math.max(0, ((Date.parse(instant) - from) / span) * 1000));
  const current = iterations[chosen - 1] ?? first;
  const stood = waits.reduce(
    (sum, { from: begun, to }) => sum + Math.max(0, Date.parse(to ?? until) - Date.parse(begun)),
    0,
  );
  const bar = ({ startedAt, endedAt, outcome, index }: Iteration) =>
    html`<rect key=${index} class=${`bar ${outcome}${index === chosen ? ' chosen' : ''}`}
      x=${at(startedAt)} width=${Math.max(1, at(endedAt ?? until) - at(startedAt) - 0.5)} y="2" height="18" onClick=${() => choose(index)} />`;
  return html`<div class="timeline">
    <svg viewBox="0 0 1000 34" preserveAspectRatio="none" role="img"
      aria-label=${`${duration(span)} in total, of which ${duration(stood)} waiting or paused`}>
      ${iterations.map(bar)}
      ${waits.map((wait) => html`<rect class="wait" x=${at(wait.from)} width=${Math.max(1, at(wait.to ?? until) - at(wait.from))} y="23" height="9"><title>${oneLine(wait.why)}: ${duration(Date.parse(wait.to ?? until) - Date.parse(wait.from))}</title></rect>`)}
    </svg>
    <input type="range" min="1" max=${iterations.length} value=${chosen} aria-label="Iteration on the time line"
      aria-valuetext=${`${current.number}, from ${clock(current.startedAt)}`}
      onInput=${(event: Event) => choose(Number((event.target as HTMLInputElement).value))} />
    <p class="ends dim"><span>${clock(first.startedAt)}</span><span>${duration(span)}${stood > 0 ? `, of which ${duration(stood)} waiting or paused` : ''}</span><span>${clock(until)}</span></p>
  </div>`;
}
