import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { streamed } from '../../../src/state/event-stream.ts';
import { DIST, type Project, project } from '../../support/project.ts';
import { until } from '../../support/until.ts';
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
import { writeLongLoop } from '../../support/web/long-loop.ts';

const browser = await startBrowser();
after(() => browser.close());

async function dashboard(
  t: TestContext,
  p: Project,
  ...options: string[]
): Promise<{ url: string; origin: string; stop: () => void }> {
  const words = [join(DIST, 'scripts', 'main.cjs'), 'dashboard', '--json', ...options];
  const child = spawn(process.execPath, words, { cwd: p.dir, env: p.env, stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const { url } = JSON.parse(line.toString()) as { url: string };
  return { url, origin: new URL(url).origin, stop: () => child.kill('SIGKILL') };
}

test('the dashboard shows live loops and one of 300 iterations, without errors or serious accessibility problems', async (t) => {
  const p = project(t);
  const { files, state, loopId } = writeLongLoop(p.dir, p.env, { name: 'live', iterations: 30, live: true });
  writeLongLoop(p.dir, p.env, { name: 'dates', iterations: 300, hostile: true });
  const { url, origin } = await dashboard(t, p);
  for (const view of VIEWS) {
    const { page, problems } = await watchedPage(browser, view, origin);
    await page.goto(url);
    await page.waitForSelector('.loops li:nth-child(2)');
    assert.equal(page.url(), `${origin}/`, 'the address holds no token');
    await screenshot(page, 'dashboard', view);
    await assertAccessible(page);
    await assertFits(page);
    await page.click('.loops a:has-text("live")');
    await page.waitForSelector('.controls');
    await screenshot(page, 'dashboard-loop', view);
    // All but the controls is on the page of the long loop, too; their colours do not depend on the width.
    if (view.width > 1_000) await assertAccessible(page);
    await assertFits(page);
    await page.click('a:has-text("All loops")');
    await page.click('.loops a:has-text("dates")');
    await counts(page, '.cell', (count) => count === 300);
    await shows(page, '.why', /^stopped by the circuit breaker after \d\d iterations/i);
    await screenshot(page, 'dashboard-ended', view);
    await assertAccessible(page);
    await assertFits(page);
    assert.deepEqual(problems, [], JSON.stringify(view));
    await page.context().close();
  }
  const { page, problems } = await watchedPage(browser, { scheme: 'light', width: 1_200 }, origin);
  await page.goto(url);
  await page.click('.loops a:has-text("live")');
  const said = streamed({
    type: 'agent.text',
    at: new Date().toISOString(),
    loopId,
    iteration: 29,
    text: 'News of the agent.',
  });
  await page.waitForSelector('.said');
  appendFileSync(files.events, `${JSON.stringify(said)}\n`);
  await page.waitForSelector('.said:has-text("News of the agent.")');
  await page.fill('.controls input', 'Mind the tests');
  await page.click('.controls form button');
  await page.waitForSelector('.controls [role=status]:has-text("The agent receives it")');
  await until('the message is recorded', () =>
    /"type":"operator\.steer".*Mind the tests/.test(readFileSync(files.events, 'utf8')),
  );
  await page.click('.controls button.cancel');
  await page.click('[role=alertdialog] button:has-text("No")');
  await counts(page, '[role=alertdialog]', (count) => count === 0);
  await shows(page, '.badge >> nth=0', /^interrupted$/);
  const ended = {
    ...state,
    status: 'ended',
    ended: { at: new Date().toISOString(), as: 'complete', verified: true, message: 'complete after 29 iterations.' },
  };
  writeFileSync(join(files.archiveDir, '2026-03-03T00-00-00.000Z-complete.json'), JSON.stringify(ended));
  rmSync(files.state);
  await page.waitForSelector('.badge:has-text("complete, verified")');
  await counts(page, '.controls', (count) => count === 0);
  assert.deepEqual(problems, []);
  await page.context().close();
});

/** A text that looks like a token of GitHub's. */
const SECRET = `ghp_${'aB3dE5fG7h'.repeat(4).slice(0, 36)}`;

test('an iteration in the dashboard shows its commits and what is not committed, with secrets masked', async (t) => {
  const p = project(t);
  const { files, loopId } = writeLongLoop(p.dir, p.env, { name: null, iterations: 5, live: true });
  p.write('notes.txt', 'one\n');
  const commit = (subject: string): void =>
    assert.equal(p.sh(`git add notes.txt && git -c user.name=a -c user.email=a@b commit -qm "${subject}"`).code, 0);
  assert.equal(p.sh('git init -q').code, 0);
  commit('Keep dashes');
  p.write('notes.txt', `key ${SECRET}\n`);
  const { url, origin } = await dashboard(t, p);
  const { page, problems } = await watchedPage(browser, { scheme: 'light', width: 390 }, origin);
  await page.goto(url);
  await page.click('.loops a');
  await page.click('.panel summary:has-text("Keep dashes")');
  await page.waitForSelector('.panel .diff:has-text("+one")');
  await page.click('section[aria-labelledby=uncommitted] summary');
  await page.waitForSelector('section[aria-labelledby=uncommitted] .diff:has-text("-one")');
  commit('Add a key');
  const call = { type: 'tool.started', at: new Date().toISOString(), loopId, iteration: 4, id: 'x', tool: 'Bash' };
  appendFileSync(files.events, `${JSON.stringify(streamed({ ...call, about: 'git commit' }))}\n`);
  await page.click('.panel summary:has-text("Add a key")');
  await page.waitForSelector('.panel .diff:has-text("+key")');
  assert.doesNotMatch(await page.content(), new RegExp(SECRET));
  await assertAccessible(page);
  await assertFits(page);
  await screenshot(page, 'dashboard-commits', { scheme: 'light', width: 390 });
  await page.click('[data-index="2"]');
  await page.waitForSelector('.panel h3:has-text("Iteration 2")');
  assert.equal(
    await page.locator('.panel summary:has-text("Keep dashes")').count(),
    0,
    'an earlier iteration has none',
  );
  assert.deepEqual(problems, []);
  p.ralph(['report']);
  const report = readFileSync(join(p.dir, 'ralph-report.html'), 'utf8');
  assert.match(report, /Add a key/);
  assert.doesNotMatch(report, new RegExp(SECRET));
  await page.context().close();
});

test('a page without its token, without a server and without loops explains itself', async (t) => {
  const p = project(t);
  const { url, origin, stop } = await dashboard(t, p, '--read-only');
  const { page } = await watchedPage(browser, { scheme: 'light', width: 900 }, origin);
  await page.goto(origin);
  await page.waitForSelector('.empty:has-text("This page needs the address")');
  await page.goto(url);
  await page.reload();
  await page.waitForSelector('.empty:has-text("No loop has run here yet")');
  writeLongLoop(p.dir, p.env, { name: null, iterations: 3, live: true });
  await page.click('.loops a:has-text("default")');
  await page.waitForSelector('.head');
  assert.equal(await page.locator('.controls').count(), 0, 'it only shows');
  stop();
  await page.waitForSelector('.link.lost');
  await page.context().close();
});
