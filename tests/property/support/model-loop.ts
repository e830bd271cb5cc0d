import type { CheckResult, EngineEvent, OperatorCommand } from '../../../src/engine/events.ts';
import type { Policy } from '../../../src/engine/schema/contract.ts';
import type { LoopState } from '../../../src/engine/schema/state.ts';
import type { Reply } from '../../support/arbitraries/arbitraries.ts';

export type Step = 'prompt' | 'allow' | 'wait' | 'look' | 'verify' | 'ignore' | null;
type Turn = Omit<Extract<EngineEvent, { type: 'iteration-ended' }>, 'type' | 'at'>;
type Cause = Extract<EngineEvent, { type: 'time-passed' }>['cause'];

interface Steered {
  readonly id: string;
  readonly delivery: 'now' | 'next';
}

interface Stop {
  readonly from: number;
  readonly to: number;
}

interface Sample {
  readonly reply: string | null;
  readonly findings: number | null;
  readonly error: string | null;
  readonly progress: Turn['progress'];
  readonly denied: boolean;
  readonly scenario: string | null;
  /** What refused its claim, and how the project was then. */
  refused?: string;
}

/**
 * A loop as the rulings describe it, in the plainest way: histories are kept whole and looked through from the
 * beginning, where the engine keeps streaks. It shares no code with the engine.
 */
export class ModelLoop {
  status: LoopState['status'];
  turn: LoopState['turn'] = 'first';
  iteration = 0;
  idleIterations = 0;
  as: string | null = null;
  wait: { until: number; last: boolean; woken: boolean; pace: boolean } | null = null;
  tokens = 0;
  cost: number | null = null;
  queue: Steered[] = [];

  private readonly policy: Policy;
  private readonly startedAt: number;
  /** Times that max_time does not count. Some overlap: several processes notice the same sleep. */
  private readonly stops: Stop[] = [];
  /** Since when the loop is paused, awaits consent or has ended. */
  private stoppedSince: number | null = null;
  private wasSetBack = false;
  /** By how much the clock was set back before the last decision: max_time counts on from there. */
  private behind = 0;
  private max: number;
  private promptId: string | null = null;
  private stopRequested = false;
  /** The user paused while the agent worked. */
  private pauseRequested = false;
  private paused: { reason: string; resumesAt: number | null } | null = null;
  private lastDelivery: string | null = null;
  private lastFigure: number | null = null;
  private history: Sample[] = [];
  private progressed = false;
  /** The project as it was last seen, and how often nothing was known about its changes. */
  private project: { mark: string | null; unknown: number } = { mark: null, unknown: 0 };
  /** What the loop ends as by the iteration whose claim is being verified, should the claim not hold. */
  private failure: string | null = null;
  /** The clock was set back in this idle streak. */
  private isShifted = false;
  private idleSince: number | null = null;
  private idleCount = 0;
  private lastCall = 0;
  private told = new Set<string>();
  private inFlight: Steered[] = [];

  constructor(policy: Policy, now: number, consented: boolean) {
    this.policy = policy;
    this.startedAt = now;
    this.max = policy.maxIterations;
    this.status = consented ? 'running' : 'awaiting-consent';
    this.settle(now);
  }

  /** Notes at the end of each step whether the loop is stopped: time counts only while it runs, waits or verifies. */
  settle(now: number): void {
    const isStopped = this.status === 'paused' || this.status === 'awaiting-consent' || this.status === 'ended';
    if (isStopped) this.stoppedSince ??= now;
    else this.endStop(now);
  }

  /** How long the loop was stopped before `now`, its stop that still lasts included. */
  stoppedFor(now: number): number {
    const open = this.stoppedSince === null ? [] : [{ from: this.stoppedSince, to: now }];
    let total = 0;
    let covered = this.startedAt;
    for (const { from, to } of [...this.stops, ...open].sort((a, b) => a.from - b.from)) {
      total += Math.max(0, to - Math.max(from, covered));
      covered = Math.max(covered, to);
    }
    return total - this.behind;
  }

