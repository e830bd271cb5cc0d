import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { type News, NewsFeed } from '../../../src/web/server/news-feed.ts';
import { serveDashboard } from '../../../src/web/server/serve.ts';
import { until } from '../../support/until.ts';

/** A feed that has 64 KiB of news every 5 ms. */
class BusyFeed extends NewsFeed {
  readonly start = '';
  looks = 0;
  readonly #rows = [{ key: 'x'.repeat(64 * 1024) }] as unknown as NonNullable<News['loops']>;
  constructor() {
    super(5, () => undefined);
  }
  protected news(): News {
    this.looks += 1;
    return { loops: this.#rows };
  }
  report = () => null;
  work = async () => null;
  control = async () => null;
}

async function watched(t: TestContext, feed: NewsFeed): Promise<Socket> {
  const { port, url, close } = await serveDashboard(feed, 0, true);
  t.after(close);
  const socket = connect(port, '127.0.0.1');
  t.after(() => socket.destroy());
  await once(socket, 'connect');
  const token = /t=([\w-]+)/.exec(url)?.[1];
  socket.write(`GET /events HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${token}\r\n\r\n`);
  return socket;
}

test('a page that reads nothing is disconnected; its news do not pile up', async (t) => {
  const feed = new BusyFeed();
  const socket = await watched(t, feed);
  socket.pause();
  await until('the page is disconnected', () => feed.looks > 0 && feed.listeners === 0);
  assert.ok(feed.looks > 256, 'not before many news are unread');
});

test('control: a page that reads stays connected', async (t) => {
  const feed = new BusyFeed();
  const socket = await watched(t, feed);
  let bytes = 0;
  socket.on('data', (part) => {
    bytes += part.length;
  });
  await until('as many news as disconnect another', () => bytes > 32 * 1024 * 1024);
  assert.equal(feed.listeners, 1);
});
