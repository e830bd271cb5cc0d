import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { commandHere } from '../support/command-here.ts';
import { startHere } from '../support/drive/start-now.ts';
import { type Project, project } from '../support/project.ts';
import { someOf } from '../support/short-form.ts';

const TASK = '---\nmax_iterations: 5\ncompletion_promise: DONE\n---\n\n# {{ ralph.name }}\n\nDo it.\n';

function started(p: Project, ...folders: string[]): void {
  for (const folder of folders) {
    p.write(`${folder}/RALPH.md`, TASK);
    startHere(p, folder);
  }
}

function changeState(p: Project, name: string, more: object): void {
  const path = `.claude/context/runtime/ralph-state.${name}.json`;
  p.write(path, { ...JSON.parse(p.read(path)), ...more });
}

const PAUSED = {
  status: 'paused',
  paused: { since: '2026-01-01T00:00:00Z', reason: 'operator', message: 'Paused by the user.', resumesAt: null },
};

test('list names kind, status, iteration and path of every loop, live or ended', async (t) => {
  const p = project(t);
  started(p, 'tasks/a', 'tasks/b');
  p.write('.claude/ralph/PROMPT.md', '# Task\n');
  startHere(p);
  await commandHere(p, ['cancel', 'tasks/b']);
  const loops = (await commandHere(p, ['list', '--json'])).json['loops'] as Record<string, unknown>[];
  assert.deepEqual(
    loops.map(({ name, kind, status, iteration, path }) => [name, kind, status, iteration, path]),
    [
      [null, 'prompt', 'running', 0, '.claude/ralph/PROMPT.md'],
      ['a', 'ralph-md', 'running', 0, 'tasks/a/RALPH.md'],
      ['b', 'ralph-md', 'cancelled', 0, 'tasks/b/RALPH.md'],
    ],
  );
});

test('status of a path shows its live loop, and its run once the loop has ended', async (t) => {
  const p = project(t);
  started(p, 'tasks/a');
  for (const path of someOf(['tasks/a', 'tasks/a/', 'tasks/a/RALPH.md', join(p.dir, 'tasks/a')], 2, 1)) {
    const { json } = await commandHere(p, ['status', path, '--json']);
    assert.deepEqual([json['active'], json['name'], json['taskPath']], [true, 'a', 'tasks/a/RALPH.md'], path);
  }
  assert.equal(
    p.ralph(['status', 'RALPH.md', '--json'], {}, join(p.dir, 'tasks/a')).json['active'],
    true,
    'from its folder',
  );
  await commandHere(p, ['stop', 'tasks/a']);
  const { json } = await commandHere(p, ['status', 'tasks/a', '--json']);
  assert.deepEqual(
    [json['active'], json['message'], json['name']],
    [false, 'No loop is active on tasks/a/RALPH.md.', 'a'],
  );
  assert.equal((json['lastLoop'] as Record<string, unknown>)['status'], 'stopped');
  const run = json['run'] as Record<string, Record<string, unknown>>;
  assert.equal(run['status']?.['status'], 'stopped');
});

test('status of a task folder shows the last iteration, and counts what cannot be read', async (t) => {
  const p = project(t);
  p.write('a/RALPH.md', TASK);
  const iteration = {
    ...{ loopId: 'l', iteration: 3, status: 'completed', endedAt: '2026-01-01T00:00:00Z', durationMs: 5000 },
    ...{ progress: true, changedFiles: ['x'], commands: [{ name: 'tests', outcome: 'ok' }] },
    completion: { promiseSeen: true, gateChecked: true, gatePassed: false, reasons: ['missing OUT.md'] },
  };
  p.write('a/.ralph-runner/iterations.jsonl', `{"torn":\n${JSON.stringify(iteration)}\n{"half`);
  const run = (await commandHere(p, ['status', 'a', '--json'])).json['run'] as Record<string, unknown>;
  assert.deepEqual(run, { status: null, lastIteration: iteration, torn: 2, problem: null });
  p.write('a/.ralph-runner/status.json', '{"status":');
  assert.match(
    String(((await commandHere(p, ['status', 'a', '--json'])).json['run'] as Record<string, unknown>)['problem']),
    /cannot be read/,
  );
});

