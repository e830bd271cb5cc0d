import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { archivedBatches, holdsLoop, runOfBatch, type Where } from '../../drive/parallel/batch.ts';
import { loopNames } from '../../drive/status/loop-report.ts';
import { keptFiles } from '../../drive/worktree/remove-worktree.ts';
import { worktreeLoop, worktreePlaces } from '../../drive/worktree/worktree-place.ts';
import type { Run } from '../../engine/schema/batch.ts';
import { removeIfThere } from '../../state/files/regular-file.ts';
import { findEndedContract, type LoopFiles, loopFiles, type ReadState, readState } from '../../state/loop-files.ts';
import { show } from '../../state/process/program.ts';
import { listArchive } from '../../state/with-state.ts';
import { hasRecorded, recordedRefs, removeRecorded } from '../../task/git/start-point.ts';
import { repositoryRoot } from '../../task/project-file.ts';
import { printable } from '../../term/format.ts';
import { counted } from '../../text/figures.ts';
import { advise, RalphError } from '../../text/message.ts';
import { listed } from '../../text/quote.ts';
import { parseDuration } from '../../text/time.ts';
import { agrees } from '../ask.ts';
import type { CommandContext } from '../command.ts';
import { doneText } from '../show/run-text.ts';

const DAY_MS = 86_400_000;

/** Removes old archived states and runs, after a question that lists them; without a terminal, only with --yes. */
export async function pruneArchive(context: CommandContext, age: string): Promise<number> {
  const { files, projectDir, env, values, mayAsk, now, answer, err } = context;
  const days = /^(\d{1,5})d$/.exec(age)?.[1];
  const limit = days === undefined ? parseDuration(age) : Number(days) * DAY_MS;
  if (limit === null || context.positionals.length > 0)
    throw new RalphError('usage', `--prune takes an age such as 30d or 12h and no path, but is "${age}".`);
  const before = Date.parse(now()) - limit;
  const where = { projectDir, env, at: now() };
  const isOld = ({ path }: { readonly path: string }): boolean => statSync(path).mtimeMs < before;
  const archived = listArchive(files);
  const states = archived.filter(isOld);
  const runs = files.name === null ? runsBefore(where, before) : [];
  const found = foundText(states.length, runs);
  if (found !== '' && values['yes'] !== true) {
    if (!mayAsk) throw new RalphError('refused', `Removing ${found} needs a terminal, or --yes.`);
    const lines = runs.map(({ file, run }) => printable(`  ${file}  ${run.title}, ${doneText(run)}`));
    err([...lines, ...states.map(({ file }) => `  ${file}`)].join('\n'));
    if (!(await agrees(`Remove ${found}?`))) return 1;
  }
  const stay = [readState(files.state), ...archived.filter((one) => !isOld(one)).map(({ content }) => content)];
  const staying = new Set(idsIn(stay));
  const ended = idsIn(states.map(({ content }) => content)).map((loopId) => ({ loopId, files }));
  const gone = [...runs.flatMap(({ loops }) => loops), ...ended].filter(({ loopId }) => !staying.has(loopId));
  // First: a loop without its state cannot be undone, and git's records of the project's files would stay for good.
  for (const text of await removeRecords(where, gone)) err(`ralph-loop: ${text}`);
  for (const run of runs) pruneRun(where, run);
  for (const { path } of states) removeIfThere(path);
  const removed = [...runs, ...states].map(({ file }) => file);
  const kept = runs.flatMap(({ worktrees }) => worktrees);
  answer({ success: true, removed, kept }, () => {
    if (found === '') return noneText(context, age);
    const [of, on] = kept.length === 1 ? ['The worktree', 'its branch'] : ['The worktrees', 'their branches'];
    const stays = `${of} ${kept.join(', ')} and the work on ${on} stay.`;
    return [`Removed ${found}.`, ...(kept.length === 0 ? [] : [stays])].join(' ');
  });
  return 0;
}

function idsIn(states: readonly ReadState[]): string[] {
  return states.flatMap((content) => (content.kind === 'loop' ? [content.state.loopId] : []));
}

const MOST_NAMED = 3;

interface EndedLoop {
  readonly loopId: string;
  /** Files under which it ran. */
  readonly files: LoopFiles;
}

