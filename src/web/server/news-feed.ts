import { statSync } from 'node:fs';
import type { Run } from '../../engine/schema/batch.ts';
import { type Entry, readStream } from '../../state/event-stream.ts';
import { ifOutOfReach } from '../../state/files/regular-file.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { programName } from '../../state/process/program.ts';
import type { Known, ShownLoop, WorkOptions } from '../model/collect-report.ts';
import { keyOf, readHistory, reportData, rowOf, rowOfRun, runDataOf, runKey } from '../model/collect-report.ts';
import type { LoopHistory } from '../model/loop-history.ts';
import type { Control, Iteration, LoopRow, ReportData, RunData, Work } from '../model/report-data.ts';

/** Requests to a loop that a person can make on the page. */
export type ControlRequest =
  | { readonly kind: 'steer'; readonly text: string }
  | { readonly kind: Exclude<Control, 'steer'> };

/** News for a watcher: the complete list if it changed, and the loops with news, by key with a rising number. */
export interface News {
  readonly loops?: readonly LoopRow[];
  readonly changed?: Readonly<Record<string, number>>;
  /** Total number of loops if the list contains only the newest. */
  readonly total?: number;
  /** Present if the loops cannot be read at present. */
  readonly away?: true;
}

/** Returns the message that these loops do not accept a request. */
export function noControl(kind: string): string {
  return `this loop cannot be asked to ${kind}.`;
}

/** Maximum number of histories in memory. */
const MOST_OPENED = 6;

/** Moves a read history to the front, and drops the least recently read ones. */
export function keepOpened<T>(opened: Map<string, T>, key: string, one: T): T {
  opened.delete(key);
  opened.set(key, one);
  const [oldest] = opened.keys();
  if (opened.size > MOST_OPENED && oldest !== undefined) opened.delete(oldest);
  return one;
}

type Hear = (news: News) => void;

/** Source of the dashboard's loops. It checks for news while there are listeners. */
export abstract class NewsFeed {
  /** Command that starts a loop here. */
  abstract readonly start: string;
  readonly #tickMs: number;
  readonly #tell: (message: string) => void;
  readonly #failures = new Set<string>();
  readonly #listeners = new Set<Hear>();
  #timer: NodeJS.Timeout | null = null;
  #busy = false;
  #isAway = false;

  /** Creates a feed; `tell` is called for failed reads, once for each message. */
  constructor(tickMs: number, tell: (message: string) => void) {
    this.#tickMs = tickMs;
    this.#tell = tell;
  }

  get listeners(): number {
    return this.#listeners.size;
  }

