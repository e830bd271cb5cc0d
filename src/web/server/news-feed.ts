import type { Known } from '../model/collect-report.ts';
import type { Control, LoopRow, ReportData, Work } from '../model/report-data.ts';

/** What a person may ask of a loop on the page. */
export type ControlRequest =
  | { readonly kind: 'steer'; readonly text: string }
  | { readonly kind: Exclude<Control, 'steer'> };

/** What a watcher hears: the whole list when it changed, and which loops have news, by key with a rising number. */
export interface News {
  readonly loops?: readonly LoopRow[];
  readonly changed?: Readonly<Record<string, number>>;
  /** How many loops there are, where the list holds the newest of them. */
  readonly total?: number;
  /** The loops cannot be read now. */
  readonly away?: true;
}

/** Says that loops of this kind do not take a request. */
export function noControl(kind: string): string {
  return `this loop cannot be asked to ${kind}.`;
}

/** Histories that are kept in memory. */
const MOST_OPENED = 6;

/** Puts a history that is read in front of the others, and drops what has not been read for longest. */
export function keepOpened<T>(opened: Map<string, T>, key: string, one: T): T {
  opened.delete(key);
  opened.set(key, one);
  const [oldest] = opened.keys();
  if (opened.size > MOST_OPENED && oldest !== undefined) opened.delete(oldest);
  return one;
}

type Hear = (news: News) => void;

/** Where the dashboard's loops come from. It looks for news while anyone listens. */
export abstract class NewsFeed {
  /** The command that starts a loop here. */
  abstract readonly start: string;
  readonly #tickMs: number;
  readonly #tell: (message: string) => void;
  readonly #failures = new Set<string>();
  readonly #listeners = new Set<Hear>();
  #timer: NodeJS.Timeout | null = null;
  #busy = false;
  #isAway = false;

  /** `tell` hears of what cannot be read, once for each message. */
  constructor(tickMs: number, tell: (message: string) => void) {
    this.#tickMs = tickMs;
    this.#tell = tell;
  }

  get listeners(): number {
    return this.#listeners.size;
  }

  /** Tells the list as soon as it is read, and its news from then on. Returns the function that ends it. */
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
      // Each piece of news goes to all readers once.
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

  /** Returns everything, or what is new since the last call; null for nothing. */
  protected abstract news(whole: boolean): News | null | Promise<News | null>;
  /** Returns a loop's report, without what is known of it if it is still the loop `loopId`; null for an unknown key. */
  abstract report(key: string, known: Known, loopId: string | null): ReportData | null | Promise<ReportData | null>;
  /** Returns what an iteration changed; null for an unknown loop or iteration. */
  abstract work(key: string, loopId: string, index: number): Promise<Work | null>;
  /** Carries out a request and returns what to say of it; null for an unknown key. Rejects with a message for people. */
  abstract control(key: string, request: ControlRequest): Promise<string | null>;
}
