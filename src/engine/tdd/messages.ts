/** Every sentence about a TDD list that the agent and the user read. */
export const TDD_TEXTS = {
  noConsent:
    'an agent made this list, and the user has not agreed to its commands. Show them: ralph-loop tdd status. Agree, in a terminal: ralph-loop tdd init --consent.',
  nothingLeft: 'every scenario is complete.',
  unknown: (id: string): string => `there is no scenario ${id}. ralph-loop tdd status lists them.`,
  complete: (id: string): string => `${id} is complete and is not run again. Next scenario: ralph-loop tdd next`,
  nothingRan: (id: string, phase: string): string =>
    `${id} was ${phase} already, so nothing was run. Continue with: ralph-loop tdd next`,
  notNow: (id: string, current: string | null): string =>
    `${id} is not the current scenario; ${current ?? 'none'} is. Finish that one first: ralph-loop tdd next`,
  redFirst: (id: string): string =>
    `there is no red evidence for ${id}. Write its test and see it fail: ralph-loop tdd red`,
  greenFirst: (id: string): string => `${id} is not green yet: ralph-loop tdd green`,
  unavailable: (why: string): string => `the command could not be started: ${why}.`,
  changed: (what: string): string =>
    `the command was not run: ${what} since the list was made, or since its test was red. Restore it, or have the user accept the change: ralph-loop tdd init --accept.`,
  blocked: (rule: string): string => `the command was not run: a guardrail blocks it (${rule}).`,
  timedOut: 'the command timed out, which is neither a failing nor a passing test.',
  ended: (signal: string): string =>
    `the command was ended by ${signal}, which is neither a failing nor a passing test.`,
  cannotRun: (code: number): string =>
    `the command itself could not run (exit code ${code}: not found or not executable), which is not a failing test.`,
  noTest: 'no test was executed, which is neither red nor green. Write the test where the command finds it.',
  neverBegan: (code: number): string =>
    `the command failed before any test ran (exit code ${code}; see its output), which is not a failing test.`,
  passes:
    'it already passes, so the test shows nothing new. Make it stricter until it fails because the behaviour is missing.',
  fails: (code: number): string => `it still fails (exit code ${code}).`,
  broken: (code: number): string =>
    `it passed before the refactoring and fails now (exit code ${code}). Fix it or revert the change before the next scenario.`,
  unusable: (why: string): string =>
    `the list of scenarios is unusable (${why}), so nothing in it can be proved. Tell the user, and do nothing else.`,
  listChanged:
    'the list of scenarios is not the one that this loop was started with. The user restores it, or starts over: ralph-loop start --tdd --fresh.',
  listReplaced:
    'the list of scenarios of this loop no longer exists. Continue with the one that does by adding --tdd, or start over: ralph-loop start --tdd --fresh.',
  brokenSince: (id: string): string =>
    `${id} has failed since its refactoring: fix it, then ralph-loop tdd refactored.`,
  progress: (done: number, total: number, left: readonly string[]): string =>
    left.length === 0
      ? `${done} of ${total} scenarios were proved.`
      : `${done} of ${total} scenarios were proved; left: ${left.slice(0, 10).join(', ')}${left.length > 10 ? ', …' : ''}. ralph-loop tdd next gives the next one.`,
  nothingToStart: 'every scenario of the list is complete. Make a new list: ralph-loop tdd init --fresh --input FILE.',
  meanwhile: 'another process advanced the list meanwhile; this run was not recorded. See ralph-loop tdd status.',
} as const;

/** Messages without a list, by the content of tdd-state.json. */
export const NO_LIST = {
  absent:
    'there are no TDD scenarios here. Make the list: ralph-loop tdd init --scenario "what must hold" --command "the command that proves it", or --input FILE.',
  empty: 'tdd-state.json is empty, and no list was made. Make one: ralph-loop tdd init --input FILE.',
  state:
    'tdd-state.json has scenarios, but no command that proves them. Adopt them: ralph-loop tdd init --command "the command that proves them".',
  unusable: (problem: string): string =>
    `tdd-state.json is unusable (${problem}), and no list was made. Make one: ralph-loop tdd init --input FILE. The file is then moved aside, not deleted.`,
} as const;
