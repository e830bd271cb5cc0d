import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CommandContext } from '../../../src/cli/command.ts';
import { startFlags } from '../../../src/cli/start/start-request.ts';

/** Returns the permission mode that a start is given. */
function modeOf(values: CommandContext['values'], rest: readonly string[]): string | undefined {
  return startFlags({ values, rest } as CommandContext)['permission_mode'];
}

const PLAN = { 'permission-mode': 'plan' };
const BYPASS = ['--permission-mode', 'bypassPermissions'];

test('two permission modes in a command line are refused, since contract and client would take one each', () => {
  const named = /the permission modes \w+ and \w+ contradict each other/;
  const lines: readonly (readonly [CommandContext['values'], readonly string[]])[] = [
    [PLAN, BYPASS],
    [PLAN, ['--permission-mode=bypassPermissions']],
    [PLAN, ['--dangerously-skip-permissions']],
    [{ set: ['permissionMode=plan'] }, BYPASS],
    [{}, [...BYPASS, '--permission-mode', 'plan']],
    [{}, ['--dangerously-skip-permissions', '--permission-mode', 'acceptEdits']],
  ];
  for (const [values, rest] of lines) assert.throws(() => modeOf(values, rest), named, rest.join(' '));
});

test('control: one permission mode, also if it is given twice, is taken', () => {
  assert.equal(modeOf(PLAN, []), 'plan');
  assert.equal(modeOf(PLAN, ['--permission-mode', 'plan']), 'plan');
  assert.equal(modeOf({}, ['--model', 'a', ...BYPASS]), 'bypassPermissions');
  assert.equal(modeOf({}, ['--model', 'a']), undefined);
});
