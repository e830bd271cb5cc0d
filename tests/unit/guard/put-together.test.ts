import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { after, describe, it } from 'node:test';
import { evaluateToolCall } from '../../../src/guard/evaluate-tool-call.ts';
import { NOT_PUT_TOGETHER, PUT_TOGETHER } from './corpus/put-together.ts';
import { createCorpusProject, NO_RULES } from './support/corpus-project.ts';
import { byRegularExpression } from './support/regular-expression-rules.ts';

const project = createCorpusProject();
after(() => rmSync(project.root, { recursive: true, force: true }));
const guardrails = { ...NO_RULES, blockCommands: [{ command: 'git', args: ['push'], reason: null }] };
const decide = async (tool: string, command: string): Promise<string> =>
  (await evaluateToolCall({ tool, input: { command }, cwd: project.dir }, { ...project.rules, guardrails })).decision;

describe('a blocked command in concatenated words', () => {
  for (const command of PUT_TOGETHER)
    it(`is denied: ${JSON.stringify(command)}`, async () => assert.equal(await decide('Bash', command), 'deny'));
  for (const command of NOT_PUT_TOGETHER)
    it(`is not found in: ${JSON.stringify(command)}`, async () => assert.equal(await decide('Bash', command), 'allow'));
  for (const command of [
    '& git push',
    "& 'git' push",
    'iex "git push"',
    'Invoke-Expression "git push"',
    'Start-Process git -ArgumentList push',
    '$g = "git"; & $g push',
    'start git push',
  ])
    it(`is denied in PowerShell: ${command}`, async () => assert.equal(await decide('PowerShell', command), 'deny'));
  for (const command of ['git status', 'npm test', "git commit -m 'do not push'", 'Get-ChildItem | Measure-Object'])
    it(`is not found in PowerShell: ${command}`, async () =>
      assert.equal(await decide('PowerShell', command), 'allow'));
  it('is missed by a regular expression', () => {
    const missed = PUT_TOGETHER.filter((command) => !byRegularExpression.blocks(command));
    assert.ok(missed.length >= 20, `the control misses only ${missed.length} of ${PUT_TOGETHER.length}`);
  });
});
