import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeCheckpoint, pushCheckpoint } from '../../src/fleet/git/checkpoint.ts';
import { fetchMirror } from '../../src/fleet/git/mirror.ts';
import { type FleetPlace, loopsDir } from '../../src/fleet/git/place.ts';
import type { WorkspaceRequest } from '../../src/fleet/git/workspace.ts';
import { closeWorkspace, openWorkspace, staleWorkspaces } from '../../src/fleet/git/workspace.ts';
import { loopFiles, makeRuntimeDir } from '../../src/state/loop-files.ts';
import { onPath } from '../../src/state/process/find-program.ts';
import { plainProgram } from '../support/plain-program.ts';
import { until } from '../support/until.ts';
import { type Fleet, fleet, LOOP, listing, meta, open, REF, status } from '../unit/fleet/git/support/fleet-place.ts';

/** Every nth call of git is the one at which a worker is killed; RALPH_FLEET_KILL_STEP=1 is the long form. */
const STEP = Number(process.env['RALPH_FLEET_KILL_STEP'] ?? 11);

/** A git that counts its calls, and in the one of `$STOP_AT` notes its process and waits to be killed, before or after. */
const GIT = (real: string): string => `#!/bin/sh
echo call >> "$CALLS"
at=$(wc -l < "$CALLS")
[ "$at" -eq "$STOP_AT" ] || exec ${real} "$@"
[ "$WHEN" = before ] || ${real} "$@"
echo $$ > "$CALLS.stopped.tmp"
mv "$CALLS.stopped.tmp" "$CALLS.stopped"
exec sleep 600
`;

interface Killed {
  readonly f: Fleet;
  readonly request: WorkspaceRequest;
  readonly expected: { readonly status: string; readonly listing: string };
  readonly gitDir: string;
  /** The worker that is killed. */
  readonly program: string;
}

/** A loop with a checkpoint that holds commits, changes and loop state. */
async function checkpointed(t: TestContext): Promise<Killed> {
  const f = fleet(t);
  const ws = await open(t, f, f.place('origin'));
  writeFileSync(join(ws.dir, 'src/a.txt'), 'changed\n');
  rmSync(join(ws.dir, 'src/b.txt'));
  for (let at = 0; at < 50; at += 1) writeFileSync(join(ws.dir, `new-${at}.txt`), `${at}\n`);
  const files = loopFiles(ws.dir, null, ws.env);
  makeRuntimeDir(files);
  mkdirSync(files.outsideDir, { recursive: true });
  writeFileSync(files.events, '{"type":"one"}\n');
  writeFileSync(files.notices, '{"notice":"two"}\n');
  const sha = await makeCheckpoint(ws, meta(1));
  assert.equal(await pushCheckpoint(ws, REF, sha, null), 'pushed');
  const gitDir = join(f.base, 'bin');
  mkdirSync(gitDir);
  writeFileSync(join(gitDir, 'git'), GIT(onPath('git', process.env) ?? 'git'), { mode: 0o755 });
  return {
    f,
    gitDir,
    program: await plainProgram(f.base, "import '../faults/support/fleet-worker.ts';"),
    request: {
      ...{ repository: f.repository, loopId: LOOP, branch: 'ralph/one', base: { sha: f.sha }, checkpoint: sha },
    },
    expected: { status: status(ws), listing: listing(ws) },
  };
}

function worker(k: Killed, place: FleetPlace, stopAt: number, when: 'before' | 'after', calls: string): ChildProcess {
  const env = { ...place.env, PATH: `${k.gitDir}:${process.env['PATH']}`, CALLS: calls };
  return spawn(process.execPath, [k.program, place.dir, JSON.stringify(k.request)], {
    env: { ...env, STOP_AT: String(stopAt), WHEN: when },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

/** Ends a worker with SIGKILL in the given call of git, which is killed after it. Returns false if it made fewer calls. */
async function killAt(k: Killed, place: FleetPlace, stopAt: number, when: 'before' | 'after'): Promise<boolean> {
  const calls = join(k.f.base, `calls-${stopAt}-${when}`);
  writeFileSync(calls, '');
  const child = worker(k, place, stopAt, when, calls);
  const over = new Promise((resolve) => child.once('close', resolve));
  child.stdout?.resume();
  await until('the call, or the end', () => existsSync(`${calls}.stopped`) || child.exitCode !== null);
  if (!existsSync(`${calls}.stopped`)) {
    assert.equal(child.exitCode, 0);
    return false;
  }
  child.kill('SIGKILL');
  process.kill(Number(readFileSync(`${calls}.stopped`, 'utf8')), 'SIGKILL');
  await over;
  return true;
}

/** RALPH_FLEET_KILLS=100 is the long form. */
const KILLS = Number(process.env['RALPH_FLEET_KILLS'] ?? 3);

test('a worker killed at any moment, whose git continues for a while, is replaced', async (t) => {
  const k = await checkpointed(t);
  const place = k.f.place('killed');
  for (let kill = 0; kill < KILLS; kill += 1) {
    const child = worker(k, place, 0, 'before', join(k.f.base, `calls-${kill}`));
    const over = new Promise((resolve) => child.once('close', resolve));
    child.stdout?.resume();
    const began = join(k.f.base, `calls-${kill}`);
    await until('the first call of git, or the end', () => existsSync(began) || child.exitCode !== null);
    assert.ok(existsSync(began), 'the worker began');
    await sleep((1_500 * kill) / KILLS);
    child.kill('SIGKILL');
    await over;
    await fetchMirror(place, k.f.repository, [REF]);
    const ws = await openWorkspace(place, k.request);
    assert.equal(status(ws), k.expected.status, `kill ${kill}`);
    assert.equal(listing(ws), k.expected.listing, `kill ${kill}`);
    closeWorkspace(ws);
  }
  for (const each of staleWorkspaces(place)) closeWorkspace(each);
  assert.deepEqual(readdirSync(loopsDir(place)), []);
});

test('a worker killed at any git call leaves nothing that blocks the next one', async (t) => {
  const k = await checkpointed(t);
  let kills = 0;
  let halfMade = 0;
  for (let at = 1; ; at += STEP) {
    const when = at % 2 === 0 ? 'before' : 'after';
    const place = k.f.place(`killed-${at}`);
    if (!(await killAt(k, place, at, when))) break;
    kills += 1;
    const stale = staleWorkspaces(place);
    halfMade += stale.filter(({ home }) => !existsSync(join(home, 'workspace.json'))).length;
    await fetchMirror(place, k.f.repository, [REF]);
    const ws = await openWorkspace(place, k.request);
    assert.equal(status(ws), k.expected.status, `killed ${when} call ${at}`);
    assert.equal(listing(ws), k.expected.listing, `killed ${when} call ${at}`);
    const { events, notices } = loopFiles(ws.dir, null, ws.env);
    assert.deepEqual(
      [events, notices].map((path) => readFileSync(path, 'utf8')),
      ['{"type":"one"}\n', '{"notice":"two"}\n'],
    );
    const sha = await makeCheckpoint(ws, meta(at + 1));
    assert.match(sha, /^[0-9a-f]{40}$/);
    closeWorkspace(ws);
    for (const each of staleWorkspaces(place)) closeWorkspace(each);
    assert.deepEqual(readdirSync(loopsDir(place)), [], `nothing stays behind: killed ${when} call ${at}`);
  }
  assert.ok(kills >= 3, `${kills} kills`);
  assert.ok(
    halfMade > 0,
    'control: a kill leaves half made workspaces, which a worker that took them as they are would use',
  );
  t.diagnostic(`${kills} kills, ${halfMade} half made workspaces`);
});
