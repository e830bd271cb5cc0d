import { pausedText } from '../../engine/messages.ts';
import { fieldsOf, textOrNull } from '../../hosts/fields.ts';
import { type Entry, isActivity } from '../../state/event-stream.ts';
import { tokensOf } from '../../term/facts-text.ts';
import { jsonOrNull } from '../../text/json.ts';
import { firstLine } from '../../text/quote.ts';
import { type FailedTest, failedTestText } from '../../text/test-results/test-summary.ts';
import { breakerLevel, detail, MOST_WORDS, mapTexts, numberOf, reasonsOf, text } from './event-text.ts';
import type { Check, CheckSummary, Decision, Iteration, Limit, Wait } from './report-data.ts';

const MOST_DECISIONS = 2_000;
/** Maximum number of an iteration's calls that are kept individually; others are counted. */
const MOST_CALLS = 1_000;

interface StartFacts {
  readonly limits: Readonly<Record<string, unknown>>;
  readonly checks: readonly { readonly name: string; readonly run: string; readonly before?: string }[];
  readonly facts: Readonly<Record<string, unknown>>;
}

/** Converts the event stream of one loop, oldest event first, into report data. Never throws. */
export class LoopHistory {
  readonly iterations: Iteration[] = [];
  readonly waits: Wait[] = [];
  readonly decisions: Decision[] = [];
  start: StartFacts = { limits: {}, checks: [], facts: {} };
  #open: Iteration | null = null;
  #lastAt = '';
  /** True if the agent said or called something in the open iteration. */
  #isAtWork = false;
  /** Number of iterations that have ended, of work and idle. */
  #place = 0;
  readonly #results = new Map<string, { checks: Check[]; failed: number | null; passed: number | null }>();
  readonly #steering = new Map<string, string>();
  /** Calls of the open iteration that are only counted. */
  readonly #counted = new Set<string>();
  readonly #shown: (text: string) => string;
  readonly #briefUntil: number;
  /** True if further details of a brief iteration add nothing. */
  #isUnderWay = false;
  /** Line of the last event if it was left out; else null. */
  #skipped: string | null = null;

  /** Creates a history; `shown` prepares texts for display. The first `briefUntil` iterations keep no details. */
  constructor(shown: (text: string) => string = (text) => text, briefUntil = 0) {
    this.#shown = shown;
    this.#briefUntil = briefUntil;
  }

