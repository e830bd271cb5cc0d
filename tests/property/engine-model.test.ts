import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CheckResult, Effect, EngineEvent, OperatorCommand } from '../../src/engine/events.ts';
import { bindSession, initialState, resumeState } from '../../src/engine/initial-state.ts';
import { timeStopped } from '../../src/engine/policy/loop-time.ts';
import type { Policy } from '../../src/engine/schema/contract.ts';
import { iterationRecord, loopEvent } from '../../src/engine/schema/records.ts';
import { commonPart, type LoopState, statusPart } from '../../src/engine/schema/state.ts';
import { transition } from '../../src/engine/transition.ts';
import { validateLoopState } from '../../src/state/loop-files.ts';
import * as arb from '../support/arbitraries/arbitraries.ts';
import fc, { runs, seedOf } from '../support/property.ts';
import { ModelLoop, type Step } from './support/model-loop.ts';

const RUNS = runs(240);
const STEPS: ReadonlySet<string> = new Set(['prompt', 'allow', 'wait', 'look', 'verify', 'ignore']);
const PARTS = ['waiting', 'verifying', 'paused', 'ended'] as const;
type Turn = Extract<EngineEvent, { type: 'iteration-ended' }>;

/** What a test does to a loop. `session` is whose hook reports: only the bound one's word reaches the engine. */
type Action =
  | {
      do: 'turn';
      after: number;
      reply: arb.Reply;
      turn: Omit<Turn, 'type' | 'at' | 'text' | 'promptId' | 'transcriptMark'>;
      sameId: boolean;
      session: 'A' | 'B';
    }
  | { do: 'redeliver'; after: number }
  | { do: 'carry out'; results: CheckResult[]; changed: boolean; late: number }
  | { do: 'verified'; after: number; results: CheckResult[] }
  | {
      do: 'time';
      after: number | 'until';
      cause: Extract<EngineEvent, { type: 'time-passed' }>['cause'];
      seen: string | null;
    }
  | { do: 'spoken'; after: number; by: 'user' | 'notification' | 'continuation'; id: 'same' | 'new' | null }
  | { do: 'operator'; after: number; command: OperatorCommand }
  | { do: 'other'; after: number; event: object }
  | { do: 'delivered'; after: number; which: number }
  | { do: 'clear'; session: 'A' | 'B' }
  | { do: 'take over'; pid: number }
  | { do: 'resume'; after: number; consented: boolean }
  | { do: 'reset'; consented: boolean }
  | { do: 'jump'; by: number }
  | { do: 'crash'; lost: 'effects' | 'save' };

const SECONDS = fc.integer({ min: 0, max: 400 }).map((n) => n * 1000);
const mostly = fc.integer({ min: 0, max: 9 }).map((n) => n > 0);
const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 40,
    arbitrary: fc.record({
      do: fc.constant('turn' as const),
      after: SECONDS,
      reply: arb.modelReply,
      turn: arb.turn,
      sameId: fc.boolean(),
      session: fc.constantFrom(...(['A', 'A', 'A', 'A', 'B'] as const)),
    }),
  },
  {
    weight: 40,
    arbitrary: fc.record({
      do: fc.constant('carry out' as const),
      results: arb.checkResults,
      changed: fc.boolean(),
      late: fc.constantFrom(0, 0, 0, 1, 90_000),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('time' as const),
      after: fc.oneof({ weight: 3, arbitrary: fc.constant('until' as const) }, { weight: 1, arbitrary: SECONDS }),
      cause: arb.timeCause,
      seen: fc.option(fc.constantFrom('x', 'y')),
    }),
  },
  {
    weight: 10,
    arbitrary: fc.record({ do: fc.constant('verified' as const), after: SECONDS, results: arb.checkResults }),
  },
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constant('spoken' as const),
      after: SECONDS,
      by: fc.constantFrom(...(['user', 'user', 'notification', 'continuation'] as const)),
      id: fc.constantFrom('same' as const, 'new' as const, 'new' as const, null),
    }),
  },
  {
    weight: 12,
    arbitrary: fc.record({ do: fc.constant('operator' as const), after: SECONDS, command: arb.operatorCommand }),
  },
  { weight: 8, arbitrary: fc.record({ do: fc.constant('other' as const), after: SECONDS, event: arb.rareEvent }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('delivered' as const), after: SECONDS, which: fc.nat({ max: 3 }) }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('redeliver' as const), after: SECONDS }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('clear' as const), session: fc.constantFrom('A' as const, 'B' as const) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('take over' as const), pid: fc.integer({ min: 2, max: 4 }) }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('resume' as const), after: SECONDS, consented: mostly }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('reset' as const), consented: mostly }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('jump' as const), by: fc.integer({ min: -7_200_000, max: 7_200_000 }) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('crash' as const),
      lost: fc.constantFrom('effects' as const, 'save' as const),
    }),
  },
);

