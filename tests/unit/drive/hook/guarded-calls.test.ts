import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { preToolUse } from '../../../../src/drive/hook/tool-use.ts';
import { GEMINI_HOOKS } from '../../../../src/hosts/gemini/payload.ts';
import { parseHookInput } from '../../../../src/hosts/hook-io/hook-input.ts';
import type { HookAnswer } from '../../../../src/hosts/hook-io/stdio.ts';
import { writeContract } from '../../../../src/state/evidence/store-evidence.ts';
import { readLines } from '../../../../src/state/files/journal-lines.ts';
import { hashContract } from '../../../../src/state/hash-contract.ts';
import { readContract } from '../../../../src/state/loop-files.ts';
import { asleepMs } from '../../../../src/state/process/sleep-watch.ts';
import type { Project } from '../../../support/drive/drive-project.ts';
import { AT, aHook, aProject, put, rewrite, start, stateOf } from '../../../support/drive/drive-project.ts';
import { callsOf } from '../../../support/journal.ts';

const GUARDED = `---
guardrails:
  block_commands:
    - 'git\\s+push'
    - { command: npm, args: [publish], reason: Releases are made by people }
  protected_files: ['.env*']
  private_files: ['*.pem']
---

Do the work.
`;

/** A loop of session-1 with the user's guardrails. */
function aGuardedLoop(t: TestContext, task = GUARDED): Project {
  const project = aProject(t, task);
  start(project, true);
  rewrite(project, { sessionId: 'session-1' });
  return project;
}

interface Asked {
  readonly tool?: string;
  readonly input: object;
  readonly payload?: Record<string, unknown>;
  readonly env?: Record<string, string>;
  readonly now?: string;
}

function ask(project: Project, { tool = 'Bash', input, payload, env, now }: Asked): Promise<HookAnswer | null> {
  const call = { tool_name: tool, tool_input: input, tool_use_id: 'call-1', cwd: project.directory };
  const context = aHook(project, 'PreToolUse', { ...call, ...payload }, env);
  return preToolUse({ ...context, now: () => now ?? AT });
}

function reasonOf(answer: HookAnswer | null): string | undefined {
  return answer?.hookSpecificOutput?.permissionDecisionReason;
}

function journal({ files }: Project): Record<string, unknown>[] {
  return callsOf(readLines(files.events).entries);
}

const TEST = { input: { command: 'npm test' } };
const PUSH = { input: { command: 'git -C . push' } };

test('A denial names its rule to the model and in the journal.', async (t) => {
  const project = aGuardedLoop(t);
  assert.match(
    reasonOf(await ask(project, PUSH)) ?? '',
    /^\[blocked by guardrail: git\\s\+push\] The user does not allow/,
  );
  assert.match(
    reasonOf(await ask(project, { input: { command: 'npm publish' } })) ?? '',
    /^\[blocked by guardrail: \{command: npm, args: \[publish\]\}\] .* Releases are made by people\. /,
  );
  assert.match(
    reasonOf(await ask(project, { tool: 'Write', input: { file_path: '.env' } })) ?? '',
    /^\[blocked by guardrail: protected_files: \.env\*\] Write would change \.env, /,
  );
  assert.match(
    reasonOf(await ask(project, { tool: 'Read', input: { file_path: join(project.directory, 'a.pem') } })) ?? '',
    /^\[blocked by guardrail: private_files: \*\.pem\] Read would read /,
  );
  assert.deepEqual(
    journal(project).map(({ phase, rule }) => [phase, rule]),
    [
      ['denied', 'git\\s+push'],
      ['denied', '{command: npm, args: [publish]}'],
      ['denied', 'protected_files: .env*'],
      ['denied', 'private_files: *.pem'],
    ],
  );
});