/** Removes what git recorded for the undo of these loops. Returns sentences about what could not be removed. */
async function removeRecords({ projectDir, env }: Where, loops: readonly EndedLoop[]): Promise<string[]> {
  if (repositoryRoot(projectDir) === null) return [];
  // Any other word could be a pattern, and match the records of other loops.
  const named = loops.filter(({ loopId }) => /^[\w-]+$/.test(loopId));
  const idsOf = (some: readonly EndedLoop[]): string[] => [...new Set(some.map(({ loopId }) => loopId))];
  const own = idsOf(named.filter(({ loopId, files }) => hasRecorded(files, loopId)));
  const place = { projectDir, env, sandbox: undefined };
  const others = idsOf(named).filter((id) => !own.includes(id));
  await removeRecorded(place, own);
  if ((await recordedRefs(place, others)).length === 0) return [];
  const text = `What git recorded for an undo of ${listed(others, MOST_NAMED)} stays, because no record says that it belongs to this project.`;
  return [`${text} To see it: git for-each-ref refs/ralph-loop`];
}

/** Says that nothing is that old, and whose archive was examined: `archive` lists the last loop if there is no default one. */
function noneText({ projectDir, env, files: { name } }: CommandContext, age: string): string {
  const whose = name === null ? 'of the default loop, and no run,' : `of loop ${name}`;
  const text = `No archived state ${whose} is older than ${age}.`;
  if (!loopNames(projectDir, env).some((other) => other !== name)) return text;
  return show(advise(`${text} --loop NAME removes those of another.`, 'List the loops', 'list'));
}

function foundText(states: number, runs: readonly OldRun[]): string {
  const loops = runs.reduce((sum, { folders }) => sum + folders.length, 0);
  const parts = [
    runs.length === 0 ? '' : `${counted(runs.length, 'run')} with ${counted(loops, 'loop')}`,
    states === 0 ? '' : counted(states, 'archived state'),
  ];
  return parts.filter((part) => part !== '').join(' and ');
}

interface OldRun {
  readonly file: string;
  readonly run: Run;
  /** Folders with state and journals of its loops. */
  readonly folders: readonly string[];
  /** Its loops whose worktrees are gone, even if they were removed by hand and left no folder. */
  readonly loops: readonly EndedLoop[];
  /** Its existing worktrees, with their branches and loops. */
  readonly worktrees: readonly string[];
}

/** Returns the archived runs that ended before an instant (epoch milliseconds), oldest first; skips unreadable ones. */
function runsBefore({ projectDir, env, at }: Where, before: number): OldRun[] {
  const there = new Set(worktreePlaces(projectDir).map(({ name }) => name));
  return archivedBatches(projectDir, env).flatMap(({ file, batch }): OldRun[] => {
    if (batch === null || Date.parse(batch.ended?.at ?? '') >= before) return [];
    const run = runOfBatch(batch, { projectDir, env, at });
    const gone = run.tasks.flatMap(({ loop }) => {
      // A folder of the same name may belong to a newer loop.
      if (loop?.name == null || loop.loopId === null || there.has(loop.name)) return [];
      return [{ loopId: loop.loopId, name: loop.name, files: worktreeLoop(projectDir, loop.name, env) }];
    });
    const folders = gone.flatMap(({ loopId, name }) => {
      const kept = keptFiles(projectDir, name, env).filter((files) => holdsLoop(files, loopId, env));
      return kept.map(({ projectDir: folder }) => folder);
    });
    const worktrees = batch.tasks.map(({ name }) => name).filter((name) => there.has(name));
    return [{ file, run, folders, loops: gone, worktrees }];
  });
}

/** Removes the record of a run, and the files kept of its loops. Worktrees, branches and commits stay. */
function pruneRun({ projectDir, env }: Where, { file, folders, loops }: OldRun): void {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  // Files outside the project belong to the removed worktree, unless a later loop had one of this name.
  for (const { loopId, files } of loops)
    if (findEndedContract(files, loopId) !== null) rmSync(files.outsideDir, { recursive: true, force: true });
  removeIfThere(join(loopFiles(projectDir, null, env).runsDir, file));
}
