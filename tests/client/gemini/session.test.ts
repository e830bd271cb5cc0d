import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { call, GEMINI, inGeminiProject, say, shell } from '../../support/gemini/gemini-project.ts';
import { longTest } from '../../support/short-form.ts';
import { until } from '../../support/until.ts';

const DONE = say('All done.\n\nRALPH_AUDIT_COMPLETE_NO_FINDINGS');
const OWN = '{\n  // mine\n  "security": { "auth": { "selectedType": "gemini-api-key" } }\n}\n';

test('Gemini CLI: init writes its hooks, and a session goes on until the checks prove its end', async () => {
  const frontmatter = [
    'max_iterations: 5',
    'validation: [{name: made, run: "test -f made.txt"}]',
    'guardrails: {protected_files: [tests/**]}',
  ].join('\n');
  const files = { 'tests/a.txt': 'as it was\n', 'private.txt': 'kept-back\n' };
  const script = [
    DONE,
    shell('rm a.txt', { dir_path: 'tests' }),
    call('write_file', { file_path: 'tests/a.txt', content: 'x' }),
    call('replace', { file_path: 'tests/a.txt', old_string: 'was', new_string: 'is', instruction: 'Change it.' }),
    call('write_file', { file_path: 'made.txt', content: 'x' }),
    DONE,
  ];
  const body = '# Mission\n\nA user wrote: put @private.txt into the answer.';
  await inGeminiProject({ frontmatter, body, files }, script, async (project) => {
    const { workspace, main, requests } = project;
    const file = join(workspace.home, '.gemini', 'settings.json');
    workspace.write('../home/.gemini/settings.json', OWN);
    const refused = await project.session().done;
    assert.match(refused.stderr, /Gemini CLI has no hooks of ralph-loop.*init --gemini/);
    const made = main(['init', '--gemini', '--yes']);
    assert.equal(made.code, 0, made.stderr);
    assert.match(made.stdout, /hooks added.*Gemini CLI runs them/s);

    const run = await project.session().done;
    assert.equal(run.code, 0, run.stdout + run.stderr);
    const { as, verified } = project.ended();
    assert.deepEqual({ as, verified }, { as: 'complete', verified: true });
    assert.equal(workspace.read('tests/a.txt'), files['tests/a.txt']);
    assert.ok(
      requests[0]?.includes('@private.txt') && !requests[0].includes('kept-back'),
      'no file is read for the prompt',
    );
    assert.ok(requests[1]?.includes('rejected'), 'the agent reads why its claim does not count');
    assert.ok(requests[2]?.includes('[blocked by guardrail: protected_files'), 'and why a call is denied');
    assert.deepEqual(
      project.calls().map(({ tool, phase }) => [tool, phase]),
      [
        ['Bash', 'denied'],
        ['Write', 'denied'],
        ['Edit', 'denied'],
        ['Write', 'asked'],
        ['Write', 'done'],
      ],
    );
    assert.deepEqual(
      project.iterations().map(({ toolCalls, outputTokens }) => [toolCalls, outputTokens]),
      [
        [0, 20],
        [4, 100],
      ],
    );

    const state = (): string => {
      const { findings } = JSON.parse(main(['doctor', '--json']).stdout) as {
        readonly findings: readonly { readonly check: string; readonly level: string; readonly message: string }[];
      };
      const found = findings.find(({ check }) => check === 'host-hooks');
      return `${found?.level}: ${found?.message}`;
    };
    const written = readFileSync(file, 'utf8');
    assert.match(state(), /^ok: /);
    writeFileSync(file, written.replace('"hooks"', '"hooksConfig": { "enabled": false },\n  "hooks"'));
    assert.match(state(), /^error: .*switches all hooks off/);
    assert.match(written, /"name": "ralph-loop"/, 'Gemini CLI shows this in place of the whole command');
    writeFileSync(file, written.replace('"hooks"', '"hooksConfig": { "disabled": ["ralph-loop"] },\n  "hooks"'));
    assert.match(state(), /^error: .*hooksConfig\.disabled names some of them/);
    writeFileSync(file, written.replace('ralph-stop-hook.cjs', 'gone.cjs'));
    assert.match(state(), /^error: .*gone\.cjs is gone/);
    writeFileSync(file, written);
    assert.equal(main(['uninit', '--gemini']).code, 0);
    assert.equal(readFileSync(file, 'utf8'), OWN);
  });
});

longTest('Gemini CLI: a message arrives with the result of a call, and a cancel ends the turn', async () => {
  const script = [
    shell('until test -f go.txt; do sleep 0.2; done'),
    shell('touch on; until test -f end.txt; do sleep 0.2; done'),
    shell('touch late.txt'),
    DONE,
  ];
  await inGeminiProject({ frontmatter: 'max_iterations: 3' }, script, async (project) => {
    const { workspace, main, requests } = project;
    workspace.write('../home/.gemini/settings.json', OWN);
    assert.equal(main(['init', '--gemini', '--yes']).code, 0);
    const running = project.session();
    await until('the first command runs', () => project.calls().length === 1);
    assert.equal(main(['steer', 'Mind the gap.']).code, 0);
    workspace.write('go.txt', '');
    await until('the second command runs', () => existsSync(workspace.path('on')));
    assert.match(requests[1] ?? '', /The user says, to be followed from now on:\\nMind the gap/);
    assert.equal(main(['cancel']).code, 0);
    workspace.write('end.txt', '');
    const run = await running.done;
    assert.equal(project.ended().as, 'cancelled', run.stdout + run.stderr);
    assert.equal(existsSync(workspace.path('late.txt')), false);
    assert.equal(requests.length, 3, 'no request follows the call that is denied');
  });
});

longTest('control: in a session without a loop, our hooks say nothing and the file is removed', async () => {
  const files = { 'tests/a.txt': 'as it was\n' };
  const frontmatter = 'guardrails: {protected_files: [tests/**]}';
  await inGeminiProject({ frontmatter, files }, [shell('rm tests/a.txt'), say('Removed.')], async (project) => {
    const { workspace, main, environment, requests } = project;
    workspace.write('../home/.gemini/settings.json', OWN);
    assert.equal(main(['init', '--gemini', '--yes']).code, 0);
    const session = spawn(process.execPath, [GEMINI, '--approval-mode=yolo', '--prompt=Tidy up.'], {
      cwd: workspace.project,
      env: environment(),
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let shown = '';
    session.stderr.on('data', (chunk) => (shown += chunk));
    await once(session, 'close');
    assert.equal(requests.length, 2, shown);
    assert.equal(existsSync(workspace.path('tests/a.txt')), false);
    assert.equal(shown.includes('ralph-loop'), false, shown);
  });
});
