import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { writeAtomically } from '../../state/files/write-atomically.ts';
import { outsideRoot } from '../../state/loop-files.ts';
import { RalphError } from '../../text/ralph-error.ts';
import type { NewsFeed } from '../../web/server/news-feed.ts';
import { serveDashboard } from '../../web/server/serve.ts';
import type { CommandContext } from '../command.ts';
import { openInBrowser } from './open-in-browser.ts';

/** Serves the dashboard over these loops until a signal ends it. Returns the exit code. */
export async function serveFeed(context: CommandContext, feed: NewsFeed): Promise<number> {
  const { values } = context;
  const port = portOf(values['port']);
  const given = { feed, port, readOnly: values['read-only'] === true };
  const server = await serveDashboard(given).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EADDRINUSE') throw error;
    throw new RalphError('usage', `port ${port} is in use. Leave --port out to use any free one.`, error);
  });
  const { url } = server;
  const ended = new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => resolve());
  });
  if (context.forPeople) context.out(`The dashboard is at ${url}\nPress Ctrl+C to end it.`);
  else context.json({ url, port: server.port, pid: process.pid });
  const left = values['open'] === true ? openPage(context, url) : null;
  await ended;
  if (left !== null) rmSync(left, { force: true });
  await server.close();
  return 0;
}

function portOf(value: unknown): number {
  if (value === undefined) return 0;
  const port = Number(value);
  if (typeof value === 'string' && /^\d+$/.test(value) && port <= 65_535) return port;
  throw new RalphError('usage', `--port ${String(value)}: use a number up to 65535.`);
}

/** Time that a browser has to read the address. */
const OPENING_MS = 30_000;

/** Opens the page by a file that only this user can read: other users see the words of a started program. */
function openPage(context: CommandContext, url: string): string {
  const folder = outsideRoot(context.env);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, `dashboard-${process.pid}.html`);
  writeAtomically(
    path,
    `<!doctype html><meta charset="utf-8"><title>ralph-loop</title><meta http-equiv="refresh" content="0;url=${url}">\n`,
    0o600,
  );
  openInBrowser(path, context);
  setTimeout(() => rmSync(path, { force: true }), OPENING_MS).unref();
  return path;
}
