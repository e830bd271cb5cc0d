import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { SHELL_EXPORTS } from '../../../src/engine/schema/constants.ts';
import {
  agentRegistration,
  type CommandHook,
  fullRegistration,
  PASSED_HOOKS,
  pluginRegistration,
  sessionRegistration,
} from '../../../src/install/settings/registration.ts';
import { launcherSettings } from '../../../src/install/settings/session-settings.ts';
import { isOurHook } from '../../../src/install/settings/stop-hooks.ts';

const project = mkdtempSync(join(tmpdir(), 'ralph-registration '));
after(() => rmSync(project, { recursive: true, force: true }));
mkdirSync(join(project, '.claude', 'hooks'), { recursive: true });
const bundle = join(project, '.claude', 'skills', 'ralph-loop');
mkdirSync(bundle, { recursive: true });
const empty = join(project, 'empty-bin');
mkdirSync(empty);

/** What every hook file of this project does: say how it was started. */
const PROBE =
  'const e = process.env; process.stdout.write(JSON.stringify({ file: __filename, args: process.argv.slice(2), extra: e.NODE_EXTRA_CA_CERTS ?? null, kept: e.RALPH_NODE_EXTRA_CA_CERTS ?? null }))';

/** Registered hooks of sessions, and the tool hooks as a bundle in the project passes them. */
function hooks(platform: NodeJS.Platform = 'linux'): [event: string, hook: CommandHook][] {
  const all = { ...fullRegistration(bundle, platform), ...sessionRegistration(platform) };
  return Object.entries(all).map(([event, groups]) => {
    const hook = groups[0]?.hooks[0];
    assert.ok(hook);
    return [event, hook];
  });
}

function sh(command: string, env: NodeJS.ProcessEnv, shell = '/bin/sh') {
  return spawnSync(shell, ['-c', command], {
    env: { PATH: process.env['PATH'], CLAUDE_PROJECT_DIR: project, ...env },
    encoding: 'utf8',
    input: '{}',
  });
}

for (const [event, hook] of hooks()) {
  const file = /hooks\/(ralph-[a-z-]+\.cjs)/.exec(hook.command)?.[1] ?? '';
  writeFileSync(join(project, '.claude', 'hooks', file), PROBE);

  test(`${event}: without RALPH_ACTIVE=1 nothing runs and nothing is printed`, () => {
    for (const RALPH_ACTIVE of [undefined, '', '0', 'true', '01', '1 ']) {
      const { status, stdout, stderr } = sh(hook.command, { RALPH_ACTIVE });
      assert.deepEqual([status, stdout, stderr], [0, '', '']);
    }
  });

  test(`${event}: with RALPH_ACTIVE=1 the installed file runs, without the cost of extra certificates`, () => {
    const env = { RALPH_ACTIVE: '1', NODE_EXTRA_CA_CERTS: '/etc/certs of mine.pem' };
    const answer = JSON.parse(sh(hook.command, env).stdout);
    assert.equal(answer.file, join(project, '.claude', 'hooks', file));
    assert.deepEqual(answer.args, event === 'Stop' ? ['--timeout', String(hook.timeout)] : []);
    assert.deepEqual([answer.extra, answer.kept], ['', '/etc/certs of mine.pem']);
  });

  test(`${event}: RALPH_NODE names the node that runs it, even with spaces`, () => {
    const node = join(project, 'my node');
    rmSync(node, { force: true });
    symlinkSync(process.execPath, node);
    const { status, stdout } = sh(hook.command, { RALPH_ACTIVE: '1', RALPH_NODE: node, PATH: empty });
    assert.equal(status, 0);
    assert.equal(JSON.parse(stdout).file, join(project, '.claude', 'hooks', file));
  });

  test(`${event}: without node a session hook allows with one whole JSON object or nothing, a guard refuses`, () => {
    const { status, stdout, stderr } = sh(hook.command, { RALPH_ACTIVE: '1', PATH: empty });
    if (event === 'PreToolUse') {
      assert.deepEqual([status, stdout], [2, '']);
      assert.match(stderr, /found no node/);
      return;
    }
    assert.equal(status, 0);
    assert.equal(stderr, '');
    if (event === 'Stop' || event === 'SessionStart') assert.match(JSON.parse(stdout).systemMessage, /RALPH_NODE=/);
    else assert.equal(stdout, '');
  });

  test(`${event}: every hook has a label and a timeout, and only the guard blocks on failure`, () => {
    assert.match(hook.statusMessage, /^ralph-loop: /);
    assert.equal(hook.timeout, event === 'Stop' ? 86_400 : 30);
    assert.equal(hook.onFailure, event === 'PreToolUse' ? 'block' : undefined);
  });
}

