import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { addFact, NO_FACTS, type RunFacts } from '../../../src/hosts/agent/agent-message.ts';
import { classifyRun, finalMessage, type RunExit, type RunOutcome } from '../../../src/hosts/agent/classify-run.ts';
import { readMessages } from '../../../src/hosts/claude/agent/read-messages.ts';

/** What Claude Code 2.1.330 printed, line for line, without its lists of tools and commands. */
const factsOf = (name: string): RunFacts =>
  readFileSync(new URL(`streams/${name}.jsonl`, import.meta.url), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .flatMap((line) => readMessages(line) ?? assert.fail(`no JSON: ${line}`))
    .reduce(addFact, NO_FACTS);

const exit = (changes: Partial<RunExit> = {}): RunExit => ({
  code: 0,
  signal: null,
  endedBy: null,
  startError: null,
  ...changes,
});

const recorded: readonly (readonly [string, number, RunOutcome['kind'], RegExp])[] = [
  ['ok', 0, 'ok', /./],
  ['hooks', 0, 'ok', /./],
  ['subagent', 0, 'ok', /./],
  ['usage-limit', 1, 'rate-limited', /5-hour limit/],
  ['rate-limit', 1, 'rate-limited', /429/],
  ['overloaded', 1, 'overloaded', /529/],
  ['server-error', 1, 'overloaded', /500/],
  ['authentication', 1, 'authentication', /refused the credentials .*401/],
  ['forbidden', 1, 'authentication', /403/],
  ['invalid-request', 1, 'invalid-request', /messages: bad/],
  ['model-not-found', 1, 'invalid-request', /selected model/],
  ['billing', 1, 'billing', /Credit balance is too low/],
  ['prompt-too-long', 1, 'prompt-too-long', /Prompt is too long/],
  ['refusal', 1, 'refusal', /refused to continue/],
  ['max-turns', 1, 'max-turns', /Reached maximum number of turns/],
  ['max-tokens', 1, 'other', /output token maximum/],
  ['sigint', 0, 'interrupted', /exited before/],
  ['interrupt', 1, 'interrupted', /interrupted/],
];

for (const [name, code, kind, says] of recorded) {
  test(`the recorded run "${name}" was ${kind}`, () => {
    const outcome = classifyRun(factsOf(name), exit({ code }));
    assert.equal(outcome.kind, kind);
    assert.match(outcome.message, says);
  });
}

test('a usage limit says when it resets, a plain rate limit does not', () => {
  const at = (name: string): unknown => {
    const outcome = classifyRun(factsOf(name), exit({ code: 1 }));
    return outcome.kind === 'rate-limited' ? outcome.resetsAt : assert.fail(outcome.kind);
  };
  assert.match(String(at('usage-limit')), /^2026-11-22T\d\d:\d\d:\d\d\.000Z$/);
  assert.equal(at('rate-limit'), null);
});

test('the subtype "success" of an error is not a success', () => {
  const { result } = factsOf('authentication');
  assert.equal(result?.subtype, 'success');
  assert.equal(result?.isError, true);
});

test('of several results the last one counts, including the usage of subagents', () => {
  const { result } = factsOf('subagent');
  assert.deepEqual(result?.usage, { inputTokens: 1300, outputTokens: 137, cacheReadTokens: 0, cacheWriteTokens: 0 });
  assert.equal(result?.costUsd, 0.00794);
});

test('our own reason for ending a run wins over its output, and a finished turn stays finished', () => {
  const began = factsOf('sigint');
  const kinds = (facts: RunFacts): string[] =>
    (['silence', 'time', 'unguarded', 'login', 'interrupt', 'lingering'] as const).map(
      (endedBy) => classifyRun(facts, exit({ code: 143, endedBy })).kind,
    );
  assert.deepEqual(kinds(began), ['hung', 'out-of-time', 'unguarded', 'authentication', 'interrupted', 'interrupted']);
  assert.deepEqual(kinds(factsOf('ok')).slice(4), ['ok', 'ok']);
});

test('tells a process that was killed from one that exited', () => {
  const killed = classifyRun(factsOf('sigint'), exit({ code: null, signal: 'SIGKILL' }));
  assert.deepEqual(killed, {
    kind: 'crashed',
    code: null,
    signal: 'SIGKILL',
    message: 'the agent ended by SIGKILL before it had ended its turn.',
  });
  assert.equal(classifyRun(NO_FACTS, exit({ code: 1 })).kind, 'crashed');
  assert.equal(classifyRun(factsOf('ok'), exit({ code: 1 })).kind, 'crashed');
  assert.match(
    classifyRun(NO_FACTS, exit({ code: null, startError: 'ENOENT' })).message,
    /could not be started: ENOENT/,
  );
});

test('reports a tool that ran without a hook, but not one that failed before any hook', () => {
  assert.equal(factsOf('ok').unguarded, true);
  assert.equal(factsOf('hooks').unguarded, false);
  const failed = addFact(NO_FACTS, { kind: 'tool-result', id: 'a', failed: true, nested: false });
  assert.equal(failed.unguarded, false);
});

const facts = (...lines: readonly object[]): RunFacts =>
  lines.flatMap((line) => readMessages(JSON.stringify(line)) ?? []).reduce(addFact, NO_FACTS);
const said = (text: string) => ({ type: 'assistant', message: { id: 'm', content: [{ type: 'text', text }] } });

test('a turn whose last message used up the budget is the agent’s own, one that was cut short is not', () => {
  const spent = {
    type: 'result',
    subtype: 'error_max_budget_usd',
    is_error: true,
    terminal_reason: 'budget_exhausted',
  };
  const result = { ...spent, num_turns: 1, errors: ['Reached maximum budget ($1)'] };
  const ended = facts(said('First.'), said('Done.'), { ...result, stop_reason: 'end_turn' });
  assert.deepEqual([classifyRun(ended, exit({ code: 1 })).kind, finalMessage(ended)], ['ok', 'Done.']);
  const cut = facts(said('I look.'), { ...result, stop_reason: 'tool_use' });
  assert.deepEqual([classifyRun(cut, exit({ code: 1 })).kind, finalMessage(cut)], ['over-budget', '']);
});

test('the turns of a run are those of all its results', () => {
  const result = { type: 'result', subtype: 'success', is_error: false, terminal_reason: 'completed', result: 'Done.' };
  const steered = facts({ ...result, num_turns: 4 }, { ...result, num_turns: 1 });
  assert.deepEqual([steered.result?.turns, classifyRun(steered, exit()).kind], [5, 'ok']);
});