  /** Passes on the list as soon as it is read, and then its news. Returns a function that stops this. */
  listen(hear: Hear): () => void {
    this.#listeners.add(hear);
    void this.#look(true);
    this.#timer ??= setInterval(() => void this.#tick(), this.#tickMs);
    return () => {
      this.#listeners.delete(hear);
      if (this.#listeners.size > 0 || this.#timer === null) return;
      clearInterval(this.#timer);
      this.#timer = null;
    };
  }

  async #tick(): Promise<void> {
    if (this.#busy) return;
    this.#busy = true;
    await this.#look(this.#isAway);
    this.#busy = false;
  }

  async #look(whole: boolean): Promise<void> {
    try {
      const news = await this.news(whole);
      if (this.#isAway) this.#failures.clear();
      this.#isAway = false;
      // Each piece of news reaches all listeners once.
      if (news !== null) for (const hear of this.#listeners) hear(news);
    } catch (error) {
      this.#isAway = true;
      this.failed((error as Error).message);
      for (const hear of this.#listeners) hear({ away: true });
    }
  }

  protected failed(message: string): void {
    if (!this.#failures.has(message)) this.#tell(message);
    this.#failures.add(message);
  }

  /** Returns everything, or the news since the last call; null if there are none. */
  protected abstract news(whole: boolean): News | null | Promise<News | null>;
  /** Returns a loop's report, without the known parts if it is still the loop `loopId`; null for an unknown key. */
  abstract report(
    key: string,
    known: Known,
    loopId: string | null,
  ): ReportData | RunData | null | Promise<ReportData | RunData | null>;
  /** Returns the changes of an iteration, or of the whole loop for index 0; null for an unknown loop or iteration. */
  abstract work(key: string, loopId: string, index: number): Promise<Work | null>;
  /** Carries out a request and returns the answer; null for an unknown key. Rejects with a message for people. */
  abstract control(key: string, request: ControlRequest): Promise<string | null>;
}

export interface LoopSource {
  /** Returns the files of every shown loop, in order. */
  readonly places: () => readonly LoopFiles[];
  /** Returns the live or last loop of these files; null if there is none. */
  readonly loopOf: (files: LoopFiles) => ShownLoop | null;
  readonly workOf: (loop: ShownLoop, iterations: readonly Iteration[], options: WorkOptions) => Promise<Work>;
  /** Returns the runs with several loops, and the files of these loops by the ids of their tasks. */
  readonly runs: () => readonly WatchedRun[];
  /** Called for a loop that cannot be read, once for each message. */
  readonly failed: (message: string) => void;
  /** Carries out a request and returns the answer. Throws an Error with a message for people. */
  readonly control: (files: LoopFiles, request: ControlRequest) => string;
}

export interface WatchedRun {
  readonly projectDir: string;
  readonly run: Run;
  readonly loops: readonly (readonly [string, LoopFiles])[];
}

interface Watched {
  readonly files: LoopFiles;
  /** Size and time of the state file; `stream` has those of the stream. */
  state: string;
  events: string;
  version: number;
  loop: ShownLoop | null;
  row: LoopRow | null;
}

interface Opened {
  readonly loopId: string;
  readonly history: LoopHistory;
  next: number;
}

const TICK_MS = 300;
/** Number of ticks between searches for new loops and checks of the drivers. */
const LOOK_TICKS = 7;

/** Watches loops by their files while there are listeners, and keeps recently read histories. */
export class LoopFeed extends NewsFeed {
  readonly start = `${programName()} run "what to do"`;
  readonly #source: LoopSource;
  readonly #now: () => string;
  readonly #watched = new Map<string, Watched>();
  readonly #opened = new Map<string, Opened>();
  #ticks = 0;
  #rows: readonly LoopRow[] = [];
  /** Runs by key, with numbers that rise with their news. */
  #runs = new Map<string, WatchedRun & { readonly text: string; readonly version: number }>();
  #working: Promise<unknown> = Promise.resolve();

  constructor(source: LoopSource, now: () => string) {
    super(TICK_MS, source.failed);
    this.#source = source;
    this.#now = now;
  }

  async control(key: string, request: ControlRequest): Promise<string | null> {
    const files = this.#filesOf(key);
    return files && this.#source.control(files, request);
  }

  #filesOf(key: string): LoopFiles | null {
    if (!this.#watched.has(key)) this.#look(true);
    return this.#watched.get(key)?.files ?? null;
  }

  report(key: string, known: Known, loopId: string | null): ReportData | RunData | null {
    if (this.#runs.size === 0) this.#look(true);
    const run = this.#runs.get(key);
    if (run !== undefined) return runDataOf(run.projectDir, run.run, this.#now(), run.loops);
    const files = this.#filesOf(key);
    const loop = files && this.#read(files);
    if (files === null || loop === null) return null;
    const { history } = this.#open(key, files, loop.state.loopId);
    return reportData(loop, history, this.#now(), loopId === loop.state.loopId ? known : undefined);
  }

  /** Serialises the reads. */
  async work(key: string, loopId: string, index: number): Promise<Work | null> {
    const files = this.#filesOf(key);
    const loop = files && this.#read(files);
    if (files === null || loop?.state.loopId !== loopId) return null;
    const { iterations } = this.#open(key, files, loopId).history;
    const isWhole = index === 0;
    if (!isWhole && iterations[index - 1] === undefined) return null;
    const options: WorkOptions = {
      range: isWhole ? [1, iterations.length] : [index, index],
      task: [...this.#runs.values()].flatMap(({ run }) => run.tasks).find((each) => each.loop?.loopId === loopId),
    };
    const read = this.#working.then(() => this.#source.workOf(loop, iterations, options));
    this.#working = read.catch(() => undefined);
    return read;
  }

  #open(key: string, files: LoopFiles, loopId: string): Opened {
    const known = this.#opened.get(key);
    if (known?.loopId !== loopId) return keepOpened(this.#opened, key, { loopId, ...readHistory(files, loopId) });
    known.next = readStream(files, loopId, known.next, (event: Entry) => known.history.take(event));
    return keepOpened(this.#opened, key, known);
  }

  protected news(whole: boolean): News | null {
    this.#ticks += 1;
    const before = this.#rows;
    const changed = this.#look(whole || this.#ticks % LOOK_TICKS === 0) || whole;
    const loops = this.#rows === before && !whole ? {} : { loops: this.#rows };
    if (!changed && loops.loops === undefined) return null;
    return { ...loops, ...(changed && { changed: this.#versions() }) };
  }

  /** Reads changes; `whole` also finds other loops and checks drivers. Returns whether any loop has news. */
  #look(whole: boolean): boolean {
    let isOther = whole && this.#discover();
    let changed = whole && this.#readRuns();
    isOther ||= changed;
    for (const watched of this.#watched.values()) {
      const { state, events } = watched;
      watched.state = stampOf(watched.files.state);
      watched.events = stampOf(watched.files.events);
      let isNews = watched.events !== events || watched.state !== state;
      if (watched.state !== state || (whole && watched.loop?.live === true)) {
        watched.loop = this.#read(watched.files);
        const row = watched.loop && rowOf(watched.loop);
        const isSame = JSON.stringify(row) === JSON.stringify(watched.row);
        if (!isSame) watched.row = row;
        isNews ||= !isSame;
        isOther ||= !isSame;
      }
      if (!isNews) continue;
      watched.version += 1;
      changed = true;
    }
    if (isOther) {
      const members = new Set([...this.#runs.values()].flatMap(({ loops }) => loops.map(([, files]) => keyOf(files))));
      const single = [...this.#watched].flatMap(([key, { row }]) => (row === null || members.has(key) ? [] : [row]));
      const runs = [...this.#runs.values()].map(({ projectDir, run }) => rowOfRun(projectDir, run));
      this.#rows = [...runs, ...single].sort(
        (a, b) => Number(b.live) - Number(a.live) || b.startedAt.localeCompare(a.startedAt),
      );
    }
    return changed;
  }

  #readRuns(): boolean {
    const found = this.#tried(() => this.#source.runs());
    if (found === null) return false;
    const before = this.#runs;
    this.#runs = new Map(
      found.map((watched) => {
        const key = runKey(watched.projectDir, watched.run);
        // The passing of time is not news.
        const text = JSON.stringify({ ...watched.run, durationMs: 0 });
        const { text: known = '', version = 0 } = before.get(key) ?? {};
        return [key, { ...watched, text, version: version + (text === known ? 0 : 1) }];
      }),
    );
    const isSame = [...this.#runs].every(([key, { version }]) => before.get(key)?.version === version);
    return !isSame || before.size !== this.#runs.size;
  }

  #read(files: LoopFiles): ShownLoop | null {
    return this.#tried(() => this.#source.loopOf(files), `${files.state}: `);
  }

  /** Returns what `read` returns; null after a failure, which is reported after the words `of`. */
  #tried<T>(read: () => T, of = ''): T | null {
    try {
      return read();
    } catch (error) {
      this.failed(`${of}${(error as Error).message}`);
      return null;
    }
  }

  /** Returns whether a loop was dropped; a new one is read by the following look. */
  #discover(): boolean {
    const found = this.#tried(() => this.#source.places());
    // The project is being removed; the known loops stay.
    if (found === null) return false;
    const places = new Map(found.map((files) => [keyOf(files), files]));
    const gone = [...this.#watched.keys()].filter((key) => !places.has(key));
    for (const key of gone) this.#watched.delete(key);
    for (const [key, files] of places) {
      if (this.#watched.has(key)) continue;
      this.#watched.set(key, { files, state: '', events: '', version: 0, loop: null, row: null });
    }
    return gone.length > 0;
  }

  #versions(): Record<string, number> {
    return Object.fromEntries([...this.#watched, ...this.#runs].map(([key, { version }]) => [key, version]));
  }
}

function stampOf(path: string): string {
  const stat = ifOutOfReach(() => statSync(path, { throwIfNoEntry: false }), undefined);
  return stat === undefined ? 'none' : `${stat.size} ${stat.mtimeMs} ${stat.ino}`;
}
