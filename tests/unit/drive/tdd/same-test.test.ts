import '../../../support/starts-processes.ts';
import assert from 'node:assert/strict';
import { readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { provePhase } from '../../../../src/drive/tdd/prove-phase.ts';
import type { TddPhase, TddRecord } from '../../../../src/engine/schema/tdd.ts';
import { withTdd } from '../../../../src/state/tdd-store.ts';
import { makeList } from '../../../../src/task/tdd/make-list.ts';
import { withRequired } from '../../../../src/task/tdd/required-files.ts';
import { usedBy } from '../../../../src/task/tdd/test-files.ts';
import { AT, aProject, aStop, type Project, put, stateOf } from '../../../support/drive/drive-project.ts';
import { startNow } from '../../../support/drive/start-now.ts';
import { someOf } from '../../../support/short-form.ts';

const ADDS = "require('node:test')('adds', () => require('node:assert').equal(require('../src/add.js')(1, 2), 3));\n";
const WRONG = 'module.exports = () => 0;\n';
const RIGHT = 'module.exports = (one, other) => one + other;\n';
const EMPTY = "require('node:test')('adds', () => require('node:assert').equal(1, 1));\n";

/** A project with a list of one scenario that this command proves. */
function listed(t: TestContext, run: string, files: Readonly<Record<string, string>>): Project {
  const project = aProject(t);
  write(project, { 'src/add.js': WRONG, ...files });
  const wanted = [{ id: null, description: 'adds', run, timeoutSeconds: null }];
  const list = makeList({
    projectDir: project.directory,
    wanted,
    command: null,
    timeoutSeconds: null,
    consented: true,
    env: withPath(project),
    at: AT,
  });
  withTdd(project.files, AT, () => ({ next: list, result: undefined }));
  return project;
}

/** Without the variables of this test run, with which the commands would be part of it. */
function withPath({ env }: Project): NodeJS.ProcessEnv {
  const { PATH } = process.env;
  return { ...env, PATH };
}

function write({ directory }: Project, files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) put(join(directory, path), text);
}

async function prove(project: Project, phase: TddPhase, again = false, id: string | null = null) {
  const { signal } = new AbortController();
  return provePhase(project.files, { phase, id, again, env: withPath(project), signal, now: () => AT });
}

const RUN = 'node --test tests/add.test.js';
const ALL = 'node --test tests/';
const CASES = '[1, 2, 3]\n';
const FED =
  "require('node:test')('adds', () => { const { join } = require('node:path'); const [a, b, sum] = JSON.parse(require('node:fs').readFileSync(join(__dirname, 'cases', 'add.json'), 'utf8')); require('node:assert').equal(require('../src/add.js')(a, b), sum); });\n";
/** As toMatchSnapshot does: compares with what is stored, and stores what is new. */
const SNAPSHOT_TEST = `const { readFileSync, writeFileSync } = require('node:fs');
const file = \`\${__dirname}/__snapshots__/add.test.js.snap\`;
require('node:test')('adds', () => {
  const stored = readFileSync(file, 'utf8');
  const now = require('../src/add.js')(1, 2);
  const line = stored.split('\\n').find((each) => each.startsWith('adds 1: '));
  require('node:assert').equal(line ?? 'adds 1: ' + now, 'adds 1: ' + now);
  require('node:assert').equal(now, 3);
  if (!stored.includes('adds 2: ')) writeFileSync(file, 'adds 0: first\\nadds 2: second\\n' + stored);
});
`;
const HELPED = "require('node:test')('adds', () => require('./kit/check.js')(require('../src/add.js')));\n";
const CHECKS = "module.exports = (add) => require('node:assert').equal(add(1, 2), 3);\n";
/** What a lazy agent puts in the place of the code. */
const FAKED =
  "const at = require.resolve('../src/add.js'); require.cache[at] = { id: at, loaded: true, exports: (a, b) => a + b };\n";
/** As a compiler that reads every file of a folder. */
const STRICT = 'if grep -rq strict tests && ! grep -q "one + other" src/add.js; then exit 1; fi';

/** How an agent makes a red test green without the code that it asks for. */
const TRICKS: Readonly<
  Record<
    string,
    { run: string; before?: Record<string, string>; test: Record<string, string>; trick: (p: Project) => void }
  >
