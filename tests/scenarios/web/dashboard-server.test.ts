import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { LoopRow } from '../../../src/web/model/report-data.ts';
import { DIST, type Project, project } from '../../support/project.ts';
import { someOf } from '../../support/short-form.ts';
import { until } from '../../support/until.ts';
import { writeLongLoop } from '../../support/web/long-loop.ts';

interface Served {
  readonly child: ChildProcess;
  readonly port: number;
  readonly read: string;
  readonly act: string | undefined;
}

async function served(t: TestContext, p: Project, ...options: string[]): Promise<Served> {
  const child = spawn(process.execPath, [join(DIST, 'scripts', 'main.cjs'), 'dashboard', '--json', ...options], {
    cwd: p.dir,
    env: p.env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => child.kill('SIGKILL'));
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const { url, port } = JSON.parse(line.toString()) as { url: string; port: number };
  const [, read = '', act] = /#t=([\w-]+)(?:&c=([\w-]+))?$/.exec(url) ?? [];
  return { child, port, read, act };
}

interface Asked {
  readonly path: string;
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

function ask(
  { port }: Pick<Served, 'port'>,
  { path, method = 'GET', headers = {}, body }: Asked,
): Promise<[number, string]> {
  return new Promise((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port, path, method, headers }, (answer) => {
      let text = '';
      answer
        .setEncoding('utf8')
        .on('data', (part: string) => (text += part))
        .on('end', () => resolve([answer.statusCode ?? 0, text]));
    });
    asked.once('error', reject);
    asked.end(body);
  });
}

const bearer = ({ read }: Served): Record<string, string> => ({ authorization: `Bearer ${read}` });

/** The key of the only loop, from the first news. */
async function firstKey(server: Served): Promise<string> {
  const [row] = await firstRows(server);
  return row?.key ?? assert.fail('no loop is shown');
}

/** The list of loops as the first news have it. */
async function firstRows(server: Served): Promise<readonly LoopRow[]> {
  return new Promise((resolve, reject) => {
    const asked = request(
      { host: '127.0.0.1', port: server.port, path: '/events', headers: bearer(server) },
      (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (part: string) => {
          text += part;
          const [, data] = /^event: loops\ndata: (.*)\n\n/m.exec(text) ?? [];
          if (data === undefined) return;
          resolve(JSON.parse(data) as LoopRow[]);
          asked.destroy();
        });
      },
    );
    asked.once('error', reject);
    asked.end();
  });
}

test('the dashboard refuses calls without a token, of another host or a foreign page, and path traversal', async (t) => {
  const p = project(t);
  writeLongLoop(p.dir, p.env, { name: null, iterations: 3, live: true });
  p.write('secret.txt', 'top secret');
  const server = await served(t, p);
  const { port } = server;
  const key = await firstKey(server);
  const own = bearer(server);
  const status = async (asked: Asked): Promise<number> => (await ask(server, asked))[0];
  assert.equal(await status({ path: `/loops/${key}`, headers: own }), 200, 'control: with the token');
  const refused: readonly (readonly [number, Asked])[] = [
    [401, { path: `/loops/${key}` }],
    [401, { path: '/events' }],
    [401, { path: `/loops/${key}`, headers: { authorization: `Bearer ${server.read.slice(0, -1)}` } }],
    [401, { path: `/loops/${key}?t=${server.read}` }],
    [421, { path: '/', headers: { host: `evil.example:${port}` } }],
    [421, { path: `/loops/${key}`, headers: { ...own, host: `evil.example:${port}` } }],
    [421, { path: `/loops/${key}`, headers: { ...own, host: '127.0.0.1' } }],
    [403, { path: `/loops/${key}`, headers: { ...own, origin: 'http://evil.example' } }],
    [403, { path: `/loops/${key}`, headers: { ...own, origin: 'null' } }],
    [403, { path: `/loops/${key}`, headers: { ...own, 'sec-fetch-site': 'cross-site' } }],
    [404, { path: '/loops/..%2f..%2fsecret.txt', headers: own }],
    [404, { path: '/../../secret.txt', headers: own }],
    [404, { path: '/loops/%252e%252e', headers: own }],
    [404, { path: '/loops/0123456789abcdef', headers: own }],
    [404, { path: `/loops/${key}?iterations=-1`, headers: own }],
  ];
  for (const [wanted, asked] of refused) {
    const [got, text] = await ask(server, asked);
    assert.equal(got, wanted, JSON.stringify(asked));
    assert.doesNotMatch(text, /top secret/);
  }
});

