import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import * as bullmq from 'bullmq';
import { Redis } from 'ioredis';
import { FleetKey } from '../../../src/fleet/job.ts';
import { FleetServer, KEYS } from '../../../src/fleet/queue/connect.ts';
import { addLoop } from '../../../src/fleet/queue/loop-index.ts';
import { FLEET_KEY, type Fleet, fleet } from '../../support/fleet/fleet.ts';
import { aSubmission } from '../../support/fleet/submission.ts';
import { DIST } from '../../support/project.ts';
import { until } from '../../support/until.ts';
import {
  assertAccessible,
  assertFits,
  counts,
  screenshot,
  shows,
  startBrowser,
  watchedPage,
} from '../../support/web/browser.ts';

const browser = await startBrowser();
after(() => browser.close());

/** Notes its prompt and waits for a file `go-N` before its Nth run ends; the third run is the last. */
const AGENT = `#!/bin/sh
prompt=$(cat)
n=$(git rev-list --count HEAD)
printf '%s\\n' "$prompt" > "$NOTES/new" && mv "$NOTES/new" "$NOTES/prompt-$n"
while [ ! -e "$NOTES/go-$n" ]; do sleep 0.05; done
echo "Step $n is done."
echo "$n" > "step-$n.txt"; git add "step-$n.txt"; git commit -qm "Step $n"
[ "$n" -ge 3 ] && echo "<promise>DONE</promise>"
exit 0
`;
const VIEW = { scheme: 'light', width: 1_200 } as const;
const root = join(import.meta.dirname, '..', '..', '..');

const go = (f: Fleet, run: number): void => writeFileSync(join(f.notes, `go-${run}`), '');
const begun = (f: Fleet, run: number): Promise<unknown> =>
  until(`run ${run} began`, () => existsSync(join(f.notes, `prompt-${run}`)));

