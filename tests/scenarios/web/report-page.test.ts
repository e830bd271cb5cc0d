import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import type { Page } from 'playwright-core';
import { localTime } from '../../../src/text/time.ts';
import { commandHere } from '../../support/command-here.ts';
import { initRepository } from '../../support/git.ts';
import { project } from '../../support/project.ts';
import { screenshotPath } from '../../support/screenshots.ts';
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
import { HOSTILE, writeLongLoop } from '../../support/web/long-loop.ts';

const browser = await startBrowser();
after(() => browser.close());

test('a report of 300 iterations is one file that opens without network, errors or accessibility problems', async (t) => {
  const p = project(t);
  writeLongLoop(p.dir, p.env, { name: 'dates', iterations: 300, hostile: true });
  const { code, stderr } = await commandHere(p, ['report', 'dates']);
  assert.equal(code, 0, stderr);
  const path = join(p.dir, '.ralph/reports/ralph-report-dates.html');
  const data = /id="data">(.*)<\/script>/.exec(readFileSync(path, 'utf8'))?.[1] ?? '';
  assert.ok(statSync(path).size - data.length < 1_000_000, 'at most 1 MB beside its data');
  for (const view of someOf(VIEWS, 3)) {
    const { page, problems } = await watchedPage(browser, view, 'file:');
    await page.goto(pathToFileURL(path).href);
    await counts(page, '.cell', (count) => count === 300);
    await shows(page, '.why', /^stopped by the circuit breaker after \d\d iterations/i);
    await shows(page, '.panel', /circuit breaker: no progress 3 of 3/);
    await screenshot(page, 'report', view);
    await assertAccessible(page);
    await assertFits(page);
    const proof = 'section[aria-labelledby=proof] .scroll';
    const [content, shown] = await page.$eval(proof, ({ scrollWidth, clientWidth }) => [scrollWidth, clientWidth]);
    assert.ok((content ?? 0) <= (shown ?? 0), `the table of checks is ${content} px wide in ${shown}`);
    assert.deepEqual(problems, [], JSON.stringify(view));
    await page.context().close();
  }
});

test('the report says what was proved, and shows each iteration by key and click', async (t) => {
  const p = project(t);
  writeLongLoop(p.dir, p.env, { name: null, iterations: 100 });
  await commandHere(p, ['report']);
  const { page, problems } = await watchedPage(browser, { scheme: 'light', width: 1_000 }, 'file:');
  await page.goto(pathToFileURL(join(p.dir, '.ralph/reports/ralph-report.html')).href);
  await counts(page, 'section[aria-labelledby=proof] tbody tr', (count) => count === 3);
  const rows = await page.locator('section[aria-labelledby=proof] tbody tr').allInnerTexts();
  assert.deepEqual(
    rows.map((row) => row.replaceAll(/\s+/g, ' ')),
    [
      'tests npm test exit code 1. – × failed 4 23 –',
      'types npx tsc --noEmit – ✓ passed 4 23 89',
      'acceptance ./accept.sh --all – ○ never ran 0 – –',
    ],
  );
  await page.click('.cell[data-index="17"]');
  await shows(page, '#chosen', /Iteration 17: worked/);
  await shows(page, '.panel', /denied.*blocked by guardrail/s);
  await page.keyboard.press('ArrowRight');
  await shows(page, '#chosen', /Iteration 18/);
  await page.keyboard.press('Home');
  await shows(page, '#chosen', /Iteration 1:/);
  await page.click('.cell[data-index="41"]');
  await shows(page, '.panel', /Your messages\s+Leave the public API as it is/);
  await page.click('.cell[data-index="23"]');
  await shows(page, '.panel', /Why the claim was rejected\s+tests: exit code 1/);
  assert.deepEqual(problems, []);
  await page.context().close();
});

test("an agent's text stays text: tags, script ends, terminal codes, direction marks", async (t) => {
  const p = project(t);
  writeLongLoop(p.dir, p.env, { name: null, iterations: 3, hostile: true });
  await commandHere(p, ['report']);
  const { page, problems } = await watchedPage(browser, { scheme: 'light', width: 1_000 }, 'file:');
  await page.goto(pathToFileURL(join(p.dir, '.ralph/reports/ralph-report.html')).href);
  await shows(page, '.said', /hidden/);
  const said = await page.innerText('.said');
  assert.ok(said.startsWith(HOSTILE.split('\n')[0] ?? ''), said);
  assert.match(said, /<U\+202E>txt\.exe<U\+2066> hidden <U\+200F>/);
  assert.doesNotMatch(said, /\u001B|\u202E/);
  assert.doesNotMatch(await page.title(), /owned/);
  assert.equal(await page.locator('.said img, .said script, .said a').count(), 0);
  assert.deepEqual(problems, []);
  await page.context().close();
});

