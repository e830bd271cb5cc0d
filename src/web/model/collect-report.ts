import { basename, join } from 'node:path';
import { storedEnd } from '../../drive/status/end-report.ts';
import { billedTokens, totalCost } from '../../engine/policy/budget.ts';
import { idleElapsed, stoppedSince, timeSpent } from '../../engine/policy/loop-time.ts';
import type { Run, RunTask } from '../../engine/schema/batch.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { type Entry, lastWhere, readStream } from '../../state/event-stream.ts';
import { readRegularFile } from '../../state/files/regular-file.ts';
import { contractOfLoop, type LoopFiles } from '../../state/loop-files.ts';
import { splitFrontmatter } from '../../task/frontmatter/split-frontmatter.ts';
import type { RecordedTree } from '../../task/git/record-tree.ts';
import { askWithoutFilters, type GitAnswer, partsOf, runGit, type Settings } from '../../task/git/run-git.ts';
import { startPointOf } from '../../task/git/start-point.ts';
import { WITHOUT_OWN } from '../../task/left-out.ts';
import { digest } from '../../text/digest.ts';
import { counted } from '../../text/figures.ts';
import { nullIfRefused } from '../../text/message.ts';
import { firstLine } from '../../text/quote.ts';
import { redact } from '../../text/redact/redact.ts';
import { verifiedBy } from '../../text/status-words.ts';
import { mapTexts, numberOf } from './event-text.ts';
import { LoopHistory } from './loop-history.ts';
import type { Commit, Control, Iteration, LoopRow, ReportData, RunData, Work } from './report-data.ts';

/** Size limit of a task file that is shown, in bytes. */
const MOST_TASK = 256 * 1024;

/** Current state of a loop, live or archived, with explanations. */
export interface ShownLoop {
  readonly files: LoopFiles;
  readonly state: LoopState;
  /** Status as in `status`: a running loop whose driver has exited is interrupted. */
  readonly status: string;
  readonly live: boolean;
  /** When it entered this state; for an interrupted loop, when its driver was last known to work. */
  readonly at: string;
  readonly why: string;
  readonly next: string;
  readonly steps: ReportData['steps'];
  /** Time at which it continues by itself; null if it does not. */
  readonly until: string | null;
  /** What it works on, in words. */
  readonly title: string;
  /** The run over a plan that this loop is; null for other loops. */
  readonly run: Run | null;
  /** Facts that a list of loops does not show. */
  readonly notices: () => ReportData['notices'];
  readonly questions: () => readonly string[];
}

/** Returns a key for this loop in requests, which contains no path. */
export function keyOf({ projectDir, name }: Pick<LoopFiles, 'projectDir' | 'name'>): string {
  return digest(`${projectDir}\n${name ?? ''}`);
}

/** Number of the newest iterations with words, calls and commands on a page. Older ones have only outcome and figures. */
const DETAILED = 100;

/** Reads the history of a loop, and where the next read starts. Secrets are masked, paths shortened. */
export function readHistory(
  files: LoopFiles,
  loopId: string,
): { readonly history: LoopHistory; readonly next: number } {
  const last = lastWhere(files, loopId, ['iteration.ended']);
  const ended = (numberOf(last?.['iteration']) ?? 0) + (numberOf(last?.['idleIterations']) ?? 0);
  const history = new LoopHistory(shownText(files.projectDir), ended - DETAILED);
  const take = (event: Entry): void => history.take(event);
  const isWanted = (type: string, line: string): boolean => history.wants(type, line);
  return { history, next: readStream(files, loopId, 0, take, isWanted) };
}

export function rowOf({ files, state, status, live, at, why, until, title, run }: ShownLoop): LoopRow {
  const { loopId, taskPath, mode, iteration, maxIterations, startedAt } = state;
  const costUsd = live ? state.usage.costUsd : totalCost(state.usage);
  const ended = state.status === 'ended' ? state.ended : null;
  const since = stoppedSince(state);
  return {
    key: keyOf(files),
    name: files.name ?? 'default',
    title,
    project: basename(files.projectDir),
    ...(run && { tasks: { done: run.done, total: run.total } }),
    loopId,
    task: taskPath,
    mode,
    status,
    live,
    iteration,
    maxIterations,
    costUsd,
    startedAt,
    ...(state.stoppedMs !== undefined && { stoppedMs: state.stoppedMs }),
    ...(since !== null && { stoppedSince: since }),
    isCostPartial: live && totalCost(state.usage) === null,
    verified: ended?.verified ?? false,
    proof: ended?.proof ?? null,
    endedAt: live && status !== 'interrupted' ? null : at,
    waitingUntil: until,
    about: aboutOf(why),
    controls: live ? controlsOf(status) : [],
  };
}

