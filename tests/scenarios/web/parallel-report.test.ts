import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import type { RunData } from '../../../src/web/model/report-data.ts';
import { commandHere } from '../../support/command-here.ts';
import { type PlanProject, planProject, planText } from '../../support/plan-beside.ts';
import { someOf } from '../../support/short-form.ts';
import {
  assertAccessible,
  assertFits,
  counts,
  screenshot,
  shows,
  startBrowser,
  VIEWS,
  watchedPage,
} from '../../support/web/browser.ts';
import { dashboard } from '../../support/web/dashboard.ts';
import { jobs, repository, run } from '../support/side-by-side.ts';

const browser = await startBrowser();
after(() => browser.close());

const CLAIMS = '[ "$name" = b ] || { echo "$name" > "$name.txt"; git add "$name.txt"; git commit -qm "Add $name"; }\n';

test('one file reports on all loops of a parallel run, with a link to each of them', async (t) => {
  const p = repository(t, ['a', 'b'], CLAIMS);
  p.write('jobs/b/RALPH.md', p.read('jobs/b/RALPH.md').replace('---\n', "---\nvalidation: ['test -e b.txt']\n"));
  p.sh('git commit -qam check', '', {
    GIT_AUTHOR_NAME: 'A',
    GIT_AUTHOR_EMAIL: 'a@b.c',
    GIT_COMMITTER_NAME: 'A',
    GIT_COMMITTER_EMAIL: 'a@b.c',
  });
  const words = [...jobs(['a', 'b']), '--parallel', '2', '--integrate', 'merge', '--report', '../all.html'];
  const { stderr } = run(p, words);
  assert.match(stderr, /the report is in \.\.\/all\.html/);
  for (const view of someOf(VIEWS, 4, 1)) {
    const { page, problems } = await watchedPage(browser, view, 'file:');
    await page.goto(pathToFileURL(join(p.dir, '..', 'all.html')).href);
    await shows(page, 'h1', /^a, b\s+incomplete$/i);
    await counts(page, '.tasks tbody tr', (count) => count === 2);
    // One iteration of a, and three of b.
    await shows(page, '.facts', /^1 of 2 tasks done · 4 iterations · /);
    const rows = await page.locator('.tasks tbody tr').allInnerTexts();
    assert.match(
      rows[0] ?? '',
      /^a [\s\S]*complete[\s\S]*[0-9a-f]{7}/i,
      'its worktree is gone, and its commit is named',
    );
    assert.match(rows[1] ?? '', /^b [\s\S]*Stopped after 3 iterations[\s\S]*stopped: no progress[\s\S]*ralph\/b/i);
    await screenshot(page, 'parallel-report', view);
    await assertAccessible(page);
    await assertFits(page);
    await page.click('.tasks tbody tr:nth-child(2) a');
    await shows(page, '.crumbs', / b$/);
    await counts(page, '.cell', (count) => count >= 3);
    await page.click('nav a');
    await shows(page, 'h1', /^a, b/);
    assert.deepEqual(problems, [], JSON.stringify(view));
    await page.context().close();
  }
});

test('the report of a plan has the loops whose worktrees are gone', async (t) => {
  const p = planProject(t, planText([{ id: 1 }, { id: 2 }]));
  const { code, stderr } = p.run(['PLAN.md', '--plan', '--parallel', '2', '--report', '../plan.html']);
  assert.equal(code, 0, stderr);
  const { page, problems } = await watchedPage(browser, { scheme: 'light', width: 1_000 }, 'file:');
  await page.goto(pathToFileURL(join(p.dir, '..', 'plan.html')).href);
  await shows(page, 'h1', /^Plan\s+complete/i);
  await page.click('.tasks tbody tr:nth-child(1) a');
  await counts(page, '.cell', (count) => count >= 1);
  assert.deepEqual(problems, []);
  await page.context().close();
  // Afterwards as well, from what was kept of the worktrees.
  assert.equal((await commandHere(p, ['report', '--out', '../later.html'])).code, 0);
  const { run, loops } = dataIn(p.read('../later.html'));
  assert.deepEqual(
    loops.map(({ row }) => row.title),
    run.tasks.map(({ title }) => title),
  );
  const [before, later] = ['plan', 'later'].map((name) => tasksIn(p.read(`../${name}.html`)));
  assert.deepEqual(later, before);
  const archived = (await commandHere(p, ['archive', '--json'])).json['runs'] as {
    file: string;
    run: { done: number };
  }[];
  assert.deepEqual(
    archived.map(({ run }) => run.done),
    [2],
  );
  assert.equal((await commandHere(p, ['archive', 'show', archived[0]?.file ?? ''])).json['title'], 'Plan');
  await assertOneRow(t, p);
});

