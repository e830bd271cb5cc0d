import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { DIST, project } from '../support/project.ts';
import { someOf } from '../support/short-form.ts';

const CONTROL = ['archive', 'stop', 'cancel', 'pause', 'resume', 'accept', 'reset', 'config', 'init', 'uninit'];
const FOR_AGENTS = ['status', 'list', 'explain', 'logs', 'signs'];
/** Their word is the path of a task folder or task file. */
const TAKE_PATHS = [
  'status',
  'explain',
  'logs',
  'archive',
  'stop',
  'cancel',
  'pause',
  'resume',
  'wake',
  'accept',
  'reset',
];

test('an unknown command prints one line on standard error, with the nearest command, and exits 1', (t) => {
  const p = project(t);
  const cases: [string[], string][] = [
    [['staus'], 'staus. Did you mean status?'],
    [['help', 'staus'], 'staus. Did you mean status?'],
    [['lsit'], 'lsit. Did you mean list?'],
    [['frobnicate'], 'frobnicate.'],
    [['constructor'], 'constructor.'],
    [['__proto__'], '__proto__.'],
  ];
  for (const [args, problem] of someOf(cases, 2)) {
    const { code, stdout, stderr } = p.ralph(args);
    assert.equal(code, 1, args.join(' '));
    assert.equal(stdout, '');
    assert.equal(stderr, `ralph-loop: unknown command ${problem} Commands: ralph-loop --help.\n`);
  }
});

test('no command prints the usage on standard error and exits 1', (t) => {
  const p = project(t);
  for (const args of [[], ['--json']]) {
    const { code, stdout, stderr } = p.ralph(args);
    assert.equal(code, 1, args.join(' '));
    assert.equal(stdout, '');
    assert.match(stderr, /^ralph-loop: no command given\.\n/);
    assert.match(stderr, /Usage: ralph-loop COMMAND/);
  }
});

test('an invalid option prints on one line what is wrong and where the help is, and exits 1', (t) => {
  const { code, stdout, stderr } = project(t).ralph(['status', '--frob']);
  assert.equal(code, 1);
  assert.equal(stdout, '');
  assert.equal(stderr, 'ralph-loop: status has no option --frob. Help: ralph-loop status --help.\n');
  for (const [args, said] of someOf(
    [
      [['status', '--lop', 'docs'], 'status has no option --lop. Did you mean --loop? Help: ralph-loop status --help.'],
      [['status', '--loop'], '--loop needs a value. Help: ralph-loop status --help.'],
      [['report', '-o'], '--out needs a value. Help: ralph-loop report --help.'],
      [['status', '--json=yes'], '--json takes no value. Help: ralph-loop status --help.'],
      [
        ['run', '--agent', '--x'],
        '--agent needs a value. If it begins with "-", write --agent=VALUE. Help: ralph-loop run --help.',
      ],
    ] as const,
    2,
  )) {
    assert.equal(project(t).ralph(args).stderr, `ralph-loop: ${said}\n`);
  }
});

test('a surplus word is refused: "reset docs" must not reset the default loop', (t) => {
  const p = project(t);
  p.write('.claude/ralph/PROMPT.md', '# Task\n');
  p.ralph(['start']);
  const tree = p.tree();
  for (const name of someOf(['list', 'signs', 'doctor', ...new Set([...CONTROL, ...TAKE_PATHS])], 3)) {
    const { code, stderr } = p.ralph([name, 'docs']);
    assert.equal(code, 1, name);
    if (!TAKE_PATHS.includes(name)) assert.match(stderr, new RegExp(`^ralph-loop: ${name} takes no "docs"`));
    else
      assert.match(
        stderr,
        /^ralph-loop: (docs: no such task folder exists|no live loop is working on docs|no loop has worked on docs)/,
        name,
      );
  }
  assert.deepEqual(p.tree(), tree);
  assert.equal(p.ralph(['check', '.claude/ralph/PROMPT.md']).code, 0);
  assert.equal(p.ralph(['steer', 'some words']).code, 0);
});

test('help and version answer on standard output', (t) => {
  const p = project(t);
  assert.match(p.ralph(['--version']).stdout, /^\d+\.\d+\.\d+\n$/);
  for (const args of [['--help'], ['-h'], ['help']]) {
    const { code, stdout } = p.ralph(args);
    assert.equal(code, 0);
    for (const name of [...CONTROL, ...FOR_AGENTS]) assert.match(stdout, new RegExp(`^  ${name} `, 'm'));
  }
  assert.match(p.ralph(['config', '--help']).stdout, /--max-iterations N/);
  assert.equal(p.ralph(['help', 'config']).stdout, p.ralph(['config', '-h']).stdout);
});