test('control: a page whose data could end its element runs what an agent wrote', async (t) => {
  const p = project(t);
  writeLongLoop(p.dir, p.env, { name: null, iterations: 3, hostile: true });
  await commandHere(p, ['report']);
  const path = join(p.dir, '.ralph/reports/ralph-report.html');
  const broken = readFileSync(path, 'utf8')
    .replace(/<meta http-equiv="Content-Security-Policy"[^>]*>/, '')
    .replaceAll('\\u003c', '<');
  p.write('broken.html', broken);
  const { page } = await watchedPage(browser, { scheme: 'light', width: 1_000 }, 'file:');
  await page.goto(pathToFileURL(join(p.dir, 'broken.html')).href);
  const isOwned = await until('the script has run', async () => (await page.title()) === 'owned');
  assert.ok(isOwned);
  await page.context().close();
});

const LONG = `${'a'.repeat(300)}/${'ü'.repeat(200)}`;
/** A line that is read from right to left. */
const HEBREW = 'הבדיקה נכשלה: src/תאריך.ts';

test('long names, paths and outputs fit a narrow window, and each line is read in its own direction', async (t) => {
  const p = project(t);
  const { files } = writeLongLoop(p.dir, p.env, { name: 'n'.repeat(60), iterations: 23 });
  const events = readFileSync(files.events, 'utf8').replaceAll('src/date/parse-iso.ts', LONG);
  writeFileSync(files.events, events.replaceAll('not ok 4 - slugify keeps 3 dashes', `${HEBREW}\\n${LONG}`));
  await commandHere(p, ['report', '--out', 'r.html']);
  for (const width of someOf([320, 768], 2)) {
    const { page, problems } = await watchedPage(browser, { scheme: 'light', width }, 'file:');
    await page.goto(pathToFileURL(join(p.dir, 'r.html')).href);
    await shows(page, '.panel', /Why the claim was rejected/);
    await page.click('section[aria-labelledby=decisions] summary');
    await page.waitForSelector('.events td');
    const height = await page.$eval('.events td', ({ clientHeight }) => clientHeight);
    assert.ok(height < 40, 'a time is in one line');
    await screenshot(page, 'report-long', { scheme: 'light', width });
    await assertFits(page);
    await assertAccessible(page);
    for (const output of ['.panel .reason', '.check pre']) {
      const style = `getComputedStyle(document.querySelector('${output}')).unicodeBidi`;
      assert.equal(await page.evaluate(style), 'plaintext', output);
    }
    assert.deepEqual(problems, []);
    await page.context().close();
  }
});

const TASK = `---
max_iterations: 2
validation: [npm test]
---
# Whole cents

Make the discount **whole cents**.

- keep \`sum\`

1. read the test
2. change the code

> Half a cent
> is rounded.
`;

test('a report begins with the task, the verdict, the changes and the failed tests by name', async (t) => {
  const p = project(t);
  const git = initRepository(p.dir);
  p.write('.claude/ralph/PROMPT.md', TASK);
  p.write('package.json', JSON.stringify({ name: 'cart', scripts: { test: 'node --test' } }));
  p.write('cart.js', 'old\n');
  p.write(
    'cart.test.js',
    "require('node:test').test('discount is whole cents', () => require('node:assert').strictEqual(139.5, 139));\n",
  );
  git('add', '-A');
  git('commit', '-qm', 'one');
  const agent = 'cat >/dev/null; echo new >> cart.js; echo RALPH_AUDIT_COMPLETE_NO_FINDINGS';
  p.ralph(['run', '--agent', agent, '--report', 'r.html']);
  for (const view of someOf(
    [
      { scheme: 'light', width: 1_280 },
      { scheme: 'dark', width: 390 },
    ] as const,
    2,
  )) {
    const { page, problems } = await watchedPage(browser, view, 'file:');
    await page.goto(pathToFileURL(join(p.dir, 'r.html')).href);
    await shows(
      page,
      '.task-text',
      /^Whole cents\s+Make the discount whole cents\.\s+keep sum\s+read the test\s+change the code\s+Half a cent\s+is rounded\.$/,
    );
    const lists = '[...document.querySelectorAll(".task-text :is(ul, ol, blockquote)")].map((one) => one.tagName)';
    assert.deepEqual(await page.evaluate(lists), ['UL', 'OL', 'BLOCKQUOTE']);
    await shows(page, '.badge', /^stopped: iteration limit$/);
    await shows(page, '.failed-tests', /^discount is whole cents \(.*cart\.test\.js:1\): 139\.5 !== 139$/);
    const sections = (await page.evaluate(
      '[...document.querySelectorAll("section[aria-labelledby]")].map((one) => one.getAttribute("aria-labelledby"))',
    )) as string[];
    assert.deepEqual(sections.slice(0, 4), ['changes', 'failed', 'proof', 'iterations']);
    assert.equal(await page.locator('.plots').count(), 0, 'two iterations make no plot');
    await counts(page, 'meter', (count) => count === 1);
    await shows(page, '.check summary', /failed/);
    assert.equal(await page.locator('.check[open], .reason details[open]').count(), 0, 'raw output is folded');
    assert.equal(await page.getAttribute('.head time', 'title'), localTime(await dateTimeOf(page)));
    await page.click('.next .copy >> nth=0');
    await page.waitForSelector('.next .copy:is(.copied, .selected)');
    await screenshot(page, 'report-short', view);
    await assertAccessible(page);
    await assertFits(page);
    assert.deepEqual(problems, []);
    await page.context().close();
  }
});

