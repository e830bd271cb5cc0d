import { html } from 'htm/preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Run, RunTask } from '../../engine/schema/batch.ts';
import { costText, counted, countText, dollarText } from '../../text/figures.ts';
import { verifiedBy } from '../../text/status-words.ts';
import type { CheckSummary, Iteration, Limit, ReportData, RunData, Work } from '../model/report-data.ts';
import { type Access, useWork } from './connection.ts';
import { CommitDiff, Diff, FIGURES, IterationPanel, Mark, Plots } from './iteration.ts';
import {
  Badge,
  Command,
  clean,
  clock,
  duration,
  Fold,
  Markdown,
  moment,
  OUTCOMES,
  oneLine,
  PROOFS,
  spentMs,
  When,
} from './text.ts';

/** The tasks of a single loop have no links. */
const NO_KEYS = {};

function withCommits(iteration: Iteration, { commits }: Work): Iteration {
  return { ...iteration, commits: new Map(commits).get(iteration.index) ?? [] };
}

interface ReportProps {
  readonly data: ReportData;
  readonly controls?: unknown;
  /** Access for a served loop: the changes of its iterations are read on demand. */
  readonly access?: Access | null;
}

/** Shows a loop from its outcome to its surroundings. The newest iteration stays selected until the user selects another. */
export function ReportView({ data, controls = null, access = null }: ReportProps) {
  const { iterations, row } = data;
  const [picked, setPicked] = useState<number | null>(null);
  useEffect(() => setPicked(null), [row.key, row.loopId]);
  const chosen = Math.min(picked ?? iterations.length, iterations.length);
  const iteration = iterations[chosen - 1];
  const work = useWork(access, row, iteration);
  const toolCalls = iterations.reduce((sum, each) => sum + each.toolCalls, 0);
  const whole = useWork(access, row, row.endedAt === null ? undefined : { index: 0, endedAt: row.endedAt, toolCalls });
  const all = whole === null || whole === 'failed' ? iterations : iterations.map((each) => withCommits(each, whole));
  const { uncommitted } = [whole, work].find((each) => each !== null && each !== 'failed') ?? data;
  return html`<${Head} data=${{ ...data, iterations: all }} />
    ${controls}
    ${data.run !== null && html`<${RunTasks} run=${data.run} keys=${NO_KEYS} />`}
    <${Questions} questions=${data.questions} />
    <${Changes} iterations=${all} uncommitted=${uncommitted} row=${row} />
    <${FailedTests} checks=${data.checks} />
    <${Proof} checks=${data.checks} row=${row} />
    ${
      iteration !== undefined &&
      html`<section aria-labelledby="iterations">
      <h2 id="iterations">Iterations</h2>
      <${Strip} iterations=${iterations} chosen=${chosen} choose=${setPicked} />
      <${Timeline} iterations=${iterations} chosen=${chosen} choose=${setPicked} waits=${data.waits} until=${row.endedAt ?? data.generatedAt} />
      <${IterationPanel} iteration=${iteration} loop=${row.name} commits=${work === null ? iteration.commits : work === 'failed' ? null : withCommits(iteration, work).commits} />
    </section>`
    }
    <${Plots} data=${data} />
    <${Limits} limits=${data.limits} />
    <${Decisions} data=${data} />
    <${Figures} data=${data} />
    <${Surroundings} data=${data} />`;
}

