import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { rememberAgreed, riskySetting } from '../../src/drive/start/terms/agreed-settings.ts';
import { agreeTo } from '../support/agree-to.ts';
import { clientEnvironment } from '../support/client/client-environment.ts';
import { CLIENT } from '../support/client/client-facts.ts';
import { inLoopProject, type LoopProject } from '../support/client/loop-project.ts';
import { ofType, runRunner } from '../support/client/runner.ts';
import { thenQuick } from '../support/client/then-quick.ts';
import { bash, hang, steps, text, tool } from '../support/model/scripted-model.ts';
import { IS_LONG, longTest } from '../support/short-form.ts';

const done = text('Done.\n\nRALPH_AUDIT_COMPLETE_NO_FINDINGS');

/** A hook of the user's own that says that it ran, and one of the project's. */
const hook = (says: string): object => ({
  hooks: { Stop: [{ hooks: [{ type: 'command', command: `echo x >> ${says}` }] }] },
});

/** A server that says that it was started. */
const server = (says: string): object => ({
  mcpServers: { [says]: { command: '/bin/sh', args: ['-c', `echo x > "$MARKS/${says}"`] } },
});

const withHooksAndServers = ({ workspace }: LoopProject): void => {
  const { configDir, write, json } = workspace;
  writeFileSync(join(configDir, 'settings.json'), JSON.stringify(hook('$CLAUDE_PROJECT_DIR/of-user.txt')));
  const own = { ...hook('$CLAUDE_PROJECT_DIR/of-project.txt'), enableAllProjectMcpServers: true };
  write('.claude/settings.json', JSON.stringify(own));
  write('.mcp.json', JSON.stringify(server('server-of-project')));
  const config = join(configDir, '.claude.json');
  writeFileSync(config, JSON.stringify({ ...json(config), ...server('server-of-user') }));
};

test("an agent has the project's own hooks and servers, and the user's only if the task asks for all", async () => {
  for (const isolation of ['project', 'client'] as const) {
    const frontmatter = isolation === 'client' ? { frontmatter: 'isolation: client' } : {};
    await inLoopProject({ init: false, ...frontmatter }, steps([done]), async (project) => {
      const { workspace } = project;
      withHooksAndServers(project);
      agreeTo(workspace.project, project.environment(), { isolation: 'client' });
      const run = await runRunner(project, { env: { MARKS: workspace.root } });
      assert.equal(run.code, 0, run.stdout + run.stderr);
      const there = (...names: string[]): boolean[] => names.map(workspace.has);
      const users = isolation === 'client';
      assert.deepEqual(there('of-project.txt', 'of-user.txt'), [true, users]);
      assert.deepEqual(there('../server-of-project', '../server-of-user'), [true, users]);
    });
  }
});

longTest("the project's installed Stop hook leaves a runner's agent alone", async () => {
  const options = { standIn: true, frontmatter: 'max_iterations: 3' };
  await inLoopProject(options, steps([text('one'), done]), async (project) => {
    const run = await runRunner(project);
    project.model.check();
    assert.equal(run.code, 0, run.stdout + run.stderr);
    const sessions = new Set(project.model.mainRequests().map(({ sessionId }) => sessionId));
    assert.equal(sessions.size, 2, 'each iteration ended by itself');
  });
});

test('a task folder runs with its commands, its outputs and its record', async () => {
  const ralph = [
    '---',
    'commands: [{name: tests, run: "cat result.txt || { echo no-result; false; }", acceptance: true}]',
    'max_iterations: 5',
    'completion_promise: DONE',
    'required_outputs: [REPORT.md]',
    '---',
    'Make it work.',
    '',
    '{{ commands.tests }}',
  ].join('\n');
  const promise = text('There.\n\n<promise>DONE</promise>');
  const model = steps([
    promise,
    bash('echo green > result.txt; echo x > tasks/auth/REPORT.md; echo none > tasks/auth/OPEN_QUESTIONS.md'),
    promise,
  ]);
  const files = { 'tasks/auth/RALPH.md': ralph };
  await inLoopProject({ standIn: true, init: false, files, git: true, loop: 'auth' }, model, async (project) => {
    const run = await runRunner(project, { args: ['tasks/auth'] });
    project.model.check();
    assert.equal(run.code, 0, run.stdout + run.stderr);
    assert.match(project.model.mainRequests()[0]?.sinceText ?? '', /no-result/);
    const lines = project.workspace.jsonLines('tasks/auth/.ralph-runner/iterations.jsonl');
    assert.deepEqual(
      lines.map(({ iteration, progress, changedFiles }) => [iteration, progress, changedFiles]),
      [
        [1, false, []],
        [2, true, ['result.txt', 'tasks/auth/OPEN_QUESTIONS.md', 'tasks/auth/REPORT.md']],
      ],
    );
    assert.equal(project.workspace.json('tasks/auth/.ralph-runner/status.json')['status'], 'complete');
    assert.ok(ofType(run.events, 'command.ran').length >= 2);
  });
});