  turnEnded(now: number, turn: Turn, reply: Reply): Step {
    if (this.status === 'awaiting-consent') return this.letGo('rest');
    const delivery = JSON.stringify([turn.promptId, turn.text, turn.transcriptMark]);
    if (delivery === this.lastDelivery) return 'ignore';
    this.lastDelivery = delivery;
    this.promptId = turn.promptId;
    this.inFlight = [];
    this.spend(turn);
    const users = this.turn === 'user' || turn.origin === 'user';
    if (this.status === 'paused') {
      if (this.paused?.reason !== 'operator' || users || this.turn === 'rest') return this.letGo('rest');
      this.paused = null;
      this.pauseRequested = true;
      return this.count(now, turn, reply);
    }
    if (users && this.stopRequested) return this.end('stopped');
    if (turn.origin === 'user' && this.turn === 'agent') {
      this.pause('interrupted', null, 'user');
      return 'allow';
    }
    if (users && this.status === 'waiting') {
      this.turn = 'rest';
      return 'wait';
    }
    if (users) return this.prompt(now);
    return this.count(now, turn, reply);
  }

  verified(now: number, results: readonly CheckResult[]): Step {
    if (this.status !== 'verifying') return this.overtaken();
    if (results.every(({ outcome }) => outcome === 'ok')) return this.end('complete');
    const last = this.history.at(-1);
    if (last !== undefined && (this.project.mark !== null || this.policy.pace.tracksProgress)) {
      const stands = results.map(({ name, outcome, detail }) => [
        name,
        outcome,
        outcome === 'ok' || detail.split('\n')[0],
      ]);
      last.refused = JSON.stringify([this.project, stands]);
    }
    return this.next(now);
  }

  timePassed(now: number, cause: Cause): Step {
    const { wait } = this;
    if (wait === null) return this.overtaken();
    // A clock that was set back to before the wait begins the wait anew.
    if (wait.pace) wait.until = Math.min(wait.until, now + this.policy.pace.delayMs);
    if (wait.pace && !wait.woken && (cause === 'elapsed' || cause === 'changed' || cause === 'quiet')) {
      return now < wait.until && !this.timeIsUp(now) ? 'wait' : this.prompt(now);
    }
    if (wait.woken || cause === 'changed' || cause === 'deadline') return this.prompt(now);
    if (cause === 'message') return this.letGo('user');
    if (cause === 'notification') return this.letGo('rest');
    const { idle } = this.policy;
    if (idle === null) return this.prompt(now);
    if (cause === 'elapsed') {
      if (this.timeIsUp(now)) return this.prompt(now);
      if (now < wait.until) return 'wait';
      if (idle.wake === 'change') return 'look';
      return wait.last ? this.end('idle-limit') : this.prompt(now);
    }
    const left = idle.maxMs - this.idleFor(now);
    if (wait.last || left <= 0) return this.end('idle-limit');
    if (idle.maxQuietMs !== null && now - this.lastCall >= idle.maxQuietMs) return this.prompt(now);
    return this.sleep(now, left, wait.woken);
  }

  spoken(now: number, promptId: string | null, by: 'user' | 'notification' | 'continuation'): Step {
    if (promptId !== null && promptId === this.promptId) return null;
    this.promptId = promptId;
    const limited = this.paused?.reason === 'rate-limited';
    if (by !== 'user') {
      if (by === 'continuation' && limited) {
        // The client has waited for its limit: that time counts, as a driver's wait does.
        this.stoppedSince = null;
        this.go('agent');
      } else this.turn = this.turn === 'user' || this.status === 'paused' ? 'user' : 'agent';
    } else if (this.status === 'running' || this.status === 'verifying') {
      if (this.turn === 'first') this.turn = 'agent';
      else if (this.turn === 'agent') this.pause('interrupted', null, 'user');
      else this.turn = 'user';
    } else if (this.status === 'waiting' && this.turn === 'first') {
      this.turn = 'agent';
    } else {
      const resets = this.paused?.resumesAt ?? null;
      if (limited && resets !== null && now >= resets) this.go('user');
      this.turn = 'user';
    }
    return null;
  }

