import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, describe, it, test } from 'node:test';
import { evaluateToolCall } from '../../../src/guard/evaluate-tool-call.ts';
import { DANGEROUS } from './dangerous-commands.ts';
import { createGuardProject } from './guard-project.ts';
import { HARMLESS } from './harmless-commands.ts';
import { evaluateByRegularExpression } from './regular-expression-control.ts';

const project = createGuardProject();
after(() => rmSync(project.root, { recursive: true, force: true }));

const evaluate = (command: string) =>
  evaluateToolCall({ tool: 'Bash', input: { command: project.fill(command) }, cwd: project.dir }, project.rules);

describe('dangerous commands', () => {
  for (const [trick, commands] of Object.entries(DANGEROUS)) {
    for (const command of commands) {
      it(`denies (${trick}): ${command}`, async () => {
        const verdict = await evaluate(command);
        assert.equal(verdict.decision, 'deny', JSON.stringify(verdict));
        if (verdict.decision === 'deny') assert.match(verdict.rule, /^(own-files|control-commands)$/);
      });
    }
  }

  it('names the control rule for commands that steer the loop', async () => {
    for (const command of DANGEROUS['control commands'] ?? []) {
      const verdict = await evaluate(command);
      assert.equal(verdict.decision === 'deny' ? verdict.rule : '', 'control-commands', command);
    }
  });

  it('are at least 150, and a regular expression misses many of them', () => {
    const all = Object.values(DANGEROUS).flat();
    assert.ok(all.length >= 150, String(all.length));
    const missed = all.filter((command) => !evaluateByRegularExpression(project.fill(command)));
    assert.ok(missed.length >= 20, `the control misses only ${missed.length}`);
  });
});

describe('harmless commands', () => {
  for (const command of HARMLESS) {
    it(`allows: ${command}`, async () => {
      const verdict = await evaluate(command);
      assert.equal(verdict.decision, 'allow', JSON.stringify(verdict));
    });
  }

  it('are at least 100, and a regular expression denies some of them', () => {
    assert.ok(HARMLESS.length >= 100, String(HARMLESS.length));
    const wrong = HARMLESS.filter((command) => evaluateByRegularExpression(project.fill(command)));
    assert.ok(wrong.length >= 3, `the control is wrong on only ${wrong.length}`);
  });
});

test('git clean removes only files of the loop that exist', async () => {
  const own = join(project.dir, '.ralph', 'config.json');
  const rules = { ...project.rules, ownFiles: [...project.rules.ownFiles, own] };
  const decide = async (command: string): Promise<string> =>
    (await evaluateToolCall({ tool: 'Bash', input: { command }, cwd: project.dir }, rules)).decision;
  assert.equal(await decide('git clean -xdf -e .claude'), 'allow');
  mkdirSync(dirname(own));
  writeFileSync(own, '{}');
  assert.equal(await decide('git clean -xdf -e .claude'), 'deny', 'control');
  assert.equal(await decide('git clean -xdf -e .claude -e .ralph'), 'allow');
});
