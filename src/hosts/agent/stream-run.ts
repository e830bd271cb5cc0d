import { billedTokens } from '../../engine/policy/budget.ts';
import { type AgentMessage, addFact, NO_FACTS, type RunFacts } from './agent-message.ts';
import { type AgentProcess, type FinishedRun, type ProgramOptions, startAgentProcess } from './agent-run.ts';
import { classifyRun, type EndedBy, type RunExit, type RunOutcome } from './classify-run.ts';

/** Maximum size of a line in bytes; one can contain a whole file or the whole output of a command. */
const LONGEST_LINE = 10 * 1024 * 1024;
/** Time for a client to end its turn when asked to. */
const POLITE_MS = 5_000;

/** The peculiarities of one client's stream. */
export interface StreamWays {
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** Time for a run that exceeds its budget to end its turn; it must have ended within five seconds. */
  readonly politeMsOfBudget: number;
  /** Reads a line; null if it does not belong to the stream. */
  readonly read: (line: string) => readonly AgentMessage[] | null;
  /** Counts the usage that a message bills; returns the usage so far, or null if the message says nothing about it. */
  readonly measure: (message: AgentMessage) => Pick<RunFacts, 'usage' | 'costUsd'> | null;
  /** Acts on a message before the run does. Returns false for one that the run must not see. */
  readonly before: (message: AgentMessage, facts: RunFacts) => boolean;
  /** Acts on a message that the run has handled. */
  readonly after: (message: AgentMessage, facts: RunFacts) => void;
  /** Called five times a second, and once after the run. */
  readonly look: (isLast: boolean) => void;
  /** Returns whether a client whose turn is over has been awaited long enough. */
  readonly isOverdue: (silentMs: number, runningMs: number) => boolean;
  /** Asks the client to end its turn and report its figures. */
  readonly interrupt: () => void;
  /** Classifies a run that did not begin because of its options; null for any other run. */
  readonly refused: (facts: RunFacts, exit: RunExit, complaint: string) => RunOutcome | null;
}

/** Run of a client that reports each step in a line: follows its facts, limits and end. */
export class StreamRun {
  readonly process: AgentProcess;
  private readonly options: ProgramOptions;
  private readonly ways: StreamWays;
  private facts: RunFacts = NO_FACTS;
  private ending: { readonly why: EndedBy; readonly force: NodeJS.Timeout } | null = null;
  private readonly lines = byteLines(
    LONGEST_LINE,
    (line) => this.readLine(line),
    () => this.lose(),
  );

  constructor(options: ProgramOptions, ways: StreamWays) {
    this.options = options;
    this.ways = ways;
    const { program, cwd, onStart } = options;
    this.process = startAgentProcess({
      program,
      args: ways.args,
      cwd,
      env: ways.env,
      onStart,
      onOutput: this.lines.add,
      errorsShowLife: false,
      overdue: (silentMs, runningMs) => this.overdue(silentMs, runningMs),
    });
  }

  /** Reason why the client was asked to end; null if it was not. */
  get endedFor(): EndedBy | null {
    return this.ending?.why ?? null;
  }

  readonly hear = (message: AgentMessage): void => {
    const { options, ways } = this;
    if (!ways.before(message, this.facts)) return;
    this.facts = addFact(this.facts, message);
    const used = ways.measure(message);
    if (used !== null) this.bill(used, message.kind !== 'request');
    if (message.kind !== 'billed') options.onMessage(message);
    ways.after(message, this.facts);
    if (options.guarded && this.facts.unguarded) this.process.end('unguarded');
  };

  /** Asks the client to end its turn; ends its processes if `force`, after its turn, or when its time is up. */
  readonly end = (why: EndedBy, force = false): void => {
    if (force || this.facts.result !== null) this.process.end(this.ending?.why ?? why);
    if (force || this.facts.result !== null || this.ending !== null) return;
    const politeMs = why === 'budget' ? this.ways.politeMsOfBudget : POLITE_MS;
    this.ending = { why, force: setTimeout(() => this.process.end(why), politeMs) };
    this.ways.interrupt();
  };

  /** Resolves once no process of the run is left. Never rejects. */
  async finished(): Promise<FinishedRun> {
    const { exit, durationMs, complaint } = await this.process.done;
    if (this.lines.end()) this.lose();
    clearTimeout(this.ending?.force);
    this.ways.look(true);
    const whole = { ...exit, endedBy: exit.endedBy ?? this.endedFor };
    const outcome = this.ways.refused(this.facts, whole, complaint) ?? classifyRun(this.facts, whole);
    return { outcome, facts: this.facts, durationMs, complaint };
  }

  private readLine(line: string): void {
    const messages = line.trim() === '' ? [] : this.ways.read(line);
    if (messages === null) this.lose();
    else messages.forEach(this.hear);
  }

  private lose(): void {
    this.facts = { ...this.facts, lostLines: this.facts.lostLines + 1 };
  }

  private bill(used: Pick<RunFacts, 'usage' | 'costUsd'>, isNews: boolean): void {
    this.facts = { ...this.facts, ...used };
    if (isNews) this.options.onUsage?.(this.facts);
    const { tokens: most } = this.options.allowance;
    if (most !== null && used.usage !== null && billedTokens(used.usage) >= most) this.end('budget');
  }

  private overdue(silentMs: number, runningMs: number): EndedBy | null {
    const { silenceMs, timeMs, allowance } = this.options;
    this.ways.look(false);
    if (allowance.timeMs !== null && runningMs >= allowance.timeMs) this.end('budget');
    // What a client does after its turn has the same time limit as in a session.
    const isLate = timeMs !== null && runningMs > timeMs;
    if (this.facts.result !== null) return isLate || this.ways.isOverdue(silentMs, runningMs) ? 'lingering' : null;
    if (silentMs > silenceMs) this.end('silence');
    else if (isLate) this.end('time');
    return null;
  }
}

const NEWLINE = 0x0a;

/** Splits a stream of bytes into lines. Drops a line over `limit` bytes and calls `onTooLong` once for it. */
export function byteLines(limit: number, onLine: (line: string) => void, onTooLong: () => void) {
  let held: Buffer[] = [];
  let size = 0;
  let skipping = false;
  const keep = (part: Buffer): void => {
    if (skipping || part.length === 0) return;
    size += part.length;
    if (size <= limit) {
      held.push(part);
      return;
    }
    skipping = true;
    held = [];
    onTooLong();
  };
  const finish = (): void => {
    const line = held;
    const complete = !skipping && size > 0;
    held = [];
    size = 0;
    skipping = false;
    if (complete) onLine(Buffer.concat(line).toString('utf8'));
  };
  return {
    add: (chunk: Buffer): void => {
      let from = 0;
      for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, from)) {
        keep(chunk.subarray(from, at));
        finish();
        from = at + 1;
      }
      keep(chunk.subarray(from));
    },
    /** Ends the stream; returns true if its last line was unterminated and therefore not passed on. */
    end: (): boolean => {
      const torn = size > 0 && !skipping;
      held = [];
      size = 0;
      return torn;
    },
  };
}