  operator(now: number, command: OperatorCommand): Step {
    switch (command.kind) {
      case 'stop':
        if ((this.status === 'running' || this.status === 'verifying') && command.clientAlive && this.turn !== 'rest') {
          this.stopRequested = true;
          return null;
        }
        return this.end('stopped');
      case 'cancel':
        return this.end('cancelled');
      case 'pause':
        // A wait for a limit or a server ends by itself; what the user pauses does not.
        if (this.status === 'awaiting-consent' || (this.status === 'paused' && !this.waits)) return null;
        this.endStop(now);
        this.pause('operator', null, this.turn);
        return null;
      case 'resume':
        if (this.status !== 'paused') this.pauseRequested = false;
        if (this.paused?.reason === 'evidence-lost' && !command.renewed) return null;
        if (this.status === 'paused') {
          this.max = command.renewed?.maxIterations ?? this.max;
          this.history = [];
          // The driver itself waits for a limit or a server, and its waits count.
          if (this.waits && command.by === 'launcher') this.stoppedSince = null;
          this.go(command.by === 'launcher' ? 'first' : this.turn);
        }
        return null;
      case 'wake':
        if (this.wait) this.wait.woken = true;
        return null;
      case 'consent':
        if (this.status === 'awaiting-consent') this.status = 'running';
        return null;
      case 'steer':
        this.queue.push({ id: command.id, delivery: command.delivery });
        if (this.wait && command.delivery === 'now') this.wait.woken = true;
        return null;
      case 'accept':
        this.max = command.maxIterations;
        this.queue.push({ id: command.id, delivery: 'now' });
        if (this.paused?.reason === 'contract-changed') this.go(this.turn);
        return null;
    }
  }

  /** The events that need no word of their own in the model's vocabulary. */
  other(now: number, event: EngineEvent, resetsAt: number | null): Step {
    const resting = this.status === 'paused' || this.status === 'awaiting-consent';
    switch (event.type) {
      case 'api-error':
        if (!resting) this.pause(event.error.kind === 'rate-limited' ? 'rate-limited' : 'api-error', resetsAt, 'rest');
        return null;
      case 'interrupted':
        if (!resting) this.pause('interrupted', null, 'rest');
        return 'allow';
      case 'suspended':
        if (!resting) {
          this.requeue();
          this.pause(event.reason, null, 'rest');
        }
        return this.letGo('rest');
      case 'slept':
        this.stops.push({ from: Date.parse(event.since), to: now });
        return null;
      case 'block-overridden':
        this.requeue();
        if (this.turn !== 'user') this.turn = 'rest';
        return null;
      case 'prompt-made': {
        if (event.outcome === 'given-up' || this.status !== 'running') this.requeue();
        if (event.outcome === 'given-up') return null;
        if (this.status !== 'running') return this.overtaken();
        const limit = this.limit(now);
        return limit === null ? null : this.end(limit);
      }
      case 'task-missing':
        return this.end('error');
      case 'budget-reached':
      case 'shared-budget-reached':
        return this.end('budget-exhausted');
      case 'turn-released':
        return this.letGo(event.why === 'message' || this.turn === 'user' ? 'user' : 'rest');
      case 'noticed':
        this.told.add(event.key);
        return null;
      case 'steering-delivered':
        this.queue = this.queue.filter(({ id }) => !event.ids.includes(id));
        return null;
      case 'first-prompt': {
        const limit = this.status === 'running' ? this.limit(now) : null;
        if (limit !== null) return this.end(limit);
        if (this.status === 'running' && this.turn === 'rest') this.turn = 'first';
        this.inFlight = this.queue;
        this.queue = [];
        return null;
      }
      default:
        return null;
    }
  }

  /** A session that is new to the loop: its cost begins anew. */
  newSession(): void {
    this.lastFigure = null;
  }

  /** `lastSeen` is the last sign of the driver of a loop that was not stopped. */
  resumed(now: number, consented: boolean, lastSeen: number): void {
    this.stoppedSince ??= lastSeen;
    this.endStop(now);
    this.go('first');
    if (!consented) this.status = 'awaiting-consent';
    this.as = null;
    this.history = [];
    this.restless();
    this.stopRequested = false;
    this.pauseRequested = false;
    this.lastDelivery = null;
    this.promptId = null;
    this.lastFigure = null;
    this.requeue();
    this.settle(now);
  }

  /** An event comes at `now`, after a decision at `last`. */
  onClock(now: number, last: number): void {
    this.behind += Math.max(0, last - now);
  }

  clockSetBack(): void {
    this.wasSetBack = true;
    this.isShifted = this.idleSince !== null;
  }

