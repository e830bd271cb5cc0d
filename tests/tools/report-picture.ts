import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { startBrowser } from '../support/web/browser.ts';
import { writeLongLoop } from '../support/web/long-loop.ts';

/**
 * `npm run picture:report`: writes docs/report.png, the top of a real report, and docs/dashboard.png, a real dashboard of
 * five loops. It needs Chromium and a build.
 */
const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const folder = mkdtempSync(join(tmpdir(), 'ralph-picture-'));
const project = join(folder, 'dates');
const bin = join(folder, 'bin');
for (const made of [project, bin]) mkdirSync(made);
const main = join(root, 'dist', 'plugin', 'scripts', 'main.cjs');
// The report names the command as a user has it.
symlinkSync(main, join(bin, 'ralph-loop'));
const env = { ...process.env, PATH: `${bin}:${process.env['PATH']}`, XDG_STATE_HOME: join(folder, 'state') };
writeLongLoop(project, env, { name: 'dates', iterations: 90 });
execFileSync(process.execPath, [main, 'report', 'dates', '--out', 'report.html'], { cwd: project, env });
for (const [index, name] of ['docs', 'parser', 'flaky-tests', 'api-errors'].entries()) {
  writeLongLoop(project, env, { name, iterations: 12 + 17 * index, live: index < 3, driven: index < 2 });
}
const server = spawn(process.execPath, [main, 'dashboard', '--json'], {
  cwd: project,
  env,
  stdio: ['ignore', 'pipe', 'inherit'],
});
const browser = await startBrowser();
try {
  const page = await browser.newPage({ viewport: { width: 1_100, height: 1_000 }, colorScheme: 'light' });
  await page.goto(pathToFileURL(join(project, 'report.html')).href);
  await page.click('.cell[data-index="69"]');
  await page.screenshot({ path: join(root, 'docs', 'report.png') });
  const [line] = (await once(server.stdout, 'data')) as [Buffer];
  await page.setViewportSize({ width: 1_100, height: 520 });
  await page.goto((JSON.parse(line.toString()) as { url: string }).url);
  await page.waitForSelector('.loops li:nth-child(5)');
  await page.screenshot({ path: join(root, 'docs', 'dashboard.png') });
} finally {
  await browser.close();
  const exited = once(server, 'exit');
  server.kill();
  await exited;
  rmSync(folder, { recursive: true, force: true });
}
