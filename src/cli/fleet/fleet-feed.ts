import { basename } from 'node:path';
import { controlLoop, controlsOf } from '../../fleet/control.ts';
import { FLEET_TEXTS } from '../../fleet/messages.ts';
import { type FleetLoop, fleetStatus, isPaused, OVER } from '../../fleet/queue/loop-index.ts';
import { EventReader } from '../../fleet/queue/loop-streams.ts';
import { digest } from '../../text/digest.ts';
import { RalphError } from '../../text/message.ts';
import { redact } from '../../text/redact/redact.ts';
import { aboutOf, type Known, NOTHING, type ReportSubject, reportOf } from '../../web/model/collect-report.ts';
import { LoopHistory } from '../../web/model/loop-history.ts';
import type { LoopRow, ReportData, Work } from '../../web/model/report-data.ts';
import { type ControlRequest, keepOpened, type News, NewsFeed, noControl } from '../../web/server/news-feed.ts';
import { noWeb } from '../web/report.ts';
import type { FleetContext } from './fleet-options.ts';
import { costOf } from './status.ts';

const TICK_MS = 1_000;
/** Maximum number of loops in the list. */
const MOST = 200;

interface Listed {
  readonly loop: FleetLoop;
  readonly row: LoopRow;
  readonly version: number;
  /** Number of events of its history so far. */
  readonly taken: number;
}

interface Opened {
  readonly history: LoopHistory;
  readonly reader: EventReader;
  /** Last read, since reads are serialised. */
  read: Promise<void>;
  taken: number;
}

/** Serves the dashboard over the loops of the fleet until a signal ends it. Signs the requests of its pages. */
export async function serveFleet(context: FleetContext): Promise<number> {
  const { serveFeed } = await import('../web/serve.ts').catch(noWeb);
  return serveFeed(context, new FleetFeed(context));
}

/** Feed of a fleet's loops: the list from its queue, a loop's history from its events, requests as signed commands. */
class FleetFeed extends NewsFeed {
  readonly start = 'ralph-loop fleet add TASK --repo URL';
  readonly #context: FleetContext;
  #listed: ReadonlyMap<string, Listed> = new Map();
  readonly #opened = new Map<string, Opened>();
  #total = 0;

  constructor(context: FleetContext) {
    super(TICK_MS, (message) => context.err(`ralph-loop: ${message}`));
    this.#context = context;
  }

  protected async news(whole: boolean): Promise<News | null> {
    return (await this.#look()) || whole ? this.#all() : null;
  }

  async report(key: string, known: Known, loopId: string | null): Promise<ReportData | null> {
    const listed = await this.#find(key);
    if (listed === undefined) return null;
    const { loop } = listed;
    const isKnown = this.#opened.has(key) && loopId === loop.loopId;
    const { history } = await this.#open(key, loop.loopId);
    return reportOf(subjectOf(listed), history, this.#context.now(), isKnown ? known : NOTHING);
  }

  /** Returns null: the commits are in the workers' repository. */
  async work(key: string): Promise<Work | null> {
    return (await this.#find(key)) === undefined ? null : { commits: [], uncommitted: null };
  }

  async control(key: string, request: ControlRequest): Promise<string | null> {
    const loopId = (await this.#find(key))?.loop.loopId;
    if (loopId === undefined) return null;
    const { kind } = request;
    if (kind === 'stop' || kind === 'wake') throw new RalphError('refused', noControl(kind));
    const text = kind === 'steer' ? request.text : '';
    return (await this.#answered(controlLoop(this.#context, loopId, kind, text))).message;
  }

  /** Finds a loop in the list. Throws RalphError while the server is unreachable, so that the page gets an answer. */
  async #find(key: string): Promise<Listed | undefined> {
    this.#refuseLost();
    if (!this.#listed.has(key)) await this.#look();
    return this.#listed.get(key);
  }

  async #answered<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      this.#refuseLost();
      throw error;
    }
  }

  #refuseLost(): void {
    if (this.#context.server.redis.status !== 'ready') throw new RalphError('refused', FLEET_TEXTS.away);
  }

  #all(): News {
    const listed = [...this.#listed];
    return {
      loops: listed.map(([, { row }]) => row).sort((a, b) => Number(b.live) - Number(a.live)),
      total: this.#total,
      changed: Object.fromEntries(listed.map(([key, { version }]) => [key, version])),
    };
  }

  /** Reads the queue, and new events of the loops on open pages. Returns whether anything has changed. */
  async #look(): Promise<boolean> {
    this.#refuseLost();
    const { loops, total } = await this.#answered(fleetStatus(this.#context.server, MOST));
    let changed = total !== this.#total || loops.length !== this.#listed.size;
    this.#total = total;
    const listed = new Map<string, Listed>();
    for (const loop of loops) {
      const row = rowOf(loop);
      const before = this.#listed.get(row.key);
      const opened = this.#opened.get(row.key);
      if (opened !== undefined) await this.#read(opened);
      const taken = opened?.taken ?? 0;
      const isNew = taken !== before?.taken || JSON.stringify(row) !== JSON.stringify(before.row);
      listed.set(row.key, { loop, row, taken, version: (before?.version ?? 0) + Number(isNew) });
      changed ||= isNew;
    }
    this.#listed = listed;
    return changed;
  }

  async #open(key: string, loopId: string): Promise<Opened> {
    const opened = this.#opened.get(key) ?? {
      history: new LoopHistory(shownText(loopId)),
      reader: new EventReader(this.#context.server, loopId),
      read: Promise.resolve(),
      taken: 0,
    };
    await this.#read(keepOpened(this.#opened, key, opened));
    return opened;
  }

  #read(opened: Opened): Promise<void> {
    const read = async (): Promise<void> => {
      for (const { event } of await opened.reader.read()) {
        opened.history.take(event);
        opened.taken += 1;
      }
    };
    opened.read = opened.read.then(read, read);
    return opened.read;
  }
}