function Head({
  data: { row, task, why, next, steps, notices, iterations, generatedAt },
}: {
  readonly data: ReportData;
}) {
  const total = iterations.reduce((sum, { denied }) => sum + denied, 0);
  const commits = iterations.reduce((sum, each) => sum + each.commits.length, 0);
  const took = spentMs(row, Date.parse(row.endedAt ?? generatedAt));
  const facts = [
    row.maxIterations === 0 ? '' : `${row.iteration} of ${counted(row.maxIterations, 'iteration')}`,
    took === null ? '' : duration(took),
    costText(row.costUsd, row.isCostPartial),
    commits > 0 ? counted(commits, 'commit') : '',
    total > 0 ? `${counted(total, 'call')} denied` : '',
    `${row.mode} mode`,
  ].filter((fact) => fact !== '');
  return html`<header class="head">
    <p class="dim crumbs">${oneLine(row.project)} · ${oneLine(row.task)} · ${oneLine(row.name)}</p>
    <h1>${oneLine(row.title)} <${Badge} status=${row.status} verified=${row.verified} /></h1>
    ${task !== null && task !== '' && html`<div class="task-text" tabindex="0" role="region" aria-label="Task"><${Markdown} text=${task} /></div>`}
    <p class="why">${clean(why)}</p>
    <p class="facts">${facts.join(' · ')} <span class="dim">started <${When} at=${row.startedAt} />, ${row.endedAt === null ? html`as of <${When} at=${generatedAt} />` : html`ended <${When} at=${row.endedAt} />`}</span></p>
    ${(next !== '' || steps.length > 0) && html`<p class="next"><b>Next:</b> ${clean(next)}${steps.map(({ verb, command }) => html`<span class="step">${verb}: <${Command} text=${command} /></span>`)}</p>`}
    ${notices.length > 0 && html`<ul class="notices">${notices.map(({ at, text }) => html`<li><span class="dim"><${When} at=${at} /></span> ${clean(text)}</li>`)}</ul>`}
  </header>`;
}

function Questions({ questions }: Pick<ReportData, 'questions'>) {
  if (questions.length === 0) return null;
  return html`<section aria-labelledby="questions">
    <h2 id="questions">Open questions</h2>
    <p>The agent asks for decisions in OPEN_QUESTIONS.md. Answer with a message to it.</p>
    <ul>${questions.map((question) => html`<li>${oneLine(question)}</li>`)}</ul>
  </section>`;
}

function FailedTests({ checks }: Pick<ReportData, 'checks'>) {
  const failing = checks.filter(({ last, failedTests }) => last !== 'ok' && failedTests.length > 0);
  if (failing.length === 0) return null;
  return html`<section aria-labelledby="failed">
    <h2 id="failed">Failed tests</h2>
    ${failing.map(({ name, failedTests }) => html`<p><b>${oneLine(name)}</b></p><ul class="failed-tests">${failedTests.map((each) => html`<li>${oneLine(each)}</li>`)}</ul>`)}
  </section>`;
}

function Proof({ checks, row }: { readonly checks: readonly CheckSummary[]; readonly row: ReportData['row'] }) {
  return html`<section aria-labelledby="proof">
    <h2 id="proof">What was proved</h2>
    ${row.proof !== null && checks.length > 0 && html`<p class=${row.proof === 'none' ? 'warn' : ''}>${PROOFS[row.proof]}</p>`}
    ${
      checks.length === 0
        ? html`<p class="warn">${row.status === 'complete' ? "Nothing: the loop had no checks, so the agent's word ended it." : 'The loop has no checks.'}</p>`
        : html`<div class="scroll" tabindex="0" role="region" aria-label="Checks"><table class="proof">
          <thead><tr><th scope="col">Check</th><th scope="col">Before the start</th><th scope="col">Last result</th><th scope="col" class="number">Runs</th><th scope="col" class="number">First failed in iteration</th><th scope="col" class="number">First passed in iteration</th></tr></thead>
          <tbody>${checks.map((check) => html`<${CheckRow} check=${check} />`)}</tbody>
        </table></div>`
    }
  </section>`;
}

function CheckRow({ check }: { readonly check: CheckSummary }) {
  const { name, run, before, last, runs, firstFailed, firstPassed, why } = check;
  const good = last === null ? null : last === 'ok';
  return html`<tr>
    <td><b>${oneLine(name)}</b>${run !== null && run !== name && html`<br /><${Command} text=${run} />`}
      ${good === false && why !== '' && html`<br />${oneLine(why)}`}</td>
    <td data-label="Before the start:">${before === null ? '–' : html`<${Mark} good=${before === 'passed'} label=${before} />`}</td>
    <td data-label="Last result:"><${Mark} good=${good} label=${last === null ? 'never ran' : good ? 'passed' : last} /></td>
    <td class="number" data-label="Runs:">${runs}</td>
    <td class="number" data-label="First failed in iteration:">${firstFailed ?? '–'}</td>
    <td class="number" data-label="First passed in iteration:">${firstPassed ?? '–'}</td>
  </tr>`;
}

