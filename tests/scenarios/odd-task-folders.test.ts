import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { commandHere } from '../support/command-here.ts';
import { type Project, project } from '../support/project.ts';
import { someOf } from '../support/short-form.ts';

const TASK = '---\nmax_iterations: 5\ncompletion_promise: DONE\n---\n\nDo it.\n';

const here = (p: Project, ...words: string[]) => commandHere(p, words);

/** What start, check, status, archive and stop make of one task folder, in the order in which a user would call them. */
async function walk(p: Project, given: string, taskPath: string, name: string | RegExp): Promise<void> {
  const done = async (command: string, ...words: string[]): Promise<Record<string, unknown>> => {
    const { code, stderr, stdout } = await here(p, command, '--json', ...words);
    assert.equal(code, 0, `${command} ${words.join(' ')}: ${stderr}${stdout}`);
    return JSON.parse(stdout) as Record<string, unknown>;
  };
  assert.deepEqual((await done('check', given))['problems'], []);
  const started = await done('start', `--task=${given}`);
  assert.equal(started['taskPath'], taskPath);
  assert.match(String(started['name']), typeof name === 'string' ? new RegExp(`^${name}$`) : name);
  const live = await done('status', given);
  assert.deepEqual([live['active'], live['taskPath'], live['maxIterations']], [true, taskPath, 5]);
  assert.match((await here(p, 'archive', given)).stderr, /is active\. End it first/);
  assert.equal((await done('stop', given))['status'], 'ended');
  const over = await done('status', given);
  assert.equal((over['lastLoop'] as Record<string, unknown>)['status'], 'stopped');
  assert.ok(existsSync(String((await done('archive', given))['path'])));
  assert.match((await here(p, 'stop', given)).stderr, /no live loop is working on/);
}

const DEEP = Array.from({ length: 40 }, (_, level) => `level-${level}`).join('/');

const FOLDERS = [
  ['spaces', 'my tasks/fix  it ', 'my tasks/fix  it ', 'fix-it'],
  ['a name that is not ASCII', 'задачи/修正-é', 'задачи/修正-é', 'e'],
  ['nothing in its name that a loop’s name may have', '修正', '修正', /^task-[0-9a-f]{8}$/],
  ['a leading dash', './-x', '-x', 'x'],
  ['forty folders above it', DEEP, DEEP, 'level-39'],
  ['a name of 200 characters', 'n'.repeat(200), 'n'.repeat(200), 'n'.repeat(50)],
  ['quotes, a dollar and a semicolon in its name', `it's "$HOME"; x`, `it's "$HOME"; x`, 'it-s-HOME-x'],
] as const;

for (const [what, given, folder, name] of someOf(FOLDERS, 3)) {
  test(`a task folder with ${what} is checked, started, shown, stopped and archived`, async (t) => {
    const p = project(t);
    p.write(`${folder}/RALPH.md`, TASK);
    await walk(p, given, `${folder}/RALPH.md`, name);
  });
}

test('a word that begins with a dash can follow --', async (t) => {
  const p = project(t);
  p.write('-x/RALPH.md', TASK);
  assert.match(p.ralph(['check', '-x']).stderr, /check has no option -x\./);
  assert.equal((await here(p, 'check', '--json', '--', '-x')).json['ok'], true);
  assert.equal((await here(p, 'start', '--task=-x')).code, 0);
  assert.equal((await here(p, 'status', '--json', '--', '-x')).json['active'], true);
  assert.equal((await here(p, 'stop', '--', '-x/RALPH.md')).code, 0);
});

test('a task folder behind a link is started at its real path and has one loop', async (t) => {
  const p = project(t);
  p.write('tasks/a/RALPH.md', TASK);
  symlinkSync(join(p.dir, 'tasks/a'), join(p.dir, 'short'));
  await walk(p, 'short', 'tasks/a/RALPH.md', 'a');
  assert.equal((await here(p, 'start', '--task', 'short/RALPH.md', '--json')).json['name'], 'a');
  assert.equal((await here(p, 'status', 'tasks/a', '--json')).json['active'], true);
  assert.match((await here(p, 'resume', 'tasks/a')).stderr, /is active/);
});