/** One loop on disk, the engine that decides about it, and the model that says what it ought to decide. */
class Harness {
  private readonly policy: Policy;
  private readonly engine: typeof transition;
  private now = Date.parse(arb.instantAt(0));
  private state: LoopState;
  private model: ModelLoop;
  private loops = 0;
  private mark = 0;
  private prompts = 0;
  private messages = 0;
  private pid = 1;
  private session = 'A';
  private lastTurn: { event: Turn; reply: arb.Reply; session: string } | null = null;
  /** The next save is lost: the same event comes again to the state of before. */
  private saveIsLost = false;
  private asked: Step = null;
  /** When something other than a sleep was last seen of the loop. */
  private seenAt = this.now;
  private waitedMs = 0;
  private setBacks = 0;
  private sent = new Map<string, number>();

  constructor(policy: Policy, consented: boolean, engine: typeof transition) {
    this.engine = engine;
    this.policy = freeze(policy);
    this.state = this.newLoop(consented);
    this.model = new ModelLoop(policy, this.now, consented);
    this.bind('A');
  }

  run(what: Action): void {
    if ('after' in what && typeof what.after === 'number') this.now += what.after;
    switch (what.do) {
      case 'turn': {
        this.mark += 7;
        const promptId = what.sameId ? this.state.promptId : this.newPrompt();
        const event = {
          type: 'iteration-ended',
          at: this.at(),
          ...what.turn,
          text: what.reply.text,
          promptId,
          transcriptMark: String(this.mark),
        } as const;
        this.lastTurn = { event, reply: what.reply, session: what.session };
        this.deliver();
        break;
      }
      case 'redeliver':
        this.deliver();
        break;
      case 'verified':
        this.decide({ type: 'verified', at: this.at(), results: what.results }, () =>
          this.model.verified(this.now, what.results),
        );
        break;
      case 'carry out':
        this.applyEffects(what);
        break;
      case 'time': {
        const { wait } = this.model;
        if (what.after === 'until' && wait) this.now = Math.max(this.now, wait.until);
        const event = { type: 'time-passed', at: this.at(), cause: what.cause, seen: what.seen } as const;
        this.decide(event, () => this.model.timePassed(this.now, what.cause));
        break;
      }
      case 'spoken': {
        const promptId = what.id === 'same' ? this.state.promptId : what.id === 'new' ? this.newPrompt() : null;
        this.decide({ type: 'user-prompt', at: this.at(), promptId, by: what.by }, () =>
          this.model.spoken(this.now, promptId, what.by),
        );
        break;
      }
      case 'operator': {
        // Each message has an id of its own.
        const command = 'id' in what.command ? { ...what.command, id: `message ${++this.messages}` } : what.command;
        this.decide({ type: 'operator', at: this.at(), command }, () => this.model.operator(this.now, command));
        break;
      }
      case 'other': {
        const of = { ...what.event, at: this.at() } as EngineEvent;
        // A machine sleeps from one step to the next, and several processes may notice it.
        const event = of.type === 'slept' ? { ...of, since: instantAt(this.seenAt) } : of;
        const resetsAt =
          event.type === 'api-error' && event.error.resetsAt !== null ? Date.parse(event.error.resetsAt) : null;
        this.decide(event, () => this.model.other(this.now, event, resetsAt));
        break;
      }
      case 'delivered': {
        const ids = this.state.steering.slice(0, what.which).map(({ id }) => id);
        const event = { type: 'steering-delivered', at: this.at(), ids } as const;
        this.decide(event, () => this.model.other(this.now, event, null));
        break;
      }
      case 'clear':
        this.bind(what.session);
        break;
      case 'take over':
        this.pid = what.pid;
        this.bind(`taken by ${what.pid} at ${this.mark}`);
        break;
      case 'resume':
        this.requeueInFlight(this.state);
        this.state = this.checked(resumeState(this.state, this.at(), what.consented, instantAt(this.seenAt)));
        this.model.resumed(this.now, what.consented, this.seenAt);
        this.seenAt = this.now;
        this.restless();
        this.bind(this.session);
        break;
      case 'reset':
        this.state = this.newLoop(what.consented);
        this.model = new ModelLoop(this.policy, this.now, what.consented);
        this.seenAt = this.now;
        this.restless();
        this.bind(this.session);
        break;
      case 'jump':
        this.now += what.by;
        if (what.by < 0) {
          this.setBacks++;
          this.model.clockSetBack();
        }
        break;
      case 'crash':
        // Effects that were never carried out are what every step here is: nothing in the state waits for them.
        this.saveIsLost = what.lost === 'save';
        break;
    }
  }

