import assert from 'node:assert/strict';
import { readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { commandHere } from '../support/command-here.ts';
import { fakeClient } from '../support/fake-client.ts';
import { type Answer, type Project, project } from '../support/project.ts';
import { longTest, someOf } from '../support/short-form.ts';
import { inPerson, unattended } from '../support/terminal/in-person.ts';
import { peopleTerminal } from '../support/terminal/people-terminal.ts';

const STATE = '.claude/context/runtime/tdd-state.json';
const AGENT = { CLAUDECODE: '1' };
/** Its own runner says how many tests it executed. */
const TEST_OF = (name: string): string =>
  `import test from 'node:test'; import { existsSync } from 'node:fs'; import assert from 'node:assert';
test('${name}', () => assert.ok(existsSync('${name}'), '${name} is missing'));\n`;

interface Told {
  readonly ok: boolean;
  readonly ran: boolean;
  readonly problem: string | null;
  readonly output: string;
  readonly bytes: number;
  readonly scenario: { readonly id: string; readonly status: string } | null;
  readonly notes: readonly string[];
}

const told = ({ stdout }: Answer): Told => JSON.parse(stdout) as Told;
const tdd = (where: Project, words: string, env = {}): Promise<Answer> =>
  commandHere(where, ['tdd', ...words.split(' ')], env);
const ONE = ['tdd', 'init', '--scenario', 'it works', '--command'];
const one = (where: Project, command: string): Promise<Answer> => commandHere(where, [...ONE, command]);

function aProject(context: TestContext): Project {
  const made = project(context);
  made.write('.claude/ralph/PROMPT.md', 'Do the work.\n');
  return made;
}

test('a real run proves a scenario: red with its evidence, green, refactored, and then all complete', (t) => {
  const where = aProject(t);
  const tdd = (words: string): Answer => where.ralph(['tdd', ...words.split(' ')]);
  where.write('tests/a.test.mjs', TEST_OF('a.txt'));
  assert.equal(where.ralph([...ONE, 'node --test tests/a.test.mjs']).code, 0);
  const next = tdd('next').json;
  assert.deepEqual(next['scenario'], {
    ...{ id: 'sc-001', description: 'it works', command: 'node --test tests/a.test.mjs', status: 'pending' },
  });
  assert.equal(tdd('green').code, 1);
  const red = tdd('red');
  assert.equal(red.code, 0, red.stdout);
  assert.match(told(red).output, /a\.txt is missing/);
  assert.equal(tdd('next').json['redEvidence'], told(red).output, 'verbatim');

  assert.match(told(tdd('green')).problem ?? '', /it still fails \(exit code 1\)/);
  where.write('a.txt', '');
  const green = tdd('green');
  assert.equal(green.code, 0, green.stdout);
  assert.equal(told(green).scenario?.status, 'green');
  assert.equal(told(tdd('refactored')).scenario?.status, 'refactored');

  const state = JSON.parse(where.read(STATE)) as Record<string, unknown[]>;
  assert.deepEqual(Object.keys(state), [
    'schemaVersion',
    'scenarios',
    'completedScenarios',
    'currentScenario',
    'evidenceLog',
  ]);
  assert.deepEqual(
    state['evidenceLog']?.map((entry) => (entry as { phase: string }).phase),
    ['red', 'green', 'refactored'],
  );
  const complete = tdd('next');
  assert.deepEqual([complete.code, complete.stdout], [0, 'RALPH_AUDIT_COMPLETE_NO_FINDINGS\n']);
  assert.match(told(tdd('red')).problem ?? '', /every scenario is complete/);
  assert.equal(tdd('status').json['complete'], true);
});

const NO_RED: readonly (readonly [string, string, RegExp])[] = [
  ['a program that is not there', 'no-such-program --test', /could not run \(exit code 127/],
  ['a file that may not be run', './check', /could not run \(exit code 126/],
  ['a shell text that does not parse', 'node --test (', /failed before any test ran/],
  ['a test file that is not there', 'node --test tests/none.test.mjs', /failed before any test ran/],
  ['a file without a test', 'node --test tests/empty.test.mjs', /no test was executed/],
  ['a test that passes at once', 'node --test tests/passes.test.mjs', /it already passes/],
  ['one that takes too long', 'sleep 600', /timed out/],
  ['one that is killed', 'kill -9 $$', /ended by SIGKILL/],
];
for (const [what, command, why] of someOf(NO_RED, 4)) {
  test(`not red: ${what}`, async (t) => {
    const where = aProject(t);
    where.write('check', 'x', 0o644);
    where.write('tests/empty.test.mjs', '');
    where.write('tests/passes.test.mjs', "import test from 'node:test'; test('is there', () => {});\n");
    // What takes too long takes for ever: the others have all the time that they need.
    const limit = why.test('timed out') ? '1' : '60';
    const init = await commandHere(where, ['tdd', 'init', '--scenario', 'x', '--command', command, '--timeout', limit]);
    assert.equal(init.code, 0, init.stderr);
    const red = await tdd(where, 'red');
    assert.equal(red.code, 1, red.stdout);
    assert.match(told(red).problem ?? '', why);
    assert.deepEqual((JSON.parse(where.read(STATE)) as { evidenceLog: unknown }).evidenceLog, []);
  });
}

test('keeps the head and tail of a long output with the count of its bytes', async (t) => {
  const where = aProject(t);
  await one(where, 'seq 100000; echo the-end; exit 1');
  const { output, bytes } = told(await tdd(where, 'red'));
  assert.ok(output.length <= 12_000);
  assert.match(output, new RegExp(`^1\\n2\\n[^]*${bytes} bytes in all[^]*the-end$`));
  const [entry] = (JSON.parse(where.read(STATE)) as { evidenceLog: { bytes: number; output: string }[] }).evidenceLog;
  assert.deepEqual([entry?.bytes, entry?.output], [bytes, output]);
});

test('a script that was changed since does not run until the user accepts it', async (t) => {
  const where = aProject(t);
  where.write('check.sh', 'exit 1\n');
  await one(where, 'sh check.sh');
  where.write('check.sh', 'touch ran; exit 1\n');
  assert.match(
    told(await tdd(where, 'red')).problem ?? '',
    /not run: check\.sh was changed since the list was created/,
  );
  assert.equal(where.has('ran'), false);
  assert.match((await tdd(where, 'init --accept', AGENT)).stderr, /--accept is for the user/);
  assert.equal(inPerson(where, ['tdd', 'init', '--accept']).code, 0);
  assert.equal(told(await tdd(where, 'red')).ok, true);
});

test('what was red has to become green: a script that came after the list is pinned from its red run on', async (t) => {
  const where = aProject(t);
  const script = (test: string): void => where.write('package.json', { scripts: { test } });
  await one(where, 'npm test');
  script('exit 1');
  assert.equal(told(await tdd(where, 'red')).ok, true);
  script('exit 0');
  const swapped = told(await tdd(where, 'green'));
  assert.match(swapped.problem ?? '', /package\.json#scripts\.test was changed since .* its test was red/);
  script('test -f a.txt');
  assert.equal(told(await tdd(where, 'red --again')).ok, true, 'red may be proved again with another script');
  where.write('a.txt', '');
  assert.equal(told(await tdd(where, 'green')).ok, true);
  script('true');
  assert.match(told(await tdd(where, 'refactored')).problem ?? '', /was changed/);
  assert.equal(inPerson(where, ['tdd', 'init', '--accept']).code, 0);
  assert.equal(told(await tdd(where, 'refactored')).ok, true);
});

test('a list from an agent runs nothing until the user agrees in another terminal', async (t) => {
  const where = aProject(t);
  const init = await commandHere(where, ['tdd', 'init', '--scenario', 'x', '--command', 'touch ran; exit 1'], AGENT);
  assert.equal(init.json['consented'], false);
  for (const env of [AGENT, {}]) assert.match(told(await tdd(where, 'red', env)).problem ?? '', /has not approved/);
  assert.equal(where.has('ran'), false);
  assert.match((await tdd(where, 'init --consent', AGENT)).stderr, /--consent is for the user/);
  const fresh = await commandHere(where, ['tdd', 'init', '--fresh', '--scenario', 'y', '--command', 'exit 1'], AGENT);
  assert.equal(fresh.code, 0, 'its own list, which nobody has agreed to, it may make anew');
  assert.match(unattended(where, ['tdd', 'init', '--consent']).stderr, /so run it at a terminal/);
  assert.equal(inPerson(where, ['tdd', 'init', '--consent']).json['consented'], true);
  assert.equal(told(await tdd(where, 'red', AGENT)).ok, true, 'the steps serve agents');
  const swap = await commandHere(where, ['tdd', 'init', '--fresh', '--scenario', 'x', '--command', 'true'], AGENT);
  assert.match(swap.stderr, /It belongs to the user/);
});

test("at a terminal the user sees the commands of an agent's list and agrees to those only", async (t) => {
  const where = aProject(t);
  const makes = (command: string, more: readonly string[] = []): Promise<Answer> =>
    commandHere(where, ['tdd', 'init', ...more, '--scenario', 'line one\nline two', '--command', command], AGENT);
  await makes('node --test a.mjs');
  const question = /May these commands run\? Type yes to agree:/;
  const no = await peopleTerminal(t, where, '$RALPH tdd init --consent');
  await no.waitFor(question);
  assert.match(await no.history(), /line one ⏎ line two +node --test a\.mjs/);
  await no.submit('no');
  assert.equal(await no.waitForExit(), 1);
  assert.equal((await tdd(where, 'status')).json['consented'], false);
  const swapped = await peopleTerminal(t, where, '$RALPH tdd init --consent');
  await swapped.waitFor(question);
  assert.equal((await makes('touch pwned', ['--fresh'])).code, 0);
  await swapped.submit('yes');
  assert.equal(await swapped.waitForExit(), 1);
  assert.match(
    await swapped.history(),
    /changed after you were shown what would run[\s\S]*-> line one ⏎ line two {2}touch pwned/,
  );
  assert.equal((await tdd(where, 'status')).json['consented'], false);
  const yes = await peopleTerminal(t, where, '$RALPH tdd init --consent');
  await yes.waitFor(question);
  await yes.submit('yes');
  assert.equal(await yes.waitForExit(), 0);
  assert.equal((await tdd(where, 'status')).json['consented'], true);
});

longTest('consent at a terminal to the loop of a session shows the list from an agent', async (t) => {
  const where = aProject(t);
  await commandHere(where, ['tdd', 'init', '--scenario', 'x', '--command', 'node --test a.mjs'], AGENT);
  assert.equal(where.ralph(['start', '--tdd', '--mode', 'hook', '--json'], AGENT).json['status'], 'awaiting-consent');
  const question = /node --test a\.mjs[\s\S]*Start it\? Type yes to agree:/;
  const no = await peopleTerminal(t, where, '$RALPH start --consent');
  await no.waitFor(question);
  await no.submit('no');
  assert.equal(await no.waitForExit(), 1);
  assert.equal(where.ralph(['status', '--json']).json['status'], 'awaiting-consent');
  const yes = await peopleTerminal(t, where, '$RALPH start --consent');
  await yes.waitFor(question);
  await yes.submit('yes');
  assert.equal(await yes.waitForExit(), 0);
  assert.equal(where.ralph(['status', '--json']).json['status'], 'running');
  assert.equal((await tdd(where, 'status')).json['consented'], true);
});

test('start at a terminal shows the list from an agent and begins nothing on a no', async (t) => {
  const where = aProject(t);
  where.write('agent.sh', '#!/bin/sh\ncat > /dev/null\n', 0o755);
  await commandHere(where, ['tdd', 'init', '--scenario', 'x', '--command', 'node --test a.mjs'], AGENT);
  for (const start of someOf(['start --tdd', 'run --tdd --agent ./agent.sh'], 2, 1)) {
    const no = await peopleTerminal(t, where, `$RALPH ${start}`);
    await no.waitFor(/Start it\? Type yes to agree:/);
    assert.match(await no.history(), /node --test a\.mjs/);
    await no.submit('no');
    assert.equal(await no.waitForExit(), 1);
    assert.equal((await tdd(where, 'status')).json['consented'], false);
    assert.equal(where.has('.claude/context/runtime/ralph-state.json'), false);
  }
  const yes = await peopleTerminal(t, where, '$RALPH start --tdd --yes');
  await yes.waitFor(/Start it\? Type yes to agree:/);
  await yes.submit('yes');
  assert.equal(await yes.waitForExit(), 0);
  assert.equal((await tdd(where, 'status')).json['consented'], true);
});

test('a client is launched with the red evidence, whatever bytes a test printed', async (t) => {
  const where = aProject(t);
  assert.equal(where.ralph(['init']).code, 0);
  await one(where, "printf 'a\\0b\\033[31mc\\377\\n'; exit 1");
  const red = told(await tdd(where, 'red'));
  assert.equal(red.output, 'abc\uFFFD');
  const { PATH } = fakeClient(where);
  const client = String(PATH).split(':')[0] ?? '';
  writeFileSync(
    join(client, 'claude'),
    `#!/bin/sh\ncase $1 in -p) printf %s "$2" > prompt.txt;; *) echo 2.1.330;; esac\n`,
  );
  const launched = where.ralph(['start', '--tdd', '--launch', '--headless', '--set', 'permission_mode=acceptEdits'], {
    PATH,
  });
  assert.doesNotMatch(launched.stderr, /internal error/);
  assert.match(where.read('prompt.txt'), /verbatim:\n```\nabc\uFFFD\n```/);
});

test('the user who agrees to a loop over scenarios sees what proves them', async (t) => {
  const where = aProject(t);
  where.write('agent.sh', '#!/bin/sh\ncat > /dev/null\n', 0o755);
  await commandHere(
    where,
    ['tdd', 'init', '--scenario', 'x', '--scenario', 'y', '--command', 'node --test a.mjs'],
    AGENT,
  );
  assert.equal(where.ralph(['start', '--tdd', '--json'], AGENT).json['status'], 'awaiting-consent');
  const { screen } = inPerson(where, ['run', '--consent', '--agent', './agent.sh', '--max-iterations', '1']);
  assert.match(
    screen,
    /scenario sc-001 +x {2}node --test a\.mjs \(60 s\)\n +scenario sc-002 +y {2}node --test a\.mjs \(60 s\)\n[\s\S]*0 of 2 scenarios are complete\. Show them: ralph-loop tdd status/,
  );
  assert.equal((await tdd(where, 'status')).json['consented'], true);
});

test('a host that drives a loop learns that it cannot become a TDD loop', async (t) => {
  const where = aProject(t);
  const session = { CLAUDE_CODE_SESSION_ID: 'session-1' };
  await one(where, 'exit 1');
  assert.equal(where.ralph(['router', 'start'], session).json['action'], 'spawn');
  const again = where.ralph(['router', 'start', '--tdd', '--task', '.claude/ralph/PROMPT.md'], session);
  assert.match(again.stderr, /--tdd/);
});

test('advice about the list of a named loop names that loop, whether it is missing or not yet agreed to', async (t) => {
  const where = aProject(t);
  assert.match(String((await tdd(where, 'status --loop cart')).json['message']), / tdd init --loop cart --scenario /);
  where.write('list.md', '- [ ] it works: `test -f a.txt`\n');
  assert.equal((await tdd(where, 'init --loop cart --input list.md', AGENT)).code, 0);
  const shown = await peopleTerminal(t, where, '$RALPH tdd status --loop cart; echo over');
  assert.match((await shown.waitFor(/^over$/m)).replaceAll(/\s+/g, ' '), / tdd init --loop cart --consent\./);
  await shown.close();
});

test('options that agree to a list create none', async (t) => {
  const where = aProject(t);
  await one(where, 'exit 1');
  assert.match((await tdd(where, 'init --consent --input other.md')).stderr, /--consent applies to the existing list/);
  assert.match(
    (await tdd(where, 'init --accept --fresh')).stderr,
    /--accept applies to the existing list: it takes no --fresh/,
  );
});

const LISTS: readonly (readonly [string, string])[] = [
  ['list.json', '[{"id": "a", "description": "first", "command": "exit 1"}, {"description": "second"}, "third"]'],
  ['list.yaml', 'scenarios:\n  - { id: a, description: first, command: exit 1 }\n  - description: second\n  - third\n'],
  ['list.md', '# Scenarios\n\n- [ ] first: `exit 1`\n- [ ] second\n- [ ] third\n'],
  ['bullets.md', 'What must hold:\n\n* first: ``exit 1``\n* second\n* third\n'],
];
for (const [file, text] of someOf(LISTS, 4)) {
  test(`a list of scenarios is read from ${file}`, async (t) => {
    const where = aProject(t);
    where.write(file, text);
    const { json, stderr } = await commandHere(where, ['tdd', 'init', '--input', file, '--command', 'npm test']);
    assert.equal(stderr, '');
    const scenarios = json['scenarios'] as { description: string; command: string }[];
    assert.deepEqual(
      scenarios.map(({ description, command }) => [description, command]),
      [
        ['first', 'exit 1'],
        ['second', 'npm test'],
        ['third', 'npm test'],
      ],
    );
  });
}

test('all problems of a list are reported at once, and nothing is created', async (t) => {
  const where = aProject(t);
  where.write(
    'bad.json',
    '[{"id": "a", "description": "x"}, {"id": "a", "description": "y", "command": "exit 1", "timeout": 9999}]',
  );
  const bad = await commandHere(where, ['tdd', 'init', '--input', 'bad.json']);
  assert.equal(bad.code, 1);
  for (const said of [/a \("x"\) has no command/, /the id a occurs twice/, /9999/]) assert.match(bad.stderr, said);
  where.write('worse.json', '[{"descripton": "x"}, 5, ""]');
  const worse = await commandHere(where, ['tdd', 'init', '--input', 'worse.json']);
  for (const said of [
    /descripton is not a scenario key/,
    /\[0\]\.description is missing/,
    /\[1\] must be/,
    /\[2\] is empty/,
  ]) {
    assert.match(worse.stderr, said);
  }
  where.write('worst.json', [{ description: 'x'.repeat(4_001), command: 'echo \0' }]);
  const worst = await commandHere(where, ['tdd', 'init', '--input', 'worst.json']);
  for (const said of [/sc-001: its command contains a NUL/, /has 4001 characters/]) assert.match(worst.stderr, said);
  assert.match((await commandHere(where, ['tdd', 'init', '--scenario', 'x'])).stderr, /no command that proves it/);
  assert.match((await commandHere(where, ['tdd', 'init', '--command', 'x'])).stderr, /needs scenarios/);
  assert.match(
    (await commandHere(where, ['tdd', 'init', '--scenario', 'x', '--command', 'a', '--command', 'b'])).stderr,
    /2 commands for 1/,
  );
  assert.match(
    (await tdd(where, 'blue')).stderr,
    /"blue" is not a step of tdd: init, next, red, green, refactored, status/,
  );
  assert.equal(where.has(STATE), false);
});

test('a missing, empty, broken or newer state is named, and nothing is lost', async (t) => {
  const where = aProject(t);
  const steps = someOf(['next', 'red', 'green', 'refactored'], 4, 1);
  for (const step of steps) {
    const { code, stderr } = await tdd(where, step);
    assert.equal(code, 1);
    assert.match(stderr, /^ralph-loop: there are no TDD scenarios here\. Create the list/);
  }
  assert.equal((await tdd(where, 'status')).json['active'], false);
  assert.equal(where.has('.claude/context'), false, 'who only asks makes nothing');
  for (const [content, why] of [
    ['', /tdd-state\.json is empty/],
    ['{}', /unusable \(\/scenarios is missing\)/],
    ['{"scen', /unusable/],
    ['{"schemaVersion": 4, "scenarios": []}', /newer ralph-loop \(version 4/],
  ] as const) {
    where.write(STATE, content);
    for (const step of steps) {
      const { code, stderr } = await tdd(where, step);
      assert.equal(code, 1);
      assert.match(stderr, why);
      assert.doesNotMatch(stderr, /internal error/);
    }
    assert.equal(where.read(STATE), content);
  }
});

test('a file in place of a folder is named', async (t) => {
  const where = aProject(t);
  await one(where, 'exit 1');
  where.write(STATE, '{}');
  where.write('.claude/context/runtime/tdd-archive', 'in the way');
  const first = await tdd(where, 'next');
  assert.match(
    first.stderr,
    /^ralph-loop: \S+tdd-archive cannot be used: a file or a broken link exists where a folder is needed/,
  );
  rmSync(join(where.dir, '.claude/context'), { recursive: true });
  symlinkSync(join(where.dir, 'nowhere'), join(where.dir, '.claude/context'));
  assert.match(
    (await tdd(where, 'next')).stderr,
    /^ralph-loop: \S+ cannot be used: a file or a broken link exists where a folder is needed/,
  );
});

test('a foreign state is imported with what it records as proved, once the user runs the named command', async (t) => {
  const where = aProject(t);
  where.write(STATE, {
    scenarios: [
      { id: 'sc-001', description: 'first', status: 'green' },
      { id: 'sc-002', description: 'second', status: 'pending' },
    ],
    completedScenarios: [
      {
        id: 'sc-001',
        evidenceCommand: 'exit 1',
        redEvidence: 'r',
        greenEvidence: 'g',
        passedAt: '2026-03-12T10:00:00Z',
      },
    ],
    currentScenario: 'sc-002',
    evidenceLog: [{ scenarioId: 'sc-001', phase: 'red', output: 'r', timestamp: '2026-03-12T09:58:00Z' }],
  });
  assert.match((await tdd(where, 'next')).stderr, /no command that proves them/);
  assert.equal((await commandHere(where, ['tdd', 'init', '--command', 'exit 1'])).code, 0);
  const next = (await tdd(where, 'next')).json;
  assert.equal((next['scenario'] as { id: string }).id, 'sc-002');
  assert.equal(next['done'], 1);
  assert.match(told(await tdd(where, 'red sc-001')).problem ?? '', /sc-001 is complete and is not run again/);
  assert.equal(told(await tdd(where, 'red')).ok, true);
  assert.equal(readdirSync(join(where.dir, '.claude/context/runtime/tdd-archive')).length, 1, 'the old file is kept');
});

test('only --fresh replaces a list and keeps the old one, and not while a loop works on it', async (t) => {
  const where = aProject(t);
  await one(where, 'exit 1');
  assert.match((await one(where, 'true')).stderr, /a list already exists, with 0 of 1/);
  const started = where.ralph(['start', '--tdd', '--json']);
  assert.equal(started.code, 0, started.stderr);
  assert.equal(started.json['taskPath'], '.claude/ralph/TDD.md');
  assert.match(where.read('.claude/ralph/TDD.md'), /test-first/);
  assert.deepEqual(where.ralph(['status', '--json']).json['scenarios'], { done: 0, total: 1, current: null });
  const fresh = ['tdd', 'init', '--fresh', '--scenario', 'other', '--command', 'exit 1'];
  assert.match(where.ralph(fresh).stderr, /a loop is working on it/);
  assert.equal(where.ralph(['cancel']).code, 0);
  assert.equal(where.ralph(fresh).code, 0);
  const [kept = ''] = readdirSync(join(where.dir, '.claude/context/runtime/tdd-archive'));
  assert.match(where.read(`.claude/context/runtime/tdd-archive/${kept}`), /it works/);
});

test('a test-first run without scenarios, or with none left, is refused before anything runs', async (t) => {
  const where = aProject(t);
  where.write('t/RALPH.md', '---\nvalidation: [touch ran]\n---\nDo it.\n');
  const run = () => where.ralph(['run', 't', '--tdd', '--agent', 'true']);
  assert.match(run().stderr, /there are no TDD scenarios here/);
  await one(where, 'test -f a.txt');
  await tdd(where, 'red');
  where.write('a.txt', '');
  await tdd(where, 'green');
  assert.match(run().stderr, /every scenario of the list is complete|there are no TDD scenarios here/);
  assert.equal(where.has('ran'), false);
});

test('a TDD loop starts over a list that has something left to do', async (t) => {
  const where = aProject(t);
  assert.match(where.ralph(['start', '--tdd']).stderr, /there are no TDD scenarios here/);
  assert.equal(where.has('.claude/context/runtime/ralph-state.json'), false);
  await one(where, 'test -f a.txt');
  await tdd(where, 'red');
  where.write('a.txt', '');
  await tdd(where, 'green');
  assert.match(where.ralph(['start', '--tdd']).stderr, /every scenario of the list is complete/);
});

test("a rule that blocks a command also blocks it as evidence; the user's start is consent to the list", async (t) => {
  const where = aProject(t);
  where.write('.claude/ralph/PROMPT.md', '---\nguardrails: { block_commands: ["curl"] }\n---\nDo the work.\n');
  await commandHere(where, ['tdd', 'init', '--scenario', 'x', '--command', 'curl -s localhost:1; exit 1'], AGENT);
  const start = ['start', '--tdd', '--task', '.claude/ralph/PROMPT.md'];
  assert.match(unattended(where, start).stderr, /only a user at a terminal can approve it/);
  assert.equal(inPerson(where, start).code, 0);
  assert.equal((await tdd(where, 'status')).json['consented'], true);
  assert.match(told(await tdd(where, 'red')).problem ?? '', /a guardrail blocks it \(curl\)/);
});

test("a step runs the programs that the user agreed to, whatever the agent's shell says", async (t) => {
  const where = aProject(t);
  where.write('fake/node', '#!/bin/sh\necho "# tests 1"; echo "# pass 1"; exit 0\n', 0o755);
  where.write('preload.cjs', 'process.exit(0);\n');
  where.write('tests/a.test.mjs', TEST_OF('a.txt'));
  await one(where, 'node --test tests/a.test.mjs');
  assert.equal(told(await tdd(where, 'red')).ok, true);
  const fake = { ...AGENT, PATH: `${join(where.dir, 'fake')}:${process.env['PATH']}` };
  const bash = { ...AGENT, BASH_ENV: join(where.dir, 'exit.sh') };
  where.write('exit.sh', 'exit 0\n');
  for (const env of [fake, bash]) assert.match(told(await tdd(where, 'green', env)).problem ?? '', /it still fails/);
  // As long as that is the user's own word, it counts.
  const refused = unattended(where, ['tdd', 'init', '--consent'], { PATH: fake.PATH });
  assert.match(refused.stderr, /so run it at a terminal/);
  const agreed = inPerson(where, ['tdd', 'init', '--consent'], 'yes', { PATH: fake.PATH });
  assert.equal(agreed.code, 0, agreed.stderr);
  assert.match(agreed.screen, /environment PATH: .* -> .*fake/);
  assert.equal(told(await tdd(where, 'green')).ok, true, 'control: with this PATH the fake is what runs');
});

test('a router hands each scenario to a developer, with its red evidence, and ends when all are proved', async (t) => {
  const where = aProject(t);
  const session = { CLAUDE_CODE_SESSION_ID: 'session-1' };
  const router = (words: string): Record<string, unknown> => where.ralph(['router', ...words.split(' ')], session).json;
  where.write('.claude/agents/ralph-developer.md', 'develops');
  await commandHere(where, [
    'tdd',
    'init',
    '--scenario',
    'one',
    '--scenario',
    'two',
    '--command',
    'echo no a; test -f a',
    '--command',
    'test -f b',
  ]);
  const first = router('start --tdd --json');
  assert.deepEqual([first['action'], first['agentType']], ['spawn', 'ralph-developer']);
  assert.match(String(first['prompt']), /Scenario sc-001, test-first \(0 of 2 complete\)/);
  await tdd(where, 'red');
  where.write('report.txt', 'The test fails.');
  const second = router('report --spawn 1 --file report.txt');
  assert.match(String(second['prompt']), /verbatim:\n```\nno a\n```/);
  where.write('a', '');
  await tdd(where, 'green');
  where.write('report.txt', 'The first one is done.');
  const third = router('report --spawn 2 --file report.txt');
  assert.match(String(third['prompt']), /Scenario sc-002, test-first \(1 of 2 complete\)/);
  await tdd(where, 'red');
  where.write('b', '');
  await tdd(where, 'green');
  where.write('report.txt', 'Both are done.');
  const last = router('report --spawn 3 --file report.txt');
  assert.deepEqual([last['action'], last['status'], last['verified']], ['stop', 'complete', true]);
});

test('at a terminal, a scenario whose command fails names its failed tests', async (t) => {
  const where = project(t);
  where.write('a.test.mjs', TEST_OF('a.txt'));
  const list = 'tdd init --scenario "one" --command "node --test a.test.mjs"';
  const steps = ['red', 'green'].map((step) => `$RALPH tdd ${step}`);
  const shown = await peopleTerminal(t, where, [`$RALPH ${list}`, ...steps, 'echo over'].join('; '));
  const screen = (await shown.waitFor(/^over$/m)).replaceAll(/\s+/g, ' ');
  assert.match(screen, /sc-001 is red: 1 of 1 test fails: a\.txt \(.*?a\.test\.mjs:\d+\): a\.txt is missing/);
  assert.match(screen, /sc-001 is not green: .*? 1 of 1 test fails: a\.txt/);
  await shown.close();
});
