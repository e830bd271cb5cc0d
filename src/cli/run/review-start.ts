import { spawnSync } from 'node:child_process';
import { copyFileSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { Approver } from '../../drive/start/approve.ts';
import { baselineNow, firstBaseline } from '../../drive/start/baseline.ts';
import type { Prepared, StartBaseline, StartRequest } from '../../drive/start/stages.ts';
import { START_TEXTS } from '../../drive/turn/messages.ts';
import { hostOf } from '../../hosts/hosts.ts';
import { show, withPrefix } from '../../state/process/program.ts';
import { onSignals } from '../../state/process/signals.ts';
import { draftedWords, taskTitle } from '../../task/task-title.ts';
import { printable } from '../../term/format.ts';
import { cells } from '../../term/write-text.ts';
import { advise, RalphError } from '../../text/message.ts';
import { quoted } from '../../text/quote.ts';
import { ask } from '../ask.ts';
import type { CommandContext } from '../command.ts';
import { modeLines, PERMISSION_MODES } from '../permission-modes.ts';
import { modeIn } from '../start/start-request.ts';
import { type FirstChecks, type ShownTask, type StartScreen, startScreenLines } from '../start/start-screen.ts';
import type { DraftedTask } from '../task/draft.ts';
import { KeyQueue } from './key-queue.ts';

/** What a run shows before it starts, and what happens to its drafts if it does not start. */
export interface Review {
  /** Drafts that this command has written; empty for the user's own tasks. */
  readonly drafted: readonly DraftedTask[];
  /** True if the user keeps the draft, or a loop works on it. */
  isKept: boolean;
  /** Called when the checks before the start have ended by themselves. */
  onChecked?: () => void;
}

/** What the screen shows and Enter starts: one task, or several together. */
export interface ReviewedStart<T> {
  /** Task files for the user to read. */
  readonly files: readonly string[];
  /** True if the user may edit the only file: the start is then prepared from it again. */
  readonly isEdited: boolean;
  /** Prepares the start with the user's answers. Throws RalphError. The first task stands for all. */
  readonly prepare: (answers: StartRequest['flags'], user: Approver) => Promise<Prepared>;
  /** Texts about several tasks for the user; absent for one task. */
  readonly shown?: () => Pick<StartScreen, 'tasks' | 'together'>;
  /** Asks the open questions, and lets `user.runChecks` show the screen. Returns null if the user does not start it. */
  readonly approve: (prepared: Prepared, user: Approver) => Promise<T | null>;
}

interface RunningChecks {
  /** Terms on which the results depend. */
  readonly of: string;
  readonly left: AbortController;
  readonly over: Promise<void>;
  state: FirstChecks;
  result: StartBaseline | null;
}

const NOT_RUN: Pick<RunningChecks, 'state' | 'result'> = { state: { kind: 'done', baseline: null }, result: null };

/** Settings that a single key changes: the question, and the option that takes the answer. */
const LIMITS = {
  t: { key: 'budget.max_time', question: 'Time in all, such as 8h: ' },
  c: { key: 'budget.max_cost', question: 'Cost in all, in dollars: ' },
} as const;

/** Shows a start on one screen, runs its checks meanwhile, and lets one key decide. */
export class StartReview<T> {
  readonly #context: CommandContext;
  readonly #review: Review;
  readonly #user: Approver;
  readonly #start: ReviewedStart<T>;
  /** The user's answers, and the last ones with which a start could be prepared. */
  #flags: StartRequest['flags'] = {};
  #goodFlags: StartRequest['flags'] = {};
  /** What is wrong with the last answer, or null. */
  #remark: string | null = null;
  /** What is wrong with the file, which cannot be started then; or null. */
  #problem: string | null = null;
  #checks: RunningChecks | null = null;
  #keys = new KeyQueue();
  #last: Prepared | null = null;
  #rows = 0;
  #next: 'again' | 'leave' = 'leave';

  constructor(context: CommandContext, review: Review, user: Approver, start: ReviewedStart<T>) {
    this.#context = context;
    this.#review = review;
    this.#user = {
      now: user.now,
      say: (text) => user.say(this.#leaveScreen(text)),
      agree: (files, question) => user.agree(files, this.#leaveScreen(question)),
      chooseSandbox: () => this.#leaveScreen(user).chooseSandbox(),
      runChecks: (prepared) => this.#decide(prepared),
    };
    this.#start = start;
  }

  /** Returns the start that the user approved with Enter; null if they leave, with nothing left running. */
  async approve(): Promise<T | null> {
    try {
      for (;;) {
        const prepared = await this.#prepare();
        const approved = await this.#start.approve(prepared, this.#user);
        if (approved !== null) return approved;
        if (this.#next === 'leave') return null;
      }
    } finally {
      await this.#dropChecks();
    }
  }

  /** Prepares the start with the user's answers. A problem of theirs is shown on the screen, with the former start. */
  async #prepare(): Promise<Prepared> {
    try {
      this.#last = await this.#start.prepare(this.#flags, this.#user);
      this.#goodFlags = this.#flags;
      this.#problem = null;
    } catch (error) {
      if (!(error instanceof RalphError) || error.code === 'refused' || this.#last === null) throw error;
      const text = show(error.advised);
      if (this.#flags === this.#goodFlags) this.#problem = text;
      else this.#remark = `Your answer was not used: ${text}`;
      this.#flags = this.#goodFlags;
    }
    return this.#last;
  }

  /** Shows the start until a key decides. Returns null if it is prepared again or left. */
  async #decide(prepared: Prepared): Promise<{ readonly baseline: StartBaseline | null } | null> {
    await this.#runChecks(prepared);
    const leave = (): void => this.#keys.push('escape');
    const quiet = onSignals({ press: leave, leave });
    const closeKeys = this.#keys.open();
    let starts = false;
    try {
      for (;;) {
        const { state, result } = this.#checks ?? NOT_RUN;
        if (state.kind === 'problem') starts = false;
        if (starts && state.kind === 'done') {
          this.#draw(prepared, [`Starting ${agentsOf(this.#shown(prepared).tasks)} …`]);
          return { baseline: result && (await baselineNow(prepared, result, { env: this.#context.env })) };
        }
        this.#draw(
          prepared,
          starts ? ['Starts as soon as the checks are done.  [Esc] cancel'] : this.#keyLine(prepared),
        );
        const key = await this.#keys.next();
        if (key === 'enter') starts = this.#problem === null;
        else if (await this.#press(key, prepared, closeKeys)) return null;
      }
    } finally {
      quiet();
      closeKeys();
    }
  }

  /** Does what a key says. Returns whether it ends the screen. */
  async #press(key: string, prepared: Prepared, closeKeys: () => void): Promise<boolean> {
    const { drafted } = this.#review;
    const { files, isEdited } = this.#start;
    switch (key) {
      case 'escape':
      case 'q':
        return this.#leave(START_TEXTS.cancelled);
      case 'k': {
        if (drafted.length === 0) return false;
        this.#review.isKept = true;
        const paths = drafted.map(({ path }) => relative(process.cwd(), path));
        const verb = paths.length === 1 ? 'Run it' : 'Run them';
        return this.#leave(show(advise(`Kept ${paths.join(', ')}.`, verb, `run ${paths.map(quoted).join(' ')}`)));
      }
      case 'e':
        if (!isEdited) return false;
        closeKeys();
        this.#leaveScreen(null);
        openEditor(files[0] ?? '', this.#context.env, this.#context.err);
        this.#copyEdited(prepared);
        return this.#again();
      case 'm':
        return this.#offersModes(prepared) && (await this.#chooseMode(prepared));
      case 't':
      case 'c': {
        closeKeys();
        const { key: flag, question } = LIMITS[key];
        const answer = await ask(question);
        // The next screen replaces this one and the question, so that a corrected answer leaves nothing behind. Counts the
        // rows of the line, and the one to which the cursor moves.
        this.#rows += Math.floor(cells(`${question}${answer ?? ''}`) / (process.stdout.columns || 80)) + 1;
        if (answer) this.#flags = { ...this.#flags, [flag]: answer };
        return this.#again();
      }
      case 'v':
        this.#draw(prepared, []);
        this.#leaveScreen(null);
        for (const file of files) {
          if (files.length > 1) this.#context.out(`${relative(process.cwd(), file)}:\n`);
          this.#context.out(printable(readFileSync(file, 'utf8')));
        }
        return false;
      case 'resized':
        // The terminal has wrapped its rows again.
        if (this.#canErase()) process.stdout.write('\u001b[2J\u001b[H');
        this.#leaveScreen(null);
        return false;
      default:
        return false;
    }
  }

  #leave(text: string): true {
    this.#next = 'leave';
    this.#context.err(withPrefix(text));
    return true;
  }

  #again(): true {
    this.#remark = null;
    this.#next = 'again';
    return true;
  }

  async #chooseMode(prepared: Prepared): Promise<boolean> {
    for (;;) {
      this.#draw(prepared, [...modeLines(), 'Its number, or [Esc]'], []);
      const key = await this.#keys.next();
      const mode = PERMISSION_MODES[Number(key) - 1];
      if (mode !== undefined) this.#flags = { ...this.#flags, permission_mode: mode.name };
      if (mode !== undefined) return this.#again();
      if (key === 'escape' || key === 'q') return false;
    }
  }

  #offersModes({ terms }: Prepared): boolean {
    return terms.agent === undefined && modeIn(this.#context.rest) === null;
  }

  #keyLine(prepared: Prepared): string[] {
    const keys = [
      ...(this.#problem === null && this.#checks?.state.kind !== 'problem' ? ['[Enter] start'] : []),
      ...(this.#start.isEdited ? ['[e] edit'] : []),
      ...(this.#offersModes(prepared) ? ['[m] another mode'] : []),
      '[t] time',
      ...(prepared.terms.agent === undefined && prepared.terms.host === undefined ? ['[c] cost'] : []),
      this.#start.files.length === 1 ? '[v] the file' : '[v] the files',
      ...(this.#review.drafted.length === 0 ? [] : ['[k] keep for later']),
      '[Esc] cancel',
    ];
    return [keys.join('  ')];
  }

  /** Copies an edited task file to the worktree that has a copy of it. */
  #copyEdited({ files, terms }: Prepared): void {
    const used = join(files.projectDir, terms.taskPath);
    const [edited = used] = this.#start.files;
    if (used !== edited) copyFileSync(edited, used);
  }

  /** Runs the checks of this start, unless they are running or have run, or the loop has no baseline. */
  async #runChecks(prepared: Prepared): Promise<void> {
    const { validation, task, unchanged, sandbox, verifyIn, skipsBaseline } = prepared.terms;
    const of = JSON.stringify([validation, task, unchanged, sandbox, verifyIn, skipsBaseline]);
    if (this.#checks?.of === of) return;
    await this.#dropChecks();
    if (skipsBaseline) return;
    const left = new AbortController();
    const state: FirstChecks = { kind: 'running', name: '' };
    const change = (to: Partial<RunningChecks>): void => {
      if (left.signal.aborted) return;
      Object.assign(checks, to);
      this.#keys.push('changed');
    };
    const onCheck = (name: string): void => change({ state: { kind: 'running', name } });
    const work = async (): Promise<void> => {
      try {
        const result = await firstBaseline(prepared, { env: this.#context.env, signal: left.signal, onCheck });
        change({ state: { kind: 'done', baseline: result?.baseline ?? null }, result });
      } catch (error) {
        change({ state: { kind: 'problem', text: error instanceof RalphError ? error.message : String(error) } });
      }
      if (!left.signal.aborted) this.#review.onChecked?.();
    };
    const checks: RunningChecks = { of, left, state, result: null, over: Promise.resolve().then(work) };
    this.#checks = checks;
  }

  /** Ends running checks, and forgets their results. */
  async #dropChecks(): Promise<void> {
    const checks = this.#checks;
    this.#checks = null;
    checks?.left.abort();
    await checks?.over;
  }

  #shown({ terms }: Prepared): Pick<StartScreen, 'tasks' | 'together'> {
    return this.#start.shown?.() ?? { tasks: [shownTask(terms, this.#start.files[0] ?? '')] };
  }

  #draw(prepared: Prepared, foot: readonly string[], notes = this.#notes(prepared)): void {
    const screen: StartScreen = {
      ...this.#shown(prepared),
      checks: (this.#checks ?? NOT_RUN).state,
      notes,
      foot,
    };
    const { columns, rows } = process.stdout;
    const lines = startScreenLines(screen, columns || 80, this.#context.paint, rows || 24);
    const isOver = this.#rows > 0 && this.#canErase();
    const up = isOver ? `\u001b[${this.#rows}A\r` : '';
    // Each line overwrites the previous one: clearing the screen would fill the scroll-back of some terminals.
    const end = isOver ? '\u001b[K\n' : '\n';
    process.stdout.write(`${up}${lines.map((line) => line + end).join('')}${isOver ? '\u001b[J' : ''}`);
    this.#rows = lines.length;
  }

  /** Lets the next screen begin below everything printed now. */
  #leaveScreen<T>(printed: T): T {
    this.#rows = 0;
    return printed;
  }

  /** Returns whether the terminal can draw over the screen; if not, the next screen is written below. */
  #canErase(): boolean {
    const { env, values } = this.#context;
    return env['TERM'] !== 'dumb' && values['plain'] !== true;
  }

  #notes({ warnings }: Prepared): string[] {
    if (this.#problem !== null) return [this.#problem];
    return [
      ...(this.#remark === null ? [] : [this.#remark]),
      ...new Set([...this.#review.drafted.flatMap(({ notes }) => notes), ...warnings.map(({ message }) => message)]),
    ];
  }
}

/** Returns a task as the screen shows it. `file` is the user's own; a worktree has a copy of it. */
export function shownTask(terms: Prepared['terms'], file: string): ShownTask {
  const text = readFileSync(file, 'utf8');
  return { task: draftedWords(text) ?? taskTitle(text), path: terms.taskPath, terms };
}

function agentsOf(tasks: readonly ShownTask[]): string {
  const titles = tasks.map(({ terms }) => (terms.agent === undefined ? hostOf(terms.host).title : 'the agent'));
  return [...new Set(titles)].join(', ');
}

/** Opens a file in the user's editor and waits for it. */
function openEditor(file: string, env: NodeJS.ProcessEnv, err: CommandContext['err']): void {
  const editor = env['VISUAL'] || env['EDITOR'];
  if (!editor) {
    err('No editor is set. Set EDITOR, or edit the file yourself later.');
    return;
  }
  // Uses the shell because an editor may have options: EDITOR="code --wait".
  const command = `${editor} "${process.platform === 'win32' ? '%RALPH_EDIT%' : '$RALPH_EDIT'}"`;
  const { status, error } = spawnSync(command, { shell: true, stdio: 'inherit', env: { ...env, RALPH_EDIT: file } });
  if (error !== undefined || status !== 0) err(`The editor failed (${error?.message ?? `exit code ${status}`}).`);
}
