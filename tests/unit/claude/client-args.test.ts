import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NO_FACTS } from '../../../src/hosts/agent/agent-message.ts';
import type { RunExit } from '../../../src/hosts/agent/classify-run.ts';
import { refusedOptions } from '../../../src/hosts/claude/agent/start-claude.ts';
import { requireClientArgs } from '../../../src/hosts/claude/claude-code.ts';
import { RalphError } from '../../../src/text/message.ts';

/** Returns the refusal of a command line, or '' if it is passed on. */
function refusal(line: string, command: 'run' | 'start' = 'run'): string {
  try {
    requireClientArgs(line.split(' '), command);
    return '';
  } catch (error) {
    if (error instanceof RalphError && error.code === 'usage') return error.message;
    throw error;
  }
}

const REFUSED: readonly (readonly [string, RegExp])[] = [
  ['--worktree feat', /^-- --worktree: the agent would work where .*: ralph-loop run TASK --worktree\.$/],
  ['-w', /^-- -w: the agent would work where/],
  ['-wfeat', /^-- -w: the agent would work where/],
  ['--worktree=feat', /^-- --worktree: /],
  ['--bg', /^-- --bg: the agent would work where/],
  ['--cloud', /^-- --cloud: /],
  ['--continue', /^-- --continue: the loop chooses the sessions .*: ralph-loop resume\.$/],
  ['-c', /^-- -c: the loop chooses the sessions/],
  ['-r abc', /^-- -r: the loop chooses the sessions/],
  ['--session-id 1', /^-- --session-id: /],
  ['--fork-session', /^-- --fork-session: /],
  ['--from-pr', /^-- --from-pr: /],
  ['-p', /^-- -p: ralph-loop itself decides .*: ralph-loop start --launch --headless\.$/],
  ['-pc', /^-- -p: /],
  ['--input-format text', /^-- --input-format: /],
  ['--settings {}', /^-- --settings: it would replace .*\.claude\/settings\.local\.json\.$/],
  ['--setting-sources user', /^-- --setting-sources: .*: ralph-loop run TASK --set isolation=client\.$/],
  ['--bare', /^-- --bare: Claude Code would run without hooks/],
  ['--safe-mode', /^-- --safe-mode: Claude Code would run without hooks/],
  ['--version', /^-- --version: Claude Code would print and exit/],
  ['-h', /^-- -h: Claude Code would print and exit/],
  ['--model opus --continue', /^-- --continue: /],
  ['--allowedTools Bash Edit --resume', /^-- --resume: /],
  ['--debug -c', /^-- -c: /],
  ['--not-known x --bare', /^-- --bare: /],
  ['--not-known --bare', /^-- --bare: /],
  ['hello', /^-- hello: the loop makes the prompt/],
  ['--chrome hello', /^-- hello: the loop makes the prompt/],
  ['--model opus hello', /^-- hello: the loop makes the prompt/],
  ['--model=opus hello', /^-- hello: the loop makes the prompt/],
];

test('options that change place, session, prompt or hooks of the client are refused with a replacement', () => {
  for (const [line, says] of REFUSED) {
    assert.match(refusal(line), says, line);
    assert.equal(refusal(line, 'start'), refusal(line), 'a session is refused the same');
  }
});

test('run reads what the client prints; a session prints for its user', () => {
  for (const line of ['--output-format json', '--verbose', '--include-partial-messages', '--json-schema {}']) {
    assert.match(refusal(line), /prints its own\. Get all events as JSON: ralph-loop run TASK --json\.$/, line);
    assert.equal(refusal(line, 'start'), '', line);
  }
});

test('all other options go to the client, with values that look like refused ones', () => {
  for (const line of [
    '--model opus',
    '--model=opus --effort high',
    '--append-system-prompt --continue',
    '--append-system-prompt=--continue',
    '--allowedTools Bash(git:*) Edit --model opus',
    '--add-dir ../a ../b --dangerously-skip-permissions',
    '--permission-mode bypassPermissions',
    '-d hooks --mcp-config a.json b.json',
    '-d2e',
    '-n mine',
    '-nmine',
    '--not-known value',
    '--not-known=value --chrome',
    '--max-turns 3',
  ]) {
    assert.equal(refusal(line), '', line);
  }
});

const exit = (changes: Partial<RunExit> = {}): RunExit => ({
  code: 1,
  signal: null,
  endedBy: null,
  startError: null,
  ...changes,
});

/** What Claude Code 2.1.330 says on standard error; 2.1.213 says the same of the first two. */
const COMPLAINTS = [
  "error: unknown option '--foo'",
  "error: option '--max-turns <turns>' argument 'abc' is invalid. must be a number",
  'Error: Settings file not found: /no/such',
  'Error: Invalid MCP configuration:\nMCP config file not found: /no/such.json',
  "Warning: Unknown --effort value 'nope' — ignoring it.\nError: Invalid session ID. Must be a valid UUID.",
  '--bg and --print conflict: --print never starts the interactive session.',
];

test('an error of the client about its options is final, and is told in its words', () => {
  for (const complaint of COMPLAINTS) {
    const outcome = refusedOptions(NO_FACTS, exit(), complaint);
    assert.equal(outcome?.kind, 'options', complaint);
    assert.match(outcome?.message ?? '', /^Claude Code refused to start: \S/);
  }
  assert.match(
    refusedOptions(NO_FACTS, exit(), COMPLAINTS[0] ?? '')?.message ?? '',
    /start: unknown option '--foo'\.$/,
  );
});

test('control: other ends of a client are no error about options', () => {
  const [said = ''] = COMPLAINTS;
  const began = { ...NO_FACTS, sessionId: 'one' };
  assert.equal(refusedOptions(began, exit(), said), null, 'it has begun to work');
  assert.equal(refusedOptions(NO_FACTS, exit({ code: 143 }), said), null, 'ended by a signal');
  assert.equal(refusedOptions(NO_FACTS, exit({ endedBy: 'silence' }), said), null, 'ended by the loop');
  for (const other of ['', 'boom', 'Error: EMFILE: too many open files', 'throw err;\nError: Cannot find module'])
    assert.equal(refusedOptions(NO_FACTS, exit(), other), null, other);
});