test('A call that no rule forbids is allowed, and what could not be decided is in the journal.', async (t) => {
  const project = aGuardedLoop(t);
  assert.equal(await ask(project, { input: { command: 'npm test' } }), null);
  assert.equal(await ask(project, { input: { command: 'node -e 1 > "$OUT"' } }), null);
  assert.deepEqual(
    journal(project).map(({ phase, undecided }) => [phase, undecided]),
    [
      ['asked', undefined],
      ['asked', ['dynamic-write-target: "$OUT"', 'interpreter-code: -e\n1']],
    ],
  );
});

test('Control: without guardrails in its contract the same loop allows the same calls.', async (t) => {
  const project = aGuardedLoop(t, 'Do the work.\n');
  assert.equal(await ask(project, PUSH), null);
  assert.equal(await ask(project, { tool: 'Write', input: { file_path: '.env' } }), null);
});

test('Guardrails that were removed from the task file during the run still apply.', async (t) => {
  const project = aGuardedLoop(t);
  put(join(project.directory, '.claude', 'ralph', 'PROMPT.md'), 'Do the work.\n');
  assert.notEqual(reasonOf(await ask(project, PUSH)), undefined);
});

test('The rules apply in subagents, and the journal names the subagent.', async (t) => {
  const project = aGuardedLoop(t);
  assert.notEqual(reasonOf(await ask(project, { ...PUSH, payload: { agent_id: 'agent-7' } })), undefined);
  assert.deepEqual(
    journal(project).map(({ agentId, rule }) => [agentId, rule]),
    [['agent-7', 'git\\s+push']],
  );
});

test('The rules apply to a loop that is not bound yet, and once bound to its session only.', async (t) => {
  const project = aGuardedLoop(t);
  const other = { ...PUSH, payload: { session_id: 'session-2' } };
  assert.equal(await ask(project, other), null);
  assert.equal(await ask(project, { ...PUSH, env: { RALPH_LOOP_ID: 'another-loop' } }), null);
  rewrite(project, { sessionId: null });
  assert.notEqual(reasonOf(await ask(project, other)), undefined);
  assert.equal(await ask(project, { ...other, env: { RALPH_LOOP_ID: 'another-loop' } }), null);
});

test("A client with another driver has its own rules, but the loop's files are protected there too.", async (t) => {
  const project = aGuardedLoop(t);
  for (const driver of ['runner', 'router']) {
    const env = { RALPH_DRIVER: driver };
    assert.equal(await ask(project, { ...PUSH, env }), null);
    const own = await ask(project, { tool: 'Write', input: { file_path: project.files.state }, env });
    assert.match(reasonOf(own) ?? '', /^\[blocked by guardrail: own-files\]/);
  }
});

test('The rules survive a state that was made unreadable.', async (t) => {
  const project = aGuardedLoop(t);
  put(project.files.state, '{"torn');
  assert.notEqual(reasonOf(await ask(project, PUSH)), undefined);
});

test('A contract whose guardrails cannot be read allows no call.', async (t) => {
  const project = aGuardedLoop(t);
  const stored = readContract(project.files);
  assert.ok(stored !== null);
  for (const guardrails of [undefined, null, {}, { ...stored.contract.guardrails, blockCommands: [7] }]) {
    const contract = { ...stored.contract, guardrails } as typeof stored.contract;
    writeContract(project.files, { hash: hashContract(contract), contract });
    await assert.rejects(ask(project, TEST), /guardrails in the contract cannot be read/);
  }
});

test("The loop's own rules are checked before the user's.", async (t) => {
  const project = aGuardedLoop(t);
  const answer = await ask(project, { input: { command: 'rm -rf .claude && git push' } });
  assert.match(reasonOf(answer) ?? '', /^\[blocked by guardrail: own-files\]/);
});

const LATER = new Date(Date.parse(AT) + 61_000).toISOString();

