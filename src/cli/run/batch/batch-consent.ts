import { dirname, join } from 'node:path';
import { PARALLEL_TEXTS } from '../../../drive/parallel/messages.ts';
import { changedSince, restsOf } from '../../../drive/parallel/plan-source.ts';
import { type Approver, approveSettings } from '../../../drive/start/approve.ts';
import type { Prepared, StartRequest } from '../../../drive/start/stages.ts';
import { unagreedSettings } from '../../../drive/start/terms/agreed-settings.ts';
import { tryCommits } from '../../../drive/start/try-commits.ts';
import { LAUNCH_TEXTS } from '../../../drive/turn/messages.ts';
import { hookProblems } from '../../../drive/worktree/make-worktree.ts';
import { WORKTREE_TEXTS } from '../../../drive/worktree/messages.ts';
import { changedFiles, repositoryOf, unfinishedAt } from '../../../drive/worktree/repository.ts';
import type { Batch, BatchTask } from '../../../engine/schema/batch.ts';
import type { Policy } from '../../../engine/schema/contract.ts';
import { safePath } from '../../../install/project-files.ts';
import { withPrefix } from '../../../state/process/program.ts';
import { WORKTREES } from '../../../task/task-file.ts';
import { RalphError } from '../../../text/message.ts';
import { type Command, type CommandContext, valuesOf } from '../../command.ts';
import { RECOMMENDED, YES_MEANS } from '../../permission-modes.ts';
import { userOf } from '../../start/approver.ts';
import type { StartScreen } from '../../start/start-screen.ts';
import { warningTexts } from '../../start/warnings.ts';
import { type Review, type ReviewedStart, StartReview, shownTask } from '../review-start.ts';
import { type Asked, askedTasks, startOf, withSandbox } from './asked-tasks.ts';
import { limitsOf, withoutMode } from './batch-record.ts';

/**
 * Checks everything that a run of each task would refuse, before anything is created, and asks all of its questions once
 * here, because the loops have no terminal. Returns null if the user declines. Throws RalphError with all problems.
 */
export async function agreedBatch(
  context: CommandContext,
  command: Command,
  { batch, found, review }: { readonly batch: Batch; readonly found: readonly string[]; readonly review: Review },
): Promise<Batch | null> {
  const { projectDir, env, values, mayAsk } = context;
  if (batch.plan === undefined && batch.tasks.every(({ step }) => step === 'ended')) return batch;
  repositoryOf(projectDir, env);
  safePath(projectDir, WORKTREES);
  const user = userOf(context);
  const start = new BatchStart(context, command, batch, found);
  const first = await start.prepare({}, user);
  const asks = mayAsk && values['yes'] !== true;
  if (asks && (start.lacksMode || review.drafted.length > 0))
    return new StartReview<Batch>(context, review, user, start).approve();
  if (start.lacksMode && values['yes'] !== true) throw new RalphError('mode-missing', LAUNCH_TEXTS.needsMode);
  if (start.lacksMode) context.err(withPrefix(YES_MEANS));
  // Independent tasks run their checks in their own worktrees.
  const withoutChecks: Approver = { ...user, runChecks: async () => ({ baseline: null }) };
  return start.approve(first, batch.plan === undefined ? withoutChecks : user);
}

/** Options of the command line whose values the keys of the start screen change. */
const ANSWERED = { 'budget.max_time': 'max-time', 'budget.max_cost': 'max-cost' } as const;

/** The start of several tasks, or of a plan whose tasks run side by side. */
class BatchStart implements ReviewedStart<Batch> {
  readonly files: readonly string[];
  // The run's record of a plan was read from its file, so the file is not edited here.
  readonly isEdited = false;
  readonly #given: CommandContext;
  readonly #command: Command;
  readonly #begun: Batch;
  readonly #found: readonly string[];
  /** The tasks with the user's last answers, and their command line. */
  #asked: readonly Asked[] = [];
  #context: CommandContext;
  #batch: Batch;
  /** The user's answer about the sandbox; undefined until the question is asked. */
  #sandbox: 'on' | 'off' | null | undefined;

