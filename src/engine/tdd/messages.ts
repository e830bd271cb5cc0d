/** Every sentence about a TDD list that the agent and the user read. */
export const TDD_TEXTS = {
  noConsent:
    'an agent made this list, and the user has not agreed to its commands yet. They see them with ralph-loop tdd status, and agree with ralph-loop tdd init --consent in a terminal of their own.',
  nothingLeft: 'every scenario is complete.',
  unknown: (id: string): string => `there is no scenario ${id}. ralph-loop tdd status lists them.`,
  complete: (id: string): string =>
    `${id} is complete and is never run again. Take the next one with: ralph-loop tdd next`,
  nothingRan: (id: string, phase: string): string =>
    `${id} was ${phase} already, so nothing was run. Continue with: ralph-loop tdd next`,
  notNow: (id: string, current: string | null): string =>
    `${id} is not at work; ${current ?? 'none'} is. Finish that one first: ralph-loop tdd next`,
  redFirst: (id: string): string =>
    `there is no red evidence for ${id}. Write its test, and see it fail with: ralph-loop tdd red`,
  greenFirst: (id: string): string => `${id} is not green yet: ralph-loop tdd green`,
  unavailable: (why: string): string => `the command could not be started: ${why}.`,
  changed: (what: string): string =>
    `the command was not run: ${what} since the list was made, or since its test was red. Put it back as it was; where the change is right, the user adopts it with ralph-loop tdd init --accept.`,
  blocked: (rule: string): string => `the command was not run: a guardrail blocks it (${rule}).`,
  timedOut: 'the command ran out of time, which is neither a failing test nor a passing one.',
  ended: (signal: string): string =>
    `the command was ended by ${signal}, which is neither a failing test nor a passing one.`,
  cannotRun: (code: number): string =>
    `the command itself could not run (exit code ${code}: not found, or not executable). A test that fails is something else.`,
  noTest: 'no test was executed, which is neither red nor green. Write the test, where the command finds it.',
  neverBegan: (code: number): string =>
    `the command failed before it came to a test (exit code ${code}; see its output). A test that fails is something else.`,
  passes:
    'it passes already, so the test shows nothing new. Make it sharper, until it fails because the behaviour is missing.',
  fails: (code: number): string => `it fails still (exit code ${code}).`,
  broken: (code: number): string =>
    `it passed before the refactoring and fails now (exit code ${code}). Mend it or take the change back; the next scenario comes after that.`,
  unusable: (why: string): string =>
    `the list of scenarios cannot be used (${why}), so that nothing of it can be proved. Tell the user, and do nothing else.`,
  listChanged:
    'the list of scenarios is not the one that this loop was started over. The user puts it back, or starts the loop again: ralph-loop start --tdd --fresh.',
  listReplaced:
    'this loop worked through a list of scenarios that is not here any more. Let it go on over the one that is here by adding --tdd, or begin a new loop: ralph-loop start --tdd --fresh.',
  brokenSince: (id: string): string => `${id} fails since its refactoring: mend it, then ralph-loop tdd refactored.`,
  progress: (done: number, total: number, left: readonly string[]): string =>
    left.length === 0
      ? `${done} of ${total} scenarios were proved.`
      : `${done} of ${total} scenarios were proved; left: ${left.slice(0, 10).join(', ')}${left.length > 10 ? ', …' : ''}. ralph-loop tdd next gives the next one.`,
  nothingToStart: 'every scenario of the list is complete. Make a new one: ralph-loop tdd init --fresh --input FILE.',
  meanwhile: 'somebody else has gone on with the list meanwhile; this run was not recorded. See ralph-loop tdd status.',
} as const;

/** Where no list was made, by what lies in the place of its state. */
export const NO_LIST = {
  absent:
    'there are no TDD scenarios here. Make the list: ralph-loop tdd init --scenario "what must hold" --command "the command that proves it", or --input FILE.',
  empty: 'tdd-state.json is empty, and no list was made. Make one: ralph-loop tdd init --input FILE.',
  state:
    'tdd-state.json has scenarios, but no command was fixed that proves them, so that nothing can run. Take them over with: ralph-loop tdd init --command "the command that proves them".',
  unusable: (problem: string): string =>
    `tdd-state.json cannot be used (${problem}), and no list was made. Make one with ralph-loop tdd init --input FILE; the file is then moved aside, not deleted.`,
} as const;
