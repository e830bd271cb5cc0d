import { randomBytes, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { type Context, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { streamSSE } from 'hono/streaming';
import { contentPolicy, livePage } from '../report/page.ts';
import type { ControlRequest, News, NewsFeed } from './news-feed.ts';

const MOST_WATCHERS = 16;
/** Number of unread pieces of news at which a page is disconnected. */
const MOST_QUEUED = 256;
const MOST_BODY = 64 * 1024;
const MOST_MESSAGE = 8_000;
/** Interval of comments that keep the connection open and detect a closed page. */
const BEAT_MS = 15_000;
const KEY = /^[0-9a-f]{8,64}$/;

/** Handles the dashboard's requests: page, news, a loop, its control. All but the empty page require a token. */
function dashboardApp(feed: NewsFeed, tokens: Tokens, port: () => number): Hono {
  const app = new Hono();
  app.use(async (context, next) => {
    const header = (name: string): string | undefined => context.req.header(name);
    const refused = refusal(context.req.method, header, port());
    protect(context);
    if (refused !== null) return context.json({ message: 'This address belongs to another page.' }, refused as 403);
    const bearer = /^Bearer ([\w-]+)$/.exec(header('authorization') ?? '')?.[1];
    if (context.req.path !== '/' && !isToken(bearer, tokens.read))
      return context.json({ message: 'The token is missing.' }, 401);
    return next();
  });
  app.get('/', (context) => context.html(livePage(feed.start)));
  app.get('/events', (context) => streamNews(context, feed));
  app.get('/loops/:key', async (context) => {
    const count = (name: string): number => Number(context.req.query(name) ?? 0);
    const known = { iterations: count('iterations'), decisions: count('decisions') };
    const key = context.req.param('key');
    const isValid = Object.values(known).every((each) => Number.isInteger(each) && each >= 0);
    if (!KEY.test(key) || !isValid) return context.json({ message: 'No such loop.' }, 404);
    const data = await feed.report(key, known, context.req.query('loop') ?? null);
    return data === null ? context.json({ message: 'No such loop.' }, 404) : context.json(data);
  });
  app.get('/loops/:key/iterations/:index', async (context) => {
    const { key, index } = context.req.param();
    const isValid = KEY.test(key) && /^\d{1,7}$/.test(index);
    const work = isValid ? await feed.work(key, context.req.query('loop') ?? '', Number(index)) : null;
    return work === null ? context.json({ message: 'No such iteration.' }, 404) : context.json(work);
  });
  app.post(
    '/loops/:key/control',
    bodyLimit({ maxSize: MOST_BODY, onError: (context) => context.json({ message: 'That is too long.' }, 413) }),
    (context) => controlLoop(context, feed, tokens),
  );
  app.notFound((context) => context.json({ message: 'Not found.' }, 404));
  app.onError((error, context) => context.json({ message: error.message }, 500));
  return app;
}

/** Sends news as events, until the page closes or stops reading; a comment keeps an idle connection open. */
function streamNews(context: Context, feed: NewsFeed) {
  if (feed.listeners >= MOST_WATCHERS) return context.json({ message: 'Too many pages are open.' }, 503);
  return streamSSE(context, async (stream) => {
    const queue: News[] = [];
    let ring = (): void => undefined;
    const end = feed.listen((news) => {
      if (queue.push(news) <= MOST_QUEUED) return ring();
      // The page has stopped reading; it reconnects when it reads again.
      end();
      void stream.close();
    });
    stream.onAbort(() => {
      end();
      ring();
    });
    try {
      while (!stream.aborted && !stream.closed) {
        for (const { loops, changed, total, away } of queue.splice(0)) {
          if (loops !== undefined) await stream.writeSSE({ event: 'loops', data: JSON.stringify(loops) });
          if (total !== undefined) await stream.writeSSE({ event: 'total', data: String(total) });
          if (away) await stream.writeSSE({ event: 'away', data: '' });
          if (changed !== undefined) await stream.writeSSE({ event: 'changed', data: JSON.stringify(changed) });
        }
        if (queue.length > 0) continue;
        const isBeat = await rings((heard) => {
          ring = heard;
        });
        if (isBeat) await stream.write(': \n\n');
      }
    } finally {
      end();
    }
  });
}

/** Passes a request of the page to its loop, and answers with the loop's message. */
async function controlLoop(context: Context, feed: NewsFeed, tokens: Tokens) {
  if (!isToken(context.req.header('x-control'), tokens.act))
    return context.json({ message: 'This page is read-only.' }, 403);
  const key = context.req.param('key') ?? '';
  const request = requestOf(await context.req.json().catch(() => null));
  if (request === null) return context.json({ message: 'This is not a valid request to a loop.' }, 400);
  try {
    const message = KEY.test(key) ? await feed.control(key, request) : null;
    return message === null ? context.json({ message: 'No such loop.' }, 404) : context.json({ message });
  } catch (error) {
    return context.json({ message: (error as Error).message }, 409);
  }
}

/** Waits until there is news (false) or a heartbeat is due (true). */
function rings(give: (heard: () => void) => void): Promise<boolean> {
  return new Promise((resolve) => {
    const beat = setTimeout(() => resolve(true), BEAT_MS);
    give(() => {
      clearTimeout(beat);
      resolve(false);
    });
  });
}

function protect(context: Context): void {
  context.header('Content-Security-Policy', `${contentPolicy("'self'")}; frame-ancestors 'none'`);
  context.header('X-Content-Type-Options', 'nosniff');
  context.header('Referrer-Policy', 'no-referrer');
  context.header('Cache-Control', 'no-store');
  context.header('Cross-Origin-Resource-Policy', 'same-origin');
  context.header('Cross-Origin-Opener-Policy', 'same-origin');
}

const PLAIN = ['pause', 'resume', 'stop', 'cancel', 'wake', 'retry'] as const;

function requestOf(body: unknown): ControlRequest | null {
  const { kind, text } = (typeof body === 'object' && body !== null ? body : {}) as { kind?: unknown; text?: unknown };
  const plain = PLAIN.find((each) => each === kind);
  if (plain !== undefined) return { kind: plain };
  const said = typeof text === 'string' ? text.trim() : '';
  return kind !== 'steer' || said === '' || said.length > MOST_MESSAGE ? null : { kind, text: said };
}

interface Dashboard {
  /** Address with the tokens. */
  readonly url: string;
  readonly port: number;
  readonly close: () => Promise<void>;
}

const MOST_CONNECTIONS = 64;

/** Serves the dashboard on 127.0.0.1; port 0 is any free one. Rejects with the system's error if the port is taken. */
export async function serveDashboard(feed: NewsFeed, port: number, readOnly: boolean): Promise<Dashboard> {
  const tokens = newTokens(readOnly);
  let bound = port;
  const app = dashboardApp(feed, tokens, () => bound);
  // Otherwise, silent connections would block those of others.
  const times = { headersTimeout: 5_000, requestTimeout: 10_000, keepAliveTimeout: 5_000 };
  const limits = { ...times, connectionsCheckingInterval: 1_000, maxHeaderSize: 16 * 1024 };
  const server = createServer(limits, getRequestListener(app.fetch));
  server.maxConnections = MOST_CONNECTIONS;
  await once(server.listen(port, '127.0.0.1'), 'listening');
  bound = (server.address() as AddressInfo).port;
  return {
    url: addressOf(bound, tokens),
    port: bound,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Tokens of one server: `read` for everything it shows, `act` for changes; null if it is read-only. */
interface Tokens {
  readonly read: string;
  readonly act: string | null;
}

function newTokens(readOnly: boolean): Tokens {
  const token = (): string => randomBytes(24).toString('base64url');
  return { read: token(), act: readOnly ? null : token() };
}

/** Returns the address for a person: the tokens are in the fragment, which browsers do not send. */
function addressOf(port: number, { read, act }: Tokens): string {
  return `http://127.0.0.1:${port}/#t=${read}${act === null ? '' : `&c=${act}`}`;
}

/** Returns the status with which a request is refused before anything else is examined; null for a request of our own page. */
function refusal(method: string, header: (name: string) => string | undefined, port: number): number | null {
  const [host, origin, site] = ['host', 'origin', 'sec-fetch-site'].map(header);
  const hosts = [`127.0.0.1:${port}`, `localhost:${port}`];
  // Another host name for this address would let a foreign page bypass the browser's rules (DNS rebinding).
  if (host === undefined || !hosts.includes(host)) return 421;
  if (origin !== undefined && origin !== `http://${host}`) return 403;
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return 403;
  return method === 'POST' && site === 'none' ? 403 : null;
}

/** Compares in constant time. */
function isToken(given: string | undefined, token: string | null): boolean {
  if (given === undefined || token === null) return false;
  const [one, other] = [Buffer.from(given), Buffer.from(token)];
  return one.length === other.length && timingSafeEqual(one, other);
}
