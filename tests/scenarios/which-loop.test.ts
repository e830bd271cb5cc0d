import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { commandHere } from '../support/command-here.ts';
import { startHere } from '../support/drive/start-now.ts';
import { type Answer, type Project, project } from '../support/project.ts';
import { someOf } from '../support/short-form.ts';
import { inPerson } from '../support/terminal/in-person.ts';

const TASK = '---\nmax_iterations: 5\ncompletion_promise: DONE\n---\n\nDo it.\n';

function started(p: Project, ...folders: string[]): void {
  for (const folder of folders) {
    p.write(`${folder}/RALPH.md`, TASK);
    startHere(p, folder);
  }
}

function startedDefault(p: Project): void {
  p.write('.claude/ralph/PROMPT.md', '# Task\n');
  startHere(p);
}

function stateOf(p: Project, name: string): Record<string, unknown> {
  return JSON.parse(p.read(`.claude/context/runtime/ralph-state${name}.json`)) as Record<string, unknown>;
}

test('status of a missing default loop names the existing ones', async (t) => {
  const p = project(t);
  started(p, 'tasks/a', 'tasks/b');
  assert.deepEqual((await commandHere(p, ['status', '--json'])).json, {
    ...{ active: false, message: 'The default loop is not active.', name: null, lastLoop: null },
    loops: [
      { name: 'a', status: 'running', taskPath: 'tasks/a/RALPH.md' },
      { name: 'b', status: 'running', taskPath: 'tasks/b/RALPH.md' },
    ],
  });
  const named = (await commandHere(p, ['status', '--loop', 'c', '--json'])).json;
  assert.deepEqual([named['message'], (named['loops'] as unknown[]).length], ['No active loop named c.', 2]);
  await commandHere(p, ['stop', 'tasks/a']);
  await commandHere(p, ['stop', 'tasks/b']);
  assert.ok(!('loops' in (await commandHere(p, ['status', '--json'])).json));
});

test('status of a live default loop names no others', async (t) => {
  const p = project(t);
  started(p, 'a');
  startedDefault(p);
  assert.deepEqual(
    [
      (await commandHere(p, ['status', '--json'])).json['active'],
      'loops' in (await commandHere(p, ['status', '--json'])).json,
    ],
    [true, false],
  );
});

test('--resume without a task says that no loop was ever here, not that a task file is missing', async (t) => {
  const p = project(t);
  for (const words of someOf([['run'], ['start'], ['run', '--loop', 'a']], 3)) {
    const { code, stderr } = p.ralph([...words, '--resume']);
    assert.equal(code, 1);
    assert.match(stderr, /There is no live or incomplete loop to resume\. Start one: .*run TASK/);
  }
  startedDefault(p);
  rmSync(join(p.dir, '.claude/ralph/PROMPT.md'));
  assert.match((await commandHere(p, ['start', '--resume'])).stderr, /the task file .* does not exist/);
});

/** What each command does to the loop, as its state shows it. */
const COMMANDS: readonly [name: string, words: string[], done: (state: Record<string, unknown>) => boolean][] = [
  ['pause', [], ({ status }) => status === 'paused'],
  ['steer', ['look'], ({ steering }) => (steering as unknown[]).length === 1],
  ['accept', [], ({ maxIterations }) => maxIterations === 7],
];