  /** What a driver does with the last answer: sleeps, looks, or runs the checks. */
  private applyEffects({ results, changed, late }: Extract<Action, { do: 'carry out' }>): void {
    switch (this.asked) {
      case 'wait':
        this.run({ do: 'time', after: 'until', cause: 'elapsed', seen: null });
        break;
      case 'look':
        this.run({ do: 'time', after: late, cause: changed ? 'changed' : 'quiet', seen: 'x' });
        break;
      case 'verify':
        this.run({ do: 'verified', after: late, results });
        break;
      default:
        this.run({ do: 'redeliver', after: late });
    }
  }

  /** A Stop: only the bound session's reaches the engine, and the same one twice is the same delivery. */
  private deliver(): void {
    if (this.lastTurn === null) return;
    const { event, reply, session } = this.lastTurn;
    if (this.state.sessionId !== session) return;
    this.decide({ ...event, at: this.at() }, () => this.model.turnEnded(this.now, event, reply));
  }

  private decide(event: EngineEvent, predict: () => Step): void {
    const before = freeze(this.state);
    const { state, effects } = this.engine(before, freeze(event), this.policy);
    this.holdsAlways(before, event, state, effects);
    if (this.saveIsLost) {
      // The process died before its save: the event comes again, to the same old state, and everything is as it was.
      this.saveIsLost = false;
      assert.deepEqual(this.engine(before, event, this.policy), { state, effects });
    }
    const step = effects.find(({ type }) => STEPS.has(type));
    if (step) this.asked = step.type as Step;
    this.state = this.checked(state);
    this.account(before, event, effects);
    if (before.status === 'ended') return;
    if (event.type !== 'slept') this.seenAt = this.now;
    this.model.onClock(this.now, Date.parse(before.lastDecision?.at ?? before.lastRunAt));
    const foretold = predict();
    this.model.settle(this.now);
    if (this.model.unsure) {
      this.model.follow(state);
    } else {
      assert.equal(step?.type ?? null, foretold, `the answer to ${event.type}`);
      this.agrees();
    }
  }

  /** What holds of every step, whatever the model says. */
  private holdsAlways(before: LoopState, event: EngineEvent, state: LoopState, effects: readonly Effect[]): void {
    const steps = effects.filter(({ type }) => STEPS.has(type));
    assert.ok(steps.length <= 1, `one answer at most: ${steps.map(({ type }) => type).join(', ')}`);
    const mustAnswer = [
      'iteration-ended',
      'verified',
      'time-passed',
      'interrupted',
      'suspended',
      'task-missing',
      'turn-released',
    ];
    if (mustAnswer.includes(event.type)) assert.equal(steps.length, 1, `${event.type} needs an answer`);
    // A prompt that is ready needs an answer where it must not go out.
    else if (state.status !== 'ended' && event.type !== 'prompt-made')
      assert.equal(steps.length, 0, `${event.type} needs none`);
    const [step] = steps;
    if (step?.type === 'prompt') {
      assert.deepEqual([state.status, state.turn], ['running', 'agent']);
      assert.ok(state.iteration < state.maxIterations, 'no prompt past max iterations');
      assert.equal(state.stopRequested, false);
      this.withinBudget(state, event.at);
    }
    if (step?.type === 'wait') assert.equal(state.status === 'waiting' && state.waiting.until, step.until);
    if (step?.type === 'look') assert.equal(state.status, 'waiting');
    if (step?.type === 'verify') assert.equal(state.status, 'verifying');
    assert.equal(
      effects.some(({ type }) => type === 'archive'),
      state.status === 'ended',
    );
    assert.ok(state.iteration === before.iteration || state.iteration === before.iteration + 1);
    assert.ok(state.idleIterations === before.idleIterations || state.idleIterations === before.idleIterations + 1);
    if (before.status === 'ended') assert.equal(state, before);
    for (const effect of effects) {
      if (effect.type === 'record-event') loopEvent.parse(effect.event);
      if (effect.type === 'record-iteration') iterationRecord.parse(effect.record);
    }
    const reread = JSON.parse(JSON.stringify(before)) as LoopState;
    assert.deepEqual(this.engine(reread, event, this.policy), { state, effects }, 'the state survives its file');
    const elsewhere = this.engine({ ...before, mode: 'router' }, event, this.policy);
    assert.deepEqual(
      { ...elsewhere, state: { ...elsewhere.state, mode: before.mode } },
      { state, effects },
      'every driver decides alike',
    );
  }

