import { BoundedText } from '../bounded-text.ts';
import { jsonOrNull } from '../json.ts';
import { JAVASCRIPT_RUNNERS, JEST_JSON } from './javascript-runners.ts';
import { OTHER_RUNNERS } from './other-runners.ts';
import { anyOf, knownLines } from './runner.ts';
import { RunnerCount } from './runner-count.ts';
import type { TestSummary } from './test-summary.ts';

/** Maximum length of a line that a runner or wrapper writes. */
const MAX_LINE = 1000;
/** The end of RSpec's JSON, and a line that `go test -json` wraps. */
const SUMMARY_OF_JSON = /"summary_line":"([^"\\]*)"\}$/;
const LINE_OF_JSON = /^\{.*"Action":"output".*"Output":("(?:[^"\\]|\\.)*")[,}]/;
const MAX_PARTS = 64;
const MAX_FAILURES = 10;

/** A plain call of `go test`, which names each test, since checks run with -v in GOFLAGS. */
const NAMING_GO =
  /^(?!.*(?:GOFLAGS|[<>|]|\s-(?:test\.)?(?:v=|bench|fuzz)))(?:.*(?:&&|;|\n)\s*)?(?:\w+=\S*\s+)*go test(?:\s|$)/s;

const RUNNERS = [...JAVASCRIPT_RUNNERS, ...OTHER_RUNNERS];
const EACH = RUNNERS.map((runner) => ({ runner, known: knownLines([runner]) }));
const KNOWN = knownLines(RUNNERS);

/** Reads the output of a command line by line, as a terminal shows it, and counts the tests that its runners report. */
export class TestOutput {
  /** By wrapper's name; the first has everything that belongs to no part. */
  readonly #parts: Map<string, OutputPart>;
  #current = '';
  #namesParts = false;
  #saidNoParts = false;
  #ranParts = false;
  /** True if make ran nothing for a goal that tests, within another make or as the command's own goal. */
  #isIdleMake = false;
  #isIdleGoal = false;
  #isOnlyMake: boolean;
  readonly #namesTests: boolean;
  /** True while only make has written lines. */
  #isSilent = true;
  readonly #directory: string;
  readonly #countsAll: boolean;

  /** Shows paths relative to `directory`. `run` writes the output; with `countsAll`, the counts alone decide. */
  constructor(directory = '', run = '', countsAll = false) {
    this.#directory = directory;
    this.#countsAll = countsAll;
    this.#parts = new Map([['', new OutputPart(countsAll)]]);
    this.#isOnlyMake = startsOnlyMake(run);
    this.#namesTests = NAMING_GO.test(run.replaceAll(/\d?>&\d/g, ''));
  }

  line(raw: string): void {
    const line = LINE_OF_JSON.exec(raw.slice(0, MAX_LINE))?.[1];
    const plain = line === undefined ? raw : String(jsonOrNull(line) ?? '').trimEnd();
    const begin = plain.slice(0, MAX_LINE);
    const told = plain === begin || JEST_JSON.test(begin) ? begin.replace(TIME, '') : '';
    const text = SUMMARY_OF_JSON.exec(raw.slice(-MAX_LINE))?.[1] ?? told;
    if (SPOKEN.test(text)) this.#wrapperSays(text);
    this.#isIdleMake ||= IDLE_MAKE.test(text);
    this.#isIdleGoal ||= IDLE_MAKE.test(text) && !text.includes('make[');
    this.#isOnlyMake &&= !text.startsWith('> ') || isMakes(text);
    this.#isSilent &&= text === '' || isMakes(text);
    const own = this.#part(this.#current);
    if (own.reads(text) || !this.#readPrefixed(text)) {
      own.explain(text);
      this.#keep(this.#current, raw);
    }
  }

  #wrapperSays(text: string): void {
    this.#namesParts ||= NAMES_PARTS.test(text);
    this.#ranParts ||= SOME_PARTS.test(text);
    this.#saidNoParts ||= NO_PARTS.some((pattern) => pattern.test(text));
    const header = this.#part(this.#current).before !== null ? null : keyOf(HEADERS, text);
    if (header !== null && this.#add(header, new OutputPart(this.#countsAll))) this.#current = header;
    this.#mark(this.#current, text);
  }