for (const [name, words, done] of someOf(COMMANDS, 3)) {
  test(`${name} takes the only live loop, asks where there are several, and takes a path or a name`, (t) => {
    const p = project(t);
    started(p, 'tasks/a');
    p.write('tasks/a/RALPH.md', TASK.replace('5', '7'));
    assert.ok(!done(stateOf(p, '.a')), 'not so before');
    const give = (...given: string[]): Answer => (name === 'accept' ? inPerson(p, given) : p.ralph(given));
    const { code, stderr } = give(name, ...words);
    assert.equal(code, 0, stderr);
    assert.ok(done(stateOf(p, '.a')));

    started(p, 'tasks/b');
    startedDefault(p);
    p.write('tasks/b/RALPH.md', TASK.replace('5', '7'));
    const tree = p.tree();
    const several = p.ralph([name, ...words]);
    assert.equal(several.code, 1);
    const how = name === 'steer' ? 'steer --path' : name;
    assert.match(
      several.stderr,
      new RegExp(`^ralph-loop: 3 loops are active here:\n[\\s\\S]*\nChoose one: ralph-loop ${how} PATH`),
    );
    assert.match(
      several.stderr,
      /\(default\) +running .*\n +a +(running|paused) .*\n +b +running +tasks\/b\/RALPH\.md/,
    );
    assert.deepEqual(p.tree(), tree);

    const path = name === 'steer' ? ['--path', 'tasks/b'] : ['tasks/b'];
    assert.equal(p.ralph([name, ...path, '--loop', 'b', ...words]).code, 1, 'a path or a name');
    assert.equal(give(name, ...path, ...words).code, 0);
    assert.ok(done(stateOf(p, '.b')));
    assert.ok(!done(stateOf(p, '')), 'the default loop was not meant');
    const prompt = '.claude/ralph/PROMPT.md';
    const onDefault = name === 'steer' ? ['--path', prompt] : [prompt];
    assert.equal(give(name, ...onDefault, ...words).code, 0, 'the default loop has a path, too');
    assert.equal(give(name, '--loop', 'a', ...words).code, 0);
    const alone = give(name, ...path.with(-1, 'a'), ...words);
    assert.equal(alone.code, 0, `the name of a loop that is no path here: ${alone.stderr}`);
  });
}

test('wake without a path wakes the only loop that is live', (t) => {
  const p = project(t);
  started(p, 'tasks/a');
  assert.match(String(p.ralph(['wake', '--json']).json['message']), /is not waiting; it is running/);
  assert.match(p.ralph(['wake', 'tasks/b']).stderr, /no live loop is working on tasks\/b/);
});

test('explain takes the only live loop, asks where there are several, and advises commands for it', async (t) => {
  const p = project(t);
  started(p, 'tasks/a');
  await commandHere(p, ['pause']);
  const { json } = await commandHere(p, ['explain', '--json']);
  assert.deepEqual([json['active'], json['name'], json['status']], [true, 'a', 'paused']);
  assert.deepEqual(
    [json['why'], json['next']],
    ['Paused by the user.', 'Continue when you like. Resume: ralph-loop resume a.'],
    'no session has joined it',
  );
  startedDefault(p);
  const several = await commandHere(p, ['explain']);
  assert.equal(several.code, 1);
  assert.match(several.stderr, /2 loops are active here:\n[\s\S]*\nChoose one: ralph-loop explain PATH/);
  assert.equal((await commandHere(p, ['explain', 'tasks/a', '--json'])).json['name'], 'a');
  assert.equal((await commandHere(p, ['explain', '.claude/ralph/PROMPT.md', '--json'])).json['name'], null);
});

