import { existsSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { loopNames } from '../../drive/status/loop-report.ts';
import { projectOfLoop } from '../../drive/worktree/worktree-place.ts';
import type { Run } from '../../engine/schema/batch.ts';
import { WEB_FILE } from '../../install/files/program-files.ts';
import { bundleDir, safePath } from '../../install/project-files.ts';
import { writeAtomically } from '../../state/files/regular-file.ts';
import { type LoopFiles, loopFiles } from '../../state/loop-files.ts';
import { withPrefix } from '../../state/process/program.ts';
import { REPORTS } from '../../task/task-file.ts';
import { RalphError } from '../../text/message.ts';
import { quoted } from '../../text/quote.ts';
import type { ShownLoop } from '../../web/model/collect-report.ts';
import {
  chosenLoop,
  chosenRun,
  endedLast,
  liveLoopsOn,
  loopOfArchive,
  noLoop,
  noLoopOn,
  onePath,
} from '../choose-loop.ts';
import { type Command, type CommandContext, options } from '../command.ts';
import { openInBrowser } from './open-in-browser.ts';
import { archivedLoop, presentLoop, shownLoop } from './shown-loop.ts';

export const REPORT_COMMAND: Command = {
  name: 'report',
  usage: '[NAME | PATH] [--out FILE] [--open] [--archived FILE]',
  help: 'Writes a report of a loop, or of a run over several tasks with all of its loops, into one HTML file that needs no network: outcome and reason, proof, tasks, each iteration with its tool calls and checks, waits, limits. It works for running and ended ones; --archived takes a name from "ralph-loop archive". Secrets are masked.',
  example: 'ralph-loop report docs --open',
  options: options({
    'o, out FILE': 'Write to this file; default: .ralph/reports/ralph-report[-NAME].html.',
    open: 'Open it in the browser.',
    'archived FILE': 'Use this archived loop, by its file or id.',
  }),
  async run(context) {
    const { values, answer, positionals } = context;
    const run = values['archived'] === undefined ? chosenRun(context, onePath('report', positionals)) : null;
    const shown = run?.run ?? reportedLoop(context);
    const isRun = 'tasks' in shown;
    const out = outOf(context, isRun ? null : shown.files.name);
    const { writeReport } = await import('./write-report.ts').catch(noWeb);
    const path = await writeReport(context, shown, out);
    const of = isRun ? { runs: [shown] } : { loopId: shown.state.loopId };
    answer({ success: true, path, ...of, status: shown.status }, () => `The report is in ${path}.`);
    if (values['open'] === true) openInBrowser(resolve(path), context);
    return 0;
  },
};

/** Returns the file of a report: the one that the user names, else one in a folder that git ignores. */
function outOf({ values, projectDir }: CommandContext, name: string | null): string {
  if (typeof values['out'] === 'string') return values['out'];
  const folder = safePath(projectDir, REPORTS);
  mkdirSync(folder, { recursive: true });
  const ignore = join(folder, '.gitignore');
  if (!existsSync(ignore)) writeAtomically(ignore, '*\n');
  return join(folder, `ralph-report${name === null ? '' : `-${name}`}.html`);
}

/** Returns the named loop, the one on the path, the live one or the last ended one. Throws `no-loop` or `usage`. */
function reportedLoop(context: CommandContext): ShownLoop {
  const { values, env, projectDir } = context;
  const word = onePath('report', context.positionals);
  if (word !== null && values['loop'] !== undefined)
    throw new RalphError('usage', 'report takes a name or path, or --loop, not both.');
  // A loop of that name may be in a worktree, for example one of a parallel run.
  const name = word === null || existsSync(resolve(word)) ? context.files.name : word;
  const project = projectOfLoop(projectDir, name, env);
  const isName = name === word && word !== null && loopNames(project, env).includes(word);
  const files = isName || word === null ? loopFiles(project, name, env) : context.files;
  const path = isName ? null : word;
  const { archived } = values;
  if (typeof archived === 'string') {
    const kept = word === null && name === null ? loopOfArchive(context) : files;
    return archivedLoop(kept, archived) ?? noLoop(`there is no archived loop ${archived}.`);
  }
  if (path !== null && liveLoopsOn(context, path).length === 0) {
    const ended = endedLast(context, path);
    return (ended && shownLoop(ended.files)) ?? noLoopOn(context, path);
  }
  const chosen = files.name === null ? chosenLoop(context, 'report', path) : files;
  const found = presentLoop(chosen);
  if (found !== null) return found;
  const last = path === null && chosen.name === null ? endedLast(context, null) : null;
  return (last && shownLoop(last.files)) ?? noLoop('no loop has run here.');
}

export const DASHBOARD_COMMAND: Command = {
  name: 'dashboard',
  usage: '[--port N] [--open] [--all] [--read-only]',
  help: 'Serves a page on this machine that shows and controls every loop of the project live, until Ctrl+C. Its address ends with a key: anyone who has it can read what your agents did and, without --read-only, steer them. --all shows the loops of all your projects.',
  example: 'ralph-loop dashboard --open',
  options: options({
    'port N': 'Listen on this port; default: any free one.',
    open: 'Open the page in the browser.',
    all: 'Show the loops of all projects of this user.',
    'read-only': 'Show loops without any controls.',
  }),
  control: true,
  async run(context) {
    const { serveUntilSignal } = await import('./serve.ts').catch(noWeb);
    return serveUntilSignal(context);
  },
};

/**
 * Returns a function that writes the report of a loop or run for `--report`; null without that option. Throws RalphError at once if it could
 * not be written. A later failure is shown and does not change the exit code, since the loop has ended.
 */
export async function reportAtEnd(
  context: CommandContext,
): Promise<((ended: LoopFiles | Run) => Promise<void>) | null> {
  const { report: out } = context.values;
  if (typeof out !== 'string') return null;
  const { placeOf, writeReport } = await import('../web/write-report.ts').catch(noWeb);
  placeOf(out, context);
  return async (ended) => {
    try {
      const loop = 'tasks' in ended ? ended : shownLoop(ended);
      if (loop === null) return;
      context.err(withPrefix(`the report is in ${await writeReport(context, loop, out)}.`));
    } catch (error) {
      context.err(withPrefix(`the report could not be written: ${(error as Error).message}`));
    }
  };
}

/** Explains why the page's code is missing: the copy that `init` puts into a project does not contain it. Throws. */
export function noWeb(error: Error): never {
  if (existsSync(join(bundleDir(), 'scripts', WEB_FILE))) throw error;
  const why = "the project's copy leaves out the pages of report and dashboard.";
  const how = `Run this here with the installed program: ralph-loop ${process.argv.slice(2).map(quoted).join(' ')}.`;
  throw new RalphError('usage', `${why} ${how} "npm install -g ." in a clone of ralph-loop installs it.`, error);
}
