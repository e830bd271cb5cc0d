import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contract } from '../../../src/engine/schema/contract.ts';
import { codexOutput } from '../../../src/hosts/codex/hook-output.ts';
import { HOOK_HOSTS, hookHost } from '../../../src/hosts/hook-hosts.ts';
import type { HookAnswer } from '../../../src/hosts/hook-io/stdio.ts';
import { HOSTS, hostOf } from '../../../src/hosts/hosts.ts';

/** Fields that Codex 0.171 accepts for each event, at the top and in hookSpecificOutput; any other makes an answer void. */
const ACCEPTED: Readonly<Record<string, readonly [top: readonly string[], inside: readonly string[]]>> = {
  PreToolUse: [
    ['systemMessage', 'hookSpecificOutput'],
    ['hookEventName', 'additionalContext'],
  ],
  PostToolUse: [
    ['systemMessage', 'hookSpecificOutput'],
    ['hookEventName', 'additionalContext'],
  ],
  UserPromptSubmit: [
    ['systemMessage', 'hookSpecificOutput'],
    ['hookEventName', 'additionalContext'],
  ],
  SessionStart: [
    ['systemMessage', 'hookSpecificOutput'],
    ['hookEventName', 'additionalContext'],
  ],
  Stop: [['systemMessage', 'decision', 'reason', 'continue', 'stopReason'], []],
};

const tool = (more: Partial<NonNullable<HookAnswer['hookSpecificOutput']>>, event = 'PreToolUse'): HookAnswer => ({
  hookSpecificOutput: { hookEventName: event, ...more },
});
const DENIAL = tool({ permissionDecision: 'deny', permissionDecisionReason: '[blocked by guardrail: x] no' });
const KILL: HookAnswer = { ...DENIAL, continue: false, stopReason: 'ralph-loop: cancelled.' };

/** Every answer that our hooks can give, by event. */
const ANSWERS: readonly (readonly [event: string, answer: HookAnswer])[] = [
  ['PreToolUse', DENIAL],
  ['PreToolUse', KILL],
  ['PreToolUse', tool({ permissionDecision: 'allow', permissionDecisionReason: 'a check' })],
  ['PreToolUse', { ...tool({ permissionDecision: 'allow', additionalContext: 'Steer.' }), systemMessage: 'Told.' }],
  ['PreToolUse', tool({ additionalContext: 'Steer.' })],
  ['PreToolUse', { systemMessage: 'Restored.' }],
  ['PostToolUse', tool({ additionalContext: 'Steer.' }, 'PostToolUse')],
  ['PostToolUse', { systemMessage: 'Restored.' }],
  ['UserPromptSubmit', { ...tool({ additionalContext: '' }, 'UserPromptSubmit'), systemMessage: 'Paused.' }],
  ['SessionStart', tool({ additionalContext: 'Memory.' }, 'SessionStart')],
  ['SessionStart', { ...tool({ additionalContext: 'Memory.' }, 'SessionStart'), systemMessage: 'Carried over.' }],
  ['SessionStart', { systemMessage: 'No loop.' }],
  ['UserPromptSubmit', { systemMessage: 'Paused.' }],
  ['Stop', { decision: 'block', reason: 'Go on.', systemMessage: 'iteration 2 of 5.' }],
  ['Stop', { decision: 'block', reason: 'See below.', ...tool({ additionalContext: 'The prompt.' }, 'Stop') }],
  ['Stop', { systemMessage: 'Complete.' }],
];

test('every answer that a hook can give has only fields that Codex accepts for its event', () => {
  for (const [event, answer] of ANSWERS) {
    const { stdout, code } = codexOutput(event, answer);
    if (stdout === '') continue;
    assert.equal(code, 0);
    const [top, inside] = ACCEPTED[event] ?? [[], []];
    const given = JSON.parse(stdout) as { readonly hookSpecificOutput?: object };
    assert.deepEqual(
      Object.keys(given).filter((key) => !top.includes(key)),
      [],
      `${event} ${stdout}`,
    );
    const more = Object.keys(given.hookSpecificOutput ?? {});
    assert.deepEqual(
      more.filter((key) => !inside.includes(key)),
      [],
      `${event} ${stdout}`,
    );
  }
});

test('control: the answers as Claude Code gets them have fields that Codex refuses', () => {
  const refused = ANSWERS.filter(([event, answer]) => {
    const [top, inside] = ACCEPTED[event] ?? [[], []];
    const keys = [Object.keys(answer).every((key) => top.includes(key))];
    keys.push(Object.keys(answer.hookSpecificOutput ?? {}).every((key) => inside.includes(key)));
    return keys.includes(false);
  });
  assert.ok(refused.length >= 5, `${refused.length} answers`);
});

test('a denial is exit code 2 with its text on standard error, and never without a text', () => {
  for (const answer of [DENIAL, KILL]) {
    assert.deepEqual(codexOutput('PreToolUse', answer), {
      stdout: '',
      stderr: '[blocked by guardrail: x] no',
      code: 2,
    });
  }
  const bare = codexOutput('PreToolUse', tool({ permissionDecision: 'deny', permissionDecisionReason: ' ' }));
  assert.equal(bare.code, 2);
  assert.match(bare.stderr, /\S/);
});

test('a Stop that blocks carries the prompt in its reason, whichever field it was in', () => {
  const both = codexOutput('Stop', {
    decision: 'block',
    reason: 'See below.',
    ...tool({ additionalContext: 'Do it.' }, 'Stop'),
  });
  assert.equal((JSON.parse(both.stdout) as { reason: string }).reason, 'See below.\n\nDo it.');
});

test('hooks know every host that the commands know', () => {
  const names = HOSTS.map(({ name }) => name);
  assert.deepEqual(
    HOOK_HOSTS.map(({ name }) => name),
    names,
  );
  for (const name of names) assert.ok(contract.shape.host.safeParse(name).success, name);
  assert.throws(() => hostOf('constructor'), /does not know the client constructor/);
});

test('a hook of a client that is not known is not answered', () => {
  assert.equal(hookHost(['node', 'x.cjs', '--host', 'other']), null);
  assert.equal(hookHost(['node', 'x.cjs', '--host', 'constructor']), null);
  assert.equal(hookHost(['node', 'x.cjs', '--host', 'codex'])?.name, 'codex');
  assert.equal(hookHost(['node', 'x.cjs', '--timeout', '3'])?.name, 'claude-code');
});
