import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { after, describe, it } from 'node:test';
import type { Guardrails } from '../../../src/engine/schema/contract.ts';
import { evaluateToolCall } from '../../../src/guard/evaluate-tool-call.ts';
import type { Verdict } from '../../../src/guard/guard.ts';
import { BLOCKED, OPEN_COMMANDS, UNKNOWN_COMMANDS } from './corpus/blocked-commands.ts';
import { EVERYDAY } from './corpus/everyday-commands.ts';
import { HARMLESS } from './corpus/harmless-commands.ts';
import { MORE_BLOCKED, MORE_HARMLESS, MORE_READS, MORE_UNKNOWN, MORE_WRITES } from './corpus/second-reading.ts';
import { SECRET_READS, SECRET_WRITES } from './corpus/secret-commands.ts';
import { createCorpusProject, DOCUMENTED_RULES, NO_RULES, RULES } from './support/corpus-project.ts';
import { byRegularExpression } from './support/regular-expression-rules.ts';
import '../../support/starts-processes.ts';

const project = createCorpusProject();
after(() => rmSync(project.root, { recursive: true, force: true }));

const evaluate = (command: string, guardrails: Guardrails): Promise<Verdict> =>
  evaluateToolCall(
    { tool: 'Bash', input: { command: project.fill(command) }, cwd: project.dir },
    { ...project.rules, ownFiles: [], ownGlobs: [], controlProgram: [], guardrails },
  );

const shown = (command: string): string => JSON.stringify(command);

async function denies(command: string, guardrails: Guardrails, rule: RegExp): Promise<void> {
  const verdict = await evaluate(command, guardrails);
  assert.equal(verdict.decision, 'deny', JSON.stringify(verdict));
  if (verdict.decision === 'deny') assert.match(verdict.rule, rule);
}

for (const [way, rules] of Object.entries(RULES)) {
  describe(`what ${way} block`, () => {
    for (const [trick, commands] of Object.entries({ ...BLOCKED, ...MORE_BLOCKED })) {
      for (const command of commands) {
        it(`is denied (${trick}): ${shown(command)}`, () =>
          denies(command, { ...rules, protectedFiles: [], privateFiles: [] }, /^[{^]/));
      }
    }
    for (const command of [...UNKNOWN_COMMANDS, ...MORE_UNKNOWN]) {
      it(`is denied if only a run could tell which command it is: ${shown(command)}`, () =>
        denies(command, { ...rules, protectedFiles: [], privateFiles: [] }, /^undecided$|^[{^]/));
    }
  });

  describe(`harmless commands under ${way}`, () => {
    for (const command of [...HARMLESS, ...MORE_HARMLESS]) {
      it(`run: ${shown(command)}`, async () => {
        assert.deepEqual({ ...(await evaluate(command, rules)), recorded: [] }, { decision: 'allow', recorded: [] });
      });
    }
  });
}

describe('protected files', () => {
  const rules = { ...NO_RULES, protectedFiles: RULES['precise rules']?.protectedFiles ?? [] };
  for (const [trick, commands] of Object.entries({ ...SECRET_WRITES, 'a second reading': MORE_WRITES })) {
    for (const command of commands) {
      it(`are not changed (${trick}): ${shown(command)}`, () => denies(command, rules, /^protected_files: /));
    }
  }
});

describe('private files', () => {
  const rules = { ...NO_RULES, privateFiles: RULES['precise rules']?.privateFiles ?? [] };
  for (const [trick, commands] of Object.entries({ ...SECRET_READS, 'a second reading': MORE_READS })) {
    for (const command of commands) {
      it(`are not read (${trick}): ${shown(command)}`, () => denies(command, rules, /^private_files: /));
    }
  }
});

describe('a day of work under the rules that README and docs/guardrails.md give', () => {
  it('has at least 300 commands', () => assert.ok(EVERYDAY.length >= 300, String(EVERYDAY.length)));
  for (const command of EVERYDAY)
    it(`allows ${shown(command)}`, async () => {
      const call = { tool: 'Bash', input: { command }, cwd: project.dir };
      const verdict = await evaluateToolCall(call, { ...project.rules, guardrails: DOCUMENTED_RULES });
      assert.equal(verdict.decision, 'allow', JSON.stringify(verdict));
    });
});

describe('what cannot be decided', () => {
  const [rules = NO_RULES] = Object.values(RULES);
  for (const command of OPEN_COMMANDS) {
    it(`is allowed and recorded: ${shown(command)}`, async () => {
      const verdict = await evaluate(command, rules);
      assert.equal(verdict.decision, 'allow', JSON.stringify(verdict));
      assert.notDeepEqual(verdict.decision === 'allow' ? verdict.recorded : [], []);
    });
    it(`is denied under strict, with the spelling to use: ${shown(command)}`, async () => {
      const verdict = await evaluate(command, { ...rules, strict: true });
      assert.equal(verdict.decision, 'deny', JSON.stringify(verdict));
      if (verdict.decision === 'deny') assert.match(verdict.message, /\. (Write|Use|Name|Close|Split|Save) /);
    });
  }
  it('does not matter if no rule is about commands', async () => {
    for (const command of [...UNKNOWN_COMMANDS, ...MORE_UNKNOWN])
      assert.equal((await evaluate(command, NO_RULES)).decision, 'allow', command);
  });
});

describe('the corpus', () => {
  const blocked = [BLOCKED, MORE_BLOCKED].flatMap((each) => Object.values(each).flat());
  const files = [SECRET_WRITES, SECRET_READS].flatMap((each) => Object.values(each).flat());
  const secret = [...files, ...MORE_WRITES, ...MORE_READS];
  const harmless = [...HARMLESS, ...MORE_HARMLESS];

  it('has at least 300 dangerous commands and 150 harmless ones', () => {
    assert.ok(blocked.length + secret.length >= 300, String(blocked.length + secret.length));
    assert.ok(harmless.length >= 150, String(harmless.length));
  });

  it('cannot be decided by regular expressions', async (t) => {
    const { blocks, guards } = byRegularExpression;
    const [rules = NO_RULES] = Object.values(RULES);
    const allowed: string[] = [];
    for (const command of [...blocked, ...secret])
      if ((await evaluate(command, rules)).decision === 'allow') allowed.push(command);
    const denied: string[] = [];
    for (const command of harmless) if ((await evaluate(command, rules)).decision === 'deny') denied.push(command);
    const missed = blocked.filter((command) => !blocks(command));
    const leaked = secret.filter((command) => !guards(project.fill(command)));
    const wrong = harmless.filter((command) => blocks(command) || guards(command));
    t.diagnostic(
      `ours: missed ${allowed.length} of ${blocked.length + secret.length}, wrong about ${denied.length} of ${harmless.length} harmless ones`,
    );
    t.diagnostic(
      `regular expressions alone: missed ${missed.length} of ${blocked.length} commands and ${leaked.length} of ` +
        `${secret.length} uses of files, wrong about ${wrong.length} of ${harmless.length} harmless ones`,
    );
    assert.ok(missed.length >= 50, `the control misses only ${missed.length}`);
    assert.ok(leaked.length >= 50, `the control misses only ${leaked.length}`);
    assert.ok(wrong.length >= 20, `the control is wrong about only ${wrong.length}`);
  });
});