test('control requires its own token and our own page; its actions are recorded with their origin', async (t) => {
  const p = project(t);
  const { files, state } = writeLongLoop(p.dir, p.env, { name: null, iterations: 3, live: true });
  const server = await served(t, p);
  const key = await firstKey(server);
  const path = `/loops/${key}/control`;
  const { port, act = '' } = server;
  const headers = { ...bearer(server), 'content-type': 'application/json', 'x-control': act };
  const give = async (body: string, more: Record<string, string> = {}): Promise<number> =>
    (await ask(server, { path, method: 'POST', headers: { ...headers, ...more }, body }))[0];
  const pause = '{"kind":"pause"}';
  assert.equal(await give(pause, { 'x-control': '' }), 403);
  assert.equal(await give(pause, { 'x-control': server.read }), 403);
  assert.equal(await give(pause, { authorization: '' }), 401);
  assert.equal(await give(pause, { 'sec-fetch-site': 'none' }), 403);
  assert.equal(await give(pause, { origin: 'http://127.0.0.1:1' }), 403);
  assert.equal(await give('{"kind":"accept"}'), 400);
  assert.equal(await give('{"kind":"steer","text":""}'), 400);
  assert.equal(await give('nonsense'), 400);
  assert.equal(await give(`{"kind":"steer","text":"${'x'.repeat(100_000)}"}`), 413);
  const events = (): string => readFileSync(files.events, 'utf8');
  assert.doesNotMatch(events(), /operator\.request/);
  assert.equal(await give('{"kind":"steer","text":"Mind the tests"}', { origin: `http://127.0.0.1:${port}` }), 200);
  assert.match(
    events(),
    new RegExp(`"type":"operator.request",.*"loopId":"${state.loopId}".*"request":"steer","from":"dashboard"`),
  );
  assert.match(events(), /"type":"operator\.steer".*Mind the tests/);
});

test('a read-only dashboard hands out no token for control and accepts no command', async (t) => {
  const p = project(t);
  const { files } = writeLongLoop(p.dir, p.env, { name: null, iterations: 3, live: true });
  const server = await served(t, p, '--read-only');
  assert.equal(server.act, undefined);
  const path = `/loops/${await firstKey(server)}/control`;
  const before = readFileSync(files.state, 'utf8');
  for (const control of ['', 'null', server.read]) {
    const headers = { ...bearer(server), 'content-type': 'application/json', 'x-control': control };
    assert.equal((await ask(server, { path, method: 'POST', headers, body: '{"kind":"cancel"}' }))[0], 403);
  }
  assert.equal(readFileSync(files.state, 'utf8'), before);
});

/** Connections that the server may hold at once. */
const MOST_CONNECTIONS = 64;