async function dashboard(t: TestContext, f: Fleet, ...options: string[]): Promise<{ url: string; origin: string }> {
  const words = ['fleet', 'dashboard', '--json', '--project', root, ...options];
  const child = spawn(process.execPath, [join(DIST, 'scripts', 'main.cjs'), ...words], {
    cwd: f.base,
    env: { ...f.env, HOME: f.base },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => child.kill('SIGKILL'));
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const { url } = JSON.parse(line.toString()) as { url: string };
  return { url, origin: new URL(url).origin };
}

test('the dashboard of a fleet shows its loops live and sends commands signed', async (t) => {
  const f = await fleet(t, { tasks: [{ name: 'a' }, { name: 'b' }], agent: AGENT });
  const id = f.add('jobs/a');
  f.add('jobs/b', ['--account', 'other']);
  const { url, origin } = await dashboard(t, f);
  const { page, problems } = await watchedPage(browser, VIEW, origin);
  const buttons = async (): Promise<string[]> => page.locator('.controls .buttons button').allInnerTexts();
  const badge = (text: string) => page.waitForSelector(`.badge:has-text("${text}")`);
  await page.goto(url);
  await page.waitForSelector('.loops li:nth-child(2) .badge:has-text("queued")');
  await page.click(`.loops a:has-text("${id}")`);
  await until('it can be paused', async () => (await buttons()).join() === 'Pause,Cancel');
  await shows(page, '.facts', /fleet mode/);
  assert.doesNotMatch(await page.innerText('.facts'), /of 0/);
  f.worker('one');
  await begun(f, 1);
  await badge('running');
  await page.fill('.controls input', 'Keep the old endpoint.');
  await page.click('.controls form button');
  await page.waitForSelector('.controls [role=status]:has-text("The agent receives it")');
  await until('the message is applied', async () =>
    (await f.redis.ask('XRANGE', KEYS.events(id), '-', '+')).includes('operator.steer'),
  );
  go(f, 1);
  await begun(f, 2);
  assert.match(readFileSync(join(f.notes, 'prompt-2'), 'utf8'), /Keep the old endpoint\./);
  await page.waitForSelector('.strip button:nth-child(2)');
  await page.click('.strip button:nth-child(1)');
  await page.waitForSelector('.said:has-text("Step 1 is done.")');
  await page.click('.controls button.pause');
  await page.waitForSelector('.controls [role=status]:has-text("pauses after the current iteration")');
  go(f, 2);
  await badge('paused');
  await until('it can be resumed', async () => (await buttons()).join() === 'Resume');
  await page.click('.controls button.resume');
  await begun(f, 3);
  await badge('running');
  await shows(page, '.facts', /^2 of 10 iterations/);
  await screenshot(page, 'fleet-dashboard-loop', VIEW);
  await assertAccessible(page);
  await assertFits(page);
  await page.click('.controls button.cancel');
  await page.click('[role=alertdialog] button.cancel');
  await badge('cancelled');
  go(f, 3);
  await until('it can be retried', async () => (await buttons()).join() === 'Retry');
  await page.click('.controls button.retry');
  await badge('complete');
  await counts(page, '.controls', (count) => count === 0);
  assert.equal((await f.ended(id)).iterations, 3);
  assert.equal(f.status(id).generation, 3);
  await page.click('nav a');
  await page.waitForSelector('.loops li:nth-child(2)');
  const costs = await page.locator('.loops .number').allInnerTexts();
  assert.deepEqual([...costs, await page.innerText('h1 .dim')], ['$0.00', 'cost unknown', 'cost unknown in total']);
  await screenshot(page, 'fleet-dashboard', VIEW);
  await assertAccessible(page);
  await assertFits(page);
  assert.deepEqual(problems, []);
  await page.context().close();
});

test("a fleet's dashboard refuses a foreign host, a missing token, and requests that do not fit its loops", async (t) => {
  const f = await fleet(t, { tasks: [{ name: 'a' }], agent: AGENT });
  f.add('jobs/a');
  const { url, origin } = await dashboard(t, f);
  const [, read = '', act = ''] = /#t=([\w-]+)&c=([\w-]+)$/.exec(url) ?? [];
  assert.equal((await fetch(`${origin}/events`)).status, 401);
  const authorization = `Bearer ${read}`;
  assert.equal(
    (await fetch(`${origin}/events`, { headers: { authorization, origin: 'https://a.invalid' } })).status,
    403,
  );
  const ended = new AbortController();
  const news = await fetch(`${origin}/events`, { headers: { authorization }, signal: ended.signal });
  let text = '';
  const decoder = new TextDecoder();
  for await (const part of news.body ?? []) {
    text += decoder.decode(part as Uint8Array, { stream: true });
    if (/"key":"[0-9a-f]+"/.test(text)) break;
  }
  ended.abort();
  const [, key = ''] = /"key":"([0-9a-f]+)"/.exec(text) ?? [];
  const ask = async (kind: string, control: string): Promise<[number, string]> => {
    const headers = { authorization, 'x-control': control, 'content-type': 'application/json' };
    const body = JSON.stringify({ kind });
    const answer = await fetch(`${origin}/loops/${key}/control`, { method: 'POST', headers, body });
    return [answer.status, ((await answer.json()) as { message: string }).message];
  };
  assert.deepEqual(await ask('cancel', 'wrong'), [403, 'This page is read-only.']);
  assert.deepEqual(await ask('wake', act), [409, 'this loop cannot be asked to wake.']);
  assert.match((await ask('resume', act))[1], /is queued, not paused/);
  // The control: a request that it does take.
  assert.equal((await ask('pause', act))[0], 200);
});

test('the dashboard of a fleet says how many loops its list leaves out, and whether the server is away', async (t) => {
  const f = await fleet(t, { tasks: [{ name: 'a' }], agent: AGENT });
  const packages = { bullmq, newRedis: (address: string, options: object) => new Redis(address, options) };
  const server = await FleetServer.connect(packages, f.redis.url, 'wait');
  t.after(() => server.close());
  const key = new FleetKey(FLEET_KEY);
  const add = (at: number) => {
    const base = { ref: 'main', sha: at.toString(16).padStart(40, '0') };
    return addLoop(server, key, { ...aSubmission(`a-${String(at).padStart(10, '0')}`), base });
  };
  for (let at = 0; at < 200; at++) await add(at);
  const { url, origin } = await dashboard(t, f);
  const { page } = await watchedPage(browser, VIEW, origin);
  await page.goto(url);
  // The control: a list that is complete.
  await page.waitForSelector('h1:has-text("200 loops")');
  await add(200);
  await page.waitForSelector('h1:has-text("200 of 201 loops")');
  await page.waitForSelector('.link.open:has-text("live")');
  await counts(page, '.loops li', (count) => count >= 200);
  assert.equal(await page.locator('.loops li').count(), 200);
  // The server goes away while the dashboard waits for an answer.
  const held = f.redis.ask('CLIENT', 'PAUSE', '600000').catch(() => undefined);
  await sleep(3_000);
  await f.redis.kill();
  await held;
  await page.waitForSelector('.link.lost:has-text("not connected")');
  await f.redis.start();
  await page.waitForSelector('.link.open:has-text("live")');
  await page.context().close();
});
