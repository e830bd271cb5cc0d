import type { Known } from '../model/collect-report.ts';
import type { Control, LoopRow, ReportData, RunData, Work } from '../model/report-data.ts';

/** Requests to a loop that a person can make on the page. */
export type ControlRequest =
  | { readonly kind: 'steer'; readonly text: string }
  | { readonly kind: Exclude<Control, 'steer'> };

/** News for a watcher: the complete list if it changed, and the loops with news, by key with a rising number. */
export interface News {
  readonly loops?: readonly LoopRow[];
  readonly changed?: Readonly<Record<string, number>>;
  /** Total number of loops if the list holds only the newest. */
  readonly total?: number;
  /** The loops cannot be read at present. */
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

/** Source of the dashboard's loops. It looks for news while there are listeners. */
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

  /** Passes on the list as soon as it is read, and then its news. Returns the function that stops this. */
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
      // Each piece of news reaches all readers once.
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
  /** Returns the changes of an iteration; null for an unknown loop or iteration. */
  abstract work(key: string, loopId: string, index: number): Promise<Work | null>;
  /** Carries out a request and returns the answer; null for an unknown key. Rejects with a message for people. */
  abstract control(key: string, request: ControlRequest): Promise<string | null>;
}
