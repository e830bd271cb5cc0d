// Runs the test folders or files that are named, or all folders, in one run of node's own runner.
import { setMaxListeners } from 'node:events';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, relative } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { fileURLToPath } from 'node:url';
import { register } from 'tsx/esm/api';
import { ENDING, endAll, runForwarding, startedHere } from './end-together.mjs';
import { inMemory } from './in-memory.mjs';
import { sourcePlaces } from './source-places.mjs';

const FOLDERS = ['client', 'faults', 'property', 'scenarios', 'unit'];
/** Folders with tests of programs that npm does not bring. */
const NEED_PROGRAMS = ['client', 'faults', 'scenarios', 'unit'];
/** Files that take longest begin first: one at the end would leave the other cores idle. */
const LONG =
  'terminal-session hosts undo issues issue-attacks plan-parallel terminal-leaving sandbox plan-run plan-commit fleet-workers system-calls parallel plan-parallel-kills report-page mod documented worktree terminal-interrupt dashboard-page fleet-dashboard screens attacker commit-hooks task-terminal plan-kills asked-loop breaker budget-within screens-fleet fleet-control fleet-limits'.split(
    ' ',
  );
/** Files about fleets that only the long form plays: each of their tests starts dozens of programs. */
const ONLY_IN_LONG_FORM =
  'fleet-add fleet-checkpoint fleet-control fleet-doctor fleet-limits fleet-set-up fleet-storm screens-fleet'.split(
    ' ',
  );