/** Lists what the loop changed. While the loop works, a served page knows only the commits of the chosen iteration. */
function Changes({ iterations, uncommitted, row }: Pick<ReportData, 'iterations' | 'uncommitted' | 'row'>) {
  const made = iterations.filter(({ commits }) => commits.length > 0);
  if (made.length === 0 && uncommitted === null) return null;
  return html`<section aria-labelledby="changes">
    <h2 id="changes">What it changed</h2>
    <div class="tall">${made.flatMap(({ number, commits }) => commits.map((commit) => html`<${CommitDiff} commit=${commit} note=${`, iteration ${number}`} />`))}</div>
    ${uncommitted !== null && html`<${Fold} summary=${html`${row.live ? 'Not committed' : 'Not committed at the end'} <span class="dim">${oneLine(uncommitted.stat)}</span>`} draw=${() => html`<${Diff} patch=${uncommitted.patch} />`} />`}
  </section>`;
}

const UNITS: Readonly<Record<Limit['unit'], (value: number) => string>> = {
  count: (value) => String(value),
  usd: costText,
  tokens: countText,
  ms: duration,
};

function Limits({ limits }: { readonly limits: readonly Limit[] }) {
  if (limits.length === 0) return null;
  return html`<section aria-labelledby="limits">
    <h2 id="limits">Limits</h2>
    <div class="limits">${limits.map(({ name, unit, used, limit }) => {
      const text = UNITS[unit];
      const left = used === null ? '' : `, ${text(Math.max(0, limit - used))} left`;
      return html`<div><label><span>${name}</span> <span class="dim">${used === null ? 'unknown' : text(used)} of ${text(limit)}${left}</span>
        <meter min="0" max=${limit} optimum="0" low=${limit * 0.9} high=${limit * 0.999} value=${used ?? 0}></meter></label></div>`;
    })}</div>
  </section>`;
}

function Decisions({ data: { decisions } }: { readonly data: ReportData }) {
  if (decisions.length === 0) return null;
  const draw = () => html`<div class="scroll tall" tabindex="0" role="region" aria-label="Events"><table class="events">
      <thead><tr><th scope="col">At</th><th scope="col">Event</th><th scope="col" class="number">After</th><th scope="col">What it says</th></tr></thead>
      <tbody>${decisions.map(({ at, type, iteration, text }) => html`<tr><td class="dim">${moment(at)}</td><td>${type.replace(/[.-]/g, ' ')}</td><td class="number" data-label="after">${iteration}</td><td>${oneLine(text)}</td></tr>`)}</tbody>
    </table></div>`;
  return html`<section aria-labelledby="decisions">
    <h2 id="decisions">Events</h2>
    <${Fold} summary=${counted(decisions.length, 'event')} draw=${draw} isPrinted=${false} />
  </section>`;
}

function Figures({ data: { iterations } }: { readonly data: ReportData }) {
  if (iterations.length === 0) return null;
  const cell = (known: number | null, text: (value: number) => string) =>
    html`<td class="number">${known === null ? '–' : text(known)}</td>`;
  const draw =
    () => html`<div class="scroll tall" tabindex="0" role="region" aria-label="Figures of the iterations"><table>
      <thead><tr><th scope="col" class="number">Iteration</th><th scope="col">Outcome</th>${FIGURES.map(({ name }) => html`<th scope="col" class="number">${name}</th>`)}<th scope="col" class="number">Tool calls</th></tr></thead>
      <tbody>${iterations.map((iteration) => html`<tr><td class="number">${iteration.number}</td><td>${OUTCOMES[iteration.outcome].label}</td>${FIGURES.map(({ value, text }) => cell(value(iteration), text))}<td class="number">${iteration.toolCalls}</td></tr>`)}</tbody>
    </table></div>`;
  return html`<section aria-labelledby="figures">
    <h2 id="figures">Figures</h2>
    <${Fold} summary=${`${counted(iterations.length, 'iteration')} as a table`} draw=${draw} />
  </section>`;
}

