import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ofType } from '../../support/client/runner.ts';
import { inCodexProject } from '../../support/codex/codex-project.ts';
import { code, patch, say, shell } from '../../support/codex/responses-model.ts';
import { longTest } from '../../support/short-form.ts';

const DONE = say('All done.\n\nRALPH_AUDIT_COMPLETE_NO_FINDINGS');
const frontmatter = [
  'max_iterations: 2',
  'validation: [{name: made, run: "test -f made.txt"}]',
  'guardrails: {protected_files: [tests/**]}',
].join('\n');
const files = { 'tests/a.txt': 'as it was\n' };

const CHANGE = '*** Begin Patch\n*** Update File: tests/a.txt\n@@\n-as it was\n+rewritten\n*** End Patch\n';
const ADD = '*** Begin Patch\n*** Add File: made.txt\n+made\n*** End Patch\n';
const nested = (text: string) => code(`text(await tools.apply_patch(${JSON.stringify(text)}))`);

test('Codex: patches of protected files are denied nested in a program and as a here-document', async () => {
  const script = [
    nested(CHANGE),
    shell(`apply_patch <<'EOF'\n${CHANGE}EOF`),
    code(`text(await tools.exec_command({ cmd: 'rm a.txt', workdir: 'tests' }))`),
    shell('bash -i', { tty: true }),
    nested(ADD),
    DONE,
  ];
  await inCodexProject({ frontmatter, files, tools: 'code' }, script, async (project) => {
    const run = await project.begin().done;
    assert.equal(run.code, 0, run.stdout + run.stderr);
    assert.equal(project.workspace.read('tests/a.txt'), files['tests/a.txt']);
    assert.equal(project.workspace.read('made.txt'), 'made\n');
    assert.deepEqual(
      project.calls().map(({ tool, phase, rule }) => [tool, phase, rule]),
      [
        ['apply_patch', 'denied', 'protected_files: tests/**'],
        ['Bash', 'denied', 'protected_files: tests/**'],
        ['Bash', 'denied', 'protected_files: tests/**'],
        ['Bash', 'denied', 'terminal-input'],
        ['apply_patch', 'asked', undefined],
        ['apply_patch', 'done', undefined],
      ],
    );
    assert.ok(
      project.model.requests[1]?.input.includes('[blocked by guardrail: protected_files'),
      'the agent reads why',
    );
    const denied = ofType(run.events, 'tool.ended').filter(({ outcome }) => outcome === 'denied');
    assert.equal(denied.length, 4, 'each denial is shown to the user');
    assert.equal(project.ended().verified, true);
  });
});

longTest('Codex: a patch of a protected file is denied in its own tool', async () => {
  await inCodexProject({ frontmatter, files, tools: 'patch' }, [patch(CHANGE), patch(ADD), DONE], async (project) => {
    const run = await project.begin().done;
    assert.equal(run.code, 0, run.stdout + run.stderr);
    assert.equal(project.workspace.read('tests/a.txt'), files['tests/a.txt']);
    assert.deepEqual(
      project.calls().map(({ phase }) => phase),
      ['denied', 'asked', 'done'],
    );
  });
});

longTest('control: without the rule, the same patch changes the file', async () => {
  const open = frontmatter.replace(/\nguardrails.*/, '');
  await inCodexProject(
    { frontmatter: open, files, tools: 'code' },
    [nested(CHANGE), nested(ADD), DONE],
    async (project) => {
      const run = await project.begin().done;
      assert.equal(run.code, 0, run.stdout + run.stderr);
      assert.equal(project.workspace.read('tests/a.txt'), 'rewritten\n');
    },
  );
});
