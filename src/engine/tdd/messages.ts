import { advise, type Message } from '../../text/message.ts';

const NEW_LIST = { fresh: true, input: 'FILE' } as const;

/** All messages about a TDD list, for the agent and the user. */
export const TDD_TEXTS = {
  noConsent: advise(
    'an agent created this list, and the user has not approved its commands yet.',
    'The user can review and approve them in a terminal',
    'tdd init',
    { consent: true },
  ),
  callAlone:
    'Run each of these commands in a separate call, without a pipe, a redirection or another command: otherwise the sandbox keeps it from recording its proof.',
  nothingLeft: 'every scenario is complete.',
  unknown: (id: string): Message => advise(`there is no scenario ${id}.`, 'List them', 'tdd status'),
  complete: (id: string): Message => advise(`${id} is complete and is not run again.`, 'Take the next one', 'tdd next'),
  nothingRan: (id: string, phase: string): Message =>
    advise(`${id} was ${phase} already, so nothing was run.`, 'Continue', 'tdd next'),
  notNow: (id: string, current: string | null): Message =>
    advise(`${id} is not the current scenario; ${current ?? 'none'} is.`, 'Finish that one first', 'tdd next'),
  redFirst: (id: string): Message =>
    advise(`there is no red evidence for ${id}. Write its test.`, 'See it fail', 'tdd red'),
  greenFirst: (id: string): Message => advise(`${id} is not green yet.`, 'Prove it', 'tdd green'),
  unavailable: (why: string): string => `the command could not be started: ${why}.`,
  changed: (what: string): Message =>
    advise(
      `the command was not run: ${what} since the list was created, or since its test was red. Restore it.`,
      'If the change is right, the user can adopt it',
      'tdd init',
      { accept: true },
    ),
  testsChanged: (what: string): Message =>
    advise(
      `the test is not the one that was red: ${what}. Restore it, or undo the code.`,
      'Then see the new test fail',
      'tdd red',
      { again: true },
    ),
  testsWeakened: (id: string, what: string): Message =>
    advise(
      `the test of ${id} is not the one that was red: ${what}. Put it back as it was.`,
      'Or see the new test fail without the code, then prove the scenario again',
      `tdd red ${id}`,
      { again: true },
    ),
  testsUnreadable: (paths: readonly string[]): string =>
    `these test files cannot be read: ${paths.join(', ')}. Make them readable, or remove them.`,
  testsInCode: (path: string): string =>
    `ralph-loop does not compare tests in the same file as the code, as in ${path}, between red and green: keep them in files of their own.`,
  notCompared: (paths: readonly string[]): string =>
    `changed while the command ran, so not compared later: ${paths.join(', ')}.`,
  alsoNamed: (paths: readonly string[]): string =>
    `the test also names ${paths.join(', ')}. ralph-loop does not compare the content between red and green.`,
  testsOfOthers: (paths: readonly string[], ids: readonly string[]): string =>
    `changed with this test: ${paths.join(', ')}, which ${ids.length === 1 ? 'proves' : 'prove'} ${ids.join(', ')} as well.`,
  testsRewritten: (paths: readonly string[], ids: readonly string[]): Message =>
    advise(
      `${paths.join(', ')} also ${ids.length === 1 ? 'proves' : 'prove'} ${ids.join(', ')}, and more than its end changed. Put the former lines back, and add new tests at the end of the file.`,
      `Or see the new test of ${ids[0]} fail without the code`,
      `tdd red ${ids[0]}`,
      { again: true },
    ),
  contradicts: (why: string): string => `the command ${why}`,
  blocked: (rule: string): string => `the command was not run: a guardrail blocks it (${rule}).`,
  timedOut: 'the command timed out, which is neither a failing nor a passing test.',
  ended: (signal: string): string =>
    `the command was ended by ${signal}, which is neither a failing nor a passing test.`,
  cannotRun: (code: number): string =>
    `the command itself could not run (exit code ${code}: not found or not executable), which is not a failing test.`,
  noTest: 'no test was executed, which is neither red nor green. Write the test where the command finds it.',
  neverBegan: (code: number): string =>
    `the command failed before any test ran (exit code ${code}; see its output), which is not a failing test.`,
  noNewTest: (id: string): string =>
    `the same command passed for ${id}, and no test was added or changed since: write a test of what is missing now.`,
  passes:
    'it already passes, so the test shows nothing new. Make it stricter until it fails because the behaviour is missing.',
  fails: (code: number): string => `it still fails (exit code ${code}).`,
  failsNow: (code: number): string => `it passed when it was proved and fails now (exit code ${code}).`,
  broken: (code: number): string =>
    `it passed before the refactoring and fails now (exit code ${code}). Fix it or revert the change before the next scenario.`,
  unusable: (why: string): string =>
    `the list of scenarios is unusable (${why}), so nothing in it can be proved. Tell the user, and do nothing else.`,
  listChanged: advise(
    'the list of scenarios has changed since this loop was started. The user has to restore it.',
    'Or start a new loop',
    'start',
    { tdd: true, fresh: true },
  ),
  listReplaced: advise(
    'the list of scenarios of this loop no longer exists. To resume it with the current list, add --tdd.',
    'Or start a new loop',
    'start',
    { tdd: true, fresh: true },
  ),
  brokenSince: (id: string): Message =>
    advise(`${id} was green and fails now.`, 'Fix it, then prove it again', 'tdd refactored'),
  progress: (done: number, total: number, left: readonly string[]): Message | string =>
    left.length === 0
      ? `${done} of ${total} scenarios were proved.`
      : advise(
          `${done} of ${total} scenarios were proved; left: ${left.slice(0, 10).join(', ')}${left.length > 10 ? ', …' : ''}.`,
          'Take the next one',
          'tdd next',
        ),
  nothingToStart: advise('every scenario of the list is complete.', 'Create a new list', 'tdd init', NEW_LIST),
  meanwhile: advise(
    'another process changed the list in the meantime, so this run was not recorded.',
    'See the list',
    'tdd status',
  ),
} as const;

/** Messages without a list, by the content of tdd-state.json. */
export const NO_LIST = {
  absent: {
    text: 'there are no TDD scenarios here.',
    advice: [
      {
        verb: 'Create the list',
        command: 'tdd init',
        options: { scenario: '"what must hold"', command: '"the command that proves it"' },
      },
      { verb: 'Or read it from a file', command: 'tdd init', options: { input: 'FILE' } },
    ],
  },
  empty: advise('tdd-state.json is empty, and no list was created.', 'Create one', 'tdd init', { input: 'FILE' }),
  state: advise(
    'tdd-state.json has scenarios, but no command that proves them, so nothing can run.',
    'Adopt them',
    'tdd init',
    { command: '"the command that proves them"' },
  ),
  unusable: (problem: string): Message =>
    advise(
      `tdd-state.json is unusable (${problem}), and no list was created.`,
      'Create one, which moves that file aside',
      'tdd init',
      { input: 'FILE' },
    ),
} as const;
