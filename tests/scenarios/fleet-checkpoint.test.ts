import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { consentDigest, consentTerms } from '../../src/drive/start/terms/consent-terms.ts';
import { makeCheckpoint, pushCheckpoint } from '../../src/fleet/git/checkpoint.ts';
import { relocateContract } from '../../src/fleet/git/loop-state.ts';
import type { Workspace } from '../../src/fleet/git/workspace.ts';
import { findContract, loopFiles } from '../../src/state/loop-files.ts';
import { shareCodeCache } from '../support/code-cache.ts';
import { TEST_TIMEOUT_MS, until } from '../support/until.ts';
import { type Fleet, fleet, meta, open, REF, status } from '../unit/fleet/git/support/fleet-place.ts';
import { MAIN } from './support/command-agent.ts';

/** Commits in each run, leaves a change, and waits in the run that the test wants to stop. */
const AGENT = `#!/bin/sh
prompt=$(cat)
echo run >> runs.txt
git add runs.txt
git -c user.name=a -c user.email=a@b.c commit -qm "Run $(wc -l < runs.txt | tr -d ' ')" runs.txt
echo "$(wc -l < runs.txt)" > notes.txt
if [ "$(wc -l < runs.txt)" -eq 2 ]; then
  touch "$MEET/here"
  while [ ! -e "$MEET/go" ]; do sleep 0.05; done
fi
[ "$(wc -l < runs.txt)" -lt 4 ] || echo "<promise>DONE</promise>"
`;
const KEYS = ['max_iterations: 9', 'completion_promise: DONE', 'completion_gate: disabled'];

function withTask(keys: readonly string[]) {
  return (dir: string): void => {
    mkdirSync(join(dir, 'jobs', 'one'), { recursive: true });
    writeFileSync(join(dir, 'jobs/one/RALPH.md'), `---\n${keys.join('\n')}\n---\nDo it.\n`);
    writeFileSync(join(dir, 'agent.sh'), AGENT, { mode: 0o755 });
    writeFileSync(join(dir, 'kept.txt'), 'kept\n');
  };
}

interface Machine {
  readonly ws: Workspace;
  readonly env: NodeJS.ProcessEnv;
}

async function machine(t: TestContext, f: Fleet, name: string, checkpoint: string | null = null): Promise<Machine> {
  const place = f.place(name);
  const env = { ...place.env, MEET: join(f.base, 'meet'), XDG_CONFIG_HOME: join(f.base, name, 'config') };
  mkdirSync(env.MEET, { recursive: true });
  shareCodeCache(place.env['XDG_STATE_HOME'] ?? '');
  return { ws: await open(t, f, place, checkpoint), env };
}

function ralph({ ws, env }: Machine, words: readonly string[]): ChildProcess {
  return spawn(process.execPath, [MAIN, ...words], { cwd: ws.dir, env, stdio: ['ignore', 'pipe', 'pipe'] });
}

/** Runs to its end and returns its events. */
function run({ ws, env }: Machine, words: readonly string[]): { code: number | null; events: Event[]; text: string } {
  const options = { cwd: ws.dir, env, encoding: 'utf8', timeout: TEST_TIMEOUT_MS } as const;
  const { status: code, stdout, stderr } = spawnSync(process.execPath, [MAIN, ...words], options);
  const events = stdout.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as Event] : []));
  return { code, events, text: stdout + stderr };
}

interface Event {
  readonly type: string;
  readonly begins?: number;
  readonly status?: string;
}

const filesOf = ({ ws, env }: Machine) => loopFiles(ws.dir, 'one', env);

/** What the loop's user agreed to, wherever its project is; the contract of a loop that has ended is put aside. */
function digestOf(m: Machine, end = ''): string {
  const files = filesOf(m);
  const stored = findContract({ ...files, contract: `${files.contract}${end}` });
  assert.ok(typeof stored === 'object');
  const here = { project: m.ws.dir, home: m.env['HOME'] ?? '' };
  return consentDigest(consentTerms(relocateContract(stored.contract, here, { project: '/p', home: '/h' }), null));
}