test('holds 64 of 3,000 connections, closes silent ones and answers again', async (t) => {
  const p = project(t);
  writeLongLoop(p.dir, p.env, { name: null, iterations: 3, live: true });
  const server = await served(t, p);
  const key = await firstKey(server);
  const before = await until('the first request is over', () => socketsOf(server.child));
  let [opened, failed, most] = [0, 0, 0];
  const sockets = Array.from({ length: 3_000 }, (): Socket => {
    const socket = connect(server.port, '127.0.0.1');
    return socket.on('connect', () => (opened += 1)).on('error', () => (failed += 1));
  });
  t.after(() => {
    for (const socket of sockets) socket.destroy();
  });
  const held = (): number => {
    const now = socketsOf(server.child) - before;
    most = Math.max(most, now);
    return now;
  };
  await until('the places are taken', () => held() >= MOST_CONNECTIONS - 1);
  await until('all have been tried', () => held() >= 0 && opened + failed >= sockets.length);
  // None of them is closed from this side, and those that the system never handed over stay half open.
  await until('the server has closed the silent ones', () => held() <= 0);
  assert.ok(opened > 1_000, `${opened} were opened`);
  // One more exists between its acceptance and its refusal.
  assert.ok(most <= MOST_CONNECTIONS + 1, `${most} at once`);
  const [status] = await ask(server, { path: `/loops/${key}`, headers: bearer(server) });
  assert.equal(status, 200);
});

function socketsOf({ pid }: ChildProcess): number {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).filter((name) => {
    try {
      return readlinkSync(join(folder, name)).startsWith('socket:');
    } catch {
      return false; // closed meanwhile
    }
  }).length;
}

test('lines of 10 MB in the stream break neither page nor report, and are shown shortened', async (t) => {
  const p = project(t);
  const { files, loopId } = writeLongLoop(p.dir, p.env, { name: null, iterations: 3, live: true });
  const long = 'x'.repeat(10 * 1024 * 1024);
  const common = { v: 1, at: new Date().toISOString(), loopId, iteration: 2 };
  const lines = [
    { type: 'agent.text', ...common, text: long },
    { type: 'tool.asked', ...common, callId: 'huge', tool: 'Bash', about: long },
    { type: 'check.ran', ...common, name: 'huge', run: 'true', outcome: 'failed', tail: long },
    { type: 'made.up', ...common, whatever: long },
  ];
  appendFileSync(files.events, `${lines.map((line) => JSON.stringify(line)).join('\n')}\n${long}\n`);
  appendFileSync(files.events, `${JSON.stringify({ type: 'agent.text', ...common, text: 'The last words.' })}\n`);
  const server = await served(t, p);
  const [status, text] = await ask(server, { path: `/loops/${await firstKey(server)}`, headers: bearer(server) });
  assert.equal(status, 200);
  assert.ok(text.length < 500_000, `${text.length} characters`);
  assert.match(text, /The last words\./);
  assert.equal(p.ralph(['report', '--out', 'r.html']).code, 0);
  assert.ok(statSync(join(p.dir, 'r.html')).size < 1_000_000);
  for (const command of someOf([['explain'], ['status'], ['logs']], 3)) {
    const { code, stdout, stderr } = p.ralph(command);
    assert.equal(code, 0, stderr);
    assert.ok(stdout.length < 100_000, `${command}: ${stdout.length} characters`);
  }
});

test('with --all the dashboard shows the loops of all projects of the user, without it those of one', async (t) => {
  const p = project(t);
  for (const name of ['project', 'other']) {
    p.write(`../${name}/.claude/ralph/PROMPT.md`, `# Repair the ${name}\n\nMake it work.\n`);
    assert.equal(p.ralph(['start'], {}, join(p.dir, '..', name)).code, 0);
  }
  const names = async (...options: string[]): Promise<string[]> =>
    (await firstRows(await served(t, p, ...options))).map((row) => `${row.project}: ${row.title}`).sort();
  assert.deepEqual(await names(), ['project: Repair the project']);
  assert.deepEqual(await names('--all'), ['other: Repair the other', 'project: Repair the project']);
});

test('the dashboard is refused in the shell of an agent, and ends at a signal', async (t) => {
  const p = project(t);
  assert.match(p.ralph(['dashboard'], { CLAUDECODE: '1' }).stderr, /is for the user at a terminal/);
  assert.match(p.ralph(['dashboard', '--port', 'x']).stderr, /use a whole number from 1 to 65535/);
  const { child } = await served(t, p, '--port', '0');
  child.kill('SIGINT');
  const [code] = (await once(child, 'exit')) as [number | null];
  assert.equal(code, 0);
});