/** Returns why a loop is in its state, for a cell of a list. */
export function aboutOf(why: string): string {
  return firstLine(why).slice(0, 300);
}

function controlsOf(status: string): Control[] {
  if (status === 'awaiting-consent') return ['cancel'];
  if (status === 'paused' || status === 'interrupted') return ['steer', 'resume', 'stop', 'cancel'];
  return [...(status === 'waiting' ? (['wake'] as const) : []), 'steer', 'pause', 'stop', 'cancel'];
}

/** Returns a key for a run in requests, which contains no path. */
export function runKey(projectDir: string, { id }: Run): string {
  return digest(`${projectDir}\n${id}`);
}

export function rowOfRun(projectDir: string, run: Run): LoopRow {
  const { title, plan, status, done, total, costUsd, startedAt, endedAt, next, why, tasks } = run;
  const isOpen = run.live || next !== '';
  return {
    key: runKey(projectDir, run),
    name: plan ?? tasks.map(({ id }) => id).join(', '),
    title,
    project: basename(projectDir),
    tasks: { done, total },
    loopId: null,
    task: plan ?? tasks.map(({ id }) => id).join(', '),
    mode: 'runner',
    status,
    live: isOpen,
    verified: status === 'complete' && verifiedBy(tasks.map(({ proof }) => proof)),
    proof: null,
    iteration: done,
    maxIterations: total,
    costUsd,
    isCostPartial: costUsd !== null && tasks.some((task) => task.loop !== null && task.costUsd === null),
    startedAt,
    endedAt,
    waitingUntil: null,
    about: aboutOf(why),
    controls: [],
  };
}

/** Returns the data of a run's page, with secrets masked. */
export function runDataOf(
  projectDir: string,
  run: Run,
  at: string,
  loops: readonly (readonly [string, LoopFiles])[],
): RunData {
  return {
    version: 1,
    generatedAt: at,
    project: basename(projectDir),
    run: mapTexts(run, shownText(projectDir)),
    keys: Object.fromEntries(loops.map(([id, files]) => [id, keyOf(files)])),
    loops: [],
  };
}

/** Numbers of iterations and decisions from the start that a reader already has. */
export interface Known {
  readonly iterations: number;
  readonly decisions: number;
}

export const NOTHING: Known = { iterations: 0, decisions: 0 };

/** The first heading of a drafted task, into which an iteration fills the loop's name. The page has its own title. */
const FILLED_IN_HEADING = /^# \{\{[^{}\n]*\}\}[ \t]*\r?\n/m;

/** Returns the report of a loop of this machine, without the known iterations and decisions. */
export function reportData(loop: ShownLoop, history: LoopHistory, at: string, known = NOTHING): ReportData {
  const { state, files, why, next, steps } = loop;
  const row = rowOf(loop);
  const used = {
    maxIterations: state.iteration,
    maxCostUsd: state.usage.costUsd,
    maxTokens: billedTokens(state.usage),
    maxTimeMs: timeSpent(state, row.endedAt ?? at),
    maxIdleMs: idleElapsed(state.idle, row.endedAt ?? at),
  };
  const facts = [['mode', state.mode] as const, ['loop', state.loopId] as const];
  const text = nullIfRefused(() => readRegularFile(join(files.projectDir, state.taskPath), MOST_TASK)) ?? null;
  const task = text === null ? null : splitFrontmatter(text).body.replace(FILLED_IN_HEADING, '').trim();
  const read = { notices: loop.notices(), questions: loop.questions(), task, steps };
  const subject = { row, run: loop.run, why, next, ...read, used, facts, shown: shownText(files.projectDir) };
  return reportOf(subject, history, at, known);
}

/** Facts about a loop besides its history. */
export interface ReportSubject
  extends Pick<ReportData, 'row' | 'run' | 'why' | 'task' | 'next' | 'steps' | 'notices' | 'questions'> {
  /** Usage of each limit; null if unknown. */
  readonly used: Readonly<Record<string, number | null>>;
  readonly facts: ReportData['environment'];
  /** Prepares a text for display. */
  readonly shown: (text: string) => string;
}

const NAMES = { client: 'Claude Code', ralphLoop: 'ralph-loop' };

