import { html } from 'htm/preact';
import type { Run, RunTask } from '../../engine/schema/run.ts';
import { costText, counted, countText, dollarText } from '../../text/figures.ts';
import type { RunData } from '../model/report-data.ts';
import { Badge, Command, clean, duration, Fold, oneLine, PROOFS, When } from './text.ts';

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
      <h1>${oneLine(title)} <${Badge} status=${status} verified=${true} /></h1>
      ${why !== '' && html`<p class="why">${clean(why)}</p>`}
      <p class="facts">${facts.join(' · ')} <span class="dim">started <${When} at=${startedAt} />, ${endedAt === null ? html`as of <${When} at=${generatedAt} />` : html`ended <${When} at=${endedAt} />`}</span></p>
      ${next !== '' && html`<p class="next"><b>Next:</b> ${steps === undefined ? clean(next) : steps.map(({ verb, command }) => html`<span class="step">${verb}: <${Command} text=${command} /></span>`)}</p>`}
    </header>
    <${RunTasks} run=${run} keys=${keys} />`;
}

/** Shows the tasks of a run in a table. A task whose loop can be opened is a link. */
export function RunTasks({ run, keys }: { readonly run: Run; readonly keys: RunData['keys'] }) {
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
    <td>${status === 'not-started' ? html`<span class="dim">not started</span>` : html`<${Badge} status=${status} verified=${done && proof !== null && proof !== 'none'} />`}</td>
    <td data-label="Needs:">${needs.length === 0 ? '–' : oneLine(needs.join(', '))}</td>
    <td data-label="Proof:" title=${proof === null ? '' : PROOFS[proof]}>${proved.length === 0 ? '–' : proved.join(', ')}</td>
    <td class="number" data-label="Iterations:">${iterations ?? '–'}</td>
    <td class="number" data-label="Cost:">${costUsd === null ? '–' : dollarText(costUsd)}</td>
    <td data-label="Commit:">${where === null ? '–' : html`<code title=${commit ?? ''}>${oneLine(where)}</code>`}</td>
  </tr>`;
}