> = {
  'is overwritten': {
    run: RUN,
    test: { 'tests/add.test.js': ADDS },
    trick: (project) => write(project, { 'tests/add.test.js': EMPTY }),
  },
  'is overwritten, and its command names only the folder': {
    run: ALL,
    test: { 'tests/add.test.js': ADDS },
    trick: (project) => write(project, { 'tests/add.test.js': EMPTY }),
  },
  'was there before the list, and is overwritten': {
    run: ALL,
    before: { 'tests/add.test.js': ADDS },
    test: {},
    trick: (project) => write(project, { 'tests/add.test.js': EMPTY }),
  },
  'is renamed to another one': {
    run: ALL,
    test: { 'tests/add.test.js': ADDS },
    trick: (project) => {
      renameSync(join(project.directory, 'tests/add.test.js'), join(project.directory, 'tests/add.js'));
      write(project, { 'tests/other.test.js': EMPTY });
    },
  },
  'requires a file that is swapped': {
    run: RUN,
    before: { 'tests/kit/check.js': CHECKS },
    test: { 'tests/add.test.js': HELPED },
    trick: (project) => write(project, { 'tests/kit/check.js': 'module.exports = () => undefined;\n' }),
  },
  'requires a file that requires one that is swapped': {
    run: RUN,
    before: { 'tests/kit/check.js': "module.exports = require('./inner.js');\n", 'tests/kit/inner.js': CHECKS },
    test: { 'tests/add.test.js': HELPED },
    trick: (project) => write(project, { 'tests/kit/inner.js': 'module.exports = () => undefined;\n' }),
  },
  'reads a file of data that is edited': {
    run: RUN,
    before: { 'tests/cases/add.json': CASES },
    test: { 'tests/add.test.js': FED },
    trick: (project) => write(project, { 'tests/cases/add.json': '[0, 0, 0]\n' }),
  },
  'compares with a snapshot that is written anew': {
    run: RUN,
    before: { 'tests/__snapshots__/add.test.js.snap': 'adds 1: 3\n' },
    test: { 'tests/add.test.js': SNAPSHOT_TEST.replace(/.*now, 3.*\n/, '') },
    trick: (project) => write(project, { 'tests/__snapshots__/add.test.js.snap': 'adds 1: 0\n' }),
  },
  'requires a helper outside the test folders that is swapped': {
    run: RUN,
    before: { 'support/check.js': CHECKS },
    test: { 'tests/add.test.js': HELPED.replace('./kit', '../support') },
    trick: (project) => write(project, { 'support/check.js': 'module.exports = () => undefined;\n' }),
  },
  'names data outside the test folders that is edited': {
    run: RUN,
    before: { 'fixtures/add.json': CASES },
    test: { 'tests/add.test.js': FED.replace("join(__dirname, 'cases', 'add.json')", "'fixtures/add.json'") },
    trick: (project) => write(project, { 'fixtures/add.json': '[0, 0, 0]\n' }),
  },
  'requires a file that comes in its place': {
    run: RUN,
    before: { 'tests/kit/index.js': CHECKS },
    test: { 'tests/add.test.js': HELPED.replace('./kit/check.js', './kit') },
    trick: (project) => write(project, { 'tests/kit.js': 'module.exports = () => undefined;\n' }),
  },
  'imports a helper by an alias that is swapped': {
    run: ALL,
    before: { 'package.json': '{"imports": {"#kit/*": "./tests/kit/*"}}', 'tests/kit/check.js': CHECKS },
    test: { 'tests/add.test.js': HELPED.replace('./kit', '#kit') },
    trick: (project) => write(project, { 'tests/kit/check.js': 'module.exports = () => undefined;\n' }),
  },
  'imports a package of the workspace that is swapped': {
    run: ALL,
    before: {
      'packages/test-utils/index.js': CHECKS,
      'node_modules/@acme/test-utils/index.js': "module.exports = require('../../../packages/test-utils');\n",
    },
    test: { 'tests/add.test.js': HELPED.replace('./kit/check.js', '@acme/test-utils') },
    trick: (project) => write(project, { 'packages/test-utils/index.js': 'module.exports = () => undefined;\n' }),
  },
  'is set up by a file that a configuration names and that is swapped': {
    run: 'sh bin/jest',
    before: {
      'package.json': '{"jest": {"setupFiles": ["./tests/setup.js"]}}',
      'bin/jest': `node -r "$(node -p 'require("./package.json").jest.setupFiles[0]')" tests/add.test.js\n`,
      'tests/setup.js': '',
    },
    test: { 'tests/add.test.js': ADDS },
    trick: (project) => write(project, { 'tests/setup.js': FAKED }),
  },
  'uses a mock that is swapped': {
    run: RUN,
    before: { 'src/__mocks__/add.js': WRONG },
    test: {
      'tests/add.test.js': ADDS.replace(', 3)', " + require(['..', 'src', '__mocks__', 'add.js'].join('/'))(1, 2), 3)"),
    },
    trick: (project) => write(project, { 'src/__mocks__/add.js': RIGHT }),
  },
  'is called test.js beside the code, and is overwritten': {
    run: 'node --test',
    test: { 'shop/test.js': ADDS },
    trick: (project) => write(project, { 'shop/test.js': EMPTY }),
  },
  'names a class of another file that is swapped': {
    run: STRICT,
    before: { 'tests/java/Same.java': 'class Same { /* strict */ }\n' },
    test: { 'tests/java/AddTest.java': 'class AddTest { void adds() { Same.same(Add.add(1, 2), 3); } }\n' },
    trick: (project) => write(project, { 'tests/java/Same.java': 'class Same { }\n' }),
  },
  'uses what another file of its package in Go defines, which is swapped': {
    run: STRICT,
    before: { 'tests/util_test.go': 'package add\n\nfunc same(a, b int) { /* strict */ }\n' },
    test: { 'tests/add_test.go': 'package add\n\nfunc TestAdd(t *testing.T) { same(add(1, 2), 3) }\n' },
    trick: (project) => write(project, { 'tests/util_test.go': 'package add\n\nfunc same(a, b int) { }\n' }),
  },
  'uses a file of spec/support that is swapped': {
    run: 'node --test spec/add.test.js',
    before: { 'spec/support/kit.js': "module.exports = require('node:assert').equal;\n" },
    test: {
      'spec/add.test.js': ADDS.replace("'node:assert').equal", "[__dirname, 'support', 'kit.js'].join('/'))"),
    },
    trick: (project) => write(project, { 'spec/support/kit.js': 'module.exports = () => {};\n' }),
  },
};