/** The dashboard has one row for the run, which leads to its tasks and from there to their loops. */
async function assertOneRow(t: TestContext, p: PlanProject): Promise<void> {
  const { url } = await dashboard(t, p);
  for (const view of someOf(VIEWS, 4, 2)) {
    const { page, problems } = await watchedPage(browser, view, new URL(url).origin);
    await page.goto(url);
    await shows(page, '.loops', /^Plan\s+complete, verified\s+project · PLAN\.md\s+2\/2/i);
    await counts(page, '.loops li', (count) => count === 1);
    await screenshot(page, 'dashboard-run-row', view);
    await page.click('.loops a');
    await counts(page, '.tasks tbody tr', (count) => count === 2);
    await screenshot(page, 'dashboard-run', view);
    await assertAccessible(page);
    await assertFits(page);
    await page.click('.tasks tbody tr:nth-child(2) a');
    await counts(page, '.cell', (count) => count >= 1);
    assert.deepEqual(problems, []);
    await page.context().close();
  }
}

function dataIn(page: string): RunData {
  const [, text = ''] = /<script type="application\/json" id="data">(.*?)<\/script>/s.exec(page) ?? [];
  return JSON.parse(text) as RunData;
}

/** What a report says of each task: its commit, and the iterations and commits of its loop. */
function tasksIn(page: string): unknown {
  const { run, keys, loops } = dataIn(page);
  return run.tasks.map(({ id, commit }) => {
    const loop = loops.find(({ row }) => row.key === keys[id]);
    assert.ok(loop !== undefined && commit !== null, `${id} has a loop`);
    const commits = loop.iterations.flatMap((each) => each.commits.map(({ subject }) => subject));
    return { id, commit, iterations: loop.iterations.length, commits };
  });
}

test('the report of a plan in one tree has its title, and all of its tasks with their commits', (t) => {
  const p = planProject(t, planText([{ id: 1 }, { id: 2 }]));
  const { code, stderr } = p.run(['PLAN.md', '--plan', '--report', '../plan.html']);
  assert.equal(code, 0, stderr);
  const page = p.read('../plan.html');
  assert.equal(dataIn(page).run.title, 'Plan');
  const made = p.git('log --reverse --format=%H work -- work').split('\n');
  assert.deepEqual(
    dataIn(page).run.tasks.map(({ id, commit }) => [id, commit]),
    made.map((commit, index) => [`Task ${index + 1}`, commit]),
  );
  assert.equal(made.length, 2);
});

test('a report finds a loop by its name in the worktree where it ran', async (t) => {
  const p = repository(t, ['a', 'b'], CLAIMS);
  const { code, stdout } = run(p, [...jobs(['a', 'b']), '--parallel', '2']);
  assert.equal(code, 0, stdout);
  for (const words of [['a'], ['jobs/a'], ['--loop', 'a']]) {
    const { json, stderr } = await commandHere(p, ['report', ...words, '--json']);
    assert.deepEqual([json['path'], json['status']], ['.ralph/reports/ralph-report-a.html', 'complete'], stderr);
  }
  assert.equal(p.has('.ralph/reports/ralph-report-a.html'), true);
  // The controls: a name that no loop has, and the path of a task that has not run.
  p.write('jobs/c/RALPH.md', 'Do it.\n');
  for (const word of ['c', 'jobs/c'])
    assert.match((await commandHere(p, ['report', word])).stderr, /no loop has worked on/);
});

test('a report that could not be written is refused before a loop begins', (t) => {
  const p = repository(t, ['a', 'b']);
  const { code, stderr } = run(p, [...jobs(['a', 'b']), '--report', 'agent.sh']);
  assert.equal(code, 1);
  assert.match(stderr, /agent\.sh exists and is not a report/);
  assert.equal(p.has('.ralph'), false);
});