/** Returns a report, without the known iterations and decisions. */
export function reportOf(subject: ReportSubject, history: LoopHistory, at: string, known = NOTHING): ReportData {
  const { row, run, why, task, next, steps, notices, questions, used, shown } = subject;
  const { facts } = history.start;
  // No process works on it any more, even if its end was not recorded.
  const isLeft = !row.live || row.status === 'interrupted';
  const asLeft = (each: Iteration): Iteration =>
    isLeft && each.outcome === 'open' ? { ...each, outcome: 'interrupted' } : each;
  const named = ['client', 'ralphLoop', 'model', 'system', 'node', 'contract'].flatMap((key): [string, string][] => {
    const value = facts[key];
    return typeof value === 'string' ? [[NAMES[key as keyof typeof NAMES] ?? key, value]] : [];
  });
  return {
    version: 1,
    generatedAt: at,
    limits: history.limits(used),
    ...mapTexts({ row, run, why, task, next, steps, notices, questions }, shown),
    checks: history.checks(),
    iterations: history.iterations.slice(known.iterations).map(asLeft),
    decisions: history.decisions.slice(known.decisions),
    skipped: {
      iterations: Math.min(known.iterations, history.iterations.length),
      decisions: Math.min(known.decisions, history.decisions.length),
    },
    waits: history.waits,
    uncommitted: null,
    environment: [...named, ...subject.facts],
  };
}

const INSTANT = /^\d{4}-\d\d-\d\dT[\d:.]{8,12}Z$/;
/** Length and number of the texts that `shownText` remembers. */
const [MOST_KNOWN, MOST_KNOWN_TEXTS] = [48, 500];

/** Returns a function that prepares texts: secrets masked, paths of the project relative, the user's home a tilde. */
export function shownText(projectDir: string): (text: string) => string {
  const home = process.env['HOME'] ?? process.env['USERPROFILE'] ?? '';
  const shown = (text: string): string => {
    const inside = shortened(redact(text).replaceAll(`${projectDir}/`, ''), projectDir, '.');
    return home.length > 1 ? shortened(inside, home, '~') : inside;
  };
  // Types, outcomes and names of tools occur in nearly every event: a long report takes a quarter less time.
  const known = new Map<string, string>();
  return (text) => {
    if (INSTANT.test(text)) return text;
    const before = known.get(text);
    if (before !== undefined) return before;
    const after = shown(text);
    if (text.length <= MOST_KNOWN && known.size < MOST_KNOWN_TEXTS) known.set(text, after);
    return after;
  };
}

/** Replaces a folder by `name`, but not where a longer name begins with it. */
function shortened(text: string, folder: string, name: string): string {
  if (!text.includes(folder)) return text;
  const isLonger = (rest: string): boolean => /^(?:[\w-]|\.\w)/.test(rest);
  return text.split(folder).reduce((before, rest) => `${before}${isLonger(rest) ? folder : name}${rest}`);
}

const MOST_COMMITS = 300;
const MOST_PATCH = 24_000;
const MOST_IN_ALL = 2_000_000;
const MOST_NAMES = 200;
const MOST_CHANGED = 2_000;
const TIME_MS = 20_000;

const SHOWN = ['--no-color', '--no-ext-diff', '--no-textconv', '--ignore-submodules=dirty', '--shortstat', '--patch'];

function workIn(text: string): Pick<Commit, 'stat' | 'patch'> {
  const cut = text.indexOf('\ndiff ');
  if (cut === -1) return { stat: text.trim(), patch: '' };
  return { stat: text.slice(0, cut).trim(), patch: text.slice(cut + 1).slice(0, MOST_PATCH) };
}

type Ask = (words: readonly string[], settings?: Settings) => Promise<GitAnswer>;

const textOf = (answer: GitAnswer): string => (answer.kind === 'answer' ? answer.text : '');

/** Returns the commits of a range between two instants, oldest first, each with its patch, bounded; none outside a repository. */
async function commitsBetween(ask: Ask, among: readonly string[], from: string, to: string): Promise<Commit[]> {
  const range = [`--max-count=${MOST_COMMITS}`, `--since=${from}`, `--until=${to}`, ...among];
  const list = textOf(await ask(['log', '--no-color', '--format=%H%x09%cI%x09%s', ...range, '--']));
  const commits: Commit[] = [];
  let size = 0;
  for (const line of list.split('\n').filter(Boolean).reverse()) {
    const [id = '', at = '', subject = ''] = line.split('\t');
    const work = workIn(size > MOST_IN_ALL ? '' : textOf(await ask(['show', ...SHOWN, '--format=', id])));
    size += work.patch.length;
    commits.push({ id, at: new Date(at).toISOString(), subject, ...work });
  }
  return commits;
}