for (const [what, { run, before = {}, test: own, trick }] of someOf(Object.entries(TRICKS), 3))
  test(`a test that ${what} between red and green proves nothing`, async (t) => {
    const project = listed(t, run, before);
    write(project, own);
    assert.equal((await prove(project, 'red')).problem, null);
    const kept = new Map(
      Object.keys({ ...before, ...own }).map((path) => [path, readFileSync(join(project.directory, path), 'utf8')]),
    );
    trick(project);
    const green = await prove(project, 'green');
    assert.match(green.problem ?? '', /the test is not the one that was red: \S+ was (?:changed|removed|added)/);
    assert.equal(green.ok, false);
    assert.match((await prove(project, 'red', true)).problem ?? '', /already passes|red/, 'nor is it red again');
    // Control: the test that was red, and the code.
    for (const [path, text] of kept) write(project, { [path]: text });
    for (const path of ['tests/other.test.js', 'tests/kit.js']) rmSync(join(project.directory, path), { force: true });
    write(project, { 'src/add.js': RIGHT });
    assert.deepEqual([(await prove(project, 'green')).problem, (await prove(project, 'green')).ok], [null, true]);
  });

for (const path of ['tests/cases/add.json', 'fixtures/add.json'])
  test(`a fixture that comes between red and green has to be seen in a red run (${path})`, async (t) => {
    const place = path.startsWith('tests') ? "join(__dirname, 'cases', 'add.json')" : "'fixtures/add.json'";
    const project = listed(t, RUN, { 'tests/add.test.js': FED.replace("join(__dirname, 'cases', 'add.json')", place) });
    assert.equal((await prove(project, 'red')).problem, null);
    for (const cases of ['[0, 0, 0]\n', CASES]) {
      write(project, { [path]: cases });
      assert.match((await prove(project, 'green')).problem ?? '', /add\.json was added/);
    }
    assert.equal((await prove(project, 'red', true)).problem, null);
    write(project, { 'src/add.js': RIGHT });
    assert.equal((await prove(project, 'green')).problem, null);
  });

test('control: data that the test itself writes may come between red and green', async (t) => {
  const first = "require('node:fs').writeFileSync('tests/began.json', '1');";
  const last = "require('node:fs').writeFileSync('tests/ended.json', '1');";
  const test = ADDS.replace('() => ', `() => { ${first} `).replace(')(1, 2), 3)', `)(1, 2), 3); ${last} }`);
  const project = listed(t, RUN, { 'tests/add.test.js': test });
  const red = await prove(project, 'red');
  assert.equal(red.problem, null);
  assert.match(red.notes.join(), /so not compared later: tests\/began\.json\./);
  write(project, { 'src/add.js': RIGHT, 'tests/began.json': '2' });
  assert.equal((await prove(project, 'green')).problem, null);
  assert.equal((await prove(project, 'refactored')).problem, null);
});

test('data that a test writes once the code is there is its own, also after a run by hand', async (t) => {
  const last = "require('node:fs').writeFileSync('tests/out.csv', '1');";
  const project = listed(t, RUN, {
    'tests/add.test.js': ADDS.replace('() => ', '() => { ').replace(', 3)', `, 3); ${last} }`),
  });
  assert.equal((await prove(project, 'red')).problem, null);
  write(project, { 'src/add.js': RIGHT, 'tests/out.csv': 'as a run by hand leaves it' });
  assert.equal((await prove(project, 'green')).problem, null);
  assert.equal((await prove(project, 'refactored')).problem, null);
});