function rowOf(loop: FleetLoop): LoopRow {
  const { loopId, task, repository, state, result, progress, until, at } = loop;
  const isOver = OVER.has(state);
  return {
    key: digest(loopId),
    name: loopId,
    title: task,
    project: basename(repository).replace(/\.git$/, ''),
    loopId,
    task,
    mode: 'fleet',
    status: state === 'working' ? 'running' : (result?.outcome ?? state),
    live: !isOver || isPaused(result),
    verified: result?.verified ?? false,
    proof: result?.proof ?? null,
    iteration: result?.iterations ?? progress?.iteration ?? 0,
    maxIterations: progress?.maxIterations ?? 0,
    costUsd: costOf(loop),
    isCostPartial: false,
    startedAt: at,
    endedAt: isOver ? (progress?.at ?? at) : null,
    waitingUntil: until === null ? null : new Date(until).toISOString(),
    about: aboutOf(whyOf(loop)),
    controls: controlsOf(loop),
  };
}

function whyOf({ state, result, failure, progress }: FleetLoop): string {
  if (result !== null) return result.reason;
  if (failure !== null) return failure;
  if (state === 'queued') return 'It waits for a worker.';
  return progress?.waits ? `It waits: ${progress.waits}.` : '';
}

function subjectOf({ loop, row }: Listed): ReportSubject {
  const { loopId, repository, by, generation, result, progress } = loop;
  const [way] = controlsOf(loop);
  const isStanding = way === 'resume' || way === 'retry';
  const branch = result?.branch ?? null;
  const published = branch === null ? '' : `The result is the branch ${branch}.`;
  const facts: readonly (readonly [string, string | null])[] = [
    ['repository', repository],
    ['submitted by', generation > 1 ? `${by}, submission ${generation}` : by],
    ['worker', progress?.worker ? `${progress.worker}, attempt ${progress.attempt}` : null],
    ['checkpoint', result?.sha ?? progress?.sha ?? null],
    ['branch', branch],
    ['loop', loopId],
  ];
  const used = { maxIterations: row.iteration, maxCostUsd: row.costUsd, maxTokens: progress?.tokens ?? null };
  return {
    row,
    run: null,
    why: whyOf(loop),
    task: null,
    notices: [],
    questions: [],
    used,
    shown: shownText(loopId),
    next: published,
    steps: isStanding ? [{ verb: 'Continue it', command: `ralph-loop fleet ${way} ${loopId}` }] : [],
    facts: facts.flatMap(([name, value]) => (value === null ? [] : [[name, value] as const])),
  };
}

/** Returns a function that masks secrets and shortens the paths of the worker that wrote a text. */
function shownText(loopId: string): (text: string) => string {
  const name = loopId.replaceAll('.', '\\.');
  const place = new RegExp(`[^\\s"'\`]*/loops/${name}(?:~\\d+)?/work[/]?`, 'g');
  return (text) => redact(text).replace(place, '');
}