test('status of a folder whose run state is a link says so and shows nothing behind it', async (t) => {
  const p = project(t);
  p.write('a/RALPH.md', TASK);
  p.write('b/.ralph-runner/status.json', '{"secret":1}');
  symlinkSync(join(p.dir, 'b/.ralph-runner'), join(p.dir, 'a/.ralph-runner'));
  const { stdout, code } = await commandHere(p, ['status', 'a']);
  assert.equal(code, 0);
  assert.match(stdout, /no directory of its own/);
  assert.doesNotMatch(stdout, /secret/);
});

test('the default loop is not shown in the place of a task folder whose loop has ended', async (t) => {
  const p = project(t);
  p.write('.claude/ralph/PROMPT.md', '# Task\n');
  startHere(p);
  p.write('a/RALPH.md', TASK);
  assert.deepEqual((await commandHere(p, ['status', 'a', '--json'])).json, {
    ...{ active: false, message: 'No loop is active on a/RALPH.md.', name: null, lastLoop: null, run: null },
  });
});

for (const name of someOf(['stop', 'cancel'], 2)) {
  test(`${name} ends only the loop of a path`, async (t) => {
    const p = project(t);
    started(p, 'a', 'b');
    assert.equal(p.ralph([name, 'a/RALPH.md', '--json']).json['status'], 'ended');
    assert.equal((await commandHere(p, ['status', 'a', '--json'])).json['active'], false);
    assert.equal((await commandHere(p, ['status', 'b', '--json'])).json['active'], true);
  });

  test(`${name} without a path asks for one if several loops are active, and lists them`, async (t) => {
    const p = project(t);
    started(p, 'tasks/a', 'tasks/b');
    const tree = p.tree();
    const { code, stderr } = p.ralph([name]);
    assert.equal(code, 1);
    assert.match(
      stderr,
      new RegExp(`^ralph-loop: 2 loops are active here:\n[\\s\\S]*\nChoose one: ralph-loop ${name} PATH`),
    );
    assert.match(stderr, /a +running +tasks\/a\/RALPH\.md\n +b +running +tasks\/b\/RALPH\.md/);
    assert.deepEqual(p.tree(), tree);
    assert.equal(p.ralph([name, '--loop', 'a']).code, 0, 'a name will do, too');
    assert.equal(p.ralph([name]).code, 0, 'the only one that is left is meant');
    assert.deepEqual((await commandHere(p, ['status', 'tasks/b', '--json'])).json['active'], false);
  });
}

test('a plain prompt’s loop can be named by its file', async (t) => {
  const p = project(t);
  started(p, 'a');
  p.write('.claude/ralph/PROMPT.md', '# Task\n');
  startHere(p);
  assert.equal((await commandHere(p, ['stop', '.claude/ralph/PROMPT.md'])).code, 0);
  assert.equal(p.has('.claude/context/runtime/ralph-state.json'), false);
  assert.equal((await commandHere(p, ['status', 'a', '--json'])).json['active'], true);
});

test('two loops on one task folder are distinguished by name', async (t) => {
  const p = project(t);
  started(p, 'a');
  await commandHere(p, ['start', '--task', 'a', '--loop', 'other']);
  const { code, stderr } = await commandHere(p, ['stop', 'a']);
  assert.equal(code, 1);
  assert.match(stderr, /2 loops are active on a:[\s\S]*--loop NAME/);
});

test('resume of a path starts a new run where none is active', async (t) => {
  const p = project(t);
  started(p, 'a');
  const first = (await commandHere(p, ['status', 'a', '--json'])).json['loopId'];
  await commandHere(p, ['stop', 'a']);
  const { code, stderr } = p.ralph(['resume', './a', '--json']);
  assert.equal(code, 0, stderr);
  const { json } = await commandHere(p, ['status', 'a', '--json']);
  assert.deepEqual([json['active'], json['name'], json['iteration']], [true, 'a', 0]);
  assert.notEqual(json['loopId'], first);
});