  constructor(context: CommandContext, command: Command, begun: Batch, found: readonly string[]) {
    const { projectDir } = context;
    this.#given = context;
    this.#context = context;
    this.#command = command;
    this.#begun = begun;
    this.#batch = begun;
    this.#found = found;
    const paths = begun.plan === undefined ? begun.tasks.map(({ taskPath }) => taskPath) : [begun.plan.path];
    this.files = paths.map((path) => join(projectDir, path));
  }

  get lacksMode(): boolean {
    return this.#asked.some(({ lacksMode }) => lacksMode);
  }

  async prepare(answers: StartRequest['flags'], user: Approver): Promise<Prepared> {
    const { mode, context, batch } = this.#answered(answers);
    let asked = askedTasks(context, this.#command, batch, { mode, found: this.#found });
    if (asked.some(({ prepared }) => prepared.terms.unsandboxed === 'not-set')) {
      if (this.#sandbox === undefined) this.#sandbox = await user.chooseSandbox();
      const sandbox = this.#sandbox;
      if (sandbox !== null) asked = asked.map((one) => withSandbox(one, sandbox));
    }
    this.#asked = asked;
    this.#context = context;
    this.#batch = batch;
    return this.#representative();
  }

  /** Returns command line and record with the user's answers. A mode that they choose replaces that of the options. */
  #answered(answers: StartRequest['flags']): { mode: string; context: CommandContext; batch: Batch } {
    const chosen = answers['permission_mode'];
    const { 'permission-mode': given, ...others } = this.#given.values;
    const limits = Object.entries(ANSWERED).flatMap(([key, option]) =>
      answers[key] === undefined ? [] : [[option, String(answers[key])]],
    );
    const kept = chosen === undefined && given !== undefined ? { 'permission-mode': given } : {};
    const isAnswered = (pair: string): boolean => answers[pair.split('=', 1)[0]?.trim() ?? ''] !== undefined;
    // Settings from --set would override the option that carries the answer.
    const set = valuesOf(this.#given, 'set').filter((pair) => !isAnswered(pair));
    const values = { ...others, ...kept, ...Object.fromEntries(limits), ...(others['set'] !== undefined && { set }) };
    const context = { ...this.#given, values };
    const begun = this.#begun.words.filter((word) => !(word.startsWith('--set=') && isAnswered(word.slice(6))));
    const words = chosen === undefined ? begun : withoutMode(begun);
    const batch = { ...this.#begun, words, ...(limits.length > 0 && { limits: limitsOf(context) }) };
    return { mode: String(chosen ?? RECOMMENDED), context, batch };
  }

  /** Returns the first task, with the warnings of all. A plan's checks run once for all its tasks; others run in their worktrees. */
  #representative(): Prepared {
    const [first] = this.#asked;
    if (first === undefined) throw new RalphError('no-loop', PARALLEL_TEXTS.nothingLeft);
    if (this.#batch.plan !== undefined) return first.prepared;
    const warnings = this.#asked.flatMap(({ label, prepared }) =>
      prepared.warnings.map((one) => ({ ...one, message: `${label}: ${one.message}` })),
    );
    return { ...first.prepared, warnings, terms: { ...first.prepared.terms, skipsBaseline: true } };
  }

  shown(): Pick<StartScreen, 'tasks' | 'together'> {
    const { limits, atOnce, plan } = this.#batch;
    const tasks = this.#asked.map(({ label, prepared }) =>
      shownTask(prepared.terms, join(this.#given.projectDir, label)),
    );
    // The limits of a plan cover all its tasks together.
    if (plan !== undefined) return { tasks, together: { words: PARALLEL_TEXTS.together(atOnce, null), limits: [] } };
    const { maxTimeMs, maxCostUsd } = limits;
    const shared = [
      ...(maxTimeMs === null ? [] : ['time' as const]),
      ...(maxCostUsd === null ? [] : ['cost' as const]),
    ];
    return { tasks, together: { words: PARALLEL_TEXTS.together(atOnce, limits, tasks.length), limits: shared } };
  }

  async approve(first: Prepared, user: Approver): Promise<Batch | null> {
    const asked = this.#asked;
    const context = this.#context;
    const { files, projectDir, env, values } = context;
    const { root, head } = repositoryOf(projectDir, env);
    // A set-up command installs what the main checkout already has.
    const isSetUp = asked.every(({ prepared }) => (prepared.resolved.settings.worktreeSetup ?? null) !== null);
    const unfit = hookProblems(root, isSetUp ? root : null, env);
    if (unfit.length > 0) throw new RalphError('refused', unfit.join('\n'));
    const open = asked.flatMap(({ label, prepared }) =>
      unagreedSettings(prepared.request, prepared.resolved).map((one) => ({ ...one, line: `${label}: ${one.line}` })),
    );
    const settings = [...new Map(open.map((one) => [one.digest, one])).values()];
    const isPlan = this.#batch.plan !== undefined;
    const start = startOf(asked, isPlan);
    approveSettings({ files, request: first.request, start }, settings, user);
    const resumes = values['resume'] === true;
    if (this.#batch.plan !== undefined && !resumes) await tryCommits(first, user.say);
    const checked = resumes ? { baseline: null } : await user.runChecks(first);
    if (checked === null) return null;
    for (const [text, labels] of warningsOf(context, asked))
      user.say(labels.length === asked.length ? text : `${labels.join(', ')}: ${text}`);
    nameLeftOut(context, this.#batch);
    const batch = withAnswers(this.#batch, asked);
    if (batch.plan === undefined) return batch;
    const changed = batch.plan.rests ? changedSince(projectDir, batch.plan.rests, env) : [];
    if (changed.length > 0) user.say(PARALLEL_TEXTS.restsChanged(changed, 'The run takes them.'));
    const { baseline } = checked;
    const rests = restsOf(first, head);
    const found = baseline && { baseline: baseline.baseline, written: [...baseline.record.written] };
    const plan = { ...batch.plan, rests, ...found };
    return resumes ? { ...batch, plan } : withPolicy({ ...batch, plan }, first.resolved.policy);
  }
}

/** Returns the record with the options that the user's answers add. */
function withAnswers(batch: Batch, asked: readonly Asked[]): Batch {
  const added = (task: BatchTask | null): readonly string[] => asked.find((one) => one.task === task)?.words ?? [];
  const tasks = batch.tasks.map((task) => ({ ...task, words: [...task.words, ...added(task)] }));
  return { ...batch, words: [...batch.words, ...added(null)], tasks };
}

/** Returns each warning once, with the tasks to which it applies. */
function warningsOf(context: CommandContext, asked: readonly Asked[]): ReadonlyMap<string, readonly string[]> {
  const tasks = new Map<string, string[]>();
  for (const { label, prepared } of asked) {
    for (const text of warningTexts(context, prepared.warnings, prepared.terms))
      tasks.set(text, [...(tasks.get(text) ?? []), label]);
  }
  return tasks;
}

/**
 * Names the uncommitted changes missing from new worktrees, which begin at the last commit plus the task's own files, and those
 * that will keep work off the user's branch.
 */
function nameLeftOut({ projectDir, env, err }: CommandContext, { tasks, integrate }: Batch): void {
  if (!tasks.some(({ step }) => step === 'waiting')) return;
  const { changed, removed } = changedFiles(projectDir, env);
  const countOutside = (folders: readonly string[]): number =>
    [...changed, ...removed].filter((path) => !folders.some((folder) => path.startsWith(folder))).length;
  const own = ['.claude/', '.ralph/'];
  const left = countOutside([...own, ...tasks.map(({ taskPath }) => `${dirname(taskPath)}/`)]);
  if (left > 0) err(withPrefix(WORKTREE_TEXTS.notInThese(left)));
  const inTheWay = integrate === 'merge' || integrate === 'rebase' ? countOutside(own) : 0;
  const unfinished = integrate === 'none' ? null : unfinishedAt(projectDir, env);
  if (unfinished !== null) err(withPrefix(unfinished));
  if (inTheWay > 0) err(withPrefix(WORKTREE_TEXTS.inTheWay(inTheWay, integrate)));
}

/** Returns the record with the limits of its plan: the budget covers all tasks. */
function withPolicy(batch: Batch, policy: Policy): Batch {
  if (batch.plan === undefined) return batch;
  const { maxCostUsd, maxTokens, maxTimeMs } = policy.budget;
  const plan = { ...batch.plan, maxTasks: policy.plan?.maxTasks ?? 1 };
  return { ...batch, limits: { maxCostUsd, maxTokens, maxTimeMs }, plan };
}
