import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, lstatSync, mkdirSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { loopFiles } from '../../src/state/loop-files.ts';
import { start } from '../support/drive/drive-project.ts';
import { DIST, type Project, project } from '../support/project.ts';
import { someOf } from '../support/short-form.ts';

const RUNTIME = '.claude/context/runtime';
/** A hook that waits for a FIFO waits until its client kills it: so long no hook takes that does not. */
const TEST_TIMEOUT_MS = 60_000;

/** What can lie where a file should. */
const KINDS = {
  'a FIFO': (path: string) => assert.equal(spawnSync('mkfifo', [path]).status, 0),
  'a folder': (path: string) => void mkdirSync(path),
  'a socket': async (path: string, t: TestContext) => {
    const server = createServer();
    t.after(() => server.close());
    await new Promise<void>((resolve) => server.listen({ path, exclusive: true }, resolve));
  },
  'a device': (path: string) => symlinkSync('/dev/zero', path),
} as const;
type Lay = (path: string, t: TestContext) => Promise<void> | void;

interface Loop {
  readonly made: Project;
  readonly transcript: string;
  readonly hook: (file: string, payload: Record<string, unknown>) => HookAnswer;
}

interface HookAnswer {
  readonly decision?: string;
  readonly reason?: string;
  readonly systemMessage?: string;
}

/** A loop in the middle of its work, bound to session s1, with a findings log and guardrails. */
function aLoop(t: TestContext, task = 'Do the work.\n'): Loop {
  const made = project(t);
  made.write('.claude/ralph/PROMPT.md', task);
  // In this process: the hooks that find the odd file are programs of their own.
  start({ directory: made.dir, env: made.env, files: loopFiles(made.dir, null, made.env) }, true);
  const state = JSON.parse(made.read(`${RUNTIME}/ralph-state.json`));
  made.write(`${RUNTIME}/ralph-state.json`, { ...state, sessionId: 's1', turn: 'agent', promptId: 'p1' });
  const transcript = join(made.home, 'transcript.jsonl');
  return { made, transcript, hook: hookIn(made, transcript) };
}

/** A hook that the client calls in session s1. It has to answer, and to leave with 0. */
function hookIn({ dir, env }: Project, transcript = '/none'): Loop['hook'] {
  return (file, payload) => {
    const { status, signal, stdout, stderr } = spawnSync(process.execPath, [join(DIST, 'hooks', `${file}.cjs`)], {
      input: JSON.stringify({ session_id: 's1', prompt_id: 'p1', cwd: dir, transcript_path: transcript, ...payload }),
      env: { CLAUDE_PROJECT_DIR: dir, ...env, RALPH_ACTIVE: '1' },
      encoding: 'utf8',
      timeout: TEST_TIMEOUT_MS,
      killSignal: 'SIGKILL',
    });
    assert.deepEqual([status, signal, stderr], [0, null, ''], `${file} waits or fails`);
    return stdout === '' ? {} : JSON.parse(stdout);
  };
}

function stop(loop: Loop, more: Record<string, unknown> = {}): HookAnswer {
  return loop.hook('ralph-stop-hook', { hook_event_name: 'Stop', last_assistant_message: 'Some work.', ...more });
}

const CLAIM = { last_assistant_message: 'RALPH_AUDIT_COMPLETE_NO_FINDINGS' };

/** Every other hook that a session has. */
function others({ hook }: Loop): void {
  const call = { tool_name: 'Read', tool_input: { file_path: 'src/a.ts' }, tool_use_id: 't1' };
  hook('pre-tool-use', { hook_event_name: 'PreToolUse', ...call });
  hook('post-tool-use', { hook_event_name: 'PostToolUse', ...call });
  hook('user-prompt-submit', { hook_event_name: 'UserPromptSubmit', prompt: 'And this?' });
  hook('stop-failure', { hook_event_name: 'StopFailure', error: 'server_error' });
  hook('session-start', { hook_event_name: 'SessionStart', source: 'resume' });
}

/** Where something odd lies, and what a Stop answers then: the task again, or a word to the user. */
const PLACES: readonly (readonly [string, (loop: Loop) => string, RegExp | 'goes on'])[] = [
  ['the transcript', ({ transcript }) => transcript, 'goes on'],
  [
    'PROMPT.md',
    ({ made }) => join(made.dir, '.claude/ralph/PROMPT.md'),
    /task file .* is missing, empty or not a regular file/,
  ],
  ['the findings log', ({ made }) => join(made.dir, '.ralph/findings.md'), 'goes on'],
  ['guardrails.md', ({ made }) => join(made.dir, '.claude/ralph/guardrails.md'), 'goes on'],
  ['the state', ({ made }) => join(made.dir, RUNTIME, 'ralph-state.json'), /not a regular file.*moved to/],
  ['the cost', ({ made }) => join(made.dir, RUNTIME, 'ralph-cost.json'), 'goes on'],
  ['the events journal', ({ made }) => join(made.dir, RUNTIME, 'ralph-events.jsonl'), 'goes on'],
];

