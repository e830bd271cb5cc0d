import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { project } from '../../support/project.ts';
import { screenshotPath } from '../../support/screenshots.ts';
import { counts, screenshot, shows, startBrowser, watchedPage } from '../../support/web/browser.ts';
import { dashboard } from '../../support/web/dashboard.ts';
import { writeLongLoop } from '../../support/web/long-loop.ts';

const browser = await startBrowser();
after(() => browser.close());

test('a loop in the dashboard is printed with its tables and outputs, and folded again after it', async (t) => {
  const p = project(t);
  writeLongLoop(p.dir, p.env, { name: 'live', iterations: 30, live: true, driven: true });
  const { url, origin } = await dashboard(t, p);
  const { page, problems } = await watchedPage(browser, { scheme: 'dark', width: 1_000 }, origin);
  await page.goto(url);
  await page.click('.loops a');
  await page.waitForSelector('.plot path');
  const rows = 'section[aria-labelledby=figures] tbody tr';
  assert.equal(await page.locator(rows).count(), 0, 'folded on the screen');
  // The browser tells this listener after that of the page.
  await page.evaluate(
    `addEventListener('beforeprint', () => { document.title = 'rows: ' + document.querySelectorAll('${rows}').length; })`,
  );
  await page.pdf({ path: screenshotPath('dashboard.pdf'), format: 'A4', printBackground: true });
  assert.equal(await page.title(), 'rows: 30');
  await counts(page, rows, (count) => count === 0);
  await page.emulateMedia({ media: 'print' });
  await page.evaluate("dispatchEvent(new Event('beforeprint'))");
  assert.equal(await page.locator(rows).count(), 30);
  assert.match(await page.locator('.proof tbody').innerText(), /exit code 1\./, 'why a check failed');
  for (const hidden of ['.controls', 'nav']) assert.equal(await page.locator(hidden).isVisible(), false, hidden);
  await screenshot(page, 'dashboard-printed', { scheme: 'dark', width: 1_000 });
  await page.evaluate("dispatchEvent(new Event('afterprint'))");
  await page.emulateMedia({ media: 'screen' });
  assert.equal(await page.locator(rows).count(), 0);
  assert.deepEqual(problems, []);
  await page.context().close();
});

test('a page that is opened again shows how its loop ended meanwhile, and has the focus on it', async (t) => {
  const p = project(t);
  const { files, state } = writeLongLoop(p.dir, p.env, { name: 'live', iterations: 5, live: true, driven: true });
  const { url, origin } = await dashboard(t, p);
  const { page, problems } = await watchedPage(browser, { scheme: 'light', width: 900 }, origin);
  await page.goto(url);
  await page.focus('.loops a');
  await page.keyboard.press('Enter');
  await shows(page, '.badge', /^running$/);
  await page.waitForSelector('#main:focus');
  const shown = page.url();
  await page.goto('about:blank');
  const ended = {
    ...{ ...state, status: 'ended' },
    ended: { at: new Date().toISOString(), as: 'complete', verified: true, message: 'complete after 5 iterations.' },
  };
  writeFileSync(join(files.archiveDir, '2026-03-03T00-00-00.000Z-complete.json'), JSON.stringify(ended));
  rmSync(files.state);
  await page.goto(shown);
  await shows(page, '.badge', /^complete, verified$/);
  assert.equal(await page.locator('.controls').count(), 0);
  assert.deepEqual(problems, []);
  await page.context().close();
});
