import assert from 'node:assert/strict';
import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { streamed } from '../../../src/state/event-stream.ts';
import { initRepository } from '../../support/git.ts';
import { project } from '../../support/project.ts';
import { someOf } from '../../support/short-form.ts';
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
import { dashboard } from '../../support/web/dashboard.ts';
import { recordStart, writeLongLoop } from '../../support/web/long-loop.ts';

const browser = await startBrowser();
after(() => browser.close());

test('the dashboard shows live loops and one of 300 iterations, without errors or accessibility problems', async (t) => {
  const p = project(t);
  const { files, state, loopId } = writeLongLoop(p.dir, p.env, { name: 'live', iterations: 30, live: true });
  writeLongLoop(p.dir, p.env, { name: 'dates', iterations: 300, hostile: true });
  const { url, origin } = await dashboard(t, p);
  for (const view of someOf(VIEWS, 3)) {
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
  await page.waitForSelector('.count progress');
  const colour = "getComputedStyle(document.querySelector('.count progress')).accentColor";
  const isShown = `(({ classList }) => [${colour}, classList.toggle('full'), ${colour}])(document.querySelector('.count progress'))`;
  const [plain, , full] = (await page.evaluate(isShown)) as string[];
  assert.notEqual(full, plain, 'a limit that is used up has a colour of its own');
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

test('the loop at work shows its current call, open questions, and how far it is from its limits', async (t) => {
  const p = project(t);
  const { files, loopId } = writeLongLoop(p.dir, p.env, { name: 'live', iterations: 30, live: true, driven: true });
  p.write('.ralph/live/OPEN_QUESTIONS.md', '# P0\n\n- [ ] Keep the old endpoint?\n- [x] Which port?\n');
  const { url, origin } = await dashboard(t, p);
  const { page, problems } = await watchedPage(browser, { scheme: 'light', width: 1_200 }, origin);
  await page.goto(url);
  await page.click('.loops a');
  await shows(page, 'section[aria-labelledby=questions] ul', /^P0: Keep the old endpoint\?$/);
  assert.equal(await page.locator('.now').count(), 0, 'its calls are over');
  const more = Array.from({ length: 120 }, (_, index) => ['tool.started', `call ${index}`, `id-${index}`] as const);
  const calls = more.map(([type, about, id]) => ({
    type,
    at: new Date().toISOString(),
    loopId,
    iteration: 29,
    id,
    about,
  }));
  const told = calls.map((call) => `${JSON.stringify(streamed({ ...call, tool: 'Bash', nested: false }))}\n`);
  appendFileSync(files.events, told.join(''));
  await shows(page, '.now', /^Now: Bash call 119 since \d\d:\d\d:\d\d$/);
  await shows(page, '.calls tbody tr:first-child', /call 119/);
  await page.click('.panel button:has-text("earlier")');
  await shows(page, '.calls', /call 0\b/);
  await shows(page, 'figure:has-text("Cost so far") .dim', /^\$\d\.\d\d of \$60\.00$/);
  await shows(page, 'figure:has-text("Time so far") .dim', /^2h (?:\d+[ms] )?of 2d$/);
  await shows(page, '.buttons', /^Pause\s+Stop after this iteration\s+Cancel$/);
  await page.focus('.controls button.cancel');
  await page.keyboard.press('Enter');
  await page.waitForSelector('[role=alertdialog] button:focus:has-text("No")');
  await page.keyboard.press('Enter');
  await page.waitForSelector('.buttons:focus button.cancel');
  await assertAccessible(page);
  await screenshot(page, 'dashboard-at-work', { scheme: 'light', width: 1_200 });
  assert.deepEqual(problems, []);
  await page.context().close();
});

test('a list of 50 loops tells those at work from those that wait, need a person, or have ended', async (t) => {
  const p = project(t);
  const loops = Array.from({ length: 50 }, (_, index) =>
    writeLongLoop(p.dir, p.env, { name: `loop-${index}`, iterations: 4, live: index < 20, driven: index < 20 }),
  );
  const [until, since] = [Date.now() + 3_600_000, Date.now()].map((time) => new Date(time).toISOString());
  const waiting = { since, until, delayMs: 1, last: false, woken: false, seen: null };
  const paused = { since, reason: 'operator', message: 'You paused it.', resumesAt: null };
  const changes = [
    { status: 'waiting', waiting },
    { status: 'paused', paused: { ...paused, reason: 'rate-limited', resumesAt: until } },
    { status: 'paused', paused },
  ];
  for (const [index, change] of changes.entries()) {
    const { files, state } = loops[index] ?? assert.fail();
    writeFileSync(files.state, JSON.stringify({ ...state, ...change }));
  }
  const { url, origin } = await dashboard(t, p);
  const { page, problems } = await watchedPage(browser, { scheme: 'light', width: 360 }, origin);
  await page.goto(url);
  await counts(page, '.loops li', (count) => count === 50);
  const filters = await page.locator('.filters button').allInnerTexts();
  assert.deepEqual(filters, ['All 50', 'Running 17', 'Waiting 2', 'Needs you 1', 'Complete 0', 'Incomplete 30']);
  await page.click('.filters button:has-text("Waiting")');
  await counts(page, '.loops li:has-text("continues in")', (count) => count === 2);
  await page.click('.filters button:has-text("Needs you")');
  await shows(page, '.loops', /^loop-2\s+paused/);
  await page.click('.filters button:has-text("Complete")');
  await shows(page, '.empty', /No loop matches/);
  await page.click('.filters button:has-text("All")');
  await page.fill('.filters input', 'loop-4');
  await counts(page, '.loops li', (count) => count === 11);
  await page.fill('.filters input', '');
  for (const width of someOf([360, 900], 2)) {
    await page.setViewportSize({ width, height: 900 });
    await assertAccessible(page);
    await assertFits(page);
    await screenshot(page, 'dashboard-50', { scheme: 'light', width });
  }
  assert.deepEqual(problems, []);
  await page.context().close();
});

/** A line to the server that can be cut, as a tunnel from another machine is. */
async function cuttableLine(
  t: TestContext,
  to: string,
): Promise<{ readonly origin: string; readonly cut: () => void; readonly join: () => Promise<void> }> {
  const server = createServer((asked, answer) => {
    const headers = { ...asked.headers, host: new URL(to).host };
    const passed = request(`${to}${asked.url}`, { method: asked.method, headers }, (given) => {
      answer.writeHead(given.statusCode ?? 500, given.headers);
      given.pipe(answer);
    });
    passed.on('error', () => answer.destroy());
    answer.on('close', () => passed.destroy());
    asked.pipe(passed);
  });
  const listen = (port: number): Promise<void> => new Promise((resolve) => server.listen(port, '127.0.0.1', resolve));
  await listen(0);
  const { port } = server.address() as AddressInfo;
  const cut = (): void => {
    server.close();
    server.closeAllConnections();
  };
  t.after(cut);
  return { origin: `http://127.0.0.1:${port}`, cut, join: () => listen(port) };
}

test('a page that was cut off connects again and shows what it has missed', async (t) => {
  const p = project(t);
  const { files, state } = writeLongLoop(p.dir, p.env, { name: 'live', iterations: 5, live: true, driven: true });
  const { url, origin } = await dashboard(t, p);
  const line = await cuttableLine(t, origin);
  const { page } = await watchedPage(browser, { scheme: 'light', width: 900 }, line.origin);
  await page.goto(url.replace(origin, line.origin));
  await page.waitForSelector('.loops .badge:has-text("running")');
  line.cut();
  await page.waitForSelector('.link.lost:has-text("not connected; trying again")');
  const paused = { since: state.startedAt, reason: 'operator', message: 'You paused it.', resumesAt: null };
  writeFileSync(files.state, JSON.stringify({ ...state, status: 'paused', paused }));
  assert.equal(await page.locator('.loops .badge').innerText(), 'running', 'what it knew stays');
  await line.join();
  await page.waitForSelector('.link.open:has-text("live")');
  await page.waitForSelector('.loops .badge:has-text("paused")');
  await page.context().close();
});

/** A text that looks like a token of GitHub's. */
const SECRET = `ghp_${'aB3dE5fG7h'.repeat(4).slice(0, 36)}`;

test('an iteration in the dashboard shows its commits and what is not committed, with secrets masked', async (t) => {
  const p = project(t);
  initRepository(p.dir)('commit', '-q', '--allow-empty', '-m', "The user's");
  for (const name of ['mine.txt', 'ours.txt']) p.write(name, 'from the user\n');
  const long = writeLongLoop(p.dir, p.env, { name: null, iterations: 5, live: true });
  const { files, loopId } = long;
  await recordStart(long, p.env);
  p.write('notes.txt', 'one\n');
  const commit = (subject: string): void =>
    assert.equal(p.sh(`git add notes.txt && git -c user.name=a -c user.email=a@b commit -qm "${subject}"`).code, 0);
  commit('Keep dashes');
  p.write('new.txt', 'new\n');
  p.write('notes.txt', `key ${SECRET}\n`);
  const { url, origin } = await dashboard(t, p);
  const { page, problems } = await watchedPage(browser, { scheme: 'light', width: 390 }, origin);
  await page.goto(url);
  await shows(page, '.loops .row-buttons', /^Resume$/);
  await page.click('.loops a');
  await page.click('.panel summary:has-text("Keep dashes")');
  await page.waitForSelector('.panel .diff:has-text("+one")');
  await page.click('section[aria-labelledby=changes] summary:has-text("Not committed")');
  await page.waitForSelector('section[aria-labelledby=changes] .diff:has-text("-one")');
  await shows(
    page,
    'section[aria-labelledby=changes]',
    /Not committed 1 file changed.*, 1 new file\b.*new file: new\.txt/s,
  );
  assert.doesNotMatch(await page.innerText('section[aria-labelledby=changes]'), /mine\.txt|ours\.txt|The user's/);
  commit('Add a key');
  const call = { type: 'tool.started', at: new Date().toISOString(), loopId, iteration: 4, id: 'x', tool: 'Bash' };
  appendFileSync(files.events, `${JSON.stringify(streamed({ ...call, about: 'git commit' }))}\n`);
  await page.click('.panel summary:has-text("Add a key")');
  await page.waitForSelector('.panel .diff:has-text("+key")');
  assert.doesNotMatch(await page.content(), new RegExp(SECRET));
  await shows(page, 'h3', /^\/ Iteration 5: interrupted$/);
  await shows(page, '.calls tbody tr:last-child', /git commit\s+○ no result/);
  await shows(page, '.buttons', /^Resume\s+Stop now\s+Cancel$/);
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
  const report = readFileSync(join(p.dir, '.ralph/reports/ralph-report.html'), 'utf8');
  assert.match(report, /Add a key/);
  assert.doesNotMatch(report, new RegExp(SECRET));
  await page.context().close();
});

test('the dashboard lists what an ended loop has changed, like its report', async (t) => {
  const p = project(t);
  const long = writeLongLoop(p.dir, p.env, { name: null, iterations: 10 });
  const git = initRepository(p.dir);
  git('commit', '-q', '--allow-empty', '-m', 'first');
  await recordStart(long, p.env);
  p.write('notes.txt', 'one\n');
  git('add', 'notes.txt');
  p.sh('GIT_COMMITTER_DATE=2026-03-02T21:04:00Z git -c user.name=a -c user.email=a@b commit -qm "Keep dots"');
  p.write('notes.txt', 'two\n');
  const { url, origin } = await dashboard(t, p, '--read-only');
  const { page, problems } = await watchedPage(browser, { scheme: 'dark', width: 320 }, origin);
  await page.goto(url);
  await page.click('.loops a');
  await page.waitForSelector('.panel h3:has-text("Iteration 10")');
  await shows(page, '.head .facts', / · 1 commit · /);
  await shows(
    page,
    'section[aria-labelledby=changes]',
    /Keep dots 1 file .*, iteration 4\s.*Not committed at the end 1 file/s,
  );
  await page.click('[data-index="4"]');
  await page.waitForSelector('.panel summary:has-text("Keep dots")');
  const [content, shown] = await page
    .locator('.scroll:has(> .calls)')
    .evaluate((each) => [each.scrollWidth, each.clientWidth]);
  assert.ok(content <= shown, `the calls are ${content} px wide in ${shown}`);
  assert.deepEqual(problems, []);
  await page.context().close();
});

test('a page without its token, its server, loops, or a loop that can be read explains itself', async (t) => {
  const p = project(t);
  const { url, origin, stop } = await dashboard(t, p, '--read-only');
  const { page } = await watchedPage(browser, { scheme: 'light', width: 900 }, origin);
  await page.goto(origin);
  await page.waitForSelector('.empty:has-text("This page needs the address")');
  await page.goto(url);
  await page.reload();
  await page.waitForSelector('.empty:has-text("No loop has run here yet")');
  const { files } = writeLongLoop(p.dir, p.env, { name: null, iterations: 3, live: true });
  await page.route('**/loops/*', (route) => route.fulfill({ status: 500, body: '{}' }));
  await page.click('.loops a:has-text("default")');
  await page.waitForSelector('.empty:has-text("This loop cannot be read now.")');
  await page.unroute('**/loops/*');
  appendFileSync(files.events, '{}\n');
  await page.waitForSelector('.head');
  assert.equal(await page.locator('.controls').count(), 0, 'it only shows');
  stop();
  await page.waitForSelector('.link.lost');
  await page.context().close();
});
