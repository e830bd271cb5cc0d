import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type CommandOptions, startCommandAgent } from '../../../src/claude/start-command-agent.ts';
import type { AgentRun, FinishedRun } from '../../../src/claude/stream/agent-run.ts';
import { groupLives } from '../../../src/state/process-group.ts';

type Ran = FinishedRun & { readonly told: readonly string[] };

function startIt(script: string, more: Partial<CommandOptions> = {}): { run: AgentRun; told: string[] } {
  const told: string[] = [];
  const run = startCommandAgent({
    ...{ program: '/bin/sh', args: ['-c', script], cwd: tmpdir(), env: process.env, prompt: 'the prompt' },
    ...{ silenceMs: 20_000, timeMs: null, lingerMs: 20_000, guarded: false, streamed: false, ...more },
    onMessage: (message) => void (message.kind === 'text' && told.push(message.text)),
  });
  return { run, told };
}

async function ran(script: string, more: Partial<CommandOptions> = {}): Promise<Ran> {
  const { run, told } = startIt(script, more);
  return { ...(await run.done), told };
}

test('the prompt comes on the input, which ends, and the whole output is the final message', async () => {
  const prompt = `${'x'.repeat(300_000)}\nlast line`;
  const { outcome, facts } = await ran('wc -c; echo done; echo noise >&2', { prompt });
  assert.equal(outcome.kind, 'ok');
  assert.match(facts.result?.text ?? '', /^\s*300010\ndone$/);
  const { turns, costUsd, usage } = facts.result ?? {};
  assert.deepEqual([turns, costUsd, usage, facts.toolCalls], [null, null, null, null], 'unknown, not zero');
});

test('an agent that reads nothing of its prompt is no failure', async () => {
  const { outcome } = await ran('exec <&-; echo fine', { prompt: 'x'.repeat(1_000_000) });
  assert.equal(outcome.kind, 'ok');
});

test('whole lines are told while it works, colours taken out', async () => {
  const { run, told } = startIt('printf "one\\ntw"; sleep 1; printf "\\033[31mo\\033[0m\\n\\n\\nend"');
  while (told.length === 0) await sleep(20);
  assert.deepEqual(told, ['one']);
  const { facts } = await run.done;
  assert.equal(told.join('\n').replace(/\n+/g, '\n'), 'one\ntwo\nend');
  assert.equal(facts.result?.text, 'one\ntwo\n\n\nend');
});

test('of a long output the end is kept, without the rest of a line that was cut', async () => {
  const line = 'RALPH_AUDIT_COMPLETE_NO_FINDINGS'.repeat(8);
  const { facts, outcome } = await ran(`yes ${line} | head -c 5000000; echo; echo last`);
  const text = facts.result?.text ?? '';
  assert.equal(outcome.kind, 'ok');
  assert.ok(text.length < 410_000, `${text.length}`);
  assert.ok(text.startsWith(`${line}\n`), text.slice(0, 300));
  assert.ok(text.endsWith('last'));
});

const ends: readonly (readonly [string, string, string, RegExp])[] = [
  ['an exit code', 'echo out; echo bad key >&2; exit 3', 'crashed', /exit code 3/],
  ['a signal', 'kill -SEGV $$', 'crashed', /SIGSEGV/],
  ['a Ctrl+C of its own', 'exit 130', 'interrupted', /left before/],
  ['a program that is not there', 'no-such-agent --yes', 'invalid-request', /cannot be run .*127.*no-such-agent/s],
];

for (const [what, script, kind, says] of ends) {
  test(`${what} is told as ${kind}`, async () => {
    const { outcome, complaint } = await ran(script);
    assert.equal(outcome.kind, kind);
    assert.match(outcome.message, says);
    if (what === 'an exit code') assert.equal(complaint, 'bad key');
  });
}

test('a shell that is not there is told, and nothing is left to wait for', async () => {
  const { outcome } = await ran('', { program: '/no/such/shell' });
  assert.equal(outcome.kind, 'crashed');
  assert.match(outcome.message, /could not be started/);
});

test('one that is silent for too long is ended with all that it started; a word on either stream is a sign of life', async () => {
  const { run } = startIt('sleep 60 & sleep 60', { silenceMs: 400 });
  assert.ok(run.pid !== null);
  assert.equal((await run.done).outcome.kind, 'hung');
  assert.equal(groupLives(run.pid), false);
  const talks = 'for i in 1 2 3 4 5 6 7 8; do echo working >&2; sleep 0.4; done';
  assert.equal((await ran(talks, { silenceMs: 2_000 })).outcome.kind, 'ok');
});

test('one that takes too long is ended, however much it says', async () => {
  const { outcome } = await ran('while :; do echo busy; sleep 0.1; done', { timeMs: 500 });
  assert.equal(outcome.kind, 'out-of-time');
});

test('it takes no message while it works, and an interruption ends it', async () => {
  const { run, told } = startIt('trap "echo asked; exit 0" TERM; echo up; while :; do sleep 0.05; done');
  while (told.length === 0) await sleep(20);
  assert.equal(run.send('hurry', 'next'), false);
  run.interrupt();
  const { outcome } = await run.done;
  assert.equal(outcome.kind, 'ok', 'it ended its work when it was asked to');
  const { run: deaf, told: up } = startIt('echo up; sleep 60');
  while (up.length === 0) await sleep(20);
  deaf.interrupt();
  assert.equal((await deaf.done).outcome.kind, 'interrupted');
});

test('what it leaves running in its group is ended with it', async () => {
  const { run } = startIt('sleep 60 & echo $!');
  assert.ok(run.pid !== null);
  assert.equal((await run.done).outcome.kind, 'ok');
  assert.equal(groupLives(run.pid), false);
});