async function dateTimeOf(page: Page): Promise<string> {
  return (await page.getAttribute('.head time', 'datetime')) ?? '';
}

test('a report is written only over another report', async (t) => {
  const p = project(t);
  writeLongLoop(p.dir, p.env, { name: null, iterations: 2 });
  p.write('notes.html', '<p>mine</p>');
  assert.match(
    (await commandHere(p, ['report', '--out', 'notes.html'])).stderr,
    /notes\.html exists and is not a report/,
  );
  assert.equal(p.read('notes.html'), '<p>mine</p>');
  assert.equal((await commandHere(p, ['report', '--out', 'r.html'])).code, 0);
  assert.equal((await commandHere(p, ['report', '--out', 'r.html'])).code, 0);
  const agent = { CLAUDECODE: '1' };
  assert.match(
    (await commandHere(p, ['report', '--out', '../out.html'], agent)).stderr,
    /An agent can write a report only to a new file of the project/,
  );
  assert.match(
    (await commandHere(p, ['report', '--out', '.claude/x.html'], agent)).stderr,
    /An agent can write a report/,
  );
  assert.ok(!existsSync(join(p.dir, '..', 'out.html')));
  assert.equal(
    (await commandHere(p, ['report', '--out', 'agents.html'], agent)).code,
    0,
    'control: a new file of the project',
  );
  assert.match((await commandHere(p, ['report', 'nothing'])).stderr, /no loop has worked on nothing/);
});

