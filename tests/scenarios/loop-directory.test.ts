import assert from 'node:assert/strict';
import { readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { commandHere } from '../support/command-here.ts';
import { type Project, project } from '../support/project.ts';
import { someOf } from '../support/short-form.ts';
import { inPerson } from '../support/terminal/in-person.ts';
import { peopleTerminal } from '../support/terminal/people-terminal.ts';

const TASK = '.ralph/site/task.md';
const list = (...items: string[]): string =>
  `---\n# settings stand in config.json\n---\n# Goals\n\nA site.\n\n# Checklist\n\n${items.map((item) => `- ${item}\n`).join('')}`;
const TWO = list('[ ] routes', '[ ] login');

/** An agent that keeps its prompt and checks one item off. */
const CHECKS_ONE = `cat > "prompt-$(ls | grep -c prompt-).txt"; sed -i '0,/- \\[ \\]/s//- [x]/' ${TASK}; echo checked one`;

const run = (p: Project, ...args: string[]) => p.ralph(['run', '--json', '--agent', CHECKS_ONE, ...args]);

test('run NAME works through the checklist of that loop directory, and status and list show its progress', async (context) => {
  const p = project(context);
  p.write(TASK, TWO);
  const { code, stdout, stderr } = run(p, 'site');
  assert.equal(code, 0, stdout + stderr);
  assert.match(p.read('prompt-0.txt'), /Checklist: 0 of 2\n\nNext:\n- routes \(line 10\)/);
  assert.match(p.read('prompt-1.txt'), /Iteration 2 of 50[\s\S]*Checklist: 1 of 2\n\nNext:\n- login/);
  const told = stdout
    .split('\n')
    .flatMap((line) => (line.startsWith('{"type":"agent.checklist"') ? [JSON.parse(line)] : []));
  assert.deepEqual(told.at(-1), { type: 'agent.checklist', done: 2, total: 2 });
  assert.match(stderr, /No checks are configured/, 'a checklist without checks is believed, and that is said');
  const { lastLoop } = (await commandHere(p, ['status', '--json', 'site'])).json as {
    lastLoop: Record<string, unknown>;
  };
  assert.deepEqual([lastLoop['status'], lastLoop['checklist']], ['complete', { done: 2, total: 2 }]);
  const { loops } = (await commandHere(p, ['list', '--json'])).json as { loops: { name: string; kind: string }[] };
  assert.deepEqual(
    loops.map(({ name, kind }) => [name, kind]),
    [['site', 'checklist']],
  );
});

test('the end of a checklist with missing items names them, and no command that only a live loop takes', (context) => {
  const p = project(context);
  p.write(TASK, TWO.replace('# settings', 'validation: ["true"]\n# settings'));
  const drop = `cat > /dev/null; sed -i '/login/d; s/\\[ \\]/[x]/' ${TASK}; echo dropped one`;
  const { code, stdout } = p.ralph(['run', '--plain', '--agent', drop, '--max-iterations', '1', 'site']);
  assert.equal(code, 2, stdout);
  const [, end = ''] = stdout.split('\nralph-loop: Stopped after 1 iteration');
  assert.match(end, /checklist: .*1 item is missing from \.ralph\/site\/task\.md: "login"[\s\S]* resume site/);
  assert.doesNotMatch(end, / accept\b/);
  assert.match(stdout, / accept --loop site\./, 'control: the loop said it while it ran');
});

test('a checklist that was deleted or emptied is not complete, by a promise either', (context) => {
  for (const away of [`rm ${TASK}`, `: > ${TASK}`, `rm ${TASK}; mkdir ${TASK}`]) {
    const p = project(context);
    p.write(TASK, TWO.replace('# settings', 'completion_promise: DONE\nvalidation: ["true"]\n# settings'));
    const agent = `cat > /dev/null; ${away}; echo work > made.txt; echo '<promise>DONE</promise>'`;
    const { code, stdout } = p.ralph(['run', '--plain', '--agent', agent, '--max-iterations', '1', 'site']);
    assert.equal(code, 2, stdout);
    assert.match(stdout, /checklist: 2 items are missing from \.ralph\/site\/task\.md: "routes", "login"/);
  }
});

test('files of a loop are archived when it starts again, and kept when it is resumed', (context) => {
  const p = project(context);
  p.write(TASK, TWO);
  assert.equal(run(p, 'site', '--max-iterations', '1').code, 2);
  assert.deepEqual(readdirSync(join(p.dir, '.ralph/site/iterations')), ['001.json']);
  assert.equal(run(p, '--resume', 'site', '--max-iterations', '5').code, 0);
  assert.deepEqual(readdirSync(join(p.dir, '.ralph/site/iterations')), ['001.json', '002.json']);
  p.write(TASK, TWO);
  assert.equal(run(p, 'site').code, 0);
  assert.deepEqual(readdirSync(join(p.dir, '.ralph/site/iterations')), ['001.json', '002.json']);
  const [earlier = ''] = readdirSync(join(p.dir, '.ralph/site/runs'));
  assert.deepEqual(readdirSync(join(p.dir, '.ralph/site/runs', earlier)).sort(), [
    ...['events.jsonl', 'iterations', 'state.json'],
  ]);
});

test('settings of the directory win over project and user, and a bad one is named with its file', async (context) => {
  const p = project(context);
  p.write(TASK, TWO);
  p.write('.ralph/site/config.json', { maxIterations: 3 });
  p.write('.ralph/config.json', { maxIterations: 4, reflectEvery: 2 });
  p.write('.claude/ralph/config.json', { max_iterations: 5, reflect_every: 3 });
  const started = p.ralph(['start', '--json', '--task', '.ralph/site']);
  assert.equal(started.code, 0, started.stderr);
  assert.equal(started.json['maxIterations'], 3);
  assert.match((await commandHere(p, ['explain', '--json', 'site'])).stdout, /./);
  p.ralph(['cancel', 'site']);
  p.write('.ralph/site/config.json', { reflectEvery: 1, budget: { maxCost: -1 } });
  p.write('.ralph/config.json', { model: 7, commands: [] });
  const { code, stderr } = p.ralph(['start', '--task', '.ralph/site']);
  assert.equal(code, 1);
  for (const wanted of [
    /\.ralph\/site\/config\.json: reflect_every must be 0 \(off\), or from 2 to 20, but is 1\./,
    /\.ralph\/site\/config\.json: budget\.max_cost /,
    /\.ralph\/config\.json: model /,
    /\.ralph\/config\.json: commands belongs in a task file \(PROMPT\.md, RALPH\.md or task\.md\)/,
  ]) {
    assert.match(stderr, wanted);
  }
  p.write('.ralph/config.json', '{ no JSON');
  assert.match(p.ralph(['start', '--task', '.ralph/site']).stderr, /\.ralph\/config\.json is not valid JSON/);
});

test('a new name creates a directory to fill in, and git ignores the files of the run', async (context) => {
  const p = project(context);
  const { code, stderr, stdout } = run(p, 'site');
  assert.equal(code, 1);
  assert.match(
    stderr + stdout,
    /Created \.ralph\/site\/task\.md from the template[\s\S]*Then run it: ralph-loop run site\./,
  );
  assert.match(p.read('.ralph/site/.gitignore'), /^\/\.gitignore\n\/state\.json\n\/events\.jsonl\n\/iterations\/\n/);
  assert.equal((await commandHere(p, ['check', 'site', '--json'])).json['file'], TASK);
  assert.match(
    (await commandHere(p, ['check', 'site', '--json'])).stdout,
    /"kind": "checklist"[\s\S]*is not filled in/,
  );
  assert.ok(!p.has('.claude/context/runtime/ralph-state.site.json'));
});

test('a new name asks for the goal at a terminal and starts the loop with it', async (context) => {
  const p = project(context);
  const agent = `cat > prompt.txt; printf -- '- [x] greet\\n' >> ${TASK}; echo done`;
  const shown = await peopleTerminal(context, p, '$RALPH run --agent "$AGENT" site', { AGENT: agent });
  await shown.waitFor(/Write a checklist named site \[n\], or draft a task from the text "site" \[t\]/);
  await shown.submit('n');
  await shown.waitFor(/What is the goal/);
  await shown.submit('Greet everybody & leave $1.');
  await shown.waitForExit();
  assert.match(p.read(TASK), /# Goals\n\nGreet everybody & leave \$1\.\n\n# Checklist/);
  assert.match(p.read('prompt.txt'), /has no checklist yet\. Make one first/);
});

test('no name leads out of the loop directories, and a path never counts as a name', (context) => {
  const p = project(context);
  for (const word of someOf(
    ['../x', 'a/b', '.hidden', 'x'.repeat(65), 'what?', 'todo.md', 'worktrees', 'Config.json', ''],
    2,
  )) {
    const { code } = run(p, word);
    assert.equal(code, 1, word);
  }
  assert.ok(!p.has('.ralph'), 'nothing was made');
  p.write('elsewhere/keep.txt', '');
  symlinkSync(join(p.dir, '..'), join(p.dir, '.ralph'));
  const out = run(p, 'site');
  assert.match(out.stdout + out.stderr, /leads out of the project/);
});

test('a project folder that is not a task folder does not block a loop of the same name', (context) => {
  const p = project(context);
  p.write('site/index.html', '');
  p.write(TASK, TWO);
  assert.equal(run(p, 'site').code, 0);
});

test('plain words draft a task folder, which is started at once only with --yes', (context) => {
  const p = project(context);
  const agent = 'cat > prompt.txt; echo "<promise>DONE</promise>"';
  const first = p.ralph(['run', '--json', '--agent', agent, 'fix the parser']);
  assert.equal(first.code, 1);
  assert.match(
    first.stderr + first.stdout,
    /The draft \.ralph\/fix-parser\/RALPH\.md was not started, because no user has read it\.[\s\S]*ralph-loop run \.ralph\/fix-parser/,
  );
  assert.match(
    first.stderr,
    /Limits: \d+ iterations, 30m each, 4h in all, no cost limit\. To change them: --max-iterations/,
  );
  assert.ok(p.has('.ralph/fix-parser/RALPH.md') && !p.has('prompt.txt'));
  const begun = p.ralph(['run', '--json', '--yes', '--max-iterations', '1', '--agent', agent, 'fix the parser']);
  assert.doesNotMatch(begun.stderr, /was not started/);
  assert.ok(p.has('.ralph/fix-parser-2/RALPH.md'));
});

test('a draft does not hide the checklist of a loop of the same name', (context) => {
  const p = project(context);
  p.write('.ralph/fix-parser/task.md', TWO);
  p.ralph(['run', 'fix the parser']);
  assert.ok(p.has('.ralph/fix-parser-2/RALPH.md') && !p.has('.ralph/fix-parser/RALPH.md'));
});

test('--yes without a permission mode means acceptEdits, and says so', (context) => {
  const p = project(context);
  p.write('client.sh', '#!/bin/sh\necho "$@" >> args.txt\necho "2.1.330 (Claude Code)"\n', 0o755);
  const env = { RALPH_CLAUDE: join(p.dir, 'client.sh'), RALPH_RETRY_WAIT: '10ms' };
  const { stderr } = p.ralph(['run', '--yes', '--max-iterations', '1', '--max-cost', '2', 'fix the parser'], env);
  assert.match(stderr, /--yes without a permission mode means acceptEdits/);
  assert.match(stderr, /Limits: 1 iteration, .*\$2\.00/);
  assert.match(p.read('args.txt'), /--permission-mode acceptEdits/);
});

test('accept adopts a checklist that lost items', async (context) => {
  const p = project(context);
  p.write(TASK, TWO);
  assert.equal(p.ralph(['start', '--json', '--task', 'site']).code, 0);
  p.write(TASK, list('[x] routes', '[ ] login'));
  assert.deepEqual(
    (await commandHere(p, ['status', '--json', 'site'])).json['checklist'],
    { done: 1, total: 2 },
    'as it is now',
  );
  p.write(TASK, list('[ ] routes'));
  const accepted = inPerson(p, ['accept', '--json', 'site']);
  assert.equal(accepted.code, 0, accepted.stderr);
  assert.deepEqual(accepted.json['changes'], ['the checklist: without "login"']);
  assert.deepEqual(p.ralph(['accept', '--json', 'site']).json['changes'], []);
});

test('Ctrl+C at the question for the goal writes nothing and says so on its own line', async (context) => {
  const p = project(context);
  const shown = await peopleTerminal(context, p, '$RALPH run fix');
  await shown.waitFor(/Write a checklist named fix/);
  await shown.submit('n');
  await shown.waitFor(/What is the goal/);
  await shown.key('C-c');
  assert.equal(await shown.waitForExit(), 1);
  assert.match(await shown.history(), /^(?:ralph-loop: )?Cancelled; nothing was written\.$/m);
  assert.equal(p.has('.ralph'), false);
});

test('a mistyped name of a loop directory is answered with the nearest one', (context) => {
  const p = project(context);
  p.write(TASK, TWO);
  p.write('.ralph/fix-parser-tests/RALPH.md', 'Fix them.\n');
  const mistyped = p.ralph(['run', 'fix-parser-test']);
  assert.equal(mistyped.code, 1);
  assert.match(
    mistyped.stderr,
    /there is no task fix-parser-test yet, and nothing was written\..* Did you mean "fix-parser-tests"\?/,
  );
  assert.equal(p.has('.ralph/fix-parser-test'), false);
  const invalid = p.ralph(['run', 'other', '--max-iterations', 'many']);
  assert.match(invalid.stderr, /these settings have errors, and nothing was written:\n.*max_iterations/i);
  assert.equal(p.has('.ralph/other'), false);
});

test('list shows every task under .ralph that has never run, a kept draft too', async (context) => {
  const p = project(context);
  p.write(TASK, TWO);
  p.write('.ralph/fix-parser-tests/RALPH.md', 'Fix them.\n');
  const { loops } = (await commandHere(p, ['list', '--json'])).json as { loops: { path: string; status: string }[] };
  assert.deepEqual(
    loops.map(({ path, status }) => [path, status]),
    [
      ['.ralph/fix-parser-tests/RALPH.md', 'not-started'],
      [TASK, 'not-started'],
    ],
  );
  p.write('.ralph/fix-parser-tests/proof.json', '{}\n');
  assert.match(
    (await commandHere(p, ['list'])).stdout,
    /not started\s[\s\S]*complete elsewhere\. Check its proof: ralph-loop verify fix-parser-tests/,
  );
  assert.match(
    (await commandHere(p, ['status'])).stdout,
    /^Tasks here: fix-parser-tests, \S+\. Start one: ralph-loop run fix-parser-tests\.$/m,
  );
});

test('resume NAME of a checklist that has never run does not call its file missing', (context) => {
  const p = project(context);
  p.write(TASK, TWO);
  assert.doesNotMatch(p.ralph(['resume', 'site']).stderr, /is missing/);
});

test('one word that names nothing can be the text of a task, and is not asked about in a pipe', async (context) => {
  const p = project(context);
  const shown = await peopleTerminal(context, p, '$RALPH run fix');
  await shown.waitFor(/Write a checklist named fix/);
  await shown.submit('t');
  await shown.waitFor(/^Task {6}fix {2}\.ralph\/fix\/RALPH\.md$/m, /\[Esc\] cancel/);
  await shown.key('Escape');
  assert.equal(await shown.waitForExit(), 130);
  assert.equal(p.has('.ralph'), false);
});