test('a file without code that a test names, and that is no fixture by its name, is named', async (t) => {
  const project = listed(t, RUN, {
    'tests/add.test.js': FED.replace("join(__dirname, 'cases', 'add.json')", "'samples/add.json'"),
    'samples/add.json': CASES,
  });
  assert.match((await prove(project, 'red')).notes.join(), /also names samples\/add\.json\./);
  write(project, { 'samples/add.json': '[0, 0, 0]\n' });
  const green = await prove(project, 'green');
  assert.equal(green.problem, null);
  assert.match(green.notes.join(), /also names samples\/add\.json\./);
});

test('a test that is made stricter is seen to fail again, and then is green', async (t) => {
  const project = listed(t, RUN, { 'tests/add.test.js': ADDS });
  assert.equal((await prove(project, 'red')).problem, null);
  write(project, { 'tests/add.test.js': `${ADDS}${ADDS.replace('1, 2), 3', '2, 2), 4')}` });
  assert.match((await prove(project, 'green')).problem ?? '', /tests\/add\.test\.js was changed/);
  assert.equal((await prove(project, 'red', true)).problem, null);
  write(project, { 'src/add.js': RIGHT });
  assert.equal((await prove(project, 'green')).problem, null);
});

test('a file that the command itself writes is no test', async (t) => {
  const run = `echo "$(date +%s%N)" >> runs.log; ${RUN}`;
  const project = listed(t, run, { 'tests/add.test.js': ADDS, 'runs.log': 'earlier\n' });
  const red = await prove(project, 'red');
  assert.equal(red.problem, null);
  assert.match(red.notes.join(), /so not compared later: runs\.log\./);
  write(project, { 'src/add.js': RIGHT });
  assert.equal((await prove(project, 'green')).problem, null);
  assert.equal((await prove(project, 'refactored')).problem, null);
  // Control: one that it only reads.
  const other = listed(t, `cat cases.txt; ${RUN}`, { 'tests/add.test.js': ADDS, 'cases.txt': '1 2 3\n' });
  assert.equal((await prove(other, 'red')).problem, null);
  write(other, { 'cases.txt': '', 'src/add.js': RIGHT });
  assert.match((await prove(other, 'green')).problem ?? '', /cases\.txt was changed/);
});

test('control: what has no part in the test may change between red and green', async (t) => {
  const test = `require('../helpers/add.js');\nrequire('../data/load.js');\n${ADDS}`;
  const files = {
    'tests/add.test.js': test,
    'tests/other.test.js': ADDS,
    'tests/out.log': 'a',
    'tests/report/junit.xml': 'a',
    'tests/__snapshots__/other.test.js.snap': 'a',
    'helpers/add.js': '',
    'data/load.js': '',
    'index.js': "require('./data/load');\n",
  };
  const project = listed(t, RUN, files);
  assert.equal((await prove(project, 'red')).problem, null);
  const { 'tests/add.test.js': _, 'index.js': __, ...others } = files;
  for (const path of Object.keys(others)) write(project, { [path]: path.endsWith('.js') ? 'void 0;\n' : 'b' });
  write(project, { 'tests/new.test.js': EMPTY, 'tests/new.json': '{}', 'src/add.js': RIGHT });
  assert.equal((await prove(project, 'green')).problem, null);
});

test('a snapshot to which the run of a test adds is still the one that was red', async (t) => {
  const path = 'tests/__snapshots__/add.test.js.snap';
  const project = listed(t, RUN, { [path]: 'adds 1: 3\n' });
  write(project, { 'tests/add.test.js': SNAPSHOT_TEST });
  assert.equal((await prove(project, 'red')).problem, null);
  write(project, { 'src/add.js': RIGHT, [path]: 'adds 0: first\nadds 1: 3\nadds 9: by hand\n' });
  assert.equal((await prove(project, 'green')).problem, null);
  assert.equal((await prove(project, 'refactored')).problem, null);
  assert.match(readFileSync(join(project.directory, path), 'utf8'), /adds 2: second\nadds 0: first\nadds 1: 3\n/);
});

test('a configuration of pytest that comes between red and green is named', async (t) => {
  const project = listed(t, RUN, { 'tests/add.test.js': ADDS });
  assert.equal((await prove(project, 'red')).problem, null);
  write(project, { 'tests/conftest.py': '', 'src/add.js': RIGHT });
  assert.match((await prove(project, 'green')).problem ?? '', /tests\/conftest\.py was added/);
  rmSync(join(project.directory, 'tests/conftest.py'));
  assert.equal((await prove(project, 'green')).problem, null, 'control');
});

