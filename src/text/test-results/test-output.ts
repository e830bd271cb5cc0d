import { BoundedText } from '../bounded-text.ts';
import { jsonOrNull } from '../json.ts';
import { JAVASCRIPT_RUNNERS, JEST_JSON } from './javascript-runners.ts';
import { OTHER_RUNNERS } from './other-runners.ts';
import { knownLines } from './runner.ts';
import { RunnerCount } from './runner-count.ts';
import type { TestSummary } from './test-summary.ts';
import {
  failedPart,
  isIdleMake,
  isMakes,
  isWrappers,
  namesParts,
  prefixedPart,
  saysNoParts,
  startsOnlyMake,
  withoutTime,
  wrapperHeader,
} from './wrappers.ts';

/** Maximum length of a line that a runner or wrapper writes. */
const MAX_LINE = 1000;
/** The end of RSpec's JSON, and a line that `go test -json` wraps. */
const SUMMARY_OF_JSON = /"summary_line":"([^"\\]*)"\}$/;
const LINE_OF_JSON = /^\{.*"Action":"output".*"Output":("(?:[^"\\]|\\.)*")[,}]/;
const MAX_PARTS = 64;
const MAX_FAILURES = 10;

const RUNNERS = [...JAVASCRIPT_RUNNERS, ...OTHER_RUNNERS];
const EACH = RUNNERS.map((runner) => ({ runner, known: knownLines([runner]) }));
const KNOWN = knownLines(RUNNERS);

/** Reads the output of a command line by line, as a terminal shows it, and counts the tests that its runners report. */
export class TestOutput {
  /** By wrapper's name; the first one has what belongs to no part. */
  readonly #parts = new Map([['', new OutputPart()]]);
  #current = '';
  #namesParts = false;
  #saidNoParts = false;
  /** Make ran nothing for a goal that tests, within another make or as the command's own goal. */
  #isIdleMake = false;
  #isIdleGoal = false;
  #isOnlyMake: boolean;
  /** So far nothing but make has written a line. */
  #isSilent = true;
  readonly #directory: string;

  /** Paths inside `directory` are told relative to it. `run` is the command that writes the output. */
  constructor(directory = '', run = '') {
    this.#directory = directory;
    this.#isOnlyMake = startsOnlyMake(run);
  }

  line(raw: string): void {
    const line = LINE_OF_JSON.exec(raw.slice(0, MAX_LINE))?.[1];
    const plain = line === undefined ? raw : String(jsonOrNull(line) ?? '').trimEnd();
    const begin = plain.slice(0, MAX_LINE);
    const told = plain === begin || JEST_JSON.test(begin) ? withoutTime(begin) : '';
    const text = SUMMARY_OF_JSON.exec(raw.slice(-MAX_LINE))?.[1] ?? told;
    if (isWrappers(text)) this.#wrapperSays(text);
    this.#isIdleMake ||= isIdleMake(text);
    this.#isIdleGoal ||= isIdleMake(text) && !text.includes('make[');
    this.#isOnlyMake &&= !text.startsWith('> ') || isMakes(text);
    this.#isSilent &&= text === '' || isMakes(text);
    const own = this.#part(this.#current);
    if (own.reads(text) || !this.#readPrefixed(text)) {
      own.explain(text);
      this.#keep(this.#current, raw);
    }
  }

  #wrapperSays(text: string): void {
    this.#namesParts ||= namesParts(text);
    this.#saidNoParts ||= saysNoParts(text);
    const header = wrapperHeader(text);
    if (header !== null && this.#add(header, new OutputPart())) this.#current = header;
    this.#mark(this.#current, text);
  }

  #mark(key: string, text: string): void {
    const failed = failedPart(text);
    if (failed !== null) this.#part(failed === '' ? key : failed).isMarked = true;
  }

  /** Returns the counts of all runs; null if no runner was recognised. */
  summary(): TestSummary | null {
    const all = [...this.#parts.values()].flatMap((part) => part.summaries());
    const isIdle = this.#isOnlyMake && (this.#isIdleGoal || (this.#isIdleMake && this.#isSilent));
    if (all.length === 0 && !this.#saidNoParts && !isIdle) return null;
    const sum = (key: 'run' | 'failed' | 'skipped'): number => all.reduce((total, each) => total + each[key], 0);
    return {
      run: sum('run'),
      failed: sum('failed'),
      skipped: sum('skipped'),
      failures: all
        .flatMap(({ failures }) => failures)
        .slice(0, MAX_FAILURES)
        .map((each) => ({ ...each, file: this.#relative(each.file) })),
      ...(all.some(({ atLeast }) => atLeast) && { atLeast: true as const }),
    };
  }

  #relative(path: string | null): string | null {
    const root = `${this.#directory.replace(/[\\/]$/, '')}/`;
    return path?.replaceAll('\\', '/').startsWith(root.replaceAll('\\', '/')) && root !== '/'
      ? path.slice(root.length)
      : path;
  }

  /** Returns the end of the first part that failed; null if the output has no parts or none is known to have failed. */
  failedTail(limit: number): string | null {
    const parts = [...this.#parts.values()];
    const failed = parts.find((part) => part.hasFailedTests()) ?? parts.find(({ isMarked }) => isMarked);
    return failed === undefined || parts.length === 1 ? null : failed.output.tail(limit);
  }

  #readPrefixed(text: string): boolean {
    const prefixed = prefixedPart(text, this.#namesParts);
    if (prefixed === null) return false;
    const { key, text: rest, isSure } = prefixed;
    const known = this.#parts.get(key);
    const part = known ?? new OutputPart();
    if (!part.reads(rest)) {
      if (known === undefined && !isSure) return false;
      part.explain(rest);
    }
    if (!this.#add(key, part)) return false;
    this.#keep(key, rest);
    if (isWrappers(rest)) this.#mark(key, rest);
    return true;
  }

  #part(key: string): OutputPart {
    return this.#parts.get(key) ?? (this.#parts.get('') as OutputPart);
  }

  /** Returns whether a part has a place, known before or added now. */
  #add(key: string, part: OutputPart): boolean {
    if (this.#parts.has(key)) return true;
    if (this.#parts.size >= MAX_PARTS) return false;
    this.#parts.set(key, part);
    return true;
  }

  #keep(key: string, text: string): void {
    this.#part(key).output.add(`${text}\n`);
  }
}

/** Output of one package or service. */
class OutputPart {
  readonly #runners = EACH.map(({ runner, known }) => new RunnerCount(runner, known));
  /** Those that know the last line. */
  readonly #readers = new Set<RunnerCount>();
  readonly output = new BoundedText();
  /** The wrapper says that it failed. */
  isMarked = false;

  /** Reads a line that a runner knows; returns whether one does. */
  reads(text: string): boolean {
    this.#readers.clear();
    if (KNOWN.test(text)) for (const runner of this.#runners) if (runner.reads(text)) this.#readers.add(runner);
    return this.#readers.size > 0;
  }

  /** Passes the line to the runners that do not know it: it may explain a failed test. */
  explain(text: string): void {
    for (const runner of this.#runners) if (!this.#readers.has(runner)) runner.explain(text);
  }

  summaries(): TestSummary[] {
    return this.#runners.filter(({ isSeen }) => isSeen).map((runner) => runner.summary());
  }

  hasFailedTests(): boolean {
    return this.summaries().some(({ failed }) => failed > 0);
  }
}
