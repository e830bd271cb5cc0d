import { statSync } from 'node:fs';
import { type Entry, readStream } from '../../state/event-stream.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { type Known, keyOf, readHistory, reportData, rowOf, type ShownLoop } from '../model/collect-report.ts';
import type { LoopHistory } from '../model/loop-history.ts';
import type { Iteration, LoopRow, ReportData, Work } from '../model/report-data.ts';

/** Where the loops come from. */
export interface LoopSource {
  /** Files of every loop that is shown, in order. */
  readonly places: () => readonly LoopFiles[];
  /** The loop of these files, live or the last one; null if there is none. */
  readonly loopOf: (files: LoopFiles) => ShownLoop | null;
  readonly commitsOf: (loop: ShownLoop, iterations: readonly Iteration[], index: number) => Promise<Work['commits']>;
  readonly uncommittedOf: (loop: ShownLoop) => Promise<Work['uncommitted']>;
  /** Hears of a loop that cannot be read, once for each message. */
  readonly failed: (message: string) => void;
}

/** What a watcher hears: the whole list when it changed, and which loops have news, by key with a rising number. */
export interface News {
  readonly loops?: readonly LoopRow[];
  readonly changed?: Readonly<Record<string, number>>;
}

interface Watched {
  readonly files: LoopFiles;
  /** Sizes and times of the state file and of the stream. */
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
/** Ticks after which new loops are looked for, and whether a driver still lives. */
const LOOK_TICKS = 7;
/** Histories that are kept in memory. */
const MOST_OPENED = 6;

/** Watches loops by their files while anyone listens, and keeps the histories of those that are being read. */
export class LoopFeed {
  readonly #source: LoopSource;
  readonly #now: () => string;
  readonly #watched = new Map<string, Watched>();
  readonly #opened = new Map<string, Opened>();
  readonly #listeners = new Set<(news: News) => void>();
  #timer: NodeJS.Timeout | null = null;
  readonly #failures = new Set<string>();
  #ticks = 0;
  #rows: readonly LoopRow[] = [];
  #working: Promise<unknown> = Promise.resolve();

  constructor(source: LoopSource, now: () => string) {
    this.#source = source;
    this.#now = now;
  }

  get listeners(): number {
    return this.#listeners.size;
  }

  /** Tells the list at once and its news from then on. Returns the function that ends it. */
  listen(hear: (news: News) => void): () => void {
    this.#look(true);
    this.#listeners.add(hear);
    hear({ loops: this.#rows, changed: this.#versions() });
    this.#timer ??= setInterval(() => this.#tick(), TICK_MS);
    return () => {
      this.#listeners.delete(hear);
      if (this.#listeners.size > 0 || this.#timer === null) return;
      clearInterval(this.#timer);
      this.#timer = null;
    };
  }

  /** Returns the files of a loop by its key; null for a key that stands for none. */
  filesOf(key: string): LoopFiles | null {
    if (!this.#watched.has(key)) this.#look(true);
    return this.#watched.get(key)?.files ?? null;
  }

  /** Returns a loop's report, without what is known of it if it is still the loop `loopId`; null for an unknown key. */
  report(key: string, known: Known, loopId: string | null): ReportData | null {
    const files = this.filesOf(key);
    const loop = files && this.#read(files);
    if (files === null || loop === null) return null;
    const { history } = this.#open(key, files, loop.state.loopId);
    return reportData(loop, history, this.#now(), loopId === loop.state.loopId ? known : undefined);
  }

  /** Returns what an iteration changed, one request at a time; null for an unknown loop or iteration. */
  async work(key: string, loopId: string, index: number): Promise<Work | null> {
    const files = this.filesOf(key);
    const loop = files && this.#read(files);
    if (files === null || loop?.state.loopId !== loopId) return null;
    const { iterations } = this.#open(key, files, loopId).history;
    if (iterations[index - 1] === undefined) return null;
    const isNewest = loop.live && index === iterations.length;
    const read = this.#working.then(async () => ({
      commits: await this.#source.commitsOf(loop, iterations, index),
      uncommitted: isNewest ? await this.#source.uncommittedOf(loop) : null,
    }));
    this.#working = read.catch(() => undefined);
    return read;
  }

  #open(key: string, files: LoopFiles, loopId: string): Opened {
    const known = this.#opened.get(key);
    this.#opened.delete(key);
    let opened: Opened;
    if (known?.loopId === loopId) {
      opened = known;
      opened.next = readStream(files, loopId, opened.next, (event: Entry) => opened.history.take(event));
    } else opened = { loopId, ...readHistory(files, loopId) };
    this.#opened.set(key, opened);
    for (const oldest of this.#opened.keys()) {
      if (this.#opened.size <= MOST_OPENED) break;
      this.#opened.delete(oldest);
    }
    return opened;
  }

  #tick(): void {
    this.#ticks += 1;
    const before = this.#rows;
    const changed = this.#look(this.#ticks % LOOK_TICKS === 0);
    const loops = this.#rows === before ? {} : { loops: this.#rows };
    if (!changed && loops.loops === undefined) return;
    for (const hear of this.#listeners) hear({ ...loops, ...(changed && { changed: this.#versions() }) });
  }

  /**
   * Reads what changed; `whole`: also whether there are other loops, and whether the drivers live. An event alone changes
   * nothing in the list, so only the state is read for it. Returns whether any loop has news.
   */
  #look(whole: boolean): boolean {
    let isOther = whole && this.#discover();
    let changed = false;
    for (const watched of this.#watched.values()) {
      const { state, events } = watched;
      watched.state = stampOf(watched.files.state);
      watched.events = stampOf(watched.files.events);
      const isRead = watched.state !== state || (whole && watched.loop?.live === true);
      if (isRead) {
        watched.loop = this.#read(watched.files);
        const row = watched.loop && rowOf(watched.loop);
        if (JSON.stringify(row) !== JSON.stringify(watched.row)) {
          watched.row = row;
          isOther = true;
          watched.version += 1;
          changed = true;
          continue;
        }
      }
      if (watched.events === events && watched.state === state) continue;
      watched.version += 1;
      changed = true;
    }
    if (isOther) this.#rows = sorted([...this.#watched.values()].flatMap(({ row }) => row ?? []));
    return changed;
  }

  #read(files: LoopFiles): ShownLoop | null {
    try {
      return this.#source.loopOf(files);
    } catch (error) {
      this.#fail(`${files.state}: ${(error as Error).message}`);
      return null;
    }
  }

  #fail(message: string): void {
    if (this.#failures.has(message)) return;
    this.#failures.add(message);
    this.#source.failed(message);
  }

  /** Returns whether a loop was forgotten; one that is found is read by the look that follows. */
  #discover(): boolean {
    let found: readonly LoopFiles[];
    try {
      found = this.#source.places();
    } catch (error) {
      // A project that is being removed; the loops known so far stay.
      this.#fail((error as Error).message);
      return false;
    }
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
    return Object.fromEntries([...this.#watched].map(([key, { version }]) => [key, version]));
  }
}

function sorted(rows: LoopRow[]): LoopRow[] {
  return rows.sort((a, b) => Number(b.live) - Number(a.live) || b.startedAt.localeCompare(a.startedAt));
}

function stampOf(path: string): string {
  try {
    const stat = statSync(path, { throwIfNoEntry: false });
    return stat === undefined ? 'none' : `${stat.size} ${stat.mtimeMs} ${stat.ino}`;
  } catch (error) {
    return String((error as NodeJS.ErrnoException).code);
  }
}
