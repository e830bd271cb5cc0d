import '../../support/starts-processes.ts';
import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { AgentRun, FinishedRun, ProgramOptions } from '../../../src/hosts/agent/agent-run.ts';
import { startCommandAgent } from '../../../src/hosts/agent/start-command-agent.ts';
import { groupLives } from '../../../src/state/process/group.ts';
import { emptyFolder } from '../../support/folder.ts';
import { until } from '../../support/until.ts';

type Ran = FinishedRun & { readonly told: readonly string[] };

function startIt(script: string, more: Partial<ProgramOptions> = {}): { run: AgentRun; told: string[] } {
  const told: string[] = [];
  const run = startCommandAgent({
    ...{ program: '/bin/sh', args: ['-c', script], cwd: tmpdir(), env: process.env, prompt: 'the prompt' },
    ...{ silenceMs: 20_000, timeMs: null, lingerMs: 20_000, guarded: false },
    allowance: { costUsd: null, tokens: null, timeMs: null },
    ...more,
    onMessage: (message) => void (message.kind === 'text' && told.push(message.text)),
  });
  return { run, told };
}

async function ran(script: string, more: Partial<ProgramOptions> = {}): Promise<Ran> {
  const { run, told } = startIt(script, more);
  return { ...(await run.done), told };
}

test('the prompt arrives on standard input, and the whole output is the final message', async () => {
  const prompt = `${'x'.repeat(300_000)}\nlast line`;
  const { outcome, facts } = await ran('wc -c; echo done; echo noise >&2', { prompt });
  assert.equal(outcome.kind, 'ok');
  assert.match(facts.result?.text ?? '', /^\s*300010\ndone$/);
  const { turns, costUsd, usage } = facts.result ?? {};
  assert.deepEqual([turns, costUsd, usage, facts.toolCalls], [null, null, null, null], 'unknown, not zero');
});

test('an agent that does not read its prompt does not fail', async () => {
  const { outcome } = await ran('exec <&-; echo fine', { prompt: 'x'.repeat(1_000_000) });
  assert.equal(outcome.kind, 'ok');
});

test('reports whole lines without colours while it works', async (t) => {
  const cwd = emptyFolder(t);
  const rest = 'until test -f go; do sleep 0.05; done; printf "\\033[31mo\\033[0m\\n\\n\\nend"';
  const { run, told } = startIt(`printf "one\\ntw"; ${rest}`, { cwd });
  await until('it has told something', () => told.length > 0);
  assert.deepEqual(told, ['one']);
  writeFileSync(join(cwd, 'go'), '');
  const { facts } = await run.done;
  assert.equal(told.join('\n').replace(/\n+/g, '\n'), 'one\ntwo\nend');
  assert.equal(facts.result?.text, 'one\ntwo\n\n\nend');
});

