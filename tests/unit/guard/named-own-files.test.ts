import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { after, describe, it } from 'node:test';
import { ownDenial } from '../../../src/guard/evaluate-shell-command.ts';
import { prepareGuard, type Verdict } from '../../../src/guard/guard.ts';
import { readShellCommand } from '../../../src/guard/shell/read-shell-command.ts';
import { NAMED, NOT_NAMED } from './corpus/named-own-files.ts';
import { createGuardProject } from './guard-project.ts';

const project = createGuardProject();
after(() => rmSync(project.root, { recursive: true, force: true }));
const guard = prepareGuard(project.rules);

/** With the words that no rule explains, or without them, as before there was this rule. */
function evaluate(command: string, named: boolean): Verdict | null {
  const reading = readShellCommand(project.fill(command), { cwd: project.dir, home: project.home });
  return ownDenial(named ? reading : { ...reading, named: [] }, guard);
}

describe('an own file as an argument of an unknown program', () => {
  for (const command of NAMED)
    it(`is denied: ${command}`, () => assert.equal(evaluate(command, true)?.decision, 'deny'));
  for (const command of NOT_NAMED) it(`is not seen in: ${command}`, () => assert.equal(evaluate(command, true), null));
  it('is missed without the rule', () => {
    const missed = NAMED.filter((command) => evaluate(command, false) === null);
    assert.ok(missed.length >= 60, `the control misses only ${missed.length} of ${NAMED.length}`);
  });
  it('is named in the denial, with programs that may read it', () => {
    const verdict = evaluate('upx .claude/settings.json', true);
    assert.match(
      verdict?.decision === 'deny' ? verdict.message : '',
      /upx would receive \.claude\/settings\.json.*use Read, cat/s,
    );
  });
});