test('code in a folder of features, and what a build leaves beside tests, is no test', async (t) => {
  const code = 'src/features/add/add.js';
  const built = 'tests/Unit/bin/Debug/net8.0/add.json';
  const project = listed(t, RUN, { [code]: WRONG, [built]: '1' });
  write(project, { 'tests/add.test.js': ADDS.replace('src/add', 'src/features/add/add') });
  assert.equal((await prove(project, 'red')).problem, null);
  write(project, { [code]: "module.exports = require('./sum');", [built]: '2', 'src/features/add/sum.js': RIGHT });
  assert.equal((await prove(project, 'green')).problem, null);
});

for (const path of ['src/commands/test.js', 'src/main/java/factories/AddFactory.java', 'Shop/Factories/AddFactory.cs'])
  test(`control: code with a name like that of tests may change between red and green (${path})`, async (t) => {
    const isJs = path.endsWith('.js');
    const project = listed(t, isJs ? RUN : STRICT, { [path]: WRONG });
    if (isJs) write(project, { 'tests/add.test.js': ADDS.replace('src/add', 'src/commands/test') });
    else write(project, { 'tests/AddFactoryTest.cs': 'class AddFactoryTest { /* strict */ AddFactory made; }\n' });
    assert.equal((await prove(project, 'red')).problem, null);
    write(project, { [path]: RIGHT, 'src/add.js': RIGHT });
    assert.equal((await prove(project, 'green')).problem, null);
  });

test('a mock that a scenario did not bring may change with the next one', async (t) => {
  const mock = 'src/__mocks__/clock.js';
  const project = await firstProved(t, ADDS, {}, { [mock]: 'exports.now = () => 0;\n' });
  write(project, { [mock]: 'exports.now = () => 1;\n', 'tests/more.test.js': ADDS_MORE });
  assert.equal((await prove(project, 'red')).problem, null);
  write(project, { [mock]: 'exports.now = () => 2;\n' });
  assert.match((await prove(project, 'green')).problem ?? '', /clock\.js was changed/);
});

test('code that a runner loads without an import of the test counts with it', (t) => {
  const project = aProject(t);
  write(project, {
    'tests/test_add.py': 'pytest_plugins = ["tests.plugins.db"]\n',
    'tests/plugins/db.py': '',
    'jest.config.js':
      "module.exports = { setupFiles: ['./jest.setup.js', './src/setupTests.ts'], roots: ['./src/add.js'] };\n",
    ...{ 'jest.setup.js': '', 'src/setupTests.ts': '', 'src/add.js': '', 'cypress/support/e2e.js': '' },
  });
  const all = [...withRequired(['tests/test_add.py'], project.directory)];
  assert.deepEqual(all, ['tests/test_add.py', 'tests/plugins/db.py']);
  const used = Object.keys(usedBy({}, project.directory, ['jest.config.js'])).toSorted();
  assert.deepEqual(used, ['cypress/support/e2e.js', 'jest.setup.js', 'src/setupTests.ts']);
});

test('the tests of a package in Go are read once, however many there are', (t) => {
  const { directory } = aProject(t);
  const files = Array.from({ length: 900 }, (_, at): [string, string] => [
    `pkg/a${at}_test.go`,
    `package pkg\n\nfunc same${at}() {}\n\nfunc TestA${at}(t *testing.T) { same${at}() }\n`,
  ]);
  for (const [path, text] of files) put(join(directory, path), text);
  const before = process.cpuUsage();
  assert.equal(withRequired(Object.keys(Object.fromEntries(files)), directory).size, files.length);
  const { user, system } = process.cpuUsage(before);
  assert.ok(user + system < 3_000_000, `${user + system}`);
});

test('data that several scenarios share may grow with the next one', async (t) => {
  const project = await firstProved(t, FED.replace('const [', 'const [[').replace('sum] =', 'sum]] ='), {
    'tests/cases/add.json': '[\n[1, 2, 3]\n]\n',
  });
  const more = 'tests/more.test.js';
  const other = FED.replace('const [', 'const [, [').replace('sum] =', 'sum]] =').replace("'adds'", "'adds more'");
  write(project, { 'tests/cases/add.json': '[\n[0, 0, 0],\n[-1, -2, 3]\n]\n', [more]: other });
  assert.match((await prove(project, 'red')).problem ?? '', /add\.json also proves sc-001/);
  write(project, { 'tests/cases/add.json': '[\n[1, 2, 3],\n[-1, -2, 3]\n]\n' });
  assert.equal((await prove(project, 'red')).problem, null, 'control');
});