test('resume of a path that had no loop is a run, and passes its options on', async (t) => {
  const p = project(t);
  p.write('a/RALPH.md', TASK);
  const { code, stderr } = p.ralph(['resume', 'a', '--max-iterations', '1', '--agent', 'cat >/dev/null; echo fine']);
  assert.equal(code, 2, stderr);
  const { lastLoop } = (await commandHere(p, ['status', 'a', '--json'])).json as { lastLoop: Record<string, unknown> };
  assert.deepEqual([lastLoop['mode'], lastLoop['maxIterations'], lastLoop['iteration']], ['runner', 1, 1]);
});

test('resume of a path refuses while a loop is active on it, and says how to end it', (t) => {
  const p = project(t);
  started(p, 'a');
  const active = p.ralph(['resume', 'a']);
  assert.equal(active.code, 1);
  assert.match(active.stderr, /a loop on a is active \(running\)\. End it first: ralph-loop stop a/);
  changeState(p, 'a', { clientPid: 2 ** 22, clientStartedAt: null, sessionId: 's' });
  const gone = p.ralph(['resume', 'a', '--json']);
  assert.deepEqual([gone.code, gone.json['status']], [0, 'running'], gone.stderr);
});

test('resume PATH continues a paused loop and keeps its counters', (t) => {
  const p = project(t);
  started(p, 'a');
  changeState(p, 'a', { ...PAUSED, iteration: 2 });
  const { code, json } = p.ralph(['resume', 'a', '--json']);
  assert.deepEqual([code, json['status'], json['iteration']], [0, 'running', 2]);
});

test('archive moves the whole run state under the current time', async (t) => {
  const p = project(t);
  started(p, 'a');
  await commandHere(p, ['stop', 'a']);
  const before = readdirSync(join(p.dir, 'a/.ralph-runner')).sort();
  const { code, json, stderr } = await commandHere(p, ['archive', 'a', '--json']);
  assert.equal(code, 0, stderr);
  const moved = String(json['path']);
  assert.match(moved, /a\/\.ralph-runner-archive\/\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d[.\d]*Z$/);
  assert.deepEqual(readdirSync(moved).sort(), before);
  assert.ok(!p.has('a/.ralph-runner'));
  assert.match((await commandHere(p, ['archive', 'a'])).stderr, /no run state to archive/);
});

test('archive refuses during a loop, in an agent’s shell and where a link leads out, and moves nothing', async (t) => {
  const p = project(t);
  started(p, 'a');
  const refused = async (why: RegExp, env: NodeJS.ProcessEnv = {}): Promise<void> => {
    const tree = p.tree();
    const { code, stderr } = await commandHere(p, ['archive', 'a'], env);
    assert.equal(code, 1);
    assert.match(stderr, why);
    assert.deepEqual(p.tree(), tree);
  };
  await refused(/a loop on a is active/);
  await commandHere(p, ['stop', 'a']);
  await refused(/"archive" is for the user/, { CLAUDECODE: '1' });
  mkdirSync(join(p.home, 'away'));
  symlinkSync(join(p.home, 'away'), join(p.dir, 'a/.ralph-runner-archive'));
  const run = join(p.dir, 'a/.ralph-runner');
  const { stderr } = await commandHere(p, ['archive', 'a']);
  assert.match(stderr, /\.ralph-runner-archive is no directory of its own/);
  assert.ok(existsSync(run));
  rmSync(join(p.dir, 'a/.ralph-runner-archive'));
  rmSync(run, { recursive: true });
  symlinkSync(join(p.home, 'away'), run);
  assert.match((await commandHere(p, ['archive', 'a'])).stderr, /\.ralph-runner is no directory of its own/);
  assert.deepEqual(readdirSync(join(p.home, 'away')), []);
});

/** A run with everything in it that may lie there, and a few things that must not leave. */
function aRun(p: Project): void {
  p.write('a/RALPH.md', TASK);
  for (const name of ['status.json', 'iterations.jsonl', 'events.jsonl', 'transcripts/001.md', 'transcripts/002.md']) {
    p.write(`a/.ralph-runner/${name}`, `content of ${name}\n`);
  }
  for (const name of ['stop.flag', 'cancel.flag', 'active-loops/l.json', 'transcripts/001.md.x.tmp']) {
    p.write(`a/.ralph-runner/${name}`, 'not for export\n');
  }
  writeFileSync(join(p.home, 'secret'), 'secret');
  symlinkSync(join(p.home, 'secret'), join(p.dir, 'a/.ralph-runner/transcripts/003.md'));
}