function Surroundings({ data: { environment, generatedAt } }: { readonly data: ReportData }) {
  return html`<section aria-labelledby="surroundings">
    <h2 id="surroundings">Environment</h2>
    <dl>${environment.map(([name, value]) => html`<div><dt>${name}</dt><dd>${oneLine(value)}</dd></div>`)}<div><dt>written</dt><dd>${moment(generatedAt)}</dd></div><div><dt>time zone</dt><dd>${Intl.DateTimeFormat().resolvedOptions().timeZone}</dd></div></dl>
  </section>`;
}

interface Chosen {
  readonly iterations: readonly Iteration[];
  readonly chosen: number;
  readonly choose: (index: number) => void;
}

/** Shows one cell for each iteration; arrow keys, Home and End move among them. */
function Strip({ iterations, chosen, choose }: Chosen) {
  const list = useRef<HTMLDivElement>(null);
  const move = (event: KeyboardEvent): void => {
    const steps: Readonly<Record<string, number>> = {
      ArrowRight: chosen + 1,
      ArrowLeft: chosen - 1,
      Home: 1,
      End: iterations.length,
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

/** Shows an iteration; redrawn only for a different one, because a loop may have thousands. */
function Cell({ iteration, isChosen, choose }: Pick<Chosen, 'choose'> & { iteration: Iteration; isChosen: boolean }) {
  return useMemo(() => {
    const { index, number, outcome, denied, steering, durationMs } = iteration;
    const { sign, label } = OUTCOMES[outcome];
    const notes = `${denied > 0 ? `, ${denied} denied` : ''}${steering.length > 0 ? ', steered' : ''}`;
    const named = outcome === 'idle' ? `Idle after iteration ${number}` : `Iteration ${number}: ${label}`;
    const name = `${named}${durationMs === null ? '' : `, ${duration(durationMs)}`}${notes}`;
    return html`<button class=${`cell ${outcome}${denied > 0 ? ' denied' : ''}`} role="option" data-index=${index}
    aria-selected=${isChosen} tabindex=${isChosen ? 0 : -1} aria-label=${name} title=${name} onClick=${() => choose(index)}>${sign}</button>`;
  }, [iteration, isChosen]);
}

/** Draws the run to scale: iterations above, waits and pauses below. A slider moves through it. */
function Timeline({
  iterations,
  chosen,
  choose,
  waits,
  until,
}: Chosen & Pick<ReportData, 'waits'> & { until: string }) {
  const first = iterations[0];
  const from = Date.parse(first?.startedAt ?? '');
  const span = Date.parse(until) - from;
  // If the clock was set back, there may be nothing to scale.
  if (first === undefined || iterations.length < 2 || !(span > 0)) return null;
  const ends = span < 86_400_000 ? clock : moment;
  const at = (instant: string): number => Math.min(1000, Math.max(0, ((Date.parse(instant) - from) / span) * 1000));
  const current = iterations[chosen - 1] ?? first;
  const stood = waits.reduce(
    (sum, { from: begun, to }) => sum + Math.max(0, Date.parse(to ?? until) - Math.max(from, Date.parse(begun))),
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
    <p class="ends dim"><span>${ends(first.startedAt)}</span><span>${duration(span)}${stood > 0 ? `, of which ${duration(stood)} waiting or paused` : ''}</span><span>${ends(until)}</span></p>
  </div>`;
}

/** Shows a run from its outcome to its tasks. */
export function RunView({ data: { run, keys, project, generatedAt } }: { readonly data: RunData }) {
  const { title, plan, status, iterations, tokens, durationMs, startedAt, endedAt, why, next, steps } = run;
  const facts = [
    `${run.done} of ${counted(run.total, 'task')} done`,
    iterations === null ? '' : counted(iterations, 'iteration'),
    durationMs === null ? '' : duration(durationMs),
    costText(run.costUsd),
    tokens === null ? '' : `${countText(tokens)} tokens`,
    run.atOnce > 1 ? `at most ${run.atOnce} at once` : '',
  ].filter((fact) => fact !== '');
  return html`<header class="head">
      <p class="dim crumbs">${oneLine(project)}${plan !== null && ` · ${oneLine(plan)}`}</p>
      <h1>${oneLine(title)} <${Badge} status=${status} verified=${verifiedBy(run.tasks.map(({ proof }) => proof))} /></h1>
      ${why !== '' && html`<p class="why">${clean(why)}</p>`}
      <p class="facts">${facts.join(' · ')} <span class="dim">started <${When} at=${startedAt} />, ${endedAt === null ? html`as of <${When} at=${generatedAt} />` : html`ended <${When} at=${endedAt} />`}</span></p>
      ${next !== '' && html`<p class="next"><b>Next:</b> ${steps === undefined ? clean(next) : steps.map(({ verb, command }) => html`<span class="step">${verb}: <${Command} text=${command} /></span>`)}</p>`}
    </header>
    <${RunTasks} run=${run} keys=${keys} />`;
}

/** Shows the tasks of a run in a table. A task whose loop can be opened is a link. */
function RunTasks({ run, keys }: { readonly run: Run; readonly keys: RunData['keys'] }) {
  return html`<section aria-labelledby="tasks">
    <h2 id="tasks">Tasks</h2>
    <div class="scroll" tabindex="0" role="region" aria-label="Tasks"><table class="tasks">
      <thead><tr><th scope="col">Task</th><th scope="col">State</th><th scope="col">Needs</th><th scope="col">Proof</th><th scope="col" class="number">Iterations</th><th scope="col" class="number">Cost</th><th scope="col">Commit</th></tr></thead>
      <tbody>${run.tasks.map((task) => html`<${TaskRow} task=${task} loop=${keys[task.id]} />`)}</tbody>
    </table></div>
  </section>`;
}

function TaskRow({ task, loop }: { readonly task: RunTask; readonly loop: string | undefined }) {
  const { id, title, status, done, needs, proof, files, iterations, costUsd, commit, branch, why } = task;
  const name = html`<b>${oneLine(id)}</b>`;
  const [head = '', ...output] = why?.split('\n') ?? [];
  const proved = [
    proof === 'none' ? 'no proof' : (proof?.replaceAll('-', ' ') ?? ''),
    files === null ? '' : `${counted(files, 'file')} changed`,
  ].filter((part) => part !== '');
  const where = commit?.slice(0, 10) ?? branch;
  return html`<tr>
    <td>${loop === undefined ? name : html`<a href=${`#${loop}`}>${name}</a>`} ${title !== id && oneLine(title)}
      ${head !== '' && html`<br /><span class="dim">${clean(head)}</span>`}
      ${output.length > 0 && html`<${Fold} summary="Output" draw=${() => html`<pre>${clean(output.join('\n'))}</pre>`} />`}</td>
    <td>${status === 'not-started' ? html`<span class="dim">not started</span>` : html`<${Badge} status=${status} verified=${done && verifiedBy([proof])} />`}</td>
    <td data-label="Needs:">${needs.length === 0 ? '–' : oneLine(needs.join(', '))}</td>
    <td data-label="Proof:" title=${proof === null ? '' : PROOFS[proof]}>${proved.length === 0 ? '–' : proved.join(', ')}</td>
    <td class="number" data-label="Iterations:">${iterations ?? '–'}</td>
    <td class="number" data-label="Cost:">${costUsd === null ? '–' : dollarText(costUsd)}</td>
    <td data-label="Commit:">${where === null ? '–' : html`<code title=${commit ?? ''}>${oneLine(where)}</code>`}</td>
  </tr>`;
}