test('a command that exits with 0 while its runner reports failed tests is not green', async (t) => {
  const project = listed(t, `${RUN} || true`, { 'tests/add.test.js': ADDS });
  assert.match((await prove(project, 'red')).problem ?? '', /exited with 0, but its runner reports 1 failed test/);
  withTdd(project.files, AT, (found) => {
    assert.ok(found.kind === 'list');
    const log = [{ scenarioId: 'sc-001', phase: 'red' as const, output: '', timestamp: AT }];
    return { next: { ...found.record, current: 'sc-001', log }, result: undefined };
  });
  assert.match((await prove(project, 'green')).problem ?? '', /exited with 0, but its runner reports 1 failed test/);
  write(project, { 'src/add.js': RIGHT });
  assert.equal((await prove(project, 'green')).problem, null, 'control');
});

function began(project: Project): void {
  const { directory, env } = project;
  startNow({
    projectDir: directory,
    name: null,
    task: null,
    flags: {},
    env,
    at: AT,
    existing: 'refuse',
    consented: true,
    headless: false,
    launched: false,
    clientVersion: null,
    bundleDir: null,
    baseline: null,
    tdd: true,
  });
}

const OURS = { RALPH_ACTIVE: '1' };
const CLAIM = { last_assistant_message: 'Done.\n\nRALPH_AUDIT_COMPLETE_NO_FINDINGS' };

function forge(record: TddRecord): TddRecord {
  const proof = { redEvidence: 'fail 1', greenEvidence: 'pass 1', passedAt: AT };
  return { ...record, completed: [{ id: 'sc-001', evidenceCommand: RUN, ...proof }] };
}

test('a list into which a program of the agent writes a completed scenario pauses the loop', async (t) => {
  const project = listed(t, RUN, {});
  began(project);
  const { scenarios } = project.files;
  writeFileSync(scenarios, JSON.stringify(forge(JSON.parse(readFileSync(scenarios, 'utf8')))));
  const answer = await aStop(project, CLAIM, OURS);
  assert.ok(answer?.systemMessage?.includes(`${scenarios} was changed by another program`), JSON.stringify(answer));
  const state = stateOf(project);
  assert.equal(state.status === 'paused' && state.paused.reason, 'evidence-lost');
});

test('at a claim the commands of all scenarios run again', async (t) => {
  const project = listed(t, RUN, { 'tests/add.test.js': ADDS });
  began(project);
  // As if it had been proved by this program, so that only the code tells.
  withTdd(project.files, AT, (found) => {
    assert.ok(found.kind === 'list');
    return { next: forge(found.record), result: undefined };
  });
  const refused = await aStop(project, CLAIM, OURS);
  assert.match(refused?.reason ?? '', /sc-001: it passed when it was proved and fails now \(exit code 1\)/);
  assert.match(refused?.reason ?? '', /It was green, and fails now/, 'the scenario is at work again');
  write(project, { 'src/add.js': RIGHT });
  assert.equal((await prove(project, 'refactored')).problem, null);
  const again = { last_assistant_message: `It passes.\n\n${CLAIM.last_assistant_message}` };
  const last = await aStop(project, again, OURS);
  assert.match(last?.systemMessage ?? '', /Complete/, 'control');
});

/** What an agent does with a proved test before it claims; `put` gives it back. */
const WEAKENED: Readonly<Record<string, { what: RegExp; trick: (path: string) => void }>> = {
  overwritten: { what: /was changed/, trick: (path) => writeFileSync(path, EMPTY) },
  removed: { what: /was removed/, trick: (path) => rmSync(path) },
  'made unreadable': {
    what: /cannot be read/,
    trick: (path) => {
      rmSync(path);
      symlinkSync(path, path);
    },
  },
};

for (const [name, { what, trick }] of someOf(Object.entries(WEAKENED), 3))
  test(`a test that is ${name} after green holds the refactoring and the claim`, async (t) => {
    const project = listed(t, ALL, { 'tests/add.test.js': ADDS, 'tests/keep.test.js': EMPTY });
    began(project);
    assert.equal((await prove(project, 'red')).problem, null);
    write(project, { 'src/add.js': RIGHT });
    assert.equal((await prove(project, 'green')).problem, null);
    const path = join(project.directory, 'tests/add.test.js');
    trick(path);
    const said = new RegExp(`the test of sc-001 is not the one that was red: tests/add\\.test\\.js ${what.source}`);
    assert.match((await prove(project, 'refactored')).problem ?? '', said);
    const refused = await aStop(project, CLAIM, OURS);
    assert.match(refused?.reason ?? '', said);
    rmSync(path, { force: true });
    write(project, { 'tests/add.test.js': ADDS });
    const last = await aStop(
      project,
      { last_assistant_message: `It is back.\n\n${CLAIM.last_assistant_message}` },
      OURS,
    );
    assert.match(last?.systemMessage ?? '', /Complete/, 'control: put back');
  });