  #mark(key: string, text: string): void {
    const failed = keyOf(FAILED, text);
    if (failed !== null) this.#part(failed === '' ? key : failed).isMarked = true;
  }

  /** Returns the counts of all runs; null if no runner was recognised. A run that `passed` without its total executed nothing. */
  summary(passed = false): TestSummary | null {
    const parts = [...this.#parts.values()];
    const all = parts.flatMap((part) => part.summaries());
    const isCutShort = passed && parts.some(({ isRunning }) => isRunning);
    const isIdle = this.#isOnlyMake && (this.#isIdleGoal || (this.#isIdleMake && this.#isSilent));
    if (all.length === 0 && (!this.#saidNoParts || this.#ranParts) && !isIdle && !isCutShort) return null;
    const sum = (key: 'run' | 'failed' | 'skipped'): number => all.reduce((total, each) => total + each[key], 0);
    return {
      // A package that passes without naming a test ended before its tests.
      run: this.#namesTests && all.every(({ atLeast, failed }) => atLeast && failed === 0) ? 0 : sum('run'),
      failed: sum('failed'),
      skipped: sum('skipped'),
      failures: all
        .flatMap(({ failures }) => failures)
        .slice(0, MAX_FAILURES)
        .map((each) => ({ ...each, name: this.#relative(each.name), file: this.#relative(each.file) })),
      ...(all.some(({ atLeast }) => atLeast) && { atLeast: true as const }),
    };
  }

  #relative<T extends string | null>(path: T): T | string {
    const root = `${this.#directory.replace(/[\\/]$/, '')}/`;
    return path?.replaceAll('\\', '/').startsWith(root.replaceAll('\\', '/')) && root !== '/'
      ? path.slice(root.length)
      : path;
  }

  /** Returns the end of the first failed part; null if the output has no parts, or none is known to have failed. */
  failedTail(limit: number): string | null {
    const parts = [...this.#parts.values()];
    const failed =
      parts.find((part) => part.summaries().some((each) => each.failed > 0)) ?? parts.find(({ isMarked }) => isMarked);
    return failed === undefined || parts.length === 1 ? null : failed.output.tail(limit);
  }

  #readPrefixed(text: string): boolean {
    const prefixed = prefixedPart(text, this.#namesParts);
    if (prefixed === null) return false;
    const { key, text: rest, isSure } = prefixed;
    const known = this.#parts.get(key);
    const part = known ?? new OutputPart(this.#countsAll);
    if (!part.reads(rest)) {
      if (known === undefined && !isSure) return false;
      part.explain(rest);
    }
    if (!this.#add(key, part)) return false;
    this.#keep(key, rest);
    if (SPOKEN.test(rest)) this.#mark(key, rest);
    return true;
  }

  #part(key: string): OutputPart {
    return this.#parts.get(key) ?? (this.#parts.get('') as OutputPart);
  }

  /** Returns whether a part, known or just added, fits within the limit. */
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

/** Error at the beginning of a line, and node's last line when such an error has ended it. node:test in TAP comments them. */
const NODE_ERROR = /^(?:# )?(?:Error(?: \[\w+\])?: (?<what>\S.*)|(?<error>\w+Error(?: \[\w+\])?: .+))$/;
const NODE_ENDS = /^(?:# )?Node\.js v\d/;
/** All that node:test says of a file that ended with an error. */
const ENDED = /^'?test failed'?$/;

const newCounts = () => EACH.map(({ runner, known }) => new RunnerCount(runner, known));

/** Output of one package or service. */
class OutputPart {
  #runners = newCounts();
  /** What the runners had counted when a run began that has no total yet. */
  before: RunnerCount[] | null = null;
  /** Readers that recognised the last line. */
  readonly #readers = new Set<RunnerCount>();
  readonly output = new BoundedText();
  readonly #countsAll: boolean;
  /** True if the wrapper says that it failed. */
  isMarked = false;
  #error: string | null = null;
  /** Errors that ended a process of node, in the order of the output. */
  readonly #fatal: string[] = [];

  constructor(countsAll: boolean) {
    this.#countsAll = countsAll;
  }

  /** Reads a line that a runner recognises; returns whether one does. */
  reads(text: string): boolean {
    this.#readers.clear();
    const { what, error } = NODE_ERROR.exec(text)?.groups ?? {};
    this.#error = what ?? error ?? this.#error;
    if (this.#error !== null && NODE_ENDS.test(text)) {
      this.#fatal.push(this.#error);
      this.#error = null;
    }
    if (!KNOWN.test(text)) return false;
    for (const runner of this.#runners) if (runner.reads(text)) this.#readers.add(runner);
    // Otherwise a test could hide failures by printing the first line and the total of another runner around them.
    const begun = (this.before ?? this.#runners).find(({ isRunning }) => isRunning && !this.#countsAll);
    if (begun === undefined) {
      // What a test printed of other runners does not count once its own run has a total.
      this.#runners = this.before ?? this.#runners;
      this.before = null;
    } else if (this.before === null) {
      this.before = this.#runners;
      this.#runners = newCounts().with(this.before.indexOf(begun), begun);
    }
    return this.#readers.size > 0;
  }

  /** Passes the line to the runners that do not recognise it: it may explain a failed test. */
  explain(text: string): void {
    for (const runner of this.#runners) if (!this.#readers.has(runner)) runner.explain(text);
  }

  /** True while a run has begun that has no total yet. */
  get isRunning(): boolean {
    return this.#all().some(({ isRunning }) => isRunning);
  }

  summaries(): TestSummary[] {
    return this.#all()
      .filter(({ isSeen }) => isSeen)
      .map((runner) => this.#explained(runner.summary()));
  }

  /** Gives each file that an error has ended that error as its message, if every such file has one. */
  #explained(summary: TestSummary): TestSummary {
    const ended = summary.failures.filter(({ message }) => ENDED.test(message ?? ''));
    if (ended.length !== this.#fatal.length) return summary;
    const failures = summary.failures.map((each) => {
      const at = ended.indexOf(each);
      return at === -1 ? each : { ...each, message: this.#fatal[at] ?? null };
    });
    return { ...summary, failures };
  }

  #all(): RunnerCount[] {
    return [...new Set([...(this.before ?? []), ...this.#runners])];
  }
}

const SCRIPT = String.raw`(?:[\w.-]+:)*(?:test|tests|spec|e2e|check|verify|ci)(?:[:.-][\w:.-]+)?`;

/** Pattern for a Makefile goal that tests or checks, judged by its name. */
const GOAL = String.raw`(?:[\w./-]*[./_-])?(?:tests?|specs?|checks?|e2e|lint|verify|ci|unit|integration)(?:[._-][\w.-]+)?`;

/** Prefixes that only a wrapper writes. */
const SURE: readonly RegExp[] = [
  new RegExp(String.raw`^(?<key>[@\w./-]+ ${SCRIPT})(?::|\$)(?: |$)`), // pnpm -r, bun --filter
  /^(?<key>(?:\.|[@\w.-]*\/[\w./-]+) [\w:.-]+)(?::|\$)(?: |$)/, // pnpm -r with another script
  /^(?<key>@?[\w./-]+[:#][A-Za-z][\w:-]*):(?: |$)/, // turbo
];
/** Prefixes that belong to a wrapper if what follows is a runner's line. */
const LIKELY: readonly RegExp[] = [
  /^(?:\d\d:\d\d:\d\d )?(?<key>[\w.@/:-]+) +\|(?: |$)/, // docker compose, foreman, moon
  /^\[(?!(?:INFO|WARN|WARNING|ERROR|DEBUG)\])(?<key>[@\w./: -]+)\]:?(?: |$)/i, // yarn workspaces, concurrently, run-p
];
/** Time that concurrently or a log writes before a line. */
const TIME = /^\[?\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?Z?\]? ?/;
/** `name: `, which lerna and nx write, and so do many other programs. */
const NAME_PREFIX = /^(?<key>@?[\w./-]+): /;
const NAMES_PARTS = /^(?:lerna (?:notice|info|success|verb|ERR)|.{0,40}\bNX\b|> nx run)/;

/** Lines that begin the output of the next part. */
const HEADERS: readonly RegExp[] = [
  /^> (?<key>@?[\w./-]+@\d[\w.+-]*) [\w:.-]+(?: .*)?$/, // npm --workspaces
  /^> (?:nx run )?(?<key>@?[\w./-]+:[\w:-]+)\b/, // nx, lerna
  /^\w*make\[\d+\]: Entering directory '(?<key>.+)'$/,
];

/** Says that a part failed: the part that it names, or else the one in which it occurs. */
const FAILED: readonly RegExp[] = [
  /^npm (?:error|ERR!) workspace (?<key>\S+)$/,
  /\bELIFECYCLE\b/,
  /^Failed$/, // pnpm -r
  /^(?:ERROR: )?command (?:.* )?exited \([1-9]\d*\)/,
  /^ERROR: command finished with error/,
  /\bexited with (?:exit )?code [1-9]/i,
  /^\w*make\[\d+\]: \*\*\* /,
  /^(?:✖|✘|×) +(?:nx run )?(?<key>@?[\w./-]+:[\w:-]+)\b/,
];

/** Says that no part has such a script, or that no part was chosen. */
const NO_PARTS: readonly RegExp[] = [
  /^No projects matched the filters\b/, // pnpm
  /^None of the (?:selected )?packages has an? /i, // pnpm
  /^No projects found in /, // pnpm
  /^(?:\W*(?:NX|Lerna \(powered by Nx\))\W+)?No (?:tasks were run|projects with|targets? )/i, // nx
  /^ *Tasks: +0 successful, 0 total$/, // turbo
  /^(?: WARNING +)?No tasks were executed\b/, // turbo
  /^(?:lerna \w+ (?:\w+ )?)?No (?:packages|projects) (?:found|matched|remain|with)\b/i, // lerna
  /^npm (?:warn|WARN) workspaces? .*no (?:workspaces|such script)/i,
  /^(?:│ )?No tasks (?:affected by|found)\b/, // moon
  /^(?:SKIPPED: +\S+: | {2}\S+: (?:SKIP|skipped tests)\b)/, // tox
  /^\S.*\.{3,}(?:\(no files to check\))?Skipped$/, // pre-commit
  /^warning: No Python files found under\b/, // ruff
  /^│ 🥊 lefthook /, // unless a command of it is named below
  /^→ (?:lint-staged could not find any|No) staged files\b/, // lint-staged
];
/** Says that another environment or hook did run: tox, pre-commit, lefthook. */
const SOME_PARTS = /^(?: {2}\S+: (?:commands succeeded|OK\b)|\S.*\.{3,}(?:Passed|Failed)$|┃ {2}\S.* ❯|✔️ +\S)/u;

/** Output of make for a goal that exists as a file or folder, or that has no commands. */
const IDLE_MAKE = new RegExp(
  `^\\w*make(?:\\[\\d+\\])?: (?:['\`]${GOAL}' is up to date|Nothing to be done for ['\`]${GOAL}')\\.$`,
);

/** Lines that a wrapper itself may have written. */
const SPOKEN = anyOf([...HEADERS, ...FAILED, ...NO_PARTS, SOME_PARTS, NAMES_PARTS]);

/** Returns the part to which a line belongs by its prefix, and the line without it (`isSure`: only a wrapper writes it); null without a prefix. */
function prefixedPart(line: string, namesParts: boolean) {
  const likely = namesParts ? [...LIKELY, NAME_PREFIX] : LIKELY;
  for (const pattern of [...SURE, ...likely]) {
    const match = pattern.exec(line);
    if (match === null) continue;
    return { key: match.groups?.['key'] ?? '', text: line.slice(match[0].length), isSure: SURE.includes(pattern) };
  }
  return null;
}

/** Returns whether make wrote a line, or a program that started nothing but make: a shell, a package manager. */
function isMakes(line: string): boolean {
  if (line.startsWith('> ')) return keyOf(HEADERS, line) !== null || startsOnlyMake(line.slice(2));
  return /^\w*make(?:\[\d+\])?:/.test(line) || (/^(?:\S*\/)?\w*make(?: |$)/.test(line) && startsOnlyMake(line));
}

const BEFORE_MAKE = String.raw`(?:\w+=\S*\s+|(?:env|time|nice|timeout\s+\S+)\s+)*`;
const ONLY_MAKE = new RegExp(
  String.raw`^\s*(?:cd\s+\S+|${BEFORE_MAKE}(?:(?:\S*\/)?\w*make|npm|pnpm|yarn)(?:\s[^|&]*)?)?\s*$`,
);

/** Returns whether a command starts only make, or a package manager that prints its command: not `make test && ./test`. */
function startsOnlyMake(command: string): boolean {
  return command
    .replaceAll(/\d?>&\d/g, '')
    .split(/&&|[;\n]/)
    .every((part) => ONLY_MAKE.test(part));
}

function keyOf(patterns: readonly RegExp[], line: string): string | null {
  for (const pattern of patterns) {
    const match = pattern.exec(line);
    if (match !== null) return match.groups?.['key'] ?? '';
  }
  return null;
}