test('a report shows what the loop left uncommitted, like status, without the path of the project', async (t) => {
  const p = project(t);
  const git = initRepository(p.dir);
  p.write('.claude/ralph/PROMPT.md', '---\nmax_iterations: 1\n---\nWork.\n');
  for (const name of ['notes.txt', 'mine.txt', 'both.txt']) p.write(name, 'one\n');
  git('add', '-A');
  git('commit', '-qm', "The user's commit, in the second of the start");
  p.write('mine.txt', 'changed by the user\n');
  p.write('both.txt', 'one\nchanged by the user\n');
  p.write('own.txt', 'new, from the user\n');
  const agent = `cat >/dev/null; echo "two at $PWD/x" > notes.txt; echo more >> both.txt; echo 3 > new.txt; echo 4 > live.html`;
  const run = p.ralph(['run', '--agent', agent, '--plain']);
  assert.match(run.stdout, /Changed since the start: 2 files changed.*both\.txt +\| 1 \+\n.*new\.txt \(new\)/s);
  p.write('notes.txt', 'changed by the user after the end\n');
  p.write('later.txt', 'from the user after the end\n');
  await commandHere(p, ['report']);
  const { page, problems } = await watchedPage(browser, { scheme: 'dark', width: 390 }, 'file:');
  await page.goto(pathToFileURL(join(p.dir, '.ralph/reports/ralph-report.html')).href);
  const changes = 'section[aria-labelledby=changes]';
  await page.click(`${changes} summary`);
  await page.waitForSelector(`${changes} details > :not(summary)`);
  await shows(
    page,
    changes,
    /Not committed at the end 2 files changed, 2 insertions\(\+\), 1 deletion\(-\), 2 new files\b/,
  );
  await shows(
    page,
    changes,
    /changed by the user\s+\+more.*-one\s+\+two at x.*new file: live\.html\s+new file: new\.txt/s,
  );
  const text = await page.locator(changes).innerText();
  assert.doesNotMatch(text, /mine\.txt|own\.txt|later\.txt|after the end|The user's commit/);
  await assertAccessible(page);
  assert.deepEqual(problems, []);
  await page.context().close();
});

test('the report of a loop whose state is damaged names the file instead of showing an earlier loop', async (t) => {
  const p = project(t);
  const { files } = writeLongLoop(p.dir, p.env, { name: 'a', iterations: 2 });
  assert.equal((await commandHere(p, ['report', 'a'])).code, 0, 'control');
  writeFileSync(files.state, '{"schemaVersion": 3, ');
  const { code, stderr } = await commandHere(p, ['report', 'a']);
  assert.deepEqual([code, /ralph-state\.a\.json cannot be used \(corrupt\)/.test(stderr)], [1, true], stderr);
});

test('a report lists the commits of all iterations, and names their number at the top', async (t) => {
  const p = project(t);
  writeLongLoop(p.dir, p.env, { name: null, iterations: 10 });
  const git = initRepository(p.dir);
  for (const [subject, at] of [
    ['Keep dashes', '2026-03-02T21:00:30Z'],
    ['Keep dots', '2026-03-02T21:04:00Z'],
  ] as const) {
    p.write('notes.txt', `${subject}\n`);
    git('add', 'notes.txt');
    p.sh(`GIT_COMMITTER_DATE=${at} git -c user.name=a -c user.email=a@b commit -qm "${subject}"`);
  }
  await commandHere(p, ['report']);
  const { page, problems } = await watchedPage(browser, { scheme: 'light', width: 768 }, 'file:');
  await page.goto(pathToFileURL(join(p.dir, '.ralph/reports/ralph-report.html')).href);
  await shows(page, '.head .facts', / · 2 commits · /);
  await shows(
    page,
    'section[aria-labelledby=changes]',
    /Keep dashes 1 file .*, iteration 1\s.*Keep dots .*, iteration 4/s,
  );
  await assertAccessible(page);
  assert.deepEqual(problems, []);
  await page.context().close();
});

test('a report of a loop whose clock was set back claims neither a time nor a cost that it does not know', async (t) => {
  const p = project(t);
  const { files, state } = writeLongLoop(p.dir, p.env, { name: null, iterations: 6 });
  const [archived = ''] = readdirSync(files.archiveDir);
  const later = {
    ...state,
    mode: 'hook',
    startedAt: '2026-03-03T21:00:00.000Z',
    usage: { ...state.usage, costUsd: null },
  };
  writeFileSync(join(files.archiveDir, archived), JSON.stringify(later));
  const events = readFileSync(files.events, 'utf8').replaceAll(/"costUsd":[\d.]+/g, '"costUsd":null');
  writeFileSync(files.events, events);
  await commandHere(p, ['report']);
  const { page, problems } = await watchedPage(browser, { scheme: 'light', width: 768 }, 'file:');
  await page.goto(pathToFileURL(join(p.dir, '.ralph/reports/ralph-report.html')).href);
  await shows(page, '.head .facts', /^6 of 100 iterations · cost unknown · hook mode/);
  await shows(page, 'section[aria-labelledby=plots] > p', /late: those of an iteration's last answer can count/);
  await counts(page, 'figure:has-text("Time so far")', (count) => count === 1);
  assert.equal(await page.locator('figure:has-text("Cost")').count(), 0, 'no plot of an unknown cost');
  assert.deepEqual(problems, []);
  await page.context().close();
});

test('a report of a running loop says as of when its figures are, whenever it is opened', async (t) => {
  const p = project(t);
  writeLongLoop(p.dir, p.env, { name: null, iterations: 3, live: true, driven: true });
  await commandHere(p, ['report']);
  const { page, problems } = await watchedPage(browser, { scheme: 'light', width: 768 }, 'file:');
  await page.clock.setFixedTime(Date.now() + 48 * 3_600_000);
  await page.goto(pathToFileURL(join(p.dir, '.ralph/reports/ralph-report.html')).href);
  await shows(page, '.head .facts', / · 2h (?:\d+[ms] )?· .*, as of 2d (?:\d+[hms] )?ago/);
  assert.deepEqual(problems, []);
  await page.context().close();
});

test('on paper a report is dark on light, with what is folded away on the screen', async (t) => {
  const p = project(t);
  writeLongLoop(p.dir, p.env, { name: null, iterations: 40 });
  await commandHere(p, ['report']);
  const { page, problems } = await watchedPage(browser, { scheme: 'dark', width: 1_000 }, 'file:');
  await page.goto(pathToFileURL(join(p.dir, '.ralph/reports/ralph-report.html')).href);
  const [figures, colour] = ['section[aria-labelledby=figures] tbody tr', 'getComputedStyle(document.body).color'];
  await page.waitForSelector('.plot path');
  const outline =
    "(({ stroke, vectorEffect }) => [stroke, vectorEffect])(getComputedStyle(document.querySelector('.plot path')))";
  assert.deepEqual(await page.evaluate(outline), ['rgb(130, 177, 255)', 'non-scaling-stroke'], 'a bar of 0 is seen');
  assert.equal(await page.locator(figures).count(), 0, 'folded away');
  assert.equal(await page.evaluate(colour), 'rgb(230, 232, 234)');
  await page.evaluate("addEventListener('beforeprint', () => { document.title = 'printed'; })");
  const pdf = await page.pdf({ path: screenshotPath('report.pdf'), format: 'A4', printBackground: true });
  assert.ok(pdf.length > 10_000);
  assert.equal(await page.title(), 'printed', 'the browser says that it prints');
  assert.equal(await page.locator(figures).count(), 0, 'and folds are closed after it');
  await page.emulateMedia({ media: 'print' });
  await page.evaluate("dispatchEvent(new Event('beforeprint'))");
  await counts(page, figures, (count) => count === 40);
  assert.equal(await page.evaluate(colour), 'rgb(29, 32, 36)');
  // The width of A4 without its margins: a wider table would shrink every letter.
  await page.setViewportSize({ width: 718, height: 1_000 });
  await assertFits(page);
  await screenshot(page, 'report-printed', { scheme: 'dark', width: 1_000 });
  assert.deepEqual(problems, []);
  await page.context().close();
});

test('run writes the wanted report at its end, and refuses at the start one that it could not write', async (t) => {
  const p = project(t);
  p.write('.claude/ralph/PROMPT.md', '---\nmax_iterations: 1\n---\nWork.\n');
  p.write('notes.html', '<p>mine</p>');
  const run = (report: string) =>
    p.ralph(['run', '--agent', 'cat >/dev/null; touch ran; echo fine', '--report', report]);
  assert.match(run('notes.html').stderr, /notes\.html exists and is not a report/);
  assert.match(run('no/such/r.html').stderr, /no\/such\/r\.html is in a folder that does not exist/);
  assert.equal(p.has('ran'), false);
  assert.match(run('r.html').stderr, /the report is in r\.html/);
  const { page, problems } = await watchedPage(browser, { scheme: 'light', width: 1_000 }, 'file:');
  await page.goto(pathToFileURL(join(p.dir, 'r.html')).href);
  await shows(page, '.why', /^Stopped after 1 iteration/);
  await shows(page, 'section[aria-labelledby=surroundings]', /ralph-loop\s+\d+\.\d+\.\d+/);
  assert.deepEqual(problems, []);
  await page.context().close();
});

test('a report names the archived loop that is asked for', async (t) => {
  const p = project(t);
  const { loopId } = writeLongLoop(p.dir, p.env, { name: 'dates', iterations: 4 });
  const { json } = await commandHere(p, ['report', 'dates', '--archived', loopId, '--json']);
  assert.deepEqual(json, {
    success: true,
    path: '.ralph/reports/ralph-report-dates.html',
    loopId,
    status: 'circuit-open',
  });
  assert.match((await commandHere(p, ['report', 'dates', '--archived', 'x'])).stderr, /there is no archived loop x/);
  const [listed = ''] = (await commandHere(p, ['archive'])).stdout.split(' ');
  assert.equal(
    (await commandHere(p, ['report', '--archived', listed, '--json'])).json['loopId'],
    loopId,
    'as it is listed',
  );
  assert.match((await commandHere(p, ['archive', 'show', listed])).stdout, new RegExp(loopId));
});

test('the copy that init puts into a project says where report and dashboard are, and lists its commands', async (t) => {
  const p = project(t);
  await commandHere(p, ['init']);
  const copy = 'node .claude/skills/ralph-loop/scripts/main.cjs';
  writeLongLoop(p.dir, p.env, { name: null, iterations: 2 });
  for (const command of someOf(['report', 'dashboard'], 2)) {
    assert.match(
      p.sh(`${copy} ${command}`).stderr,
      new RegExp(`the project's copy leaves out the pages .*ralph-loop ${command}\\.`),
    );
  }
  assert.match(p.sh(`${copy} --help`).stdout, /^ {2}report /m);
});