test('a proved test that changed counts once it was seen to fail without the code', async (t) => {
  const project = listed(t, RUN, { 'tests/add.test.js': ADDS });
  began(project);
  assert.equal((await prove(project, 'red')).problem, null);
  write(project, { 'src/add.js': RIGHT });
  assert.equal((await prove(project, 'green')).problem, null);
  assert.match((await prove(project, 'red', true, 'sc-001')).problem ?? '', /is complete/, 'control: the same test');
  write(project, { 'tests/add.test.js': EMPTY });
  assert.match(
    (await prove(project, 'red', true, 'sc-001')).problem ?? '',
    /already passes/,
    'control: it cannot fail',
  );
  write(project, { 'tests/add.test.js': `${ADDS}${ADDS.replace('1, 2), 3', '2, 2), 4')}` });
  assert.match((await prove(project, 'red', true, 'sc-001')).problem ?? '', /already passes/);
  write(project, { 'src/add.js': WRONG });
  assert.equal((await prove(project, 'red', true, 'sc-001')).problem, null);
  const refused = await aStop(project, CLAIM, OURS);
  assert.match(refused?.reason ?? '', /sc-001 was green and fails now/);
  write(project, { 'src/add.js': RIGHT });
  assert.equal((await prove(project, 'refactored')).problem, null);
  const last = await aStop(project, { last_assistant_message: `Again.\n\n${CLAIM.last_assistant_message}` }, OURS);
  assert.match(last?.systemMessage ?? '', /Complete/);
});

/** A list of two scenarios, of which the first one is proved by a file that both share. */
async function firstProved(
  t: TestContext,
  first: string,
  others: Readonly<Record<string, string>> = {},
  before: Readonly<Record<string, string>> = {},
): Promise<Project> {
  const project = listed(t, ALL, before);
  withTdd(project.files, AT, (found) => {
    assert.ok(found.kind === 'list');
    const [one] = found.record.scenarios;
    assert.ok(one);
    return { next: { ...found.record, scenarios: [one, { ...one, id: 'sc-002' }] }, result: undefined };
  });
  began(project);
  write(project, { [SHARED]: first, ...others });
  assert.deepEqual([(await prove(project, 'red')).problem, (await prove(project, 'red')).notes.length], [null, 1]);
  write(project, { 'src/add.js': RIGHT });
  assert.equal((await prove(project, 'green')).problem, null);
  return project;
}

const SHARED = 'tests/add.test.js';
const ADDS_MORE = ADDS.replace('1, 2), 3', '-1, -2), 3').replace("'adds'", "'adds more'");

test('a file of tests that grows with the next scenario is named, and holds nothing', async (t) => {
  const project = await firstProved(t, ADDS);
  write(project, { [SHARED]: ADDS + ADDS_MORE });
  const red = await prove(project, 'red');
  assert.equal(red.problem, null);
  assert.match(red.notes.join(), /changed with this test: tests\/add\.test\.js, which proves sc-001 as well/);
  write(project, { [SHARED]: ADDS + ADDS_MORE.replace('-1, -2), 3', '-2, -2), 4') });
  assert.equal((await prove(project, 'red', true)).problem, null, 'its own test may change');
  write(project, { 'src/add.js': 'module.exports = (one, other) => Math.abs(one + other);\n' });
  assert.equal((await prove(project, 'green')).problem, null);
  const last = await aStop(project, CLAIM, OURS);
  assert.match(last?.systemMessage ?? '', /Complete/);
});

test('control: with the same command, tests inside the code of Rust count as tests', async (t) => {
  const project = await firstProved(t, ADDS, {}, { 'src/lib.rs': '' });
  withTdd(project.files, AT, (found) => {
    assert.ok(found.kind === 'list');
    const scenarios = found.record.scenarios.map((one) => ({ ...one, run: `${RUN} && make -n -f ci.mk` }));
    const completed = found.record.completed.map((one) => ({ ...one, evidenceCommand: `${RUN} && make -n -f ci.mk` }));
    return { next: { ...found.record, scenarios, completed }, result: undefined };
  });
  write(project, { 'src/lib.rs': '#[cfg(test)]\nmod tests {}\n', 'src/add.js': WRONG });
  assert.equal((await prove(project, 'red')).problem, null);
});

test('code that is broken for a moment shows nothing of the next scenario with the same command', async (t) => {
  const project = await firstProved(t, ADDS);
  write(project, { 'src/add.js': WRONG });
  const red = await prove(project, 'red');
  assert.match(red.problem ?? '', /passed for sc-001, and no test was added or changed since/);
  assert.equal(red.ran, false);
  for (const [path, text] of [
    [SHARED, ADDS + ADDS_MORE],
    ['tests/more.test.js', ADDS_MORE],
    ['tests/cases/more.json', CASES],
  ] as const) {
    write(project, { [SHARED]: ADDS, [path]: text });
    assert.equal((await prove(project, 'red', true)).problem, null, `control: ${path}`);
    rmSync(join(project.directory, path));
  }
});