test('an iteration beyond its time limit fails and is counted', async () => {
  const frontmatter =
    'max_iterations: 3\ncompletion_promise: DONE\ncompletion_gate: disabled\ntimeout: 15\nstop_on_error: false';
  const files = { 'tasks/slow/RALPH.md': `---\n${frontmatter}\n---\nWork.\n` };
  await inLoopProject({ standIn: true, init: false, files, loop: 'slow' }, { main: () => hang() }, async (project) => {
    const { env, prompt } = thenQuick(project, '<promise>DONE</promise>');
    const run = await runRunner(project, { args: ['tasks/slow'], env });
    assert.equal(run.code, 0, run.stdout + run.stderr);
    assert.deepEqual(
      ofType(run.events, 'agent.ended').map(({ outcome }) => outcome),
      ['out-of-time', 'ok'],
    );
    assert.match(prompt(), /Your last iteration timed out/);
    assert.equal(project.events('iteration.failed').length, 1);
  });
});

longTest("a state that the agent rewrites is restored from the runner's copy", async () => {
  const rewrite = (project: LoopProject) => () => {
    const state = JSON.parse(readFileSync(project.files.state, 'utf8')) as Record<string, unknown>;
    writeFileSync(project.files.state, JSON.stringify({ ...state, maxIterations: 90, iteration: 0 }));
    return text('two');
  };
  let second = (): ReturnType<typeof text> => text('unset');
  const model = steps([text('one'), () => second(), done]);
  await inLoopProject({ standIn: true, init: false, frontmatter: 'max_iterations: 5' }, model, async (project) => {
    second = rewrite(project);
    const run = await runRunner(project);
    project.model.check();
    assert.equal(run.code, 0, run.stdout + run.stderr);
    assert.match(run.stdout, /was changed by another program/);
    assert.deepEqual(
      project.iterations().map(({ iteration }) => iteration),
      [1, 2, 3],
    );
    assert.equal(
      project.archive().some(({ name }) => name.includes('tampered')),
      true,
    );
  });
});

longTest('the screen shows a header, the calls, the messages and the cost', async () => {
  const model = steps([bash('echo hi'), bash('exit 3'), done]);
  await inLoopProject({ standIn: true, init: false, frontmatter: 'max_iterations: 5' }, model, async (project) => {
    const run = await runRunner(project, { json: false });
    assert.equal(run.code, 0, run.stdout + run.stderr);
    assert.match(
      run.stdout.replaceAll(/\([\dms ]+\)/g, '(TIME)'),
      /─── Iteration 1 of 5 ───\n {2}✓ Bash echo hi \(TIME\)\n {2}✗ Bash exit 3 \(TIME\)\nDone\.\n\nRALPH_AUDIT_COMPLETE_NO_FINDINGS\n─── [\dms ]+ │ 3 turns │ \$0\.00\d+ ───/,
    );
    assert.match(run.stdout, /ralph-loop: Complete after 1 iteration/);
  });
});

longTest(
  'a runner without a permission mode, with two tasks or an invalid duration refuses before it starts',
  async () => {
    await inLoopProject({ init: false }, steps([]), async (project) => {
      const said = async (options: Parameters<typeof runRunner>[1]): Promise<string> => {
        const run = await runRunner(project, options);
        assert.equal(run.code, 1, run.stdout);
        return run.stderr;
      };
      assert.match(await said({ permissionMode: null }), /permission mode/);
      assert.match(await said({ args: ['a', 'b', '--task', 'c'] }), /--task applies to a single task/);
      assert.match(await said({ env: { RALPH_SILENCE: 'soon' } }), /Invalid RALPH_SILENCE "soon"/);
      assert.match(await said({ env: { CLAUDECODE: '1' } }), /is for the user at a terminal/);
      assert.equal(project.state(), null);
    });
  },
);