const IS_LONG = process.env['RALPH_TEST_LONG'] === '1';
/** How many files of a folder share a process, which loads their code once. In the long form some last minutes. */
const TOGETHER = { unit: 8, property: 4, ...(IS_LONG ? {} : { client: 5, scenarios: 6, faults: 2 }) };
/** What a file does for all of its tests. */
const FOR_ALL = /^(?:before|after)(?:Each)?\(/m;
/** Tests of the client, of fleets and of plans wait for much of their time: a core serves four files. */
const AT_ONCE = Math.min(8, Math.max(4, 4 * availableParallelism()));
/** A run of which nothing is heard for so long hangs. No limit for a file: beside other load a whole one may take long. */
const SILENT_MS = 15 * 60_000;
/** The most that files get to end after a signal. */
const ENDS_MS = 10_000;
const SLOWEST = 8;
const SCREENSHOTS = join('reports', 'screenshots');
/** Says that this process is the one that runs the tests. */
const RUNS = '--run';
/** A folder for each run: two at once do not meet. */
const BUNDLES = join('.build', `tests-${process.pid}`);

// Every start of node reads these certificates, which takes 35 ms: thousands of starts talk to loopback only, and npm alone
// gets them back.
process.env.RALPH_TEST_CA_CERTS ??= process.env.NODE_EXTRA_CA_CERTS ?? '';
delete process.env.NODE_EXTRA_CA_CERTS;
if (process.argv[2] !== RUNS) {
  const words = [fileURLToPath(import.meta.url), RUNS, ...process.argv.slice(2)];
  const [program, ...rest] = inMemory([process.execPath, ...words]);
  process.exit(await runForwarding(program, rest));
}
register();
const names = process.argv.slice(3);
const isNamed = (file) => names.includes(file);
const isFile = (name) => name.endsWith('.test.ts') && existsSync(name);
const unknown = names.filter((name) => !FOLDERS.includes(name) && !isFile(name));
if (unknown.length > 0) {
  console.error(`Unknown tests: ${unknown.join(', ')}. Name a test file or one of: ${FOLDERS.join(', ')}.`);
  process.exit(1);
}
await import('./needs-build.mjs');
if (names.length === 0 || names.some((name) => NEED_PROGRAMS.includes(name))) {
  const { installPrograms } = await import('../support/programs.ts');
  installPrograms();
}
const folders = FOLDERS.filter((name) => names.length === 0 || names.includes(name));
const files = mixed(folders.map((name) => testFiles(join('tests', name))));
const watch = watchFiles();
process.once('exit', () => {
  endAll(left);
  if (watch.signal.aborted) endAll(startedHere());
  rmSync(BUNDLES, { recursive: true, force: true });
  // After the reporter's summary.
  for (const line of watch.lines()) console.log(line);
  if (existsSync(SCREENSHOTS)) console.log(`Screenshots: ${SCREENSHOTS}`);
});
/** What an ended run may leave behind. */
let left = [];
for (const signal of ENDING)
  process.on(signal, () => {
    if (watch.signal.aborted) return;
    left = startedHere();
    process.exitCode = 1;
    watch.abort();
    setTimeout(() => process.exit(), ENDS_MS).unref();
  });
const places = sourcePlaces();
const all = await bundled([...names.filter(isFile), ...files]);
run({ files: all.map((file) => join(process.cwd(), file)), concurrency: AT_ONCE, signal: watch.signal })
  .on('data', watch.heard)
  .on('test:fail', (data) => {
    process.exitCode = 1;
    places.inEvent(data);
  })
  .on('test:stderr', (data) => {
    data.message = places.inText(data.message);
  })
  .compose(new spec())
  .pipe(process.stdout);

/**
 * The bundles of these test files. One takes the place of the unit tests that start no process, and one each of a few
 * other files, unless they are named: each file of its own costs a start.
 */
async function bundled(files) {
  const { bundleTests } = await import('./bundle-tests.ts');
  if (!folders.includes('unit')) return bundleTests(inGroups(files), BUNDLES);
  const { bundleFastTests, fastTestFiles } = await import('./bundle-fast-tests.ts');
  const fast = new Set(fastTestFiles());
  const others = files.filter((file) => !fast.has(file.replaceAll('\\', '/')));
  const path = join(BUNDLES, 'fast-tests.mjs');
  return [await bundleFastTests([...fast], path), ...(await bundleTests(inGroups(others), BUNDLES))];
}

/** Files of one folder that prepare nothing for all of their tests, a few together. */
function inGroups(files) {
  const groups = [];
  const open = new Map();
  for (const file of files) {
    const [, folder] = file.split(/[\\/]/);
    const isAlone = isNamed(file) || isFirst(file) || FOR_ALL.test(readFileSync(file, 'utf8'));
    const group = isAlone ? [] : (open.get(folder) ?? []);
    if (group.length === 0) groups.push(group);
    group.push(file);
    if (!isAlone) open.set(folder, group.length < (TOGETHER[folder] ?? 1) ? group : []);
  }
  return groups;
}

function isFirst(file) {
  return LONG.some((name) => file.endsWith(`${name}.test.ts`));
}

function testFiles(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.test.ts'))
    .filter(({ name }) => IS_LONG || !ONLY_IN_LONG_FORM.includes(name.replace('.test.ts', '')))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .sort();
}

/**
 * Ends the run when it is silent, naming the files that are still running. Times each file: its tests are reported only
 * after those of the files before it, its beginning and end at once.
 */
function watchFiles() {
  const controller = new AbortController();
  // Each file listens to it.
  setMaxListeners(0, controller.signal);
  const began = new Map();
  const took = new Map();
  const name = (file) => relative(BUNDLES, file).replace(/\.mjs$/, '');
  const end = () => {
    console.error(
      `Nothing was heard for ${SILENT_MS / 60_000} minutes. Still running: ${[...began.keys()].join(', ')}.`,
    );
    process.exitCode = 1;
    controller.abort();
  };
  let timer = setTimeout(end, SILENT_MS).unref();
  return {
    signal: controller.signal,
    abort: () => controller.abort(),
    heard({ type, data }) {
      clearTimeout(timer);
      timer = setTimeout(end, SILENT_MS).unref();
      if (data.nesting !== 0 || !data.name?.endsWith('.mjs')) return;
      const file = name(data.name);
      if (type === 'test:dequeue') began.set(file, Date.now());
      if (type !== 'test:complete' || !began.has(file)) return;
      took.set(file, Date.now() - began.get(file));
      began.delete(file);
    },
    lines() {
      const slowest = [...took].sort(([, a], [, b]) => b - a).slice(0, SLOWEST);
      return slowest.map(([file, ms]) => `${Math.round(ms / 1_000)} s: ${file}`);
    },
  };
}

/** The files of all folders, those of each spread over the whole: what waits runs beside what computes. */
function mixed(lists) {
  const placed = lists.flatMap((list) =>
    list.map((file, at) => ({ file, place: isFirst(file) ? -1 : at / list.length })),
  );
  return placed.sort((a, b) => a.place - b.place).map(({ file }) => file);
}