test('a test file that a script of the list runs may grow with each scenario, and not shrink', async (t) => {
  const project = listed(t, 'npm test', {
    'package.json': '{"scripts": {"test": "node test.js"}}',
    'test.js': "require('node:assert');\n",
  });
  const [first, second] = ["require('node:assert').equal(require('./src/add.js')(1, 2), 3);\n", 'process.exit(1);\n'];
  write(project, { 'test.js': first });
  assert.equal((await prove(project, 'red')).problem, null);
  write(project, { 'test.js': '' });
  assert.match((await prove(project, 'green')).problem ?? '', /test\.js was changed/);
  write(project, { 'test.js': first, 'src/add.js': RIGHT });
  assert.equal((await prove(project, 'green')).problem, null);
  write(project, { 'test.js': second });
  assert.match((await prove(project, 'refactored')).problem ?? '', /test\.js was changed/);
  write(project, { 'test.js': first });
  assert.equal((await prove(project, 'refactored')).problem, null);
});

test('a test that is weakened with the red test of the next scenario holds that one', async (t) => {
  const project = await firstProved(t, ADDS);
  for (const weakened of [EMPTY, '', ADDS.replace("'adds'", "'adds', { skip: true }")]) {
    write(project, { [SHARED]: weakened + ADDS_MORE });
    const red = await prove(project, 'red');
    assert.match(
      red.problem ?? '',
      /tests\/add\.test\.js also proves sc-001, and more than its end changed\. [\s\S]*tdd red sc-001 --again/,
    );
    assert.equal(red.ran, false);
  }
  write(project, { [SHARED]: ADDS + ADDS_MORE });
  assert.equal((await prove(project, 'red')).problem, null, 'control: with the former lines');
});

test('a proved test that changes with the next one counts once it failed again', async (t) => {
  const project = await firstProved(t, ADDS);
  const other = ADDS.replace('1, 2), 3', '2, 2), 4');
  write(project, { [SHARED]: other + ADDS_MORE, 'src/add.js': WRONG });
  assert.match((await prove(project, 'red')).problem ?? '', /more than its end changed/);
  assert.equal((await prove(project, 'red', true, 'sc-001')).problem, null);
  write(project, { [SHARED]: other, 'src/add.js': RIGHT });
  assert.match((await prove(project, 'refactored')).problem ?? '', /was changed/);
  write(project, {
    [SHARED]: other + ADDS_MORE,
    'src/add.js': 'module.exports = (one, other) => Math.abs(one + other);\n',
  });
  assert.equal((await prove(project, 'refactored')).problem, null);
  assert.match((await prove(project, 'red')).problem ?? '', /already passes/, 'the next one is at work');
});

test('a test of a later scenario is held as well when an earlier one is seen to fail again', async (t) => {
  const project = await firstProved(t, ADDS);
  write(project, { [SHARED]: ADDS + ADDS_MORE });
  assert.equal((await prove(project, 'red')).problem, null);
  write(project, { 'src/add.js': 'module.exports = (one, other) => Math.abs(one + other);\n' });
  assert.equal((await prove(project, 'green')).problem, null);
  write(project, { [SHARED]: ADDS.replace('1, 2), 3', '2, 2), 4') + EMPTY, 'src/add.js': WRONG });
  assert.match(
    (await prove(project, 'red', true, 'sc-001')).problem ?? '',
    /also proves sc-002, and more than its end/,
  );
  write(project, { [SHARED]: ADDS + ADDS_MORE + ADDS.replace('1, 2), 3', '2, 2), 4') });
  assert.equal((await prove(project, 'red', true, 'sc-001')).problem, null, 'control');
});

test('a red test that cannot be read is named, and tests inside the code are', async (t) => {
  const project = listed(t, ALL, { 'tests/add.test.js': ADDS });
  const path = join(project.directory, 'tests/loop.test.js');
  symlinkSync(path, path);
  assert.match((await prove(project, 'red')).problem ?? '', /cannot be read: tests\/loop\.test\.js/);
  rmSync(path);
  assert.equal((await prove(project, 'red')).problem, null, 'control');

  for (const [run, file, text] of [
    ['cargo test', 'src/lib.rs', '#[cfg(test)]\nmod tests {}\n'],
    ['zig build test', 'src/root.zig', 'test "adds" {}\n'],
  ] as const) {
    const other = listed(t, run, { [file]: text });
    assert.match((await prove(other, 'red')).notes.join(), new RegExp(`in the same file as the code, as in ${file}`));
    const without = listed(t, run, { [file]: 'fn main() {}\n' });
    assert.deepEqual((await prove(without, 'red')).notes, [], 'control: no test there');
  }
});
