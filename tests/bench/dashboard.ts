import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser } from 'playwright-core';
import { streamed } from '../../src/state/event-stream.ts';
import { startBrowser } from '../support/web/browser.ts';
import { type LongLoop, writeLongLoop } from '../support/web/long-loop.ts';

/**
 * `npm run bench:dashboard [-- --check]`: 50 loops of 300 iterations, of which 20 run and write an event each second. How
 * long an event takes to the page, and what server and page need.
 */
const LOOPS = 50;
const RUNNING = 20;
const SECONDS = 20;
const LIMITS = { eventMs: 1_000, serverMb: 60, serverCpu: 2, pageMb: 200 };

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const folder = mkdtempSync(join(tmpdir(), 'ralph-dashboard-'));
const project = join(folder, 'project');
mkdirSync(project);
const env = { ...process.env, XDG_STATE_HOME: join(folder, 'state') };
const loops = Array.from({ length: LOOPS }, (_, index) =>
  writeLongLoop(project, env, { name: `loop-${index}`, iterations: 300, live: index < RUNNING, driven: true }),
);
const words = [join(root, 'dist', 'plugin', 'scripts', 'main.cjs'), 'dashboard', '--json'];
const server = spawn(process.execPath, words, { cwd: project, env, stdio: ['ignore', 'pipe', 'inherit'] });
const browser = await startBrowser();
try {
  const [line] = (await once(server.stdout, 'data')) as [Buffer];
  const { url } = JSON.parse(line.toString()) as { url: string };
  const bareMb = await bareNodeMb();
  const page = await browser.newPage();
  await page.goto(url);
  await page.waitForSelector(`.loops li:nth-child(${LOOPS})`);
  const idleCpu = await cpuShare(server, async () => page.waitForTimeout(SECONDS * 1_000));
  await page.click('.loops a:has-text("loop-3")');
  await page.waitForSelector('.said');
  const delays: number[] = [];
  const [, , , watched] = loops;
  const busyCpu = await cpuShare(server, async () => {
    for (let round = 0; round < SECONDS; round += 1) {
      for (const loop of loops.slice(0, RUNNING)) tellOf(loop, `Round ${round}.`);
      const begun = performance.now();
      if (watched !== undefined) await page.waitForSelector(`.said:has-text("Round ${round}.")`);
      delays.push(performance.now() - begun);
      await page.waitForTimeout(Math.max(0, 1_000 - (performance.now() - begun)));
    }
  });
  delays.sort((a, b) => a - b);
  const found = {
    eventMs: delays.at(-1) ?? 0,
    serverMb: memoryMb(server) - bareMb,
    serverCpu: busyCpu,
    pageMb: await rendererMb(browser),
  };
  console.log(
    `event to page: median ${(delays[delays.length >> 1] ?? 0).toFixed(0)} ms, slowest ${found.eventMs.toFixed(0)} ms`,
  );
  console.log(
    `server: ${found.serverMb.toFixed(0)} MB above bare node; ${idleCpu.toFixed(1)} % of a core watching the list, ${busyCpu.toFixed(1)} % with ${RUNNING} events a second`,
  );
  console.log(`page: ${found.pageMb.toFixed(0)} MB in its process`);
  const over = (Object.keys(LIMITS) as (keyof typeof LIMITS)[]).filter((key) => found[key] > LIMITS[key]);
  if (process.argv.includes('--check') && over.length > 0) {
    console.error(`Over the limit: ${over.join(', ')}`);
    process.exitCode = 1;
  }
} finally {
  await browser.close();
  server.kill();
  rmSync(folder, { recursive: true, force: true });
}

function tellOf({ files, loopId, state }: LongLoop, text: string): void {
  const event = { type: 'agent.text', at: new Date().toISOString(), loopId, iteration: state.iteration, text };
  appendFileSync(files.events, `${JSON.stringify(streamed(event))}\n`);
}

/** Returns the share of one core, in percent, that the process uses during the work. */
async function cpuShare({ pid }: ChildProcess, work: () => Promise<unknown>): Promise<number> {
  const ticks = (): number => {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return Number(fields[11]) + Number(fields[12]);
  };
  const [before, begun] = [ticks(), performance.now()];
  await work();
  // A tick is a hundredth of a second on Linux.
  return (100 * ((ticks() - before) * 10)) / (performance.now() - begun);
}

/** Returns the memory of the page's process alone, what it shares with others counted in part. */
async function rendererMb(browser: Browser): Promise<number> {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send('SystemInfo.getProcessInfo');
  const sizes = processInfo
    .filter(({ type }) => type === 'renderer')
    .map(({ id }) => Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${id}/smaps_rollup`, 'utf8'))?.[1] ?? 0) / 1_024);
  return Math.max(...sizes);
}

function memoryMb({ pid }: ChildProcess): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1_024;
}

async function bareNodeMb(): Promise<number> {
  const bare = spawn(process.execPath, ['-e', 'require("node:http").createServer().listen(0); console.log(1)'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(bare.stdout, 'data');
  const size = memoryMb(bare);
  bare.kill();
  return size;
}