/** The same loop, whose iterations have a minute each. */
function aTimedLoop(t: TestContext): Project {
  const project = aGuardedLoop(t);
  const stored = readContract(project.files);
  assert.ok(stored !== null);
  const { contract } = stored;
  const pace = { ...contract.policy.pace, iterationTimeoutMs: 60_000 };
  const timed = { ...contract, policy: { ...contract.policy, pace } };
  writeContract(project.files, { hash: hashContract(timed), contract: timed });
  return project;
}

test('After the time limit of an iteration every call is answered with a request to end the message.', async (t) => {
  const project = aTimedLoop(t);
  for (const kind of ['started', 'prompt']) {
    rewrite(project, { turn: 'agent', lastDecision: { at: AT, kind, detail: '' } });
    assert.equal(await ask(project, { ...TEST, now: AT }), null);
    for (const call of [TEST, { tool: 'Read', input: { file_path: 'README.md' } }]) {
      assert.equal(
        reasonOf(await ask(project, { ...call, now: LATER })),
        '[blocked by guardrail: timeout] Time is up: end your message with what is done and what is next. The next iteration continues from there.',
      );
    }
  }
  assert.deepEqual(
    journal(project).map(({ phase, rule }) => rule ?? phase),
    ['asked', 'timeout', 'timeout', 'asked', 'timeout', 'timeout'],
  );
});

test('An iteration whose machine slept has the time that it did not use.', async (t) => {
  const asleep = asleepMs();
  if (asleep === null) return t.skip('the clocks of this system do not tell');
  const project = aTimedLoop(t);
  const now = new Date().toISOString();
  const lastDecision = { at: new Date(Date.now() - 3_600_000).toISOString(), kind: 'prompt', detail: '' };
  const sleptFor = (ms: number): void =>
    rewrite(project, { turn: 'agent', lastDecision, startedAt: lastDecision.at, asleepMs: asleep - ms });
  sleptFor(3_590_000);
  assert.equal(await ask(project, { ...TEST, now }), null);
  sleptFor(3_000_000);
  assert.match(reasonOf(await ask(project, { ...TEST, now })) ?? '', /Time is up/, 'control: ten minutes awake');
});

test('The time limit does not apply to the user, between iterations, or where none is set.', async (t) => {
  const project = aTimedLoop(t);
  rewrite(project, { turn: 'user', lastDecision: { at: AT, kind: 'prompt', detail: '' } });
  assert.equal(await ask(project, { ...TEST, now: LATER }), null);
  rewrite(project, { turn: 'agent', lastDecision: { at: AT, kind: 'allow', detail: '' } });
  assert.equal(await ask(project, { ...TEST, now: LATER }), null);
  const unlimited = aGuardedLoop(t);
  rewrite(unlimited, { turn: 'agent', lastDecision: { at: AT, kind: 'prompt', detail: '' } });
  assert.equal(await ask(unlimited, { ...TEST, now: LATER }), null);
});

test("The rules apply in a subagent of the router's host; in another session's only files are protected.", async (t) => {
  const project = aGuardedLoop(t);
  rewrite(project, { mode: 'router' });
  const env = { RALPH_DRIVER: 'router' };
  assert.match(reasonOf(await ask(project, { ...PUSH, env })) ?? '', /git\\s\+push/);
  const other = { env, payload: { session_id: 'session-2' } };
  assert.equal(await ask(project, { ...PUSH, ...other }), null);
  const own = await ask(project, { tool: 'Write', input: { file_path: project.files.state }, ...other });
  assert.match(reasonOf(own) ?? '', /own-files/);
  assert.equal(await ask(project, PUSH), null, 'control: the host itself has no such hook, and would not be held');
  put(project.files.state, '{"torn');
  assert.notEqual(reasonOf(await ask(project, { ...PUSH, env })), undefined, 'an unreadable state holds the rules');
});