  /** How long exactly a streak or a stop lasts is not foretold for a clock that was set back. */
  get unsure(): boolean {
    return this.isShifted || (this.wasSetBack && (this.stops.length > 0 || this.stoppedSince !== null));
  }

  /** Takes over from the engine what the model does not foretell on an unsteady clock. */
  follow(state: LoopState): void {
    this.status = state.status;
    this.turn = state.turn;
    this.as = state.status === 'ended' ? state.ended.as : null;
    this.wait =
      state.status === 'waiting'
        ? {
            until: Date.parse(state.waiting.until),
            last: state.waiting.last,
            woken: state.waiting.woken,
            pace: state.waiting.why === 'pace',
          }
        : null;
    this.queue = state.steering.map(({ id, delivery }) => ({ id, delivery }));
    this.inFlight = state.inFlight?.steering.map(({ id, delivery }) => ({ id, delivery })) ?? [];
  }

  private count(now: number, turn: Turn, reply: Reply): Step {
    const own = this.policy.completion.kind === 'signal';
    const claimed =
      own && (reply.claims === 'alone' || (reply.claims !== 'no' && this.policy.signalMatch === 'anywhere'));
    const failed = turn.timedOut ? 'timeout' : turn.error === null ? null : 'error';
    const idles = reply.idle && !claimed && reply.findings === null && failed === null;
    if (turn.progress === 'yes') this.progressed = true;
    this.project = { ...this.project, mark: turn.projectMark ?? this.project.mark };
    this.failure = this.policy.pace.stopOnError ? failed : null;
    if (this.policy.idle && idles) {
      this.idleIterations++;
      this.idleSince ??= now;
      this.idleCount++;
      this.lastCall = now;
      this.status = 'running';
      const left = this.policy.idle.maxMs - this.idleFor(now);
      const first = this.limit(now);
      if (first === null && this.pauseRequested) return this.pauseNow();
      const limit = first ?? (left <= 0 ? 'idle-limit' : null);
      return limit === null ? this.sleep(now, left, false) : this.end(limit);
    }
    this.iteration++;
    this.restless();
    if (turn.progress === 'unknown' && this.policy.pace.tracksProgress) this.project.unknown++;
    const same = reply.same(own);
    this.history.push({
      reply: same === '' && (turn.toolCalls > 0 || failed !== null) ? null : same,
      findings: reply.findings,
      error: turn.error,
      progress: turn.progress,
      denied: turn.toolCalls > 0 && turn.deniedCalls >= turn.toolCalls,
      scenario: turn.scenario,
    });
    this.wait = null;
    this.status = 'running';
    if (!claimed) return this.next(now);
    this.status = 'verifying';
    return 'verify';
  }

  private limit(now: number): string | null {
    if (this.stopRequested) return 'stopped';
    if (this.iteration >= this.max)
      return this.policy.pace.tracksProgress && !this.progressed ? 'no-progress-exhaustion' : 'max-iterations';
    if (this.trips()) return 'circuit-open';
    const { maxCostUsd, maxTokens } = this.policy.budget;
    const spent =
      (maxCostUsd !== null && this.cost !== null && this.cost >= maxCostUsd) ||
      (maxTokens !== null && this.tokens >= maxTokens) ||
      this.timeIsUp(now);
    return spent ? 'budget-exhausted' : null;
  }

  private timeIsUp(now: number): boolean {
    const { maxTimeMs } = this.policy.budget;
    return maxTimeMs !== null && now - this.startedAt - this.stoppedFor(now) >= maxTimeMs;
  }