export interface WorkOptions {
  /** Indexes of the first and the last iteration whose commits are read. */
  readonly range: readonly [first: number, last: number];
  readonly task: RunTask | undefined;
}

/**
 * Reads what a loop changed, from its recorded start to its recorded end, as in its end report, or until now. Bounded, secrets
 * masked, paths shortened. If its task commits to the main project, other tasks of the run do so at the same time, and their
 * changes are left out.
 */
export async function workOf(
  { files, state }: Pick<ShownLoop, 'files' | 'state'>,
  iterations: readonly Iteration[],
  { range: [first, last], task }: WorkOptions,
  { now, env }: { readonly now: () => string; readonly env: NodeJS.ProcessEnv },
): Promise<Work> {
  const found = new Map<number, Commit[]>();
  const own = task?.branch === null ? task.commit : null;
  const from = (first <= 1 ? undefined : iterations[first - 1]?.startedAt) ?? state.startedAt;
  const ended = state.status === 'ended' ? state.ended.at : now();
  // A task of a plan is committed after its iteration.
  const left = state.plan === undefined ? (iterations[last - 1]?.endedAt ?? now()) : ended;
  const until = iterations[last]?.startedAt ?? left;
  const contract = contractOfLoop(files, state.loopId)?.contract;
  const options = { env, signal: AbortSignal.timeout(TIME_MS), sandbox: contract?.sandbox };
  const ask: Ask = (words, settings) => runGit(files.projectDir, words, options, settings);
  const start = contract === undefined ? null : nullIfRefused(() => startPointOf(files, contract));
  const end = own === null && state.status === 'ended' ? (storedEnd(files, state)?.end ?? null) : null;
  const among = [end?.head ?? 'HEAD', ...(start === null ? [] : [`^${start.tree.head}`])];
  for (const commit of await commitsBetween(ask, among, from, until)) {
    // Git stores whole seconds.
    const maker = iterations.findLast(({ startedAt }) => Date.parse(startedAt) <= Date.parse(commit.at) + 1_000);
    if (maker === undefined || maker.index < first || maker.index > last) continue;
    if (own !== null && !commit.id.startsWith(own)) continue;
    found.set(maker.index, [...(found.get(maker.index) ?? []), mapTexts(commit, shownText(files.projectDir))]);
  }
  const uncommitted = own === null && start !== null ? await uncommittedOf(ask, start.tree, end) : null;
  return { commits: [...found], uncommitted: uncommitted && mapTexts(uncommitted, shownText(files.projectDir)) };
}

/**
 * Returns the changes since the start that are not committed, at the end or (null) now, and the names of new files, bounded; null
 * if there are none, or if git does not answer. Now, it leaves out changes of files that git has never tracked.
 */
async function uncommittedOf(ask: Ask, start: RecordedTree, end: RecordedTree | null): Promise<Work['uncommitted']> {
  const plain = async (...words: string[]): Promise<string> => textOf(await askWithoutFilters(ask, words));
  const listed = async (...words: string[]): Promise<string[]> =>
    partsOf(await plain(...words, '-z', '--', '.', ...WITHOUT_OWN));
  const to = end === null ? [] : [end.commit];
  const head = end?.head ?? (await plain('rev-parse', 'HEAD')).trim();
  const base = head === start.head ? start.commit : head;
  const names = ['diff', '--name-only', '--relative', '--no-renames', '--ignore-submodules=dirty'];
  const since = await listed(...names, start.commit, ...to);
  const left = new Set(base === start.commit ? since : await listed(...names, base, ...to));
  // A file that was untracked at the start and still is seems to be deleted.
  const untracked = end === null ? await listed('ls-files', '--others', '--exclude-standard') : [];
  const changed = since.filter((path) => left.has(path) && !untracked.includes(path)).slice(0, MOST_CHANGED);
  const isNew = new Set(changed.length === 0 ? [] : await listed(...names, '--diff-filter=A', base, ...to));
  const paths = changed.filter((path) => !isNew.has(path)).map((path) => `:(literal)${path}`);
  const work = ['diff', ...SHOWN, '--relative', '--no-renames', base, ...to, '--', ...paths];
  const { stat, patch } = workIn(paths.length === 0 ? '' : await plain(...work));
  const added = [...changed.filter((path) => isNew.has(path)), ...untracked.filter((path) => !since.includes(path))];
  if (patch === '' && added.length === 0) return null;
  return {
    stat: [stat, added.length === 0 ? '' : counted(added.length, 'new file')].filter(Boolean).join(', '),
    patch: [patch, ...added.slice(0, MOST_NAMES).map((path) => `new file: ${path}`)].join('\n').trim(),
  };
}