test("A subagent of the router's host receives the user's messages and learns when its time is up.", async (t) => {
  const project = aGuardedLoop(t, '---\ntimeout: 60\n---\n\nDo the work.\n');
  rewrite(project, { mode: 'router' });
  const env = { RALPH_DRIVER: 'router' };
  const steering = [{ id: 's', at: AT, text: 'Mind the gap.', delivery: 'now' }];
  rewrite(project, { steering });
  const told = await ask(project, { ...TEST, env });
  assert.match(told?.hookSpecificOutput?.additionalContext ?? '', /Mind the gap\./);
  assert.equal(await ask(project, { ...TEST, env }), null, 'once');
  const late = await ask(project, { ...TEST, env, now: '2026-02-28T10:01:01Z' });
  assert.match(reasonOf(late) ?? '', /Time is up/);
});

test("After max_time a subagent of the router's host gets no further call; a runner's agent does.", async (t) => {
  const project = aGuardedLoop(t, '---\nbudget:\n  max_time: 4s\n---\n\nDo the work.\n');
  const now = (seconds: number): string => new Date(Date.parse(AT) + seconds * 1000).toISOString();
  rewrite(project, { mode: 'router', turn: 'agent', lastDecision: { at: AT, kind: 'prompt', detail: '' } });
  const env = { RALPH_DRIVER: 'router' };
  assert.equal(await ask(project, { ...TEST, env, now: now(3) }), null, 'there is time left');
  const late = reasonOf(await ask(project, { ...TEST, env, now: now(5) }));
  assert.match(late ?? '', /budget\] The loop has used its max_time \(5s of 4s\): end your message/);
  rewrite(project, { stoppedMs: 2000, stoppedUntil: AT });
  assert.equal(await ask(project, { ...TEST, env, now: now(5) }), null, 'a pause does not count');
  rewrite(project, { mode: 'runner', stoppedMs: 0 });
  const { loopId } = stateOf(project);
  const runner = { env: { RALPH_DRIVER: 'runner', RALPH_LOOP_ID: loopId }, now: now(5) };
  assert.equal(await ask(project, { ...TEST, ...runner }), null, 'control: its runner ends it');
});

test("A subagent of the router's host gets no further call once it has used the loop's max_tokens.", async (t) => {
  const project = aGuardedLoop(t, '---\nbudget: {max_tokens: 300}\n---\n\nDo the work.\n');
  rewrite(project, { mode: 'router', turn: 'agent', lastDecision: { at: AT, kind: 'prompt', detail: '' } });
  const [config, payload] = [join(project.directory, '.config'), { agent_id: 'a1' }];
  const env = { RALPH_DRIVER: 'router', CLAUDE_CONFIG_DIR: config };
  const billed = (id: string): string =>
    JSON.stringify({ type: 'assistant', message: { id, content: [], usage: { input_tokens: 90, output_tokens: 60 } } });
  const record = join(config, 'projects', 'p', 'session-1', 'subagents', 'agent-a1.jsonl');
  put(record, `${billed('m1')}\n`);
  assert.equal(await ask(project, { ...TEST, env, payload }), null, 'there are tokens left');
  put(record, `${billed('m1')}\n${billed('m2')}\n`);
  const denied = reasonOf(await ask(project, { ...TEST, env, payload }));
  assert.match(denied ?? '', /budget\] The loop has used its max_tokens \(300 of 300 tokens\): end your message/);
});

test("A subagent of the router's host is not told that the time is up because the machine slept.", async (t) => {
  const asleep = asleepMs();
  if (asleep === null) return t.skip('the clocks of this system do not tell');
  const project = aGuardedLoop(t, '---\nbudget:\n  max_time: 2h\n---\n\nDo the work.\n');
  const [env, hour, now] = [{ RALPH_DRIVER: 'router' }, 3_600_000, new Date().toISOString()];
  const startedAt = new Date(Date.now() - 9 * hour).toISOString();
  const lastDecision = { at: now, kind: 'prompt', detail: '' };
  const asOf = (asleepMs: number): void => {
    const stopped = { asleepMs, stoppedMs: 0, stoppedUntil: undefined };
    rewrite(project, { mode: 'router', turn: 'agent', lastDecision, startedAt, ...stopped });
    const { counters } = project.files;
    put(counters, JSON.stringify({ ...JSON.parse(readFileSync(counters, 'utf8')), ...stopped }));
  };
  asOf(asleep - 8 * hour);
  assert.equal(await ask(project, { ...TEST, env, now }), null);
  asOf(asleep);
  assert.match(reasonOf(await ask(project, { ...TEST, env, now })) ?? '', /has used its max_time/, 'control: no sleep');
});