/** Who opens the first waits, and who reads the second fails: only Stop, which reads the most, is shown the others too. */
const WAITS_OR_FAILS: ReadonlySet<string> = new Set(['a FIFO', 'a folder']);

for (const [kind, lay] of someOf(Object.entries(KINDS), 3)) {
  for (const [place, pathOf, expected] of PLACES) {
    const what = expected === 'goes on' ? 'the loop goes on' : 'the user is told';
    test(`With ${kind} in the place of ${place} no hook waits or fails, and ${what}.`, async (t) => {
      for (const look of WAITS_OR_FAILS.has(kind) ? [stops(expected), others] : [stops(expected)]) {
        const loop = aLoop(t);
        await replace(pathOf(loop), lay, t);
        look(loop);
      }
    });
  }
}

function stops(expected: RegExp | 'goes on'): (loop: Loop) => void {
  return (loop) => {
    const answer = stop(loop);
    if (expected === 'goes on') return assert.equal(answer.decision, 'block', JSON.stringify(answer));
    assert.equal(answer.decision, undefined);
    assert.match(answer.systemMessage ?? '', expected);
  };
}

async function replace(path: string, lay: Lay, t: TestContext): Promise<void> {
  rmSync(path, { force: true });
  mkdirSync(dirname(path), { recursive: true });
  await lay(path, t);
}

test('A state that is not a file is kept whole in the archive.', async (t) => {
  const loop = aLoop(t);
  const path = join(loop.made.dir, RUNTIME, 'ralph-state.json');
  await replace(path, KINDS['a FIFO'], t);
  stop(loop);
  const archive = join(loop.made.dir, RUNTIME, 'ralph-archive');
  const [name = ''] = readdirSync(archive);
  assert.deepEqual([existsSync(path), lstatSync(join(archive, name)).isFIFO()], [false, true]);
  assert.deepEqual(stop(loop).decision, undefined);
});

test('A claim is refused and reported while the findings log is not a file.', async (t) => {
  for (const lay of someOf(Object.values(KINDS), 3)) {
    const loop = aLoop(t);
    await replace(join(loop.made.dir, '.ralph/findings.md'), lay, t);
    const { decision, reason } = stop(loop, CLAIM);
    assert.equal(decision, 'block');
    assert.match(reason ?? '', /findings\.md is not a regular file/);
  }
});

test('A findings log with too long a name does not throw at a claim.', (t) => {
  const loop = aLoop(t, `---\nfindings_log: ${'x'.repeat(300)}.md\n---\nDo the work.\n`);
  assert.match(stop(loop, CLAIM).reason ?? '', /findings log|claim of completion was rejected/);
});

test('A loop ends, whatever is in the place of its sign and its memory entry.', async (t) => {
  for (const lay of someOf(Object.values(KINDS), 3)) {
    const loop = aLoop(t);
    const path = `${RUNTIME}/ralph-state.json`;
    const state = JSON.parse(loop.made.read(path));
    const breaker = { ...state.breaker, findings: { value: '2', repeats: 2 } };
    loop.made.write(path, { ...state, breaker });
    for (const file of ['ralph/guardrails.md', 'context/memory/learnings.md'])
      await replace(join(loop.made.dir, '.claude', file), lay, t);
    const answer = stop(loop, { last_assistant_message: 'RALPH_ITERATION_COMPLETE: 2 findings remain' });
    assert.match(answer.systemMessage ?? '', /Stopped by the circuit breaker/);
    assert.equal(loop.made.has(path), false);
  }
});

test('A loop continues, whatever is in the place of its lock or of the record of a cancelled one.', async (t) => {
  for (const lay of someOf([KINDS['a FIFO'], KINDS['a socket'], KINDS['a device']], 2)) {
    const loop = aLoop(t);
    await replace(join(loop.made.dir, RUNTIME, 'ralph-state.json.lock'), lay, t);
    const outside = join(String(loop.made.env['XDG_STATE_HOME']), 'ralph-loop');
    const [own = ''] = readdirSync(outside).filter((name) => name.startsWith('project-'));
    await replace(join(outside, own, 'cancelled.json'), lay, t);
    assert.equal(stop(loop).decision, 'block');
  }
});

