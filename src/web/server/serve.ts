import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { addressOf, newTokens } from './access.ts';
import { dashboardApp } from './dashboard-app.ts';
import type { NewsFeed } from './news-feed.ts';

export interface ServeOptions {
  readonly feed: NewsFeed;
  /** 0: any free one. */
  readonly port: number;
  readonly readOnly: boolean;
}

export interface Dashboard {
  /** Address with the tokens. */
  readonly url: string;
  readonly port: number;
  readonly close: () => Promise<void>;
}

const MOST_CONNECTIONS = 64;

/** Serves the dashboard on 127.0.0.1. Rejects with the system's error if the port is taken. */
export async function serveDashboard({ feed, port, readOnly }: ServeOptions): Promise<Dashboard> {
  const tokens = newTokens(readOnly);
  let bound = port;
  const app = dashboardApp({ feed, tokens, port: () => bound });
  // Silent connections fill the places of others until they are looked for.
  const times = { headersTimeout: 5_000, requestTimeout: 10_000, keepAliveTimeout: 5_000 };
  const limits = { ...times, connectionsCheckingInterval: 1_000, maxHeaderSize: 16 * 1024 };
  const server = createServer(limits, getRequestListener(app.fetch));
  server.maxConnections = MOST_CONNECTIONS;
  bound = await listen(server, port);
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

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
}