test("A subagent of the router's host may look, but may not call what is reserved for the host.", async (t) => {
  const project = aGuardedLoop(t);
  rewrite(project, { mode: 'router' });
  const env = { RALPH_DRIVER: 'router' };
  const main = join(project.directory, '.claude/skills/ralph-loop/scripts/main.cjs');
  const run = (words: string): { input: object } => ({ input: { command: `node '${main}' ${words}` } });
  for (const words of ['router report --spawn 1 --file said.txt', 'router next', 'router start --loop other']) {
    assert.match(reasonOf(await ask(project, { ...run(words), env })) ?? '', /"router" is not a command for agents/);
    assert.equal(await ask(project, run(words)), null, 'control: an agent that no router drives may be a host');
  }
  assert.equal(await ask(project, { ...run('status'), env }), null);
});

test('The worker part of the command line is protected like the command line itself.', async (t) => {
  const project = aGuardedLoop(t);
  const scripts = join(project.directory, '.claude/skills/ralph-loop/scripts');
  for (const name of ['main.cjs', 'ralph-main.cjs']) {
    const call = (words: string): { input: object } => ({
      input: { command: `node '${join(scripts, name)}' ${words}` },
    });
    assert.match(reasonOf(await ask(project, call('cancel'))) ?? '', /"cancel" is not a command for agents/);
    assert.equal(await ask(project, call('status')), null);
  }
});

for (const input of ['git push', ['git push'], 7])
  test(`a call whose input is ${JSON.stringify(input)} cannot be judged, so it is denied`, async (t) => {
    const project = aGuardedLoop(t);
    const answer = await ask(project, { input: {}, payload: { tool_input: input } });
    assert.match(reasonOf(answer) ?? '', /^\[blocked by guardrail: unreadable-input\] .* no object/);
    assert.deepEqual(
      journal(project).map(({ phase, rule }) => [phase, rule]),
      [['denied', 'unreadable-input']],
    );
    assert.equal(
      await ask(project, { input: {}, payload: { tool_input: undefined } }),
      null,
      'a call without an input',
    );
  });

test('A call whose input is nested too deeply is denied by name, whatever the client.', async (t) => {
  const project = aGuardedLoop(t);
  const nested = (levels: number): string => `{"x":${'['.repeat(levels)}${']'.repeat(levels)}}`;
  const asked = (event: string, levels: number): string =>
    `{"hook_event_name":"${event}","session_id":"session-1","tool_name":"mcp__a__b","tool_input":${nested(levels)}}`;
  for (const [levels, rule] of [
    [400, null],
    [5000, 'unreadable-input'],
    [500_000, 'unreadable-input'],
  ] as const) {
    for (const [event, host] of [
      ['PreToolUse', undefined],
      ['BeforeTool', GEMINI_HOOKS],
    ] as const) {
      const input = parseHookInput(asked(event, levels), host?.read ?? ((same) => same));
      assert.ok(input !== null && input !== 'ignored');
      const answer = await preToolUse({ ...aHook(project, 'PreToolUse'), input, now: () => AT });
      const named = /^\[blocked by guardrail: (.+?)\]/.exec(reasonOf(answer) ?? '')?.[1] ?? null;
      assert.equal(named, rule, `${event} ${levels}`);
    }
  }
});
