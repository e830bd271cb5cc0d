import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser, chromium, type Page } from 'playwright-core';
import { pathOfProgram } from '../programs.ts';
import { screenshotPath } from '../screenshots.ts';
import { TEST_TIMEOUT_MS, until } from '../until.ts';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Starts the installed Chromium. As root it runs without its own sandbox. */
export function startBrowser(): Promise<Browser> {
  const root = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  return chromium.launch({
    executablePath: pathOfProgram('chromium-headless-shell'),
    args: [...root, '--disable-dev-shm-usage'],
  });
}

export interface View {
  readonly scheme: 'light' | 'dark';
  readonly width: number;
}

export const VIEWS: readonly View[] = [
  { scheme: 'light', width: 1_400 },
  { scheme: 'dark', width: 1_400 },
  { scheme: 'light', width: 390 },
  { scheme: 'dark', width: 390 },
];

export interface WatchedPage {
  readonly page: Page;
  /** Errors on the console, uncaught ones, and requests to anywhere but `allowed`. */
  readonly problems: string[];
}

/** Opens a page that notes every error and every request to an address that does not begin so. */
export async function watchedPage(browser: Browser, { scheme, width }: View, allowed: string): Promise<WatchedPage> {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: scheme, bypassCSP: false });
  context.setDefaultTimeout(TEST_TIMEOUT_MS);
  const page = await context.newPage();
  const problems: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') problems.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => problems.push(`error: ${error.message}`));
  page.on('request', (request) => {
    if (!request.url().startsWith(allowed) && !request.url().startsWith('data:'))
      problems.push(`request: ${request.url()}`);
  });
  return { page, problems };
}

/** Waits until the element that a selector finds shows this text. A page draws some time after what made it draw. */
export async function shows(page: Page, selector: string, text: RegExp): Promise<void> {
  let shown = '';
  const isShown = async (): Promise<boolean> => {
    shown = await page.innerText(selector);
    return text.test(shown);
  };
  await until(`${selector} shows ${text}`, isShown).catch((error: Error) => {
    throw new Error(`${error.message}, but ${shown}`, { cause: error });
  });
}

/** Waits until a selector finds so many elements. */
export async function counts(page: Page, selector: string, wanted: (count: number) => boolean): Promise<void> {
  await until(`as many ${selector} as expected`, async () => wanted(await page.locator(selector).count()));
}

/** Asserts that axe finds nothing serious. Its script is run by the test, not loaded by the page. */
export async function assertAccessible(page: Page): Promise<void> {
  await page.evaluate(AXE);
  const violations: Violation[] = await page.evaluate('axe.run().then(({ violations }) => violations)');
  const found = violations.map(
    ({ id, impact, nodes }) => `${impact}: ${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`,
  );
  assert.deepEqual(
    found.filter((each) => /^(?:serious|critical)/.test(each)),
    [],
  );
}

interface Violation {
  readonly id: string;
  readonly impact: string;
  readonly nodes: readonly { readonly html: string }[];
}

/** Asserts that nothing is wider than the window once plots have its size, and no figure wider than its row of the list. */
export async function assertFits(page: Page): Promise<void> {
  const widths = async (): Promise<[number, number]> =>
    (await page.evaluate('[document.documentElement.scrollWidth, document.documentElement.clientWidth]')) as [
      number,
      number,
    ];
  let [content, shown] = await widths();
  for (let waited = 0; content > shown && waited < 5_000; waited += 50) {
    await page.waitForTimeout(50);
    [content, shown] = await widths();
  }
  assert.ok(content <= shown, `the page is ${content} px wide in a window of ${shown}`);
  const wide = await page.evaluate(
    "[...document.querySelectorAll('.loops .figures > *')].filter((e) => e.scrollWidth > e.clientWidth || e.getBoundingClientRect().right > e.parentElement.getBoundingClientRect().right + 1).map((e) => e.textContent)",
  );
  assert.deepEqual(wide, []);
}

export async function screenshot(page: Page, name: string, { scheme, width }: View): Promise<void> {
  await page.screenshot({ path: screenshotPath(`${name}-${width}-${scheme}.png`), fullPage: true });
}
