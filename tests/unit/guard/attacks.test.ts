import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { Guardrails } from '../../../src/engine/schema/contract.ts';
import { firstNotAllowed } from '../../../src/guard/commands/evaluate-rules.ts';
import { evaluateGuardrails, ownDenial } from '../../../src/guard/evaluate-shell-command.ts';
import { evaluateToolCall } from '../../../src/guard/evaluate-tool-call.ts';
import { type GuardRules, prepareGuard } from '../../../src/guard/guard.ts';
import { readShellCommand } from '../../../src/guard/shell/read-shell-command.ts';
import type { ShellReading } from '../../../src/guard/shell/shell-reading.ts';
import * as OWN from './corpus/attacks-on-own-files.ts';
import * as RULES from './corpus/attacks-on-rules.ts';
import { createCorpusProject, NO_RULES } from './support/corpus-project.ts';
import { byRegularExpression } from './support/regular-expression-rules.ts';
import '../../support/starts-processes.ts';

const project = createCorpusProject();
after(() => rmSync(project.root, { recursive: true, force: true }));
writeFileSync(join(project.dir, '.git/HEAD'), 'ref: refs/heads/work\n');

const noPush = { ...NO_RULES, blockCommands: [{ command: 'git', args: ['push'], reason: null }] };
const forTools = { ...noPush, protectedFiles: ['deploy/**'], privateFiles: ['.env*'] };
const privates = { ...NO_RULES, privateFiles: ['.env', '.env.*', '*.pem', 'secrets'] };
const allowed = ['ls', 'npm test( .*)?', 'cat( .*)?', 'echo .*', 'sed .*', 'env', 'git status', 'time', 'export CI=1'];
const branches = { task: 'Task 1', entries: [], free: [], noPushTo: ['main', 'master'] };

const ruleOf = async (tool: string, input: unknown, rules: Partial<GuardRules>): Promise<string | null> => {
  const filled = JSON.parse(project.fill(JSON.stringify(input))) as object;
  const verdict = await evaluateToolCall({ tool, input: filled, cwd: project.dir }, { ...project.rules, ...rules });
  return verdict.decision === 'deny' ? verdict.rule : null;
};
const byRules = (guardrails: Guardrails) => (command: string) => ruleOf('Bash', { command }, { guardrails });
const read = (command: string): ShellReading =>
  readShellCommand(project.fill(command), { cwd: project.dir, home: project.home });
const guard = prepareGuard(project.rules);
const ownRule = (reading: ShellReading): string | null => ownDenial(reading, guard)?.rule ?? null;

interface Class {
  readonly attacks: readonly string[];
  readonly lookAlikes: readonly string[];
  readonly rule: (command: string) => Promise<string | null>;
  /** The same evaluation with the rule of this class switched off. */
  readonly off: (command: string) => Promise<string | null> | string | null;
  /** Attacks that some other rule sees as well. */
  readonly seenAnyway: number;
}