test('The user learns that the contract cannot be read, whatever is in its place.', async (t) => {
  for (const lay of someOf(Object.values(KINDS), 3)) {
    const loop = aLoop(t);
    const outside = join(String(loop.made.env['XDG_STATE_HOME']), 'ralph-loop');
    const [own = ''] = readdirSync(outside).filter((name) => name.startsWith('project-'));
    await replace(join(outside, own, 'contract.json'), lay, t);
    const { decision, systemMessage } = stop(loop);
    assert.equal(decision, undefined);
    assert.match(systemMessage ?? '', /Evidence of this loop is lost: \S*contract\.json /);
  }
});

test('A loop continues without a readable transcript.', (t) => {
  for (const path of someOf(['/'.concat('x'.repeat(300)), '/x'.repeat(3_000), '/dev/null/x', '/dev/zero', ''], 2)) {
    const loop = aLoop(t);
    assert.equal(stop(loop, { transcript_path: path }).decision, 'block', path.slice(0, 20));
    others({ ...loop, hook: (file, payload) => loop.hook(file, { transcript_path: path, ...payload }) });
  }
});

test('A project with too long a path is a project without a loop.', (t) => {
  const loop = aLoop(t);
  const dir = `/${'x'.repeat(300)}`;
  const env = { ...loop.made.env, CLAUDE_PROJECT_DIR: dir };
  others({ ...loop, hook: hookIn({ ...loop.made, env }) });
});

test('No loop starts on a task that is not a file: the command and the start of a session say so.', async (t) => {
  for (const lay of someOf(Object.values(KINDS), 3)) {
    const made = project(t);
    await replace(join(made.dir, '.claude/ralph/PROMPT.md'), lay, t);
    const answer = made.ralph(['start']);
    assert.equal(answer.code, 1);
    // A folder is a task folder, and lacks what one needs.
    const why =
      lay === KINDS['a folder'] ? /PROMPT\.md/ : /Cannot read the task file .*PROMPT\.md \(not a regular file\)/;
    assert.match(answer.stderr, why);
    const { systemMessage } = hookIn(made)('session-start', { hook_event_name: 'SessionStart', source: 'startup' });
    assert.match(systemMessage ?? '', /no loop was started/);
    assert.match(systemMessage ?? '', why);
  }
});

test('The status line shows the loop, whatever is in the place of the cost.', async (t) => {
  const loop = aLoop(t);
  await replace(join(loop.made.dir, RUNTIME, 'ralph-cost.json'), KINDS['a FIFO'], t);
  const { status, stdout } = spawnSync(process.execPath, [join(DIST, 'scripts', 'statusline.cjs')], {
    input: JSON.stringify({ session_id: 's1', cwd: loop.made.dir, cost: { total_cost_usd: 1 } }),
    env: { ...loop.made.env, CLAUDE_PROJECT_DIR: loop.made.dir },
    encoding: 'utf8',
    timeout: TEST_TIMEOUT_MS,
    killSignal: 'SIGKILL',
  });
  assert.equal(status, 0);
  assert.match(stdout, /0\/25|of 25|25/);
});

test('Control: a reader that does not check what it opens blocks at a FIFO.', async (t) => {
  const made = project(t);
  const path = join(made.dir, 'fifo');
  await KINDS['a FIFO'](path);
  const { signal } = spawnSync(process.execPath, ['-e', `require('node:fs').readFileSync(${JSON.stringify(path)})`], {
    timeout: 2_000,
    killSignal: 'SIGKILL',
  });
  assert.equal(signal, 'SIGKILL');
});

test('a loop that begins without init keeps its state out of git, and an existing folder unchanged', (t) => {
  const p = project(t);
  p.write('.claude/ralph/PROMPT.md', 'Do it.\n');
  p.sh('git init -q');
  assert.equal(p.ralph(['start', '--json']).code, 0);
  assert.doesNotMatch(p.sh('git status --porcelain -uall').stdout, /context\/runtime/);
  const ignore = '.claude/context/runtime/.gitignore';
  assert.equal(p.read(ignore), '*\n');
  p.ralph(['cancel']);
  p.sh(`rm ${ignore}`);
  assert.equal(p.ralph(['start', '--json']).code, 0);
  assert.equal(p.has(ignore), false, 'whoever took it away wants the state to be seen');
});
