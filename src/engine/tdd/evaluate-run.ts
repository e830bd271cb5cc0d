import type { Message } from '../../text/message.ts';
import { contradictionText, ranNothing, type TestSummary } from '../../text/test-results/test-summary.ts';
import type { TddPhase } from '../schema/tdd.ts';
import { TDD_TEXTS } from './messages.ts';

export type CommandEnd =
  | { readonly kind: 'exit'; readonly code: number }
  | { readonly kind: 'signal'; readonly signal: string }
  | { readonly kind: 'timeout' }
  | { readonly kind: 'unavailable'; readonly why: string };

export interface TddRun {
  readonly end:
    | CommandEnd
    | { readonly kind: 'changed'; readonly what: string }
    | { readonly kind: 'blocked'; readonly rule: string };
  readonly output: string;
  /** Null: the output shows no test run. */
  readonly tests: TestSummary | null;
}

/** Exit codes of a shell for a program that it may not run or cannot find. */
const CANNOT_RUN = new Set([126, 127]);
/** 128 plus SIGINT, SIGKILL or SIGTERM: ended from outside. A crash (SIGABRT, SIGSEGV) is a failed test. */
const ENDED_FROM_OUTSIDE = new Set([130, 137, 143]);

/** Output of commands that fail before any test runs: the command is wrong, not the code. */
const NEVER_BEGAN = [
  /^\S*(?:sh|dash|bash|zsh): (?:-c: )?(?:line )?\d+: (?:-c: line \d+: )?syntax error\b/im,
  /^\S*(?:sh|dash|bash|zsh): (?:-c: )?(?:line )?\d+: unexpected EOF\b/im,
  /^\S*(?:sh|dash): \d+: (?:cannot open|Can't open) /m,
  /: cd: .*: (?:No such file or directory|Not a directory)$/m,
  /^Could not find '.*'$/m, // node --test
  /^ +requireStack: \[\]$/m, // node: the file to run is missing
  /^node: bad option: /m,
  /^npm (?:error|ERR!) (?:Missing script:|code E404\b|could not determine executable|(?:enoent )?Could not read package\.json)/im,
  /^ ?ERR_PNPM_(?:NO_SCRIPT|RECURSIVE_EXEC_FIRST_FAIL|NO_IMPORTER_MANIFEST_FOUND|NO_PKG_MANIFEST)\b/m,
  /^error (?:Command ".*" not found\.$|Couldn't find a package\.json file\b)/m, // yarn
  /^Usage Error: Couldn't find a script named /m, // yarn from version 2
  /^error: Script not found "/m, // bun
  /^ERROR: file or directory not found:/m, // pytest
  /^\S*python[\d.]*(?:\.exe)?: (?:can't open file |No module named )/m,
  /^\S*ruby[\d.]*: No such file or directory -- /m,
  /^Can't open perl script "/m,
  /^Could not open input file: /m, // php
  /\*\*\* No (?:rule to make target |targets specified and no makefile found)/,
  /^error: (?:no (?:test|bin|example) target named |could not find `Cargo\.toml`|no such command: )/m, // cargo
  /^go: (?:cannot find main module|go\.mod file not found|no modules were found)/m,
];
/** Pattern for colours, which some programs print even without a terminal. */
const COLOUR = /\u001b\[[0-9;]*m/g;

/** What a run has to show: a phase of a scenario or, at a claim, that a complete scenario still passes. */
export type RunFor = TddPhase | 'claim';

/** Returns null if a run counts for its phase, else the reason: red has to fail, everything else has to pass. */
export function evaluateRun(phase: RunFor, { end, output, tests }: TddRun): Message | string | null {
  switch (end.kind) {
    case 'unavailable':
      return TDD_TEXTS.unavailable(end.why);
    case 'changed':
      return TDD_TEXTS.changed(end.what);
    case 'blocked':
      return TDD_TEXTS.blocked(end.rule);
    case 'timeout':
      return TDD_TEXTS.timedOut;
    case 'signal':
      return TDD_TEXTS.ended(end.signal);
    case 'exit':
      return evaluateExit(phase, end.code, output, tests);
    default:
      return end satisfies never;
  }
}

function evaluateExit(phase: RunFor, code: number, output: string, tests: TestSummary | null): string | null {
  if (CANNOT_RUN.has(code)) return TDD_TEXTS.cannotRun(code);
  if (ENDED_FROM_OUTSIDE.has(code)) return TDD_TEXTS.ended(`signal ${code - 128}`);
  if (ranNothing(tests)) return TDD_TEXTS.noTest;
  if (code === 0 && tests !== null && tests.failed > 0) return TDD_TEXTS.contradicts(contradictionText(tests));
  if (code === 0) return phase === 'red' ? TDD_TEXTS.passes : null;
  const plain = output.replace(COLOUR, '');
  // If a runner counted tests, such output comes from a test, for example about a program not yet written.
  if (tests === null && NEVER_BEGAN.some((pattern) => pattern.test(plain))) return TDD_TEXTS.neverBegan(code);
  if (phase === 'red') return null;
  if (phase === 'claim') return TDD_TEXTS.failsNow(code);
  return phase === 'green' ? TDD_TEXTS.fails(code) : TDD_TEXTS.broken(code);
}
