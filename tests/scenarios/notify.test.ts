import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { notifyUser, requestOf } from '../../src/drive/records/notification.ts';
import { loopFiles } from '../../src/state/loop-files.ts';
import { shellWord } from '../../src/text/quote.ts';
import { agreeTo } from '../support/agree-to.ts';
import { type Project, project } from '../support/project.ts';
import { until } from '../support/until.ts';
import { MAIN } from './support/command-agent.ts';

const at = '2026-02-28T10:00:00Z';
const DONE = 'cat > /dev/null; echo RALPH_AUDIT_COMPLETE_NO_FINDINGS';
const WORK = 'cat > /dev/null; echo "Some work $$."';

function task(p: Project, notify: { command?: string[]; [key: string]: unknown }, more: object = {}): void {
  for (const key of ['command', 'url'])
    if (notify[key] !== undefined) agreeTo(p.dir, p.env, { [`notify.${key}`]: notify[key] });
  p.write('.claude/ralph/PROMPT.md', `---\n${JSON.stringify({ validation: ['true'], notify, ...more })}\n---\nWork.\n`);
  p.write('told.sh', '#!/bin/sh\ncat > "$1.part"; mv "$1.part" "$1"\n', 0o755);
}

function logged(p: Project): string {
  try {
    return readFileSync(loopFiles(p.dir, null, p.env).log, 'utf8');
  } catch {
    return '';
  }
}

/** A server that keeps what is posted to it. */
async function receiver(t: TestContext): Promise<{ url: string; posts: Record<string, unknown>[] }> {
  const posts: Record<string, unknown>[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += chunk));
    request.on('end', () => {
      posts.push({ path: request.url, ...(JSON.parse(body) as object) });
      response.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, posts };
}

test('the end of a loop is sent to a command and posted to an address', async (t) => {
  const p = project(t);
  const { url, posts } = await receiver(t);
  task(p, { command: ['./told.sh', 'told here.json'], url: `${url}/hook` });
  assert.equal(p.ralph(['run', '--agent', DONE]).code, 0);
  await until('told', () => p.has('told here.json') && posts.length === 1);
  const told = JSON.parse(p.read('told here.json')) as Record<string, unknown>;
  assert.deepEqual([told['status'], told['priority']], ['complete', 'default']);
  assert.match(String(told['title']), /^Loop .+: complete$/);
  assert.deepEqual(posts, [{ path: '/hook', ...told }]);
});

test('only the requested kinds are sent, and nothing that the user did', async (t) => {
  const p = project(t);
  const { url, posts } = await receiver(t);
  task(p, { on: ['limit'], url, template: 'slack' }, { max_iterations: 1 });
  assert.equal(p.ralph(['run', '--agent', DONE]).code, 0);
  p.ralph(['start', '--mode', 'runner']);
  p.ralph(['cancel']);
  assert.equal(p.ralph(['run', '--agent', WORK]).code, 2);
  await until('told', () => posts.length > 0);
  assert.equal(posts.length, 1);
  assert.match(String(posts[0]?.['text']), /^\*Loop .+: max-iterations\*\n/);
});

test('a notification that cannot be sent changes nothing, and is logged without its address', async (t) => {
  const p = project(t);
  task(p, { command: ['./no-such-program'], url: 'http://127.0.0.1:9/secret-token' });
  assert.equal(p.ralph(['run', '--agent', DONE]).code, 0);
  const both = (): boolean => /notify\.url: 127\.0\.0\.1:9 /.test(logged(p)) && /notify\.command: /.test(logged(p));
  await until('logged', both);
  assert.doesNotMatch(logged(p), /secret-token/);
  assert.equal(logged(p).match(/"where":"notify"/g)?.length, 2);
});