  private withinBudget({ usage, startedAt, stoppedMs = 0 }: LoopState, at: string): void {
    const { maxCostUsd, maxTokens, maxTimeMs } = this.policy.budget;
    assert.ok(maxCostUsd === null || (usage.costUsd ?? 0) < maxCostUsd);
    assert.ok(maxTokens === null || usage.inputTokens + usage.outputTokens + usage.cacheWriteTokens < maxTokens);
    assert.ok(maxTimeMs === null || Date.parse(at) - Date.parse(startedAt) - stoppedMs < maxTimeMs);
  }

  /** Books what was waited for and what was said to the agent. */
  private account(before: LoopState, event: EngineEvent, effects: readonly Effect[]): void {
    const { idle } = this.policy;
    if (before.status === 'waiting' && event.type === 'time-passed' && event.cause === 'elapsed') {
      const over = !effects.some(({ type }) => type === 'wait' || type === 'look') && !before.waiting.woken;
      if (over && before.waiting.why !== 'pace') this.waitedMs += before.waiting.delayMs;
    }
    if (idle !== null) {
      const limit = idle.maxMs + this.setBacks * Math.max(idle.maxDelayMs, idle.delayMs);
      assert.ok(this.waitedMs <= limit + 1, `waited ${this.waitedMs} of ${limit}`);
    }
    if (this.state.idle.since === null) this.restless();
    for (const effect of effects) {
      if (effect.type === 'prompt') this.send(effect.steering.map(({ id }) => id));
    }
    const never = event.type === 'prompt-made' && (event.outcome === 'given-up' || before.status !== 'running');
    const lost = event.type === 'suspended' && before.status !== 'paused' && before.status !== 'awaiting-consent';
    if (event.type === 'block-overridden' || never || lost) this.requeueInFlight(before);
    if (event.type === 'first-prompt' && this.state.status !== 'ended') {
      this.send(before.steering.map(({ id }) => id));
    }
    if (event.type === 'steering-delivered' && before.status !== 'ended') this.send(event.ids);
    for (const [id, times] of this.sent) assert.ok(times <= 1, `steering ${id} was delivered ${times} times`);
    for (const { id } of this.state.steering)
      assert.notEqual(this.sent.get(id), 1, `steering ${id} is queued and delivered`);
  }

  private send(ids: readonly string[]): void {
    for (const id of ids) this.sent.set(id, (this.sent.get(id) ?? 0) + 1);
  }

  /** What the last prompt carried has not arrived. */
  private requeueInFlight({ inFlight }: LoopState): void {
    for (const { id } of inFlight?.steering ?? []) this.sent.set(id, (this.sent.get(id) ?? 0) - 1);
  }

  private agrees(): void {
    const { state, model } = this;
    assert.deepEqual(
      {
        status: state.status,
        as: state.status === 'ended' ? state.ended.as : null,
        iteration: state.iteration,
        idleIterations: state.idleIterations,
        turn: state.status === 'ended' ? 'any' : state.turn,
        wait:
          state.status === 'waiting'
            ? {
                until: Date.parse(state.waiting.until),
                last: state.waiting.last,
                woken: state.waiting.woken,
                pace: state.waiting.why === 'pace',
              }
            : null,
        tokens: state.usage.inputTokens + state.usage.outputTokens + state.usage.cacheWriteTokens,
        cost: state.usage.costUsd,
        stopped: timeStopped(state, this.at()),
        queue: state.steering.map(({ id, delivery }) => ({ id, delivery })),
      },
      {
        status: model.status,
        as: model.as,
        iteration: model.iteration,
        idleIterations: model.idleIterations,
        turn: model.status === 'ended' ? 'any' : model.turn,
        wait: model.wait,
        tokens: model.tokens,
        cost: model.cost,
        stopped: model.stoppedFor(this.now),
        queue: model.queue,
      },
    );
  }

  /** A state that may lie on a disk: by our own validator, by zod, and with no other status' data in it. */
  private checked(state: LoopState): LoopState {
    assert.equal(validateLoopState(JSON.parse(JSON.stringify(state))), null);
    commonPart.parse(state);
    statusPart.parse(state);
    for (const part of PARTS) assert.equal(part in state, part === state.status, `${state.status} with ${part}`);
    return state;
  }

  private bind(session: string): void {
    const before = this.state;
    if (before.sessionId !== session) this.model.newSession();
    this.session = session === 'B' ? 'B' : session === 'A' ? 'A' : this.session;
    const client = { sessionId: session, clientPid: this.pid, clientStartedAt: `start of ${this.pid}` };
    this.state = this.checked(bindSession(before, client));
    assert.equal(bindSession(this.state, client), this.state, 'binding twice changes nothing more');
  }