const CLASSES: Readonly<Record<string, Class>> = {
  'the control program, copied or run': {
    attacks: OWN.PROGRAM_ATTACKS,
    lookAlikes: OWN.PROGRAM_LOOK_ALIKES,
    rule: (command) => ruleOf('Bash', { command }, {}),
    off: (command) => ruleOf('Bash', { command }, { controlProgram: [], ownFiles: [], ownGlobs: [] }),
    // The name of the package is refused without any path.
    seenAnyway: 6,
  },
  'an own file, named to an unknown program': {
    attacks: OWN.NAME_ATTACKS,
    lookAlikes: OWN.NAME_LOOK_ALIKES,
    rule: byRules(NO_RULES),
    off: (command) => ownRule({ ...read(command), named: [] }),
    seenAnyway: 12,
  },
  'an own file, reached by a search or a glob': {
    attacks: OWN.SEARCH_ATTACKS,
    lookAlikes: OWN.SEARCH_LOOK_ALIKES,
    rule: byRules(NO_RULES),
    off: (command) => {
      const reading = read(command);
      const writes = reading.writes.filter(({ word }) => word.under === undefined && word.pattern === undefined);
      return ownRule({ ...reading, writes, named: [] });
    },
    seenAnyway: 12,
  },
  'an own file, reached by a setting of the shell': {
    attacks: OWN.SETTING_ATTACKS,
    lookAlikes: OWN.SETTING_LOOK_ALIKES,
    rule: byRules(NO_RULES),
    // Settings that no shell has change nothing.
    off: (command) => ownRule(read(command.replace(/shopt|setopt|GLOBIGNORE|CDPATH|BASHOPTS|IFS|(?<= )-o|-O/g, '$&_'))),
    seenAnyway: 12,
  },
  'a blocked command, put together': {
    attacks: RULES.WORD_ATTACKS,
    lookAlikes: RULES.WORD_LOOK_ALIKES,
    rule: byRules(noPush),
    off: (command) => (byRegularExpression.blocks(command) ? 'regular expression' : null),
    seenAnyway: 30,
  },
  'a push to a branch of the user': {
    attacks: RULES.PUSH_ATTACKS,
    lookAlikes: RULES.PUSH_LOOK_ALIKES,
    rule: async (command) => {
      const rule = await ruleOf('Bash', { command }, { scope: branches });
      return rule === 'scope' ? null : rule;
    },
    off: async (command) => {
      const rule = await ruleOf('Bash', { command }, { scope: { ...branches, noPushTo: [] } });
      return rule === 'scope' ? null : rule;
    },
    seenAnyway: 0,
  },
  'an allowlist, by variables and redirections': {
    attacks: RULES.ALLOWLIST_ATTACKS,
    lookAlikes: RULES.ALLOWLIST_LOOK_ALIKES,
    rule: byRules({ ...NO_RULES, shellAllow: [...allowed] }),
    off: (command) => {
      const reading = read(command);
      const bare = reading.commands.map((each) => ({ ...each, assignments: [] }));
      return firstNotAllowed([...allowed, '(export|declare|readonly|exec)\\b.*'], {
        ...{ ...reading, commands: bare, assigned: [], writes: [], reads: [] },
      });
    },
    seenAnyway: 5,
  },
  'a private file, in code or given to an unknown program': {
    attacks: RULES.PRIVATE_ATTACKS,
    lookAlikes: RULES.PRIVATE_LOOK_ALIKES,
    rule: byRules(privates),
    off: async (command) => {
      const reading = { ...read(command), undecidable: [], named: [] };
      return (await evaluateGuardrails(command, reading, guard, privates)).denial?.rule ?? null;
    },
    seenAnyway: 20,
  },
};

for (const [name, { attacks, lookAlikes, rule, off, seenAnyway }] of Object.entries(CLASSES)) {
  describe(name, () => {
    for (const command of attacks)
      it(`is denied: ${JSON.stringify(command)}`, async () => assert.notEqual(await rule(command), null));
    for (const command of lookAlikes)
      it(`is not found in: ${JSON.stringify(command)}`, async () => assert.equal(await rule(command), null));
    it('is missed with the rule switched off', async () => {
      const seen: string[] = [];
      for (const command of attacks) if ((await off(command)) !== null) seen.push(command);
      assert.ok(attacks.length - seen.length >= 20, `only ${attacks.length - seen.length} get through`);
      assert.ok(seen.length <= seenAnyway, seen.join('\n'));
    });
  });
}

describe('tools of every class', () => {
  const rule = (tool: string, input: unknown) => ruleOf(tool, input, { guardrails: forTools });
  for (const [tool, input] of OWN.TOOL_ATTACKS)
    it(`are denied: ${tool} ${JSON.stringify(input)}`, async () => assert.notEqual(await rule(tool, input), null));
  for (const [tool, input] of OWN.TOOL_LOOK_ALIKES)
    it(`are allowed: ${tool} ${JSON.stringify(input)}`, async () => assert.equal(await rule(tool, input), null));
  it('are missed if an unknown tool counts as a reader of files', async () => {
    let missed = 0;
    for (const [, input] of OWN.TOOL_ATTACKS) if ((await rule('Read', input)) === null) missed += 1;
    assert.ok(missed >= 25, `only ${missed} get through`);
  });
});