const EXPORTED = [
  'events.jsonl',
  'iterations.jsonl',
  'status.json',
  'transcripts',
  'transcripts/001.md',
  'transcripts/002.md',
];

test('logs of a path exports status, journals and transcripts; flags, heartbeats and links stay', async (t) => {
  const p = project(t);
  aRun(p);
  const { json, stderr } = await commandHere(p, ['logs', 'a', '--dest', 'out/logs', '--json']);
  assert.deepEqual(readdirSync(join(p.dir, 'out/logs'), { recursive: true }).sort(), EXPORTED);
  assert.equal(p.read('out/logs/transcripts/002.md'), 'content of transcripts/002.md\n');
  assert.deepEqual(json['skipped'], ['transcripts/003.md']);
  assert.match(stderr, /transcripts\/003\.md is not a regular file and was not copied/);
});

test('logs of a path without --dest prints the journals of its loop and writes nothing', async (t) => {
  const p = project(t);
  p.write('a/RALPH.md', TASK);
  assert.equal((await commandHere(p, ['start', '--task', 'a'])).code, 0);
  assert.equal((await commandHere(p, ['cancel', '--loop', 'a'])).code, 0);
  assert.equal((await commandHere(p, ['start', '--task', 'a'])).code, 0);
  const tree = p.tree();
  const started = async (...args: string[]) =>
    (await commandHere(p, ['logs', ...args])).stdout.match(/loop\.started/g)?.length;
  assert.deepEqual([await started('a'), await started('--path', 'a/RALPH.md'), await started('a', '--all')], [1, 1, 2]);
  assert.deepEqual([await started('--loop', 'a'), await started('--loop', 'a', '--all')], [1, 2]);
  assert.deepEqual(p.tree(), tree);
});

test('logs refuses an existing destination and every other misuse, and writes nothing', async (t) => {
  const p = project(t);
  aRun(p);
  p.write('taken/file', 'mine');
  p.write('file', 'mine');
  const tree = p.tree();
  const MISUSES = [
    [['a', '--dest', 'taken'], /taken already exists/],
    [['a', '--dest', 'file'], /file already exists/],
    [['a', '--dest', 'a/.ralph-runner/out'], /inside the run state itself/],
    [['a', '--dest', ''], /--dest is empty/],
    [['a', '--path', 'a'], /PATH or --path, not both/],
    [['--dest', 'out'], /name the task folder/],
    [['a', 'b'], /takes one path/],
    [['a', '--follow', '--dest', 'out'], /--follow is for printing/],
    [['a', '--loop', 'a', '--dest', 'out'], /--loop is for printing/],
    [['a', '--loop', 'a'], /a path or --loop, not both/],
    [['taken'], /taken has no RALPH\.md/],
    [['nowhere'], /no such task folder exists\. List the loops with their tasks: ralph-loop list\./],
    [['nowhere.md'], /nowhere\.md: no such file exists/],
  ] as const;
  for (const [args, why] of someOf(MISUSES, 2)) {
    const { code, stderr } = await commandHere(p, ['logs', ...args]);
    assert.equal(code, 1, args.join(' '));
    assert.match(stderr, why);
    assert.deepEqual(p.tree(), tree);
  }
  p.write('b/RALPH.md', TASK);
  assert.match((await commandHere(p, ['logs', 'b', '--dest', 'out'])).stderr, /no run state to export/);
  mkdirSync(join(p.home, 'away'));
  symlinkSync(join(p.home, 'away'), join(p.dir, 'link'));
  assert.match((await commandHere(p, ['logs', 'a', '--dest', 'link'])).stderr, /link already exists/);
  assert.deepEqual(readdirSync(join(p.home, 'away')), []);
  mkdirSync(join(p.dir, 'empty'));
  assert.equal((await commandHere(p, ['logs', 'a', '--dest', 'empty'])).code, 0, 'an empty folder will do');
});