test('every command has its own help that names all options, for agents too', (t) => {
  const p = project(t);
  const list = p.ralph(['--help']).stdout;
  const names = [...list.matchAll(/^ {2}([a-z]+) {2,}\S/gm)].map(([, name = '']) => name);
  assert.ok(names.length >= CONTROL.length + FOR_AGENTS.length);
  for (const name of someOf(names, 4)) {
    const { code, stdout } = p.ralph([name, '--help'], { CLAUDECODE: '1' });
    assert.equal(code, 0, name);
    assert.match(stdout, new RegExp(`^Usage: ralph-loop ${name}`));
    assert.match(stdout, /--loop NAME/);
  }
});

test('what is for agents serves them where there is no loop', (t) => {
  const p = project(t);
  for (const name of someOf(FOR_AGENTS, 3)) assert.equal(p.ralph([name], { CLAUDECODE: '1' }).code, 0, name);
});

test('common options may precede the command', (t) => {
  const p = project(t);
  mkdirSync(join(p.dir, 'sub'));
  const expected = p.ralph(['config', '--project', 'sub', '--loop', 'docs', '--json']).json;
  assert.equal(expected['stateFile'], join(p.dir, 'sub/.claude/context/runtime/ralph-state.docs.json'));
  assert.deepEqual(p.ralph(['--project', 'sub', '--loop=docs', 'config', '--json']).json, expected);
  assert.deepEqual(p.ralph(['--json', 'config', '--project=sub'], { RALPH_LOOP: 'docs' }).json, expected);
});

test('a name that could leave the runtime directory is not a valid loop name', (t) => {
  const p = project(t);
  for (const name of someOf(['../x', '.x', 'a/b', 'ü', '', 'x'.repeat(65)], 2)) {
    const { code, stderr } = p.ralph(['status', `--loop=${name}`]);
    assert.equal(code, 1, name);
    assert.match(stderr, /is not a valid loop name/);
  }
});

test('a command in a directory below the project applies to the project', (t) => {
  const p = project(t);
  p.ralph(['init']);
  mkdirSync(join(p.dir, 'src/deep'), { recursive: true });
  const { json } = p.ralph(['config', '--json'], {}, join(p.dir, 'src/deep'));
  assert.equal(json['stateFile'], join(p.dir, '.claude/context/runtime/ralph-state.json'));
});

test('a system error is one sentence with the file and without a stack', (t) => {
  const p = project(t);
  p.write('.claude/ralph/PROMPT.md', '# Task\n');
  p.write('file', '');
  const { code, stderr } = p.ralph(['start'], { XDG_STATE_HOME: join(p.dir, 'file') });
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^ralph-loop: \/.*file\/ralph-loop\/.* cannot be used: a file exists where a folder is needed \(ENOTDIR, /m,
  );
  assert.doesNotMatch(stderr, /please report|\n {4}at /);
});

test('a command in a folder that was removed says so', (t) => {
  const p = project(t);
  const gone = `mkdir gone; cd gone; rmdir ../gone; "${process.execPath}" "${join(DIST, 'scripts', 'main.cjs')}"`;
  for (const command of ['status', 'init']) {
    const { code, stdout, stderr } = p.sh(`${gone} ${command}`);
    assert.deepEqual([code, stdout], [1, '']);
    assert.equal(stderr, 'ralph-loop: the current folder no longer exists. Change to another one: cd DIR\n');
  }
});

test('run with plain words and an invalid option writes no draft', (t) => {
  const p = project(t);
  const words = ['run', 'fix the parser', '--agent', 'true', '--yes'];
  const { code, stderr } = p.ralph([...words, '--max-iterations', 'many']);
  assert.equal(code, 1);
  assert.match(stderr, /errors, and nothing was written:\n {2}an option: max_iterations must be .* but is "many"/);
  assert.deepEqual(p.tree(), {});
  const control = p.ralph([...words, '--max-iterations', '1']);
  assert.match(control.stderr, /Limits: 1 iteration, /);
  assert.ok(p.has('.ralph/fix-parser/RALPH.md'));
});

test('a draft that was named and not started is said to be removed', (t) => {
  const p = project(t);
  p.write('package.json', { scripts: { test: 'no-such-program' } });
  const { code, stderr } = p.ralph(['run', 'fix the parser', '--yes', '--agent', 'true']);
  assert.equal(code, 1);
  assert.match(stderr, /Wrote the draft \.ralph\/fix-parser\/RALPH\.md\.\n/);
  assert.match(stderr, /Removed the draft \.ralph\/fix-parser\/RALPH\.md, which was not started\. [^\n]* draft "TEXT"/);
  assert.equal(p.has('.ralph/fix-parser'), false);
});