test('Esc is no news to the user who pressed it, a lost client or terminal is', async (t) => {
  const p = project(t);
  task(p, { command: ['./add.sh'] });
  p.write('add.sh', '#!/bin/sh\nexec cat >> told\n', 0o755);
  p.ralph(['start', '--mode', 'runner']);
  // The process that sends it finds the loop by the environment.
  const before = process.env['XDG_STATE_HOME'];
  process.env['XDG_STATE_HOME'] = p.env['XDG_STATE_HOME'];
  t.after(() => {
    if (before === undefined) delete process.env['XDG_STATE_HOME'];
    else process.env['XDG_STATE_HOME'] = before;
  });
  const files = loopFiles(p.dir, null, p.env);
  const state = JSON.parse(readFileSync(files.state, 'utf8')) as Record<string, unknown>;
  for (const [reason, by] of [
    ['operator', undefined],
    ['interrupted', 'signal'],
    ['interrupted', undefined],
    ['rate-limited', undefined],
    ['interrupted', 'client-exit'],
  ] as const) {
    const paused = { since: at, reason, message: `${reason}, by ${by}`, resumesAt: null };
    writeFileSync(files.state, JSON.stringify({ ...state, status: 'paused', paused }));
    const event = { type: 'loop.paused', at, loopId: String(state['loopId']), iteration: 1, reason, by };
    notifyUser(files, at, [{ type: 'record-event', event }]);
  }
  const told = (): string[] =>
    p.has('told') ? [...p.read('told').matchAll(/[\w-]+, by [\w-]+/g)].map(String).sort() : [];
  const wanted = ['interrupted, by client-exit', 'rate-limited, by undefined'];
  // What came before them has been started before them.
  await until('the last two', () => wanted.every((each) => told().includes(each)));
  assert.deepEqual(told(), wanted);
});

test('each template has the format that its receiver expects', () => {
  const notice = { title: 'T', message: 'M', priority: 'high', loop: 'l', status: 's' } as const;
  const topic = 'https://ntfy.example.org/my-topic';
  assert.deepEqual(requestOf(topic, 'json', notice), { address: topic, body: notice });
  assert.deepEqual(requestOf(topic, 'slack', notice).body, { text: '*T*\nM' });
  assert.deepEqual(requestOf(topic, 'discord', notice).body, { content: '**T**\nM', allowed_mentions: { parse: [] } });
  assert.deepEqual(requestOf(topic, 'ntfy', notice), {
    address: 'https://ntfy.example.org/',
    body: { topic: 'my-topic', title: 'T', message: 'M', priority: 4 },
  });
});

/** Returns what a run writes to its terminal. */
function onTerminal(p: Project, ...words: readonly string[]): string {
  const command = [process.execPath, MAIN, ...words].map(shellWord).join(' ');
  const { stdout } = spawnSync('script', ['-qec', command, '/dev/null'], { cwd: p.dir, env: p.env, encoding: 'utf8' });
  return stdout;
}

test('the bell of the terminal rings at the end of a run, unless the task turns it off', (t) => {
  const p = project(t);
  task(p, {});
  const rung = onTerminal(p, 'run', '--agent', DONE);
  assert.match(rung, /Complete after 1 iteration/);
  assert.equal(rung.split('\u0007').length - 1, 1);
  task(p, { bell: false });
  const quiet = onTerminal(p, 'run', '--agent', DONE, '--fresh');
  assert.match(quiet, /Complete after 1 iteration/);
  assert.ok(!quiet.includes('\u0007'));
});

test('a promise with a different text does not end the loop, and the next prompt names both texts', (t) => {
  const p = project(t);
  const terms = { completion_promise: 'ALL DONE', completion_gate: 'disabled', max_iterations: 2 };
  p.write('.ralph/job/RALPH.md', `---\n${JSON.stringify(terms)}\n---\nWork.\n`);
  p.write('agent.sh', '#!/bin/sh\ncat >> prompts; echo "<promise>All done</promise>"\n', 0o755);
  assert.equal(p.ralph(['run', 'job', '--agent', './agent.sh']).code, 2);
  assert.match(p.read('prompts'), /<promise>All done<\/promise>[^\n]*<promise>ALL DONE<\/promise>/);
});