  /** Returns whether to parse and take the next event: of a brief iteration, only some details matter. */
  wants(type: string, line: string): boolean {
    if (!this.#isBrief()) return true;
    const isDetail = DETAIL.test(type);
    if (isDetail && (this.#isUnderWay || NO_WORK.test(type))) {
      this.#skipped = line;
      return false;
    }
    const before = this.#skipped !== null && AFTER_ALL.test(type) ? jsonOrNull(this.#skipped) : null;
    if (before !== null) this.take(before as Entry);
    this.#skipped = null;
    if (isDetail || type === 'iteration.started') this.#isUnderWay = true;
    else if (BEFORE_WORK.test(type)) this.#isUnderWay = false;
    return true;
  }

  take(recorded: Entry): void {
    const { type } = recorded;
    if (this.#isBrief() && DETAIL.test(text(type))) {
      this.#passed(text(type), this.#shown(text(recorded['at'])));
      return;
    }
    if (type === 'iteration.ended') {
      // Nearly all of its contents are figures; its few texts are prepared where they are taken.
      const at = this.#shown(text(recorded['at']));
      const startedAt = this.#shown(text(recorded['startedAt']));
      // An iteration may be known only by its end.
      this.#endWait(type, at, startedAt || at);
      this.#ended(startedAt, at, recorded);
      this.#lastAt = at;
      return;
    }
    const event = mapTexts(recorded, this.#shown);
    const at = text(event['at']);
    this.#endWait(text(type), at);
    if (isActivity(type) || type === 'agent.ended') this.#activity(text(type), at, event);
    else this.#decision(text(type), at, event);
    this.#lastAt = at;
  }

  /** Takes a detail of a brief iteration, which only shows that the agent is at work. */
  #passed(type: string, at: string): void {
    this.#endWait(type, at);
    if (!NO_WORK.test(type)) {
      this.#current(at);
      this.#isAtWork = true;
    }
    this.#lastAt = at;
  }

  checks(): CheckSummary[] {
    const names = new Set([...this.start.checks.map(({ name }) => name), ...this.#results.keys()]);
    return [...names].map((name) => {
      const known = this.#results.get(name);
      const last = known?.checks.at(-1);
      const atStart = this.start.checks.find((check) => check.name === name);
      return {
        name,
        run: last?.run ?? atStart?.run ?? null,
        before: atStart?.before ?? null,
        runs: known?.checks.length ?? 0,
        firstFailed: known?.failed ?? null,
        firstPassed: known?.passed ?? null,
        last: last?.outcome ?? null,
        why: firstLine(last?.tail ?? ''),
        failedTests: last?.failedTests ?? [],
      };
    });
  }

  /** Returns the limits with which the loop was started, with the usage in `used`. */
  limits(used: Readonly<Record<string, number | null>>): Limit[] {
    const rows = [
      ['iterations', 'count', 'maxIterations', this.start.facts['maxIterations']],
      ['cost', 'usd', 'maxCostUsd', this.start.limits['maxCostUsd']],
      ['tokens', 'tokens', 'maxTokens', this.start.limits['maxTokens']],
      ['time', 'ms', 'maxTimeMs', this.start.limits['maxTimeMs']],
      ['idle time', 'ms', 'maxIdleMs', this.start.limits['maxIdleMs']],
    ] as const;
    return rows.flatMap(([name, unit, key, limit]) =>
      typeof limit === 'number' ? [{ name, unit, limit, used: used[key] ?? null }] : [],
    );
  }

  #activity(type: string, at: string, event: Entry): void {
    if (type === 'check.ran') this.#checked(at, event);
    else if (type === 'wait.started') this.#waits(at, text(event['why']), textOrNull(event['until']));
    else if (!NO_WORK.test(type)) this.#worked(this.#current(at), type, at, event);
  }

  #worked(open: Iteration, type: string, at: string, event: Entry): void {
    switch (type) {
      case 'iteration.started':
        open.number = numberOf(event['begins']) ?? open.number;
        if (!this.#isAtWork) open.startedAt = at;
        return;
      case 'agent.text':
        open.said = text(event['text']).slice(-MOST_WORDS);
        this.#isAtWork = true;
        return;
      case 'agent.usage':
        open.context = Math.max(open.context ?? 0, numberOf(event['context']) ?? 0);
        open.window = numberOf(event['window']) ?? open.window;
        return;
      case 'agent.ended':
        open.model = textOrNull(event['model']) ?? open.model;
        // A failed run is retried.
        open.error = event['outcome'] === 'ok' ? null : text(event['message']) || text(event['outcome']);
        return;
      case 'command.ran': {
        const { name, outcome, durationMs, why } = event;
        const ended = why === undefined ? text(outcome) : `${text(outcome)}: ${text(why)}`;
        open.commands.push({ name: text(name), outcome: ended, durationMs: numberOf(durationMs) ?? 0 });
        return;
      }
      case 'steering.sent':
        if (Array.isArray(event['texts'])) addAll(open.steering, event['texts'].map(text));
        return;
      default:
        if (type.startsWith('tool.')) this.#called(open, type, at, event);
    }
  }

  /** Joins the events of one call: asked and done from the hooks, started and ended from a runner that follows its agent. */
  #called(open: Iteration, type: string, at: string, event: Entry): void {
    const id = text(event['callId'] ?? event['id']);
    let call = open.calls.findLast((known) => known.id === id);
    if (call === undefined) {
      if (this.#counted.has(id)) return;
      this.#isAtWork = true;
      open.toolCalls += 1;
      if (open.calls.length >= MOST_CALLS) return void this.#counted.add(id);
      const nested = event['nested'] === true || event['agentId'] !== undefined;
      const named = { id, tool: text(event['tool']), about: text(event['about']), at };
      call = { ...named, outcome: 'running', durationMs: null, ...(nested && { nested: true }) };
      open.calls.push(call);
    }
    const outcome = OUTCOMES[type === 'tool.ended' ? text(event['outcome']) : type];
    if (outcome === undefined) return;
    const isDenied = outcome === 'denied' || call.outcome === 'denied';
    if (isDenied && call.outcome !== 'denied') open.denied += 1;
    call.outcome = isDenied ? 'denied' : outcome;
    call.durationMs =
      numberOf(event['durationMs']) ?? call.durationMs ?? Math.max(0, Date.parse(at) - Date.parse(call.at));
    const reason = textOrNull(event['reason']) ?? textOrNull(event['rule']);
    if (isDenied && reason !== null) call.reason ??= reason;
  }

  #checked(at: string, event: Entry): void {
    const iteration = this.#open ?? this.iterations.at(-1) ?? this.#current(at);
    const { name, run, outcome, tail, tests } = event;
    const { failures } = (tests ?? {}) as { readonly failures?: unknown };
    const check: Check = {
      name: text(name),
      run: textOrNull(run),
      outcome: text(outcome),
      at,
      tail: text(tail),
      failedTests: Array.isArray(failures) ? (failures as FailedTest[]).map(failedTestText) : [],
    };
    iteration.checks.push(check);
    const known = this.#results.get(check.name) ?? { checks: [], failed: null, passed: null };
    known.checks.push(check);
    if (check.outcome === 'ok') known.passed ??= iteration.number;
    else known.failed ??= iteration.number;
    this.#results.set(check.name, known);
  }

  #ended(startedAt: string, at: string, record: Entry): void {
    const open = this.#current(startedAt || at);
    const agent = (record['agent'] ?? {}) as Entry;
    open.number = numberOf(record['iteration']) ?? open.number;
    open.startedAt = startedAt || open.startedAt;
    open.endedAt = at;
    open.durationMs = numberOf(record['durationMs']);
    open.findings = numberOf(record['findings']);
    open.toolCalls = Math.max(open.toolCalls, numberOf(record['toolCalls']) ?? 0);
    open.denied = Math.max(open.denied, numberOf(record['deniedCalls']) ?? 0);
    open.decision = this.#shown(text(record['decision']));
    open.costUsd = numberOf(agent['costUsd']);
    open.tokens = tokensOf(agent['usage']);
    open.model = textOrNull(agent['model']) === null ? open.model : this.#shown(text(agent['model']));
    open.breaker = breakerLevel(record['breaker'], this.start.facts['breaker']);
    this.#place = open.number + (numberOf(record['idleIterations']) ?? 0);
    if (open.outcome === 'open')
      open.outcome = record['kind'] === 'idle' ? 'idle' : record['claimed'] === true ? 'claimed' : 'worked';
    this.#open = null;
  }

  #decision(type: string, at: string, event: Entry): void {
    switch (type) {
      case 'loop.started':
      case 'loop.resumed':
        this.#started(event);
        break;
      case 'iteration.failed': {
        const failed = this.#open ?? this.iterations.at(-1);
        if (failed !== undefined) {
          failed.outcome = 'failed';
          failed.error = text(event['error']);
        }
        break;
      }
      case 'completion.rejected': {
        const claimed = this.iterations.at(-1);
        if (claimed !== undefined) {
          claimed.outcome = 'rejected';
          // The output of a check is shown with its result, and nowhere else.
          const hasOutput = (reason: string): boolean =>
            claimed.checks.some(({ name, tail }) => tail !== '' && reason.startsWith(`${name}: `));
          addAll(
            claimed.reasons,
            reasonsOf(event).map((reason) => (hasOutput(reason) ? firstLine(reason) : reason)),
          );
        }
        break;
      }
      case 'loop.ended': {
        const last = this.iterations.at(-1);
        if (event['status'] === 'complete' && last !== undefined) last.outcome = 'complete';
        break;
      }
      case 'loop.paused':
        this.#waits(at, pausedText(text(event['reason'])), textOrNull(event['resetsAt']));
        break;
      case 'operator.steer':
        this.#steering.set(text(event['id']), text(event['text']));
        break;
      case 'steering.delivered': {
        const ids = Array.isArray(event['ids']) ? event['ids'].map(text) : [];
        addAll(
          this.#current(at).steering,
          ids.flatMap((id) => this.#steering.get(id) ?? []),
        );
        break;
      }
    }
    if (this.decisions.length < MOST_DECISIONS)
      this.decisions.push({ at, type, iteration: numberOf(event['iteration']) ?? 0, text: this.#shown(detail(event)) });
  }

  #started({ limits, checks, ...facts }: Entry): void {
    // A resume after a pause keeps the same terms and does not repeat them.
    if (limits === undefined) return;
    this.#interrupt();
    const named = Array.isArray(checks)
      ? (checks as StartFacts['checks']).filter((check) => typeof fieldsOf(check)['name'] === 'string')
      : this.start.checks;
    this.start = { limits: { ...this.start.limits, ...(limits as object) }, checks: named, facts };
  }

  /** Closes an open iteration when the loop begins again: its process was killed. */
  #interrupt(): void {
    const open = this.#open;
    if (open?.outcome === 'open') {
      const durationMs = Math.max(0, Date.parse(this.#lastAt) - Date.parse(open.startedAt));
      Object.assign(open, { outcome: 'interrupted', endedAt: this.#lastAt, durationMs } satisfies Partial<Iteration>);
    }
    this.#open = null;
  }

  /** Returns the current iteration; the first activity begins one. */
  #current(at: string): Iteration {
    if (this.#open !== null) return this.#open;
    const before = this.iterations.at(-1);
    const number = (before?.number ?? 0) + (before?.outcome === 'interrupted' ? 0 : 1);
    this.#open = {
      index: this.iterations.length + 1,
      number,
      outcome: 'open',
      startedAt: at,
      endedAt: null,
      durationMs: null,
      costUsd: null,
      tokens: null,
      context: null,
      window: null,
      findings: null,
      breaker: null,
      toolCalls: 0,
      denied: 0,
      model: null,
      decision: '',
      said: '',
      error: null,
      reasons: [],
      calls: [],
      checks: [],
      commands: [],
      steering: [],
      commits: [],
      ...(this.#isBrief() && { brief: true }),
    };
    this.#isAtWork = false;
    this.iterations.push(this.#open);
    this.#counted.clear();
    return this.#open;
  }

  #isBrief(): boolean {
    return this.#place < this.#briefUntil;
  }

  #waits(from: string, why: string, until: string | null): void {
    const last = this.waits.at(-1);
    if (last?.to === null) {
      if (last.why === why && last.until === until) return;
      last.to = from;
    }
    this.waits.push({ from, to: null, until, why });
  }

  #endWait(type: string, at: string, begun = at): void {
    const last = this.waits.at(-1);
    if (last?.to !== null) return;
    const isPause = last.why.startsWith('paused');
    // An agent at work ends its iteration before the pause begins.
    if (isPause && type === 'iteration.ended') last.from = at;
    if (isPause ? PAUSE_ENDS.test(type) : !NO_WORK.test(type) && !IN_WAIT.test(type))
      last.to = begun < last.from ? at : begun;
  }
}

/** Types of events that matter only for the details of an iteration. */
const DETAIL = /^(?:tool\.|agent\.(?:text|ended)$|command\.ran$|verification\.|check\.started$)/;
/** Activity that does not begin an iteration. */
const NO_WORK =
  /^(?:verification\.started|check\.started|run\.ended|steering\.pending|agent\.(?:notice|after-iteration|interrupting|checklist))$/;
/** Events after which the next event shows that something began or that a wait is over. */
const BEFORE_WORK = /^(?:iteration\.ended$|wait\.started$|loop\.)/;
/** Events that need the time of the event before them. */
const AFTER_ALL = /^(?:iteration\.started$|loop\.)/;
const IN_WAIT = /^(?:wait\.started|operator\.|notice|loop\.paused)/;
const PAUSE_ENDS = /^(?:loop\.(?!paused$)|iteration\.started$|operator\.accept$)/;

const OUTCOMES: Readonly<Record<string, 'ok' | 'failed' | 'denied'>> = {
  ok: 'ok',
  failed: 'failed',
  denied: 'denied',
  'tool.done': 'ok',
  'tool.failed': 'failed',
  'tool.denied': 'denied',
};

function addAll(list: string[], more: readonly string[]): void {
  for (const each of more) if (!list.includes(each)) list.push(each);
}