test('in a runner a read starts node only without the mark of free reads, or with one of a cancel', () => {
  const at = (name: string): string => join(project, `it's ${name}`);
  const marks = { freeReads: at('free'), cancellation: at('cancelled') };
  for (const event of ['PreToolUse', 'PostToolUse', 'PostToolUseFailure'] as const) {
    const [others, readers] = agentRegistration(bundle, marks, 'linux')[event] ?? [];
    assert.equal(readers?.matcher, 'Read|Grep|Glob');
    const groups = ['Read', 'Reader', 'Grep', 'Bash', 'mcp__x__Read'].map((tool) =>
      [others, readers].findIndex((group) => new RegExp(`^(?:${group?.matcher ?? ''}).*$`).test(tool)),
    );
    assert.deepEqual(groups, [1, 0, 1, 0, 0]);
    const runs = (): boolean => sh(readers?.hooks[0]?.command ?? '', { RALPH_ACTIVE: '1' }).stdout.includes('"file"');
    assert.equal(runs(), true);
    writeFileSync(marks.freeReads, '');
    assert.equal(runs(), false);
    assert.equal(sh(others?.hooks[0]?.command ?? '', { RALPH_ACTIVE: '1' }).stdout.includes('"file"'), true);
    writeFileSync(marks.cancellation, '{}');
    assert.equal(runs(), true);
    for (const mark of Object.values(marks)) rmSync(mark);
  }
  for (const all of [agentRegistration(bundle, marks, 'win32'), agentRegistration(bundle, null, 'linux')])
    assert.deepEqual(
      all.PreToolUse?.map(({ matcher }) => matcher),
      ['*'],
    );
});

test("a runner's agent begins its session without node, and clients of its shell take no part", () => {
  const started = (platform: NodeJS.Platform): string =>
    agentRegistration(bundle, null, platform).SessionStart?.[0]?.hooks[0]?.command ?? '';
  const file = join(project, "it's env");
  writeFileSync(file, 'export THEIRS=1\n');
  const { status, stdout, stderr } = sh(started('linux'), { RALPH_ACTIVE: '1', CLAUDE_ENV_FILE: file });
  assert.deepEqual({ status, stdout, stderr }, { status: 0, stdout: '', stderr: '' });
  assert.equal(readFileSync(file, 'utf8'), `export THEIRS=1\n${SHELL_EXPORTS}\n`);
  assert.equal(sh(started('linux'), { RALPH_ACTIVE: '1' }).status, 0);
  assert.equal(started('win32'), 'node');
});

test('a registered hook is silent if the launcher has passed its own, and those run', () => {
  const env = { RALPH_ACTIVE: '1', RALPH_HOOKS: PASSED_HOOKS };
  const { hooks: launched } = launcherSettings({ ...LOOP, name: null, mainPath: join(bundle, 'scripts', 'main.cjs') });
  for (const [event, [group]] of Object.entries(sessionRegistration('linux'))) {
    assert.equal(sh(group?.hooks[0]?.command ?? '', env).stdout, '', event);
    const passed = launched[event as keyof typeof launched]?.[0]?.hooks[0]?.command ?? '';
    assert.match(sh(passed, env).stdout, /"file"/, event);
  }
});

test('on Windows node is started directly, and the client fills in the project directory', () => {
  for (const [event, groups] of Object.entries(sessionRegistration('win32'))) {
    const { command, args = [] } = groups[0]?.hooks[0] ?? { command: '' };
    assert.equal(command, 'node');
    assert.ok(
      args.some((word) => /^\$\{CLAUDE_PROJECT_DIR\}\/\.claude\/hooks\/ralph-[a-z-]+\.cjs$/.test(word)),
      event,
    );
    assert.ok(args.includes('--registered'), event);
  }
});

