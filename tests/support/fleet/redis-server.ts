import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { emptyFolder } from '../folder.ts';
import { pathOfProgram } from '../programs.ts';
import { TEST_TIMEOUT_MS } from '../until.ts';

/** A Redis server of a test, on a loopback port of its own, that keeps what it holds in an append-only file. */
export interface RedisServer {
  readonly url: string;
  /** Ends it as a power failure does. */
  readonly kill: () => Promise<void>;
  /** Starts it again on the same port with what its file holds. */
  readonly start: () => Promise<void>;
  /** Sends one command by the protocol and returns the raw answer. */
  readonly ask: (...words: readonly string[]) => Promise<string>;
}

export async function redisServer(t: TestContext, options: readonly string[] = []): Promise<RedisServer> {
  const program = pathOfProgram('redis-server');
  let child: ChildProcess | null = null;
  const kill = async (): Promise<void> => {
    const killed = child;
    if (killed === null || killed.exitCode !== null || killed.signalCode !== null) return;
    const gone = new Promise<void>((resolve) => killed.once('exit', () => resolve()));
    killed.kill('SIGKILL');
    await gone;
  };
  // Before the folder that it writes into.
  t.after(kill);
  const dir = join(emptyFolder(t), 'redis');
  mkdirSync(dir);
  const port = await freePort();
  const start = async (): Promise<void> => {
    const words = ['--port', String(port), '--bind', '127.0.0.1', '--dir', dir, '--save', ''];
    const started = spawn(program, [...words, '--appendonly', 'yes', '--appendfsync', 'always', ...options], {
      stdio: 'ignore',
    });
    child = started;
    for (const end = performance.now() + TEST_TIMEOUT_MS; ; await sleep(20)) {
      if ((await ask(port, ['PING']).catch(() => '')).startsWith('+PONG')) return;
      if (started.exitCode !== null || performance.now() > end) throw new Error('redis-server did not start');
    }
  };
  await start();
  return { url: `redis://127.0.0.1:${port}`, kill, start, ask: (...words) => ask(port, words) };
}

/** A port that nobody has, not even as the own end of a connection while the server is down: none of those is so low. */
function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer();
    const port = 10_000 + Math.floor(Math.random() * 20_000);
    server.once('error', () => resolve(freePort()));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(port)));
  });
}

/** Resolves with what the server has sent until it says nothing more. */
function ask(port: number, words: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket: Socket = connect(port, '127.0.0.1');
    let said = '';
    const command = `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`;
    socket.setEncoding('utf8');
    socket.once('error', reject);
    socket.on('data', (text: string) => {
      said += text;
    });
    socket.once('close', () => resolve(said));
    // QUIT is answered after the command: the server closes when everything is sent.
    socket.once('connect', () => socket.write(`${command}*1\r\n$4\r\nQUIT\r\n`));
  });
}
