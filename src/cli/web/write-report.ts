import { existsSync, lstatSync, readSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { memberFiles } from '../../drive/parallel/batch.ts';
import type { Run, RunTask } from '../../engine/schema/batch.ts';
import { removeDrafts, withDescriptor, writeAtomically } from '../../state/files/regular-file.ts';
import { RalphError } from '../../text/message.ts';
import type { ShownLoop } from '../../web/model/collect-report.ts';
import { readHistory, reportData, runDataOf, workOf } from '../../web/model/collect-report.ts';
import type { ReportData, RunData } from '../../web/model/report-data.ts';
import { REPORT_MARK, reportPage } from '../../web/report/page.ts';
import type { CommandContext } from '../command.ts';
import { isAgent, placeForAgent } from '../refuse-agent.ts';
import { loopById, shownLoop } from './shown-loop.ts';

/** Size of the part of a page that contains its mark. */
const HEAD_BYTES = 4096;

type Place = Pick<CommandContext, 'env' | 'now' | 'projectDir'>;

/** Writes the report of a loop, or of a run with its loops, into one HTML file. Returns its path, relative to the current directory. */
export async function writeReport(context: Place, shown: ShownLoop | Run, out: string): Promise<string> {
  const path = placeOf(out, context);
  const data = 'tasks' in shown ? await dataOfRun(context, shown) : await dataOf(context, shown);
  removeDrafts(path);
  writeAtomically(path, reportPage(data));
  return relative(process.cwd(), path) || path;
}

async function dataOfRun(context: Place, run: Run): Promise<RunData> {
  const { projectDir, env, now } = context;
  const members = run.tasks.flatMap((task) => {
    const files = memberFiles(projectDir, task, env);
    return files === null ? [] : [{ task, files }];
  });
  const loops: ReportData[] = [];
  for (const { task, files } of members) {
    const id = task.loop?.loopId ?? null;
    const loop = id === null ? shownLoop(files) : loopById(files, id);
    if (loop !== null) loops.push(await dataOf(context, loop, task));
  }
  const keys = members.map(({ task, files }) => [task.id, files] as const);
  return { ...runDataOf(projectDir, run, now(), keys), loops };
}

async function dataOf(place: Place, loop: ShownLoop, task?: RunTask): Promise<ReportData> {
  const { files, state } = loop;
  const { history } = readHistory(files, state.loopId);
  const { iterations } = history;
  const { commits, uncommitted } = await workOf(loop, iterations, { range: [1, iterations.length], task }, place);
  const made = new Map(commits);
  for (const iteration of iterations) iteration.commits = made.get(iteration.index) ?? [];
  return { ...reportData(loop, history, place.now()), uncommitted };
}

function beginningOf(path: string): string {
  return withDescriptor(path, 'r', 0, (descriptor) => {
    const bytes = Buffer.alloc(HEAD_BYTES);
    return bytes.toString('utf8', 0, readSync(descriptor, bytes));
  });
}

/** Returns the path for a report: it may only overwrite another report, and an agent's must be in the project. */
export function placeOf(out: string, { projectDir, env }: Place): string {
  if (out === '') throw new RalphError('usage', '--out is empty: name an HTML file.');
  const path = resolve(out);
  if (!existsSync(dirname(path)))
    throw new RalphError('refused', `${out} is in a folder that does not exist. Choose another file.`);
  const there = lstatSync(path, { throwIfNoEntry: false });
  const isReport = there?.isFile() === true && beginningOf(path).includes(REPORT_MARK);
  if (there !== undefined && !isReport)
    throw new RalphError('refused', `${out} exists and is not a report. Choose another file.`);
  if (!isAgent(env)) return path;
  const { real, taken } = placeForAgent(projectDir, path);
  if (real !== null && taken === undefined && !existsSync(real)) return real;
  const message = `An agent can write a report only to a new file of the project, which ${out} is not. Choose another: --out FILE.`;
  throw new RalphError('refused', message);
}
