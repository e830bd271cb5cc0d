import type { TddPhase } from '../schema/tdd-state.ts';
import { isVacuous, type TestCount } from '../vacuous-green.ts';
import { TDD_TEXTS } from './texts.ts';

/** How an evidence command ended, and what it printed. */
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
/** 128 and SIGINT, SIGKILL or SIGTERM: somebody ended it. A crash by itself (SIGABRT, SIGSEGV) is the test's own failure. */
const ENDED_FROM_OUTSIDE = new Set([130, 137, 143]);

/** What programs print that fail before any test could: the command is wrong, not the code. */
const NEVER_BEGAN = [
  /^\S*(?:sh|dash|bash|zsh): (?:-c: )?(?:line )?\d+: (?:-c: line \d+: )?syntax error\b/im,
  /^\S*(?:sh|dash|bash|zsh): (?:-c: )?(?:line )?\d+: unexpected EOF\b/im,
  /^Could not find '.*'$/m, // node --test
  /^npm (?:error|ERR!) Missing script:/m,
  /^ ?ERR_PNPM_(?:NO_SCRIPT|RECURSIVE_EXEC_FIRST_FAIL)\b/m,
  /^error Command ".*" not found\.$/m, // yarn
  /^ERROR: file or directory not found:/m, // pytest
  /\*\*\* No rule to make target /,
  /^error: no (?:test|bin|example) target named /m, // cargo
];

/** null when a run counts for its phase, else why it does not: red has to fail, green and refactored have to pass. */
export function judgeRun(phase: TddPhase, { end, output, tests }: TddRun): string | null {
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
      return judgeExit(phase, end.code, output, tests);
    default:
      return end satisfies never;
  }
}

function judgeExit(phase: TddPhase, code: number, output: string, tests: TestCount): string | null {
  if (CANNOT_RUN.has(code)) return TDD_TEXTS.cannotRun(code);
  if (ENDED_FROM_OUTSIDE.has(code)) return TDD_TEXTS.ended(`signal ${code - 128}`);
  if (isVacuous(tests)) return TDD_TEXTS.noTest;
  if (code === 0) return phase === 'red' ? TDD_TEXTS.passes : null;
  if (NEVER_BEGAN.some((pattern) => pattern.test(output))) return TDD_TEXTS.neverBegan(code);
  if (phase === 'red') return null;
  return phase === 'green' ? TDD_TEXTS.fails(code) : TDD_TEXTS.broken(code);
}