test('the plugin starts sh itself, tool hooks fail closed by exit code, and nothing runs without a loop', () => {
  const root = join(project, 'my plugin');
  mkdirSync(join(root, 'hooks'), { recursive: true });
  for (const [event, [group]] of Object.entries(pluginRegistration('linux'))) {
    const { command, args = [], onFailure } = group?.hooks[0] ?? { command: '' };
    // A guard that hangs until its timeout would let the call run (measured).
    assert.deepEqual([command, args.length, onFailure], ['sh', 2, event === 'PreToolUse' ? 'block' : undefined]);
    const [, script = ''] = args;
    const file = /hooks\/([a-z-]+\.cjs)/.exec(script)?.[1] ?? '';
    writeFileSync(join(root, 'hooks', file), event === 'PreToolUse' ? 'process.exit(1)' : PROBE);
    const run = (env: NodeJS.ProcessEnv) => sh(script, { CLAUDE_PLUGIN_ROOT: root, ...env });
    assert.deepEqual([run({}).status, run({}).stdout], [0, '']);
    assert.equal(run({ RALPH_ACTIVE: '1', RALPH_HOOKS: PASSED_HOOKS }).stdout, '');
    const active = run({ RALPH_ACTIVE: '1' });
    if (event === 'PreToolUse') assert.equal(active.status, 2);
    else assert.match(active.stdout, /my plugin/);
  }
});

test('a plugin that is built on Windows starts node itself, and its guard fails closed', () => {
  const hooks = Object.entries(pluginRegistration('win32'));
  assert.deepEqual(Object.fromEntries(hooks).Stop?.length, 1);
  for (const [event, [group]] of hooks) {
    const { command, args = [], onFailure } = group?.hooks[0] ?? { command: '' };
    assert.equal(command, 'node');
    assert.match(args[1] ?? '', /^\$\{CLAUDE_PLUGIN_ROOT\}\/hooks\/[a-z-]+\.cjs$/);
    assert.ok(args.includes('--registered'), event);
    assert.equal(onFailure, event === 'PreToolUse' ? 'block' : undefined);
  }
});

test('recognises our own entries on every platform, and no others', () => {
  for (const platform of ['linux', 'win32'] as const) {
    for (const [event, groups] of Object.entries(sessionRegistration(platform))) {
      assert.ok(isOurHook(groups[0]?.hooks[0]), event);
    }
  }
  for (const command of ['node .claude/hooks/ralph-stop-hook.cjs', '[ "$RALPH_ACTIVE" = 1 ] || exit 0; mine', 'node']) {
    assert.ok(!isOurHook({ type: 'command', command }), command);
  }
  for (const other of [null, 'x', {}, { command: 'node', args: ['x.js'] }]) assert.ok(!isOurHook(other));
});

const LOOP = {
  loopId: 'loop-1',
  node: '/opt/my node',
  outsideRoot: '/home/me/.local/state/ralph-loop',
  mainPath: "/home/o'hara/main.cjs",
  userStatusLine: null,
};

test('the launcher passes the loop, the cap on blocks and hooks that a settings file cannot turn off', () => {
  const settings = launcherSettings({ ...LOOP, name: 'docs', userStatusLine: 'mine --short' }, 'linux');
  assert.equal(settings.disableAllHooks, false);
  assert.deepEqual(settings.env, {
    RALPH_ACTIVE: '1',
    RALPH_HOOKS: 'passed',
    RALPH_LOOP_ID: 'loop-1',
    RALPH_LOOP: 'docs',
    RALPH_NODE: '/opt/my node',
    RALPH_STATE_HOME: '/home/me/.local/state',
    RALPH_DRIVER: '',
    CLAUDE_CODE_STOP_HOOK_BLOCK_CAP: '0',
    RALPH_USER_STATUS_LINE: 'mine --short',
  });
  assert.equal(launcherSettings({ ...LOOP, name: null }, 'linux').env['RALPH_LOOP'], '');
  assert.equal(settings.hooks.PreToolUse?.[0]?.matcher, '*');
});

test('the command of the status line works with spaces and quotes in paths', () => {
  const dir = join(project, "o'hara dir");
  mkdirSync(dir, { recursive: true });
  // The status line is a program of its own beside main.cjs: the client runs it every second.
  writeFileSync(join(dir, 'statusline.cjs'), 'console.log(JSON.stringify(process.env.NODE_EXTRA_CA_CERTS))');
  const main = join(dir, 'main.cjs');
  const { statusLine } = launcherSettings({ ...LOOP, name: null, node: process.execPath, mainPath: main }, 'linux');
  assert.equal(sh(statusLine.command, { NODE_EXTRA_CA_CERTS: '/x' }).stdout, '""\n');
  assert.equal(statusLine.refreshInterval, 2);
});