test("under acceptEdits the agent may run the user's checks but those that a rule denies, shown as denied", async () => {
  const checks = ['node check.mjs', "node check.mjs '(a, b)' && true"];
  const forbidden = ['node of-project.mjs', 'node of-user.mjs'];
  const frontmatter = `validation: ${JSON.stringify([...checks, ...forbidden])}`;
  const forbids = (command: string): string => JSON.stringify({ permissions: { deny: [`Bash(${command})`] } });
  const files = {
    ...{ 'check.mjs': "console.log('checked')\n", 'of-project.mjs': '', 'of-user.mjs': '' },
    '.claude/settings.json': forbids('node of-project.mjs'),
  };
  const script = [...checks, 'node check.mjs other', ...forbidden].map((command) => bash(command));
  const options = { permissionMode: 'acceptEdits' } as const;
  const prepare = ({ workspace }: LoopProject): void =>
    writeFileSync(join(workspace.configDir, 'settings.json'), forbids('node of-user.mjs'));
  const areDenied = ({ model }: LoopProject): void => {
    model.check();
    const answers = JSON.stringify(model.mainRequests().at(-1));
    for (const command of forbidden)
      assert.match(answers, new RegExp(`Permission to use Bash with command ${command} has been denied`));
  };
  await inLoopProject({ frontmatter, files }, steps([...script, done]), async (project) => {
    prepare(project);
    const run = await runRunner(project, options);
    areDenied(project);
    assert.equal(run.code, 0, run.stdout + run.stderr);
    assert.deepEqual(
      ofType(run.events, 'tool.ended')
        .slice(0, 3)
        .map(({ outcome, reason, allow }) => [outcome, reason, allow]),
      [
        ['ok', undefined, undefined],
        ['ok', undefined, undefined],
        CLIENT.printsDenials
          ? ['denied', 'This command requires approval', "-- --allowedTools 'Bash(node check.mjs other)'"]
          : ['failed', undefined, undefined],
      ],
    );
    const said = /The agent may run the check node check\.mjs only in these words\. Allow this call, too: /;
    assert.equal(said.test(run.stdout), CLIENT.printsDenials);
  });
  if (!IS_LONG) return;
  // In a session the same options reach the client.
  await inLoopProject({ frontmatter, files }, steps([...script, done]), async (project) => {
    prepare(project);
    const run = await project.run(options);
    areDenied(project);
    assert.deepEqual([run.stdout.match(/"content":"checked"/g)?.length, run.code], [2, 0], run.stderr);
  });
});

test('what may_run names may be run with any arguments, and no other command behind it', async () => {
  const files = { 'check.mjs': "console.log('checked')\n", 'other.mjs': "console.log('other')\n" };
  const calls = ['node check.mjs --deep', 'node other.mjs', 'node check.mjs && node other.mjs'].map((run) => bash(run));
  const frontmatter = 'may_run: ["node check.mjs"]';
  await inLoopProject({ frontmatter, files }, steps([...calls, done]), async (project) => {
    const { workspace, model } = project;
    // As a person at a terminal agrees.
    const setting = riskySetting(workspace.project, 'frontmatter', 'may_run', ['node check.mjs']);
    rememberAgreed(clientEnvironment(workspace, model.url), [setting]);
    const run = await runRunner(project, { permissionMode: 'acceptEdits' });
    assert.deepEqual(
      ofType(run.events, 'tool.ended').map(({ outcome }) => outcome === 'ok'),
      [true, false, false],
      run.stdout + run.stderr,
    );
  });
});

test('a call that a deny rule of the user refuses names that rule and its file', async () => {
  let folder = '';
  const of = (path: string): string => join(folder, path);
  const calls = [
    () => tool('Read', { file_path: of('secrets/a.txt') }),
    () => tool('Read', { file_path: of('kept.txt') }),
    () => tool('Edit', { file_path: of('kept.txt'), old_string: 'kept', new_string: 'lost' }),
    () => tool('Write', { file_path: of('kept.txt'), content: 'lost' }),
    () => bash('cat secrets/a.txt'),
    () => bash('git push origin'),
    () => bash('echo lost > kept.txt'),
    () => done,
  ];
  const rules = ['Bash(git push:*)', 'Read(secrets/**)', 'Edit(kept.txt)'];
  const files = {
    'secrets/a.txt': 'secret',
    'kept.txt': 'kept',
    '.claude/settings.json': JSON.stringify({ permissions: { deny: rules } }),
  };
  await inLoopProject({ files, init: false }, steps(calls), async (project) => {
    folder = project.workspace.project;
    const { events, stdout } = await runRunner(project);
    project.model.check();
    assert.equal(project.workspace.read('kept.txt'), 'kept');
    if (!CLIENT.printsDenials) return;
    const ended = ofType(events, 'tool.ended');
    const named = ended.map(({ outcome, reason = '' }) => [outcome, / ((?:Your|One of).*);/.exec(reason)?.[1]]);
    const by = (rule: string) => ['denied', `Your rule ${rule} in .claude/settings.json forbids it`];
    const unsure = rules.map((rule) => `${rule} in .claude/settings.json`).join(' or ');
    assert.deepEqual(
      named,
      [
        by('Read(secrets/**)'),
        ['ok', undefined],
        by('Edit(kept.txt)'),
        by('Edit(kept.txt)'),
        by('Read(secrets/**)'),
        by('Bash(git push:*)'),
        ['denied', `One of your rules forbids it, perhaps ${unsure}`],
      ],
      stdout,
    );
  });
});