test('explain describes an ended loop, with or without a path', async (t) => {
  const p = project(t);
  started(p, 'tasks/a', 'tasks/b');
  await commandHere(p, ['cancel', 'tasks/b']);
  await commandHere(p, ['stop', 'tasks/a']);
  const seen = async (...args: string[]): Promise<unknown[]> => {
    const { json } = await commandHere(p, ['explain', ...args, '--json']);
    return [json['active'], json['name'], json['status']];
  };
  assert.deepEqual(await seen('tasks/b'), [false, 'b', 'cancelled']);
  assert.deepEqual(await seen('tasks/a/RALPH.md'), [false, 'a', 'stopped']);
  assert.deepEqual(await seen(), [false, 'a', 'stopped'], 'the one that ended last');
  assert.deepEqual(await seen('--loop', 'b'), [false, 'b', 'cancelled']);
  assert.deepEqual(await seen('b'), [false, 'b', 'cancelled']);
  assert.match((await commandHere(p, ['status', 'b'])).stdout, /^Loop b ended \(cancelled,/);
  assert.equal((await commandHere(p, ['logs', 'b'])).code, 0);
  assert.match((await commandHere(p, ['explain', 'tasks/c'])).stderr, /no loop has worked on tasks\/c/);
  assert.match((await commandHere(p, ['explain', 'tasks/a', '--loop', 'a'])).stderr, /a path or --loop, not both/);
});

test('logs without a name prints the only live loop if the default one has recorded nothing', async (t) => {
  const p = project(t);
  started(p, 'tasks/a');
  assert.match((await commandHere(p, ['logs'])).stdout, /loop\.started/);
  started(p, 'tasks/b');
  assert.equal((await commandHere(p, ['logs'])).stdout, '');
  assert.match((await commandHere(p, ['logs', '--loop', 'b'])).stdout, /loop\.started/);
});

test('reset takes the only loop, asks where there are several, and takes a path', async (t) => {
  const p = project(t);
  started(p, 'tasks/a');
  assert.match(String((await commandHere(p, ['reset', '--json'])).json['message']), /^The loop was reset/);
  assert.ok(!p.has('.claude/context/runtime/ralph-state.a.json'));
  started(p, 'tasks/a', 'tasks/b');
  const tree = p.tree();
  const several = await commandHere(p, ['reset']);
  assert.match(
    several.stderr,
    /^ralph-loop: 2 loops are active here:\n[\s\S]*\nChoose one: ralph-loop reset PATH, or --loop NAME/,
  );
  assert.deepEqual([several.code, p.tree()], [1, tree]);
  assert.equal((await commandHere(p, ['reset', 'tasks/b'])).code, 0);
  assert.deepEqual(
    ['a', 'b'].map((name) => p.has(`.claude/context/runtime/ralph-state.${name}.json`)),
    [true, false],
  );
});

test('start --resume without a name resumes the only loop, and asks where there are several', async (t) => {
  const p = project(t);
  started(p, 'tasks/a');
  assert.equal((await commandHere(p, ['start', '--resume', '--json'])).json['name'], 'a');
  started(p, 'tasks/b');
  const several = await commandHere(p, ['start', '--resume']);
  assert.equal(several.code, 1);
  assert.match(
    several.stderr,
    /^ralph-loop: 2 loops are live here:\n +a +running +tasks\/a[\s\S]*\nChoose one: ralph-loop start --resume --task PATH, or --loop NAME\./,
  );
  assert.equal((await commandHere(p, ['start', '--resume', '--task', 'tasks/b', '--json'])).json['name'], 'b');
});

test('start --resume without a name resumes the only ended loop, unless it is complete', async (t) => {
  const p = project(t);
  started(p, 'tasks/a');
  await commandHere(p, ['stop']);
  assert.equal((await commandHere(p, ['start', '--resume', '--json'])).json['name'], 'a');
  await commandHere(p, ['stop']);
  started(p, 'tasks/b');
  await commandHere(p, ['stop']);
  assert.match(
    (await commandHere(p, ['start', '--resume'])).stderr,
    /^ralph-loop: 2 loops have ended here:[\s\S]*\nChoose one/,
  );
  startedDefault(p);
  await commandHere(p, ['stop']);
  assert.equal((await commandHere(p, ['start', '--resume', '--json'])).json['name'], null, 'the default one, as ever');
});

test('resume takes the loop that can be resumed, not one that awaits consent; control: the only one', (t) => {
  const p = project(t);
  p.write('tasks/a/RALPH.md', TASK);
  p.ralph(['start', '--task', 'tasks/a'], { CLAUDECODE: '1' });
  assert.match(p.ralph(['resume']).stderr, /An agent requested this loop/);
  p.write('PROMPT.md', '---\nmax_iterations: 1\nvalidation: ["false"]\n---\nWork.\n');
  assert.equal(p.ralph(['run', 'PROMPT.md', '--agent', 'true']).code, 2);
  assert.match(p.ralph(['resume', '--max-iterations', '2']).stdout, /Iteration 2 of 2/);
});

test('start --consent without a name agrees to the only loop that awaits it, and asks if there are several', async (t) => {
  const p = project(t);
  const agent = { CLAUDECODE: '1' };
  const ask = (folder: string): void => {
    p.write(`${folder}/RALPH.md`, TASK);
    assert.equal(p.ralph(['start', '--task', folder, '--json'], agent).json['status'], 'awaiting-consent');
  };
  started(p, 'tasks/c');
  ask('tasks/a');
  assert.equal(inPerson(p, ['start', '--consent', '--json']).json['status'], 'running');
  assert.equal(stateOf(p, '.a')['status'], 'running');
  ask('tasks/b');
  ask('tasks/d');
  const several = await commandHere(p, ['start', '--consent']);
  assert.match(
    several.stderr,
    /^ralph-loop: 2 loops await consent:[\s\S]*\nChoose one: ralph-loop start --consent --task PATH/,
  );
  const agreed = inPerson(p, ['start', '--consent', '--task', 'tasks/d']);
  assert.equal(agreed.code, 0);
  // The summary is the last thing above the question, below all terms.
  assert.match(
    agreed.screen,
    /max_iterations +\d+[\s\S]*Task {6}.* tasks\/d\/RALPH\.md\s[\s\S]*Limits {4}\d+ iterations[\s\S]*Agent [\s\S]*Start it\?/,
  );
  assert.deepEqual(
    ['.b', '.d'].map((name) => stateOf(p, name)['status']),
    ['awaiting-consent', 'running'],
  );
});

test('advice for a path with a space can be typed as it is printed', (t) => {
  const p = project(t);
  started(p, 'tasks/a b');
  const end = 'End it first: ralph-loop stop "tasks/a b". Or now: ralph-loop cancel "tasks/a b".';
  for (const command of ['archive', 'resume']) assert.ok(p.ralph([command, 'tasks/a b']).stderr.includes(end), command);
});

test('commands without task arguments name those that take them', (t) => {
  const p = project(t);
  for (const command of someOf(['stop', 'cancel', 'draft'], 3)) {
    const { code, stderr } = p.ralph([command, 'x', '--arg', 'a=b']);
    assert.equal(code, 1);
    assert.match(
      stderr,
      new RegExp(`^ralph-loop: ${command} takes no --arg: start, run and resume set the arguments of a task folder\\.`),
    );
  }
});

test('an advice to begin names the task that it is about', async (t) => {
  const p = project(t);
  started(p, 'tasks/a');
  await commandHere(p, ['stop']);
  started(p, 'tasks/b');
  await commandHere(p, ['stop']);
  assert.match(p.ralph(['resume']).stderr, /2 loops have ended here:[\s\S]*\nChoose one: ralph-loop resume NAME\./);
  p.write('tasks/c/RALPH.md', '---\nmax_iterations: 1\n---\nDo it.\n');
  assert.match((await commandHere(p, ['status', 'tasks/c'])).stdout, /Start one: ralph-loop run tasks\/c\./);
  for (const command of ['verify', 'undo']) {
    assert.match(
      p.ralph([command, 'nobody']).stderr,
      /No ended loop named nobody was found here\. List the loops: ralph-loop list\./,
    );
  }
  assert.match((await commandHere(p, ['verify', 'a'])).stderr, /Go on: ralph-loop resume a\./);
  started(p, 'tasks/d');
  assert.match((await commandHere(p, ['undo', 'd'])).stderr, /Stop it first: ralph-loop stop --loop d\./);
});

test('undo of the only loop, which has not ended, says how to stop it', async (t) => {
  const p = project(t);
  started(p, 'tasks/a');
  const { code, stderr } = await commandHere(p, ['undo', '--dry-run']);
  assert.deepEqual(
    [code, /The loop has not ended\. Stop it first: \S* .*stop --loop a\./.test(stderr)],
    [1, true],
    stderr,
  );
});

test('a loop is named before the message of steer', async (t) => {
  const p = project(t);
  started(p, 'tasks/a', 'tasks/b', 'c');
  assert.equal((await commandHere(p, ['steer', 'b', 'Look at it'])).code, 0);
  assert.equal((await commandHere(p, ['steer', 'c', 'And this'])).code, 0, 'as well where a folder has that name');
  const sent = (name: string): unknown[] =>
    (stateOf(p, name)['steering'] as { text: string }[]).map(({ text }) => text);
  assert.deepEqual([sent('.a'), sent('.b'), sent('.c')], [[], ['Look at it'], ['And this']]);
  const unclear = await commandHere(p, ['steer', 'b', 'is', 'slow']);
  assert.equal(unclear.code, 1);
  assert.match(unclear.stderr, /b is the name of a loop, or the first word of the message\. .*steer b "TEXT"/);
  assert.match((await commandHere(p, ['steer', 'Look', 'at', 'it'])).stderr, /3 loops are active here/);
  for (const name of ['a', 'c']) assert.equal((await commandHere(p, ['stop', name])).code, 0);
  assert.equal((await commandHere(p, ['steer', 'b slows', 'down'])).code, 0);
  assert.deepEqual(sent('.b'), ['Look at it', 'b slows down']);
});