test('an agent may export into the project only, the user anywhere', async (t) => {
  const p = project(t);
  aRun(p);
  const away = join(p.home, 'away');
  mkdirSync(away);
  symlinkSync(away, join(p.dir, 'link'));
  symlinkSync(join(p.dir, 'a'), join(p.home, 'back'));
  mkdirSync(join(p.dir, '.claude/agents'), { recursive: true });
  const agent = { CLAUDECODE: '1' };
  const tree = (): unknown => [readdirSync(p.dir, { recursive: true }).sort(), readdirSync(p.home).sort()];
  const before = tree();
  const PLACES = [
    [join(p.home, 'out'), /is outside the project/],
    ['../home/out', /is outside the project/],
    ['../home/back/out', /is outside the project/],
    ['.', /is outside the project/],
    ['link/out', /leads out of the project through a symbolic link/],
    ['a/../link/../link/out', /leads out of the project through a symbolic link/],
    ['.claude/agents', /\.claude belongs to another program/],
    ['sub/.git/x', /\.git belongs to another program/],
  ] as const;
  for (const [dest, why] of someOf(PLACES, 2)) {
    const args = ['logs', join(p.dir, 'a'), '--project', p.dir, '--dest', dest];
    const { code, stderr } = p.ralph(args, agent);
    assert.equal(code, 1, `${dest}`);
    assert.match(stderr, why, `${dest}`);
    assert.deepEqual(tree(), before, `${dest}`);
  }
  assert.equal((await commandHere(p, ['logs', 'a', '--dest', 'out/logs'], agent)).code, 0);
  assert.deepEqual(readdirSync(join(p.dir, 'out/logs'), { recursive: true }).sort(), EXPORTED);
  for (const dest of [join(p.home, 'out'), 'link/out']) {
    assert.equal((await commandHere(p, ['logs', 'a', '--dest', dest])).code, 0, `${dest} of the user`);
  }
  assert.deepEqual(readdirSync(join(away, 'out'), { recursive: true }).sort(), EXPORTED);
});

test('a path that is no task folder of this project has its own error in every command', async (t) => {
  const p = project(t);
  p.write('notes.md', 'x');
  mkdirSync(join(p.dir, 'empty'));
  mkdirSync(join(p.home, 'other'));
  writeFileSync(join(p.home, 'other/RALPH.md'), TASK);
  for (const [nth, name] of someOf(['status', 'archive', 'resume', 'logs'], 2).entries()) {
    const refused = [
      ['gone', /gone: no such task folder exists/],
      ['notes.md', /notes\.md is no task folder\. Name one/],
      ['notes.md/RALPH.md', /no such task folder exists/],
      ['empty', /empty has no RALPH\.md/],
      [join(p.home, 'other'), /is outside the project/],
      ['', /the path is empty: name a task folder/],
    ] as const;
    for (const [path, why] of someOf(refused, 2, nth)) {
      const { code, stderr } = p.ralph([name, path]);
      assert.equal(code, 1, `${name} ${path}`);
      assert.match(stderr, why, `${name} ${path}`);
    }
  }
  for (const name of ['stop', 'cancel'])
    assert.match(p.ralph([name, 'empty']).stderr, /no live loop is working on empty/);
  assert.match((await commandHere(p, ['stop', ''])).stderr, /no live loop is working on ""/);
  for (const name of someOf(['stop', 'cancel', 'status', 'resume'], 2)) {
    assert.match(p.ralph([name, 'a', 'b']).stderr, new RegExp(`${name} takes one path, not 2`));
  }
  for (const name of someOf(['stop', 'cancel', 'status'], 3, 2)) {
    assert.match(p.ralph([name, 'a', '--loop', 'x']).stderr, new RegExp(`${name} takes a path or --loop, not both`));
  }
  assert.match(
    p.ralph(['resume', '--launch']).stderr,
    /There is no live or incomplete loop to resume\. Start one: ralph-loop run TASK/,
  );
});

test('a task folder behind a link inside the project is the same folder', async (t) => {
  const p = project(t);
  started(p, 'tasks/a');
  symlinkSync(join(p.dir, 'tasks/a'), join(p.dir, 'short'));
  assert.equal((await commandHere(p, ['status', 'short', '--json'])).json['name'], 'a');
  assert.equal((await commandHere(p, ['stop', 'short'])).code, 0);
  assert.equal(readFileSync(join(p.dir, 'short/RALPH.md'), 'utf8'), TASK);
});