  private newLoop(consented: boolean): LoopState {
    this.loops++;
    return this.checked(
      initialState({
        loopId: `loop-${this.loops}`,
        name: null,
        mode: 'hook',
        taskPath: 'PROMPT.md',
        contractHash: null,
        maxIterations: this.policy.maxIterations,
        at: this.at(),
        consented,
      }),
    );
  }

  private restless(): void {
    this.waitedMs = 0;
    this.setBacks = 0;
  }

  private newPrompt(): string {
    return `prompt ${++this.prompts}`;
  }

  private at(): string {
    return instantAt(this.now);
  }
}

function instantAt(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

function freeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const part of Object.values(value)) freeze(part);
  }
  return value;
}

function loopOf(engine: typeof transition): fc.IProperty<[Policy, boolean, Action[]]> {
  return fc.property(
    arb.policy,
    fc.integer({ min: 0, max: 9 }).map((n) => n > 0),
    fc.array(action, { maxLength: 80, size: 'max' }),
    (policy, consented, actions) => {
      const harness = new Harness(policy, consented, engine);
      for (const what of actions) harness.run(what);
    },
  );
}

test('a loop follows the rulings under any events in any order', () => {
  fc.assert(loopOf(transition), { numRuns: RUNS, includeErrorInReport: true });
});

test('so it does under cases that are new with each change of the engine', () => {
  fc.assert(loopOf(transition), { numRuns: 2 * RUNS, includeErrorInReport: true, ...seedOf('src/engine') });
});

/** Engines with one fault each: a test that lets one of them pass holds nothing. */
const FAULTS: Record<string, typeof transition> = {
  'counts the same delivery twice': (state, event, policy) => transition({ ...state, lastTurn: null }, event, policy),
  'sends the task back past max iterations': (state, event, policy) =>
    transition({ ...state, maxIterations: 100 }, event, policy),
  'forgets how long it has been idle': (state, event, policy) =>
    transition({ ...state, idle: { ...state.idle, since: null } }, event, policy),
  'delivers steering again': (state, event, policy) => {
    const next = transition(state, event, policy);
    return { ...next, state: { ...next.state, steering: state.steering } };
  },
  'keeps the data of the status it left': (state, event, policy) => {
    const next = transition(state, event, policy);
    return state.status === 'waiting' ? { ...next, state: { ...state, ...next.state } as LoopState } : next;
  },
  'takes a stop request back': (state, event, policy) => transition({ ...state, stopRequested: false }, event, policy),
  'decides otherwise for a router': (state, event, policy) =>
    transition(state.mode === 'router' ? { ...state, turn: 'agent' } : state, event, policy),
  'takes the delay between iterations for idle': (state, event, policy) => {
    if (state.status !== 'waiting') return transition(state, event, policy);
    const { why: _why, ...waiting } = state.waiting;
    return transition({ ...state, waiting }, event, policy);
  },
  'goes on over a failure that ends the loop': (state, event, policy) =>
    transition(state, event, { ...policy, pace: { ...policy.pace, stopOnError: false } }),
  'forgets the failure of an iteration that claimed completion': (state, event, policy) =>
    transition(
      state.status === 'verifying' ? { ...state, verifying: { since: state.verifying.since } } : state,
      event,
      policy,
    ),
  'forgets that something was changed': (state, event, policy) =>
    transition(
      event.type === 'iteration-ended' && state.progressed ? { ...state, progressed: false } : state,
      event,
      policy,
    ),
  'sends a first prompt over a limit': (state, event, policy) =>
    transition(
      state,
      event,
      event.type === 'first-prompt'
        ? { ...policy, budget: { ...policy.budget, maxCostUsd: null, maxTokens: null, maxTimeMs: null } }
        : policy,
    ),
  'counts the time of a pause': (state, event, policy) => {
    const { stoppedMs: _, ...counting } = state;
    return transition(counting as LoopState, event, policy);
  },
  'loses what a user’s turn cost': (state, event, policy) => {
    const next = transition(state, event, policy);
    return state.turn === 'user' ? { ...next, state: { ...next.state, usage: state.usage } } : next;
  },
};

for (const [fault, engine] of Object.entries(FAULTS)) {
  test(`control: detects an engine that ${fault}`, () => {
    // It ends at the first loop that finds it out: one of 450 on the average for the one that hides best.
    assert.equal(fc.check(loopOf(engine), { numRuns: 30_000, endOnFailure: true }).failed, true);
  });
}
