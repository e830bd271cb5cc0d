import type { Message } from '../../text/message.ts';
import { isVacuous, type TestCount } from '../../text/no-tests-run.ts';
import type { TddPhase } from '../schema/tdd.ts';
import { TDD_TEXTS } from './messages.ts';

export interface TddRun {
  readonly end:
    | { readonly kind: 'exit'; readonly code: number }
    | { readonly kind: 'signal'; readonly signal: string }
    | { readonly kind: 'timeout' }
    | { readonly kind: 'unavailable'; readonly why: string }
    | { readonly kind: 'changed'; readonly what: string }
    | { readonly kind: 'blocked'; readonly rule: string };
  readonly output: string;
  readonly tests: TestCount;
}

/** What a shell leaves with for a program that it may not run, and for one that it does not find. */
const CANNOT_RUN = new Set([126, 127]);
/** 128 and SIGINT, SIGKILL or SIGTERM: ended from outside. A crash by itself (SIGABRT, SIGSEGV) is the test's own failure. */
const ENDED_FROM_OUTSIDE = new Set([130, 137, 143]);

/** What programs print that fail before any test could: the command is wrong, not the code. */
const NEVER_BEGAN = [
  /^\S*(?:sh|dash|bash|zsh): (?:-c: )?(?:line )?\d+: (?:-c: line \d+: )?syntax error\b/im,
  /^\S*(?:sh|dash|bash|zsh): (?:-c: )?(?:line )?\d+: unexpected EOF\b/im,
  /^\S*(?:sh|dash): \d+: (?:cannot open|Can't open) /m,
  /: cd: .*: (?:No such file or directory|Not a directory)$/m,
  /^Could not find '.*'$/m, // node --test
  /^ +requireStack: \[\]$/m, // node: the file that it was to run
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
/** Those who print colours print them for no terminal too, where they are told to. */
const COLOUR = /\u001b\[[0-9;]*m/g;

/** null when a run counts for its phase, else why it does not: red has to fail, green and refactored have to pass. */
export function evaluateRun(phase: TddPhase, { end, output, tests }: TddRun): Message | string | null {
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

function evaluateExit(phase: TddPhase, code: number, output: string, tests: TestCount): string | null {
  if (CANNOT_RUN.has(code)) return TDD_TEXTS.cannotRun(code);
  if (ENDED_FROM_OUTSIDE.has(code)) return TDD_TEXTS.ended(`signal ${code - 128}`);
  if (isVacuous(tests)) return TDD_TEXTS.noTest;
  if (code === 0) return phase === 'red' ? TDD_TEXTS.passes : null;
  const plain = output.replace(COLOUR, '');
  // Where a runner has counted tests, such a word is what one of them printed: of a program that is not written yet.
  if (!tests.seen && NEVER_BEGAN.some((pattern) => pattern.test(plain))) return TDD_TEXTS.neverBegan(code);
  if (phase === 'red') return null;
  return phase === 'green' ? TDD_TEXTS.fails(code) : TDD_TEXTS.broken(code);
}
