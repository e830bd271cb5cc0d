import { anyOf } from './runner.ts';

/** A package or service whose output a wrapper shows between that of others. */
export interface Part {
  readonly key: string;
  /** Line without the wrapper's prefix. */
  readonly text: string;
  /** Nothing else writes such a prefix. */
  readonly isSure: boolean;
}

const SCRIPT = String.raw`(?:[\w.-]+:)*(?:test|tests|spec|e2e|check|verify|ci)(?:[:.-][\w:.-]+)?`;

/** Goal of a Makefile that tests or checks, by its name. */
const GOAL = String.raw`(?:[\w./-]*[./_-])?(?:tests?|specs?|checks?|e2e|lint|verify|ci|unit|integration)(?:[._-][\w.-]+)?`;

/** Prefixes that only a wrapper writes. */
const SURE: readonly RegExp[] = [
  new RegExp(String.raw`^(?<key>[@\w./-]+ ${SCRIPT})(?::|\$)(?: |$)`), // pnpm -r, bun --filter
  /^(?<key>(?:\.|[@\w.-]*\/[\w./-]+) [\w:.-]+)(?::|\$)(?: |$)/, // pnpm -r with another script
  /^(?<key>@?[\w./-]+[:#][A-Za-z][\w:-]*):(?: |$)/, // turbo
];
/** Prefixes of a wrapper if what follows is a runner's. */
const LIKELY: readonly RegExp[] = [
  /^(?:\d\d:\d\d:\d\d )?(?<key>[\w.@/:-]+) +\|(?: |$)/, // docker compose, foreman, moon
  /^\[(?!(?:INFO|WARN|WARNING|ERROR|DEBUG)\])(?<key>[@\w./: -]+)\]:?(?: |$)/i, // yarn workspaces, concurrently, run-p
];
const TIME = /^\[?\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?Z?\]? ?/;
/** `name: `, which lerna and nx write; everybody else writes it too. */
const NAME_PREFIX = /^(?<key>@?[\w./-]+): /;
const NAMES_PARTS = /^(?:lerna (?:notice|info|success|verb|ERR)|.{0,40}\bNX\b|> nx run)/;

/** Lines that begin the output of the next part. */
const HEADERS: readonly RegExp[] = [
  /^> (?<key>@?[\w./-]+@\d[\w.+-]*) [\w:.-]+(?: .*)?$/, // npm --workspaces
  /^> (?:nx run )?(?<key>@?[\w./-]+:[\w:-]+)\b/, // nx, lerna
  /^\w*make\[\d+\]: Entering directory '(?<key>.+)'$/,
];

/** Says that a part failed: the one that it names, or else the one that it stands in. */
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

/** Says that no part has such a script or that no part was chosen. */
const NO_PARTS: readonly RegExp[] = [
  /^No projects matched the filters\b/, // pnpm
  /^None of the (?:selected )?packages has an? /i, // pnpm
  /^No projects found in /, // pnpm
  /^(?:\W*(?:NX|Lerna \(powered by Nx\))\W+)?No (?:tasks were run|projects with|targets? )/i, // nx
  /^ *Tasks: +0 successful, 0 total$/, // turbo
  /^(?: WARNING +)?No tasks were executed\b/, // turbo
  /^(?:lerna \w+ (?:\w+ )?)?No (?:packages|projects) (?:found|matched|remain|with)\b/i, // lerna
  /^npm (?:warn|WARN) workspaces? .*no (?:workspaces|such script)/i,
];

/** What make says of a goal that exists as a file or folder, or has no commands, in place of running it. */
const IDLE_MAKE = new RegExp(
  `^\\w*make(?:\\[\\d+\\])?: (?:['\`]${GOAL}' is up to date|Nothing to be done for ['\`]${GOAL}')\\.$`,
);

const SPOKEN = anyOf([...HEADERS, ...FAILED, ...NO_PARTS, NAMES_PARTS]);

/** Returns whether a wrapper itself may have written the line. */
export function isWrappers(line: string): boolean {
  return SPOKEN.test(line);
}

/** Returns the line without the time that concurrently or a log writes before it. */
export function withoutTime(line: string): string {
  return line.replace(TIME, '');
}

export function wrapperHeader(line: string): string | null {
  return keyOf(HEADERS, line);
}

/** Returns the part that a line belongs to by its prefix; null if it has none. */
export function prefixedPart(line: string, namesParts: boolean): Part | null {
  const likely = namesParts ? [...LIKELY, NAME_PREFIX] : LIKELY;
  for (const pattern of [...SURE, ...likely]) {
    const match = pattern.exec(line);
    if (match === null) continue;
    return {
      key: match.groups?.['key'] ?? '',
      text: line.slice(match[0].length),
      isSure: SURE.includes(pattern),
    };
  }
  return null;
}

export function namesParts(line: string): boolean {
  return NAMES_PARTS.test(line);
}

/** Returns the name of the part that a line calls failed, '' for the current one, null if it calls none failed. */
export function failedPart(line: string): string | null {
  return keyOf(FAILED, line);
}

export function saysNoParts(line: string): boolean {
  return NO_PARTS.some((pattern) => pattern.test(line));
}

export function isIdleMake(line: string): boolean {
  return IDLE_MAKE.test(line);
}

/** Returns whether make wrote a line, or what started nothing but make: a shell, a package manager. */
export function isMakes(line: string): boolean {
  if (line.startsWith('> ')) return wrapperHeader(line) !== null || startsOnlyMake(line.slice(2));
  return /^\w*make(?:\[\d+\])?:/.test(line) || (/^(?:\S*\/)?\w*make(?: |$)/.test(line) && startsOnlyMake(line));
}

const BEFORE_MAKE = String.raw`(?:\w+=\S*\s+|(?:env|time|nice|timeout\s+\S+)\s+)*`;
const ONLY_MAKE = new RegExp(
  String.raw`^\s*(?:cd\s+\S+|${BEFORE_MAKE}(?:(?:\S*\/)?\w*make|npm|pnpm|yarn)(?:\s[^|&]*)?)?\s*$`,
);

/** Returns whether a command starts only make, or a package manager that says what it starts: not `make test && ./test`. */
export function startsOnlyMake(command: string): boolean {
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