const stateOf = (m: Machine) =>
  JSON.parse(readFileSync(filesOf(m).state, 'utf8')) as { iteration: number; contractHash: string; status: string };

/** Runs the loop until it is paused after its second iteration. */
async function pausedAfterTwo(t: TestContext, m: Machine, more: readonly string[] = []): Promise<void> {
  const { env } = m;
  const child = ralph(m, ['run', 'jobs/one', '--agent', './agent.sh', '--json', ...more]);
  t.after(() => child.kill('SIGKILL'));
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const ended = new Promise((resolve) => child.once('close', resolve));
  await until('the second run', () => existsSync(join(env['MEET'] ?? '', 'here')) || child.exitCode !== null);
  const paused = run(m, ['pause', '--loop', 'one']);
  assert.equal(paused.code, 0, paused.text + said);
  writeFileSync(join(env['MEET'] ?? '', 'go'), '');
  const isCounted = (): boolean => stateOf(m).status === 'paused' && stateOf(m).iteration === 2;
  await until('the pause', () => isCounted() || child.exitCode !== null);
  child.kill('SIGINT');
  await ended;
  assert.equal(stateOf(m).status, 'paused', said);
}

for (const [what, more, keys] of [
  ['a loop', [], KEYS],
  [
    'a loop with checks whose contract is locked',
    ['--no-accept'],
    [...KEYS, 'validation: ["test -f kept.txt", "grep -q run runs.txt"]', 'unchanged: ["kept.txt"]'],
  ],
] as const) {
  test(`${what} continues elsewhere with its next iteration and the same contract`, async (t) => {
    const f = fleet(t, withTask(keys));
    const a = await machine(t, f, 'machine-a');
    await pausedAfterTwo(t, a, more);
    const [digest, before] = [digestOf(a), status(a.ws)];
    assert.equal(stateOf(a).iteration, 2);
    const sha = await makeCheckpoint(a.ws, { ...meta(2), contractDigest: digest });
    assert.equal(await pushCheckpoint(a.ws, REF, sha, null), 'pushed');

    const b = await machine(t, f, 'elsewhere/machine-b', sha);
    assert.equal(status(b.ws), before);
    assert.equal(digestOf(b), digest, 'the contract that came along says the same here');
    const stored = findContract(filesOf(b));
    assert.ok(typeof stored === 'object');
    assert.equal(stored.contract.projectDir, b.ws.dir);
    assert.equal(stateOf(b).contractHash, stored.hash);
    const { code, events, text } = run(b, ['run', '--resume', '--loop', 'one', '--json']);
    assert.equal(code, 0, text);
    const iterations = events.filter(({ type }) => type === 'iteration.started').map(({ begins }) => begins);
    assert.deepEqual(iterations, [3, 4], text);
    assert.equal(events.at(-1)?.status, 'complete', text);
    assert.equal(readFileSync(join(b.ws.dir, 'runs.txt'), 'utf8'), 'run\n'.repeat(4));
    assert.equal(digestOf(b, '.ended'), digest);
    assert.equal(existsSync(join(a.ws.dir, 'runs.txt')), true);
    assert.equal(readFileSync(join(a.ws.dir, 'runs.txt'), 'utf8'), 'run\n'.repeat(2), 'nothing changed where it was');
  });
}

test('control: without its checkpoint a loop begins elsewhere with its first iteration', async (t) => {
  const f = fleet(t, withTask(KEYS));
  const b = await machine(t, f, 'machine-b');
  writeFileSync(join(b.env['MEET'] ?? '', 'go'), '');
  assert.notEqual(run(b, ['run', '--resume', '--loop', 'one', '--json']).code, 0);
  const { code, events, text } = run(b, ['run', 'jobs/one', '--agent', './agent.sh', '--json']);
  assert.equal(code, 0, text);
  const first = events.find(({ type }) => type === 'iteration.started');
  assert.equal(first?.begins, 1);
});