test('a task folder behind a link that leads out of the project is refused, and nothing is written there', async (t) => {
  const p = project(t);
  const away = join(p.home, 'away');
  mkdirSync(away);
  writeFileSync(join(away, 'RALPH.md'), TASK);
  symlinkSync(away, join(p.dir, 'out'));
  for (const [nth, given] of ['out', 'out/RALPH.md'].entries()) {
    const refused = [
      [['start', '--task', given], /is outside the project/],
      [['status', given], /is outside the project/],
      [['archive', given], /is outside the project/],
      [['resume', given], /is outside the project/],
      [['stop', given], /no live loop is working on out/],
    ] as const;
    for (const [args, why] of someOf(refused, 2, nth)) {
      const { code, stderr } = await here(p, ...args);
      assert.equal(code, 1, args.join(' '));
      assert.match(stderr, why, args.join(' '));
    }
  }
  assert.deepEqual(readdirSync(away), ['RALPH.md']);
});

const ODD: readonly [string, (p: Project) => void, Record<string, RegExp>][] = [
  [
    'is a folder',
    (p) => mkdirSync(join(p.dir, 'a/RALPH.md'), { recursive: true }),
    {
      start: /Cannot read the task file/,
      check: /a\/RALPH\.md cannot be read \(not a regular file\)/,
      archive: /no run state/,
    },
  ],
  [
    'is a link to itself',
    (p) => {
      mkdirSync(join(p.dir, 'a'));
      symlinkSync(join(p.dir, 'a/RALPH.md'), join(p.dir, 'a/RALPH.md'));
    },
    {
      start: /Cannot read the task file .* \(ELOOP\)/,
      check: /cannot be read \(ELOOP\)/,
      archive: /a has no RALPH\.md/,
    },
  ],
  [
    'is a link to nothing',
    (p) => {
      mkdirSync(join(p.dir, 'a'));
      symlinkSync(join(p.dir, 'gone'), join(p.dir, 'a/RALPH.md'));
    },
    { start: /has neither RALPH\.md nor task\.md/, check: /does not exist/, archive: /a has no RALPH\.md/ },
  ],
  ['is empty', (p) => p.write('a/RALPH.md', ''), { start: /is empty/, check: /frontmatter/, archive: /no run state/ }],
];

for (const [what, make, answers] of someOf(ODD, 2)) {
  test(`every command gives a clear message for a RALPH.md that ${what}`, async (t) => {
    const p = project(t);
    make(p);
    for (const [name, why] of Object.entries(answers)) {
      const { code, stderr, stdout } = await here(p, name, ...(name === 'start' ? ['--task', 'a'] : ['a']));
      assert.equal(code, 1, name);
      assert.match(stderr + stdout, why, name);
      assert.doesNotMatch(stderr, /internal error/, name);
    }
    assert.match((await here(p, 'stop', 'a')).stderr, /no live loop is working on a/);
    assert.doesNotMatch((await here(p, 'status', 'a')).stderr, /internal error/);
  });
}

test('an unreadable RALPH.md is reported', {
  skip: process.getuid?.() === 0 && 'root may read everything',
}, async (t) => {
  const p = project(t);
  p.write('a/RALPH.md', TASK, 0o000);
  assert.match((await here(p, 'start', '--task', 'a')).stderr, /Cannot read the task file a\/RALPH\.md \(EACCES\)/);
  assert.match((await here(p, 'check', 'a')).stderr, /a\/RALPH\.md cannot be read \(EACCES\)/);
  assert.equal((await here(p, 'status', 'a', '--json')).json['active'], false);
});

test('a loop whose RALPH.md was deleted can still be shown, stopped and archived', async (t) => {
  const p = project(t);
  p.write('a/RALPH.md', TASK);
  await here(p, 'start', '--task', 'a');
  p.sh('rm a/RALPH.md');
  assert.equal((await here(p, 'status', 'a', '--json')).json['promptExists'], false);
  assert.equal((await here(p, 'stop', 'a')).code, 0);
  assert.equal((await here(p, 'archive', 'a')).code, 0);
  assert.match((await here(p, 'resume', 'a')).stderr, /a\/RALPH\.md does not exist/);
});

test('a RALPH.md of a megabyte works like any other, and frontmatter of that size is refused', async (t) => {
  const p = project(t);
  p.write('big/RALPH.md', TASK + 'Work on this line.\n'.repeat(55_000));
  await walk(p, 'big', 'big/RALPH.md', 'big');
  p.write('worse/RALPH.md', `---\n${'# a comment\n'.repeat(90_000)}---\nWork.\n`);
  const { code, stdout } = await here(p, 'check', 'worse');
  assert.equal(code, 1);
  assert.match(stdout, /frontmatter/);
  assert.equal((await here(p, 'start', '--task', 'worse')).code, 1);
});

test('a RALPH.md with CRLF and a byte order mark works like any other', async (t) => {
  const p = project(t);
  p.write('win/RALPH.md', `\uFEFF${TASK.replaceAll('\n', '\r\n')}`);
  await walk(p, 'win', 'win/RALPH.md', 'win');
});
