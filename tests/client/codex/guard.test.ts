import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ofType } from '../../support/client/runner.ts';
import { inCodexProject } from '../../support/codex/codex-project.ts';
import {
  call,
  code,
  patch,
  type ResponsesRequest,
  say,
  shell,
  shellToEnd,
} from '../../support/codex/responses-model.ts';
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
        ['apply_patch', 'asked', undefined],
        ['apply_patch', 'done', undefined],
      ],
    );
    assert.ok(
      project.model.requests[1]?.input.includes('[blocked by guardrail: protected_files'),
      'the agent reads why',
    );
    const denied = ofType(run.events, 'tool.ended').filter(({ outcome }) => outcome === 'denied');
    assert.equal(denied.length, 3, 'each denial is shown to the user');
    assert.equal(project.ended().verified, true);
  });
});

/** The model starts `cat > FILE`, and types a line into what runs then. */
const typing =
  (file: string, more: object = {}) =>
  (request: ResponsesRequest) => {
    const [, session_id = '0'] = /session ID (\d+)/.exec(request.input) ?? [];
    const chars = 'typed\n\u0004';
    const replies = [
      shell(`cat > ${file}; sleep 3`, { yield_time_ms: 300, ...more }),
      call('write_stdin', { session_id: Number(session_id), chars }),
      shell('touch made.txt'),
    ];
    return replies[request.index] ?? DONE;
  };

for (const [title, more, said] of [
  ['with a terminal', { tty: true }, 'TTY execution is disabled'],
  ['without a terminal', {}, 'stdin is closed for this session'],
] as const)
  test(`Codex: nothing is typed into a command ${title}`, async () => {
    await inCodexProject({ frontmatter, files }, typing('typed.txt', more), async (project) => {
      const run = await project.begin().done;
      assert.equal(run.code, 0, run.stdout + run.stderr);
      assert.ok(
        project.model.requests.some(({ input }) => input.includes(said)),
        'the agent reads why',
      );
      const path = join(project.workspace.project, 'typed.txt');
      assert.equal(existsSync(path) ? readFileSync(path, 'utf8') : '', '');
    });
  });

for (const words of [
  ['--enable', 'unified_exec_tty'],
  ['-c', 'features.unified_exec_tty=true'],
])
  test(`Codex: ${words.join(' ')} is refused before the start`, async () => {
    await inCodexProject({ frontmatter, files }, [], async (project) => {
      const run = await project.begin(['--', ...words]).done;
      assert.notEqual(run.code, 0);
      assert.match(run.stderr, /its hooks and its terminals\. Leave it out/);
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

test('Codex: a program that switches hooks off in the configuration leaves the guard on', async () => {
  const off = 'sed -i "s/^plugins = false/&\\nhooks = false/" "$(dirname "$0")/config.toml"\n';
  const script = [
    shellToEnd('sh "$CODEX_HOME/off.sh"'),
    say('Again.'),
    shellToEnd('rm tests/a.txt'),
    shell('touch made.txt'),
    DONE,
  ];
  await inCodexProject({ frontmatter, files }, script, async (project) => {
    const config = join(project.codexHome, 'config.toml');
    writeFileSync(join(project.codexHome, 'off.sh'), off);
    const run = await project.begin().done;
    assert.match(readFileSync(config, 'utf8'), /^hooks = false$/m, 'control: the program could do it');
    assert.equal(run.code, 0, run.stdout + run.stderr);
    assert.ok(project.calls().some(({ phase, about }) => phase === 'denied' && about === 'rm tests/a.txt'));
    assert.equal(project.workspace.read('tests/a.txt'), files['tests/a.txt']);
  });
});