test('keeps the end of a long output, without a partial first line', async () => {
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
  ['a Ctrl+C of its own', 'exit 130', 'interrupted', /exited before/],
  ['a program that is not there', 'no-such-agent --yes', 'invalid-request', /cannot be run .*127.*no-such-agent/s],
];

for (const [what, script, kind, says] of ends) {
  test(`reports ${what} as ${kind}`, async () => {
    const { outcome, complaint } = await ran(script);
    assert.equal(outcome.kind, kind);
    assert.match(outcome.message, says);
    if (what === 'an exit code') assert.equal(complaint, 'bad key');
  });
}

test('reports a missing shell and leaves nothing to wait for', async () => {
  const { outcome } = await ran('', { program: '/no/such/shell' });
  assert.equal(outcome.kind, 'crashed');
  assert.match(outcome.message, /could not be started/);
});

test('ends a silent agent with all processes that it started', async () => {
  const { run } = startIt('sleep 60 & sleep 60', { silenceMs: 400 });
  assert.ok(run.pid !== null);
  assert.equal((await run.done).outcome.kind, 'hung');
  assert.equal(groupLives(run.pid), false);
});

test('output on either stream counts as activity', async (t) => {
  const cwd = emptyFolder(t);
  t.mock.timers.enable({ apis: ['setInterval', 'Date'], now: Date.now() });
  const pass = (ms: number): void => {
    for (let passed = 0; passed < ms; passed += 200) t.mock.timers.tick(200);
  };
  const says = 'until test -f $word; do sleep 0.02; done; echo working >&$stream; touch said-$word';
  const talks = `stream=2; for word in one two three; do ${says}; stream=1; done; exec sleep 60`;
  const { run } = startIt(talks, { silenceMs: 2_000, cwd });
  let isOver = false;
  void run.done.then(() => {
    isOver = true;
  });
  for (const word of ['one', 'two', 'three']) {
    pass(1_800);
    writeFileSync(join(cwd, word), '');
    await until(`it has said word ${word}`, () => isOver || existsSync(join(cwd, `said-${word}`)));
    // What lies in a pipe is read in the next turn.
    for (let turns = 0; turns < 3; turns += 1) await turn();
  }
  pass(1_800);
  await turn();
  assert.equal(isOver || run.pid === null || !groupLives(run.pid), false, 'it was never silent for two seconds');
  pass(600);
  assert.equal((await run.done).outcome.kind, 'hung', 'control: now it was');
});

test('ends an agent at its time limit, however much it writes', async () => {
  const { outcome } = await ran('while :; do echo busy; sleep 0.1; done', { timeMs: 500 });
  assert.equal(outcome.kind, 'out-of-time');
});

for (const [limit, command, kind] of [
  ['silenceMs', 'exec sleep 60', 'hung'],
  ['timeMs', 'while :; do echo busy; sleep 0.1; done', 'out-of-time'],
] as const) {
  test(`a clock set back by an hour does not extend the time limit: ${kind}`, async (t) => {
    const { run } = startIt(command, { [limit]: 1_000 });
    const real = Date.now;
    t.mock.method(Date, 'now', () => real() - 3_600_000);
    const given = setTimeout(() => run.end('interrupt'), 10_000);
    const { outcome, durationMs } = await run.done;
    clearTimeout(given);
    assert.equal(outcome.kind, kind);
    assert.ok(durationMs > 0 && durationMs < 3_000_000, `${durationMs} ms`);
  });
}

test('accepts no message while it works, and an interruption ends it', async (t) => {
  const { run, told } = startIt('trap "echo asked; exit 0" TERM; echo up; while :; do sleep 0.05; done');
  await until('it is up', () => told.length > 0);
  // However slowly it ends its work: by this clock no time passes.
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() });
  assert.equal(run.send('hurry', 'next'), false);
  run.end('interrupt');
  const { outcome } = await run.done;
  assert.equal(outcome.kind, 'ok', 'it ended its work when it was asked to');
  const { run: deaf, told: up } = startIt('echo up; sleep 60');
  await until('it is up', () => up.length > 0);
  deaf.end('interrupt');
  assert.equal((await deaf.done).outcome.kind, 'interrupted');
});

test('ends what it leaves running in its process group', async () => {
  const { run } = startIt('sleep 60 & echo $!');
  assert.ok(run.pid !== null);
  assert.equal((await run.done).outcome.kind, 'ok');
  assert.equal(groupLives(run.pid), false);
});

test('the text of a command agent is what a terminal shows: no title, no colour, no overwritten progress', async () => {
  const script = [
    "printf '\\033]0;EVIL TITLE\\007x\\n'",
    "printf '\\033]0;EVIL TITLE\\033\\\\y\\n'",
    "i=0; while [ $i -lt 300 ]; do printf '%d%%\\r' $i; i=$((i + 1)); done; printf 'ready\\n'",
    "printf '\\033[31mred\\033[0m\\n\\nlast\\n'",
  ].join('; ');
  const { facts, told } = await ran(script);
  assert.equal(facts.result?.text, 'x\ny\nready\nred\n\nlast');
  assert.equal(told.join('\n').includes('TITLE'), false);
  assert.equal(told.join('\n').includes('299%'), false);
});