  private trips(): boolean {
    const { breaker } = this.policy;
    const known = <T>(values: (T | null)[]): T[] => values.filter((value) => value !== null);
    const run = (values: readonly unknown[], holds: (value: unknown) => boolean): number => {
      const broken = values.findLastIndex((value) => !holds(value));
      return values.length - 1 - broken;
    };
    const equalAtEnd = (values: readonly unknown[]): number => run(values, (value) => value === values.at(-1)) - 1;
    const unchanged = this.history.slice(
      Math.max(
        0,
        this.history.findLastIndex(({ progress }) => progress === 'yes'),
      ),
    );
    const errors = this.history.map(({ error }) => error);
    const counts: [number, number][] = [
      [breaker.findings, equalAtEnd(known(this.history.map(({ findings }) => findings)))],
      [breaker.sameReply, equalAtEnd(known(this.history.map(({ reply }) => reply)))],
      [breaker.sameReply, equalAtEnd(known(unchanged.map(({ refused }) => refused ?? null)))],
      [breaker.sameError, errors.at(-1) === null ? 0 : equalAtEnd(errors)],
      [breaker.tdd, equalAtEnd(known(this.history.map(({ scenario }) => scenario)))],
      [
        breaker.denials,
        run(
          this.history.map(({ denied }) => denied),
          (denied) => denied === true,
        ),
      ],
      [
        breaker.noProgress,
        run(
          this.history.map(({ progress }) => progress).filter((progress) => progress !== 'unknown'),
          (progress) => progress === 'no',
        ),
      ],
    ];
    return counts.some(([threshold, count]) => threshold > 0 && count >= threshold);
  }

  /** After a working iteration that completed nothing. */
  private next(now: number): Step {
    if (this.failure !== null && !this.stopRequested) return this.end(this.failure);
    const { delayMs } = this.policy.pace;
    if (delayMs === 0) return this.prompt(now);
    const limit = this.limit(now);
    if (limit !== null) return this.end(limit);
    if (this.pauseRequested) return this.pauseNow();
    this.status = 'waiting';
    this.wait = { until: now + delayMs, last: false, woken: false, pace: true };
    return 'wait';
  }

  private prompt(now: number): Step {
    const limit = this.limit(now);
    if (limit !== null) return this.end(limit);
    if (this.pauseRequested) return this.pauseNow();
    this.go('agent');
    this.inFlight = this.queue;
    this.queue = [];
    return 'prompt';
  }

  private sleep(now: number, left: number, woken: boolean): Step {
    const { idle } = this.policy;
    if (idle === null) throw new Error('nobody sleeps without an idle policy');
    let delay = idle.delayMs;
    for (let k = 1; k < this.idleCount; k++) delay = Math.min(delay * idle.backoff, idle.maxDelayMs);
    this.status = 'waiting';
    this.wait = { until: Math.ceil(now + Math.min(delay, left)), last: delay >= left, woken, pace: false };
    return 'wait';
  }

  private spend({ usage, costUsd }: Turn): void {
    this.tokens += usage === null ? 0 : usage.inputTokens + usage.outputTokens + usage.cacheWriteTokens;
    if (costUsd === null) return;
    const last = this.lastFigure === null || costUsd < this.lastFigure ? 0 : this.lastFigure;
    this.cost = (this.cost ?? 0) + costUsd - last;
    this.lastFigure = costUsd;
  }

  private idleFor(now: number): number {
    return this.idleSince === null ? 0 : Math.max(0, now - this.idleSince);
  }

  private endStop(now: number): void {
    if (this.stoppedSince !== null) this.stops.push({ from: this.stoppedSince, to: now });
    this.stoppedSince = null;
  }

  private requeue(): void {
    this.queue = [...this.inFlight, ...this.queue];
    this.inFlight = [];
  }

  private restless(): void {
    this.idleSince = null;
    this.idleCount = 0;
    this.isShifted = false;
  }

  private end(as: string): Step {
    this.status = 'ended';
    this.as = as;
    this.wait = null;
    return 'allow';
  }

  private get waits(): boolean {
    return this.paused?.reason === 'rate-limited' || this.paused?.reason === 'api-error';
  }

  private pauseNow(): Step {
    this.pauseRequested = false;
    this.pause('operator', null, 'rest');
    return 'allow';
  }

  private pause(reason: string, resumesAt: number | null, turn: LoopState['turn']): void {
    this.status = 'paused';
    this.paused = { reason, resumesAt };
    this.wait = null;
    this.turn = turn;
  }

  private go(turn: LoopState['turn']): void {
    this.status = 'running';
    this.paused = null;
    this.wait = null;
    this.turn = turn;
  }

  private letGo(turn: 'rest' | 'user'): Step {
    this.turn = turn;
    return 'allow';
  }

  private overtaken(): Step {
    return this.status === 'paused' ? this.letGo('rest') : 'allow';
  }
}
