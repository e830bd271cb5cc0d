import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { readLines } from '../../src/state/files/journal-lines.ts';
import { scratch } from '../support/faults/bundle-state.ts';
import { bundleVariant } from '../support/faults/bundle-variant.ts';
import { until } from '../support/until.ts';
import {
  type AgentNote,
  agentNotes,
  allGone,
  counted,
  misAccounted,
  misRecorded,
  type RunnerProject,
  runnerProject,
  type StartedRunner,
  startRunner,
} from './support/runner-stress.ts';

const { directory, remove } = scratch('disk');
let main: string;

/** As ever, but for how long it takes until a lease that nobody renews is free: longer than a slow machine stops at once. */
const FREE_SOON = [
  { file: 'state/lock/hold.ts', from: 'STALE_MS = 30_000', to: 'STALE_MS = 8_000' },
  { file: 'state/lock/owner.ts', from: 'FOREIGN_STALE_MS = 60_000', to: 'FOREIGN_STALE_MS = 9_000' },
];
const FREE_MS = 11_000;

before(async () => {
  main = await bundleVariant(join(directory, 'bundle'), FREE_SOON);
});
after(remove);

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

function project(name: string): RunnerProject {
  const root = join(directory, name);
  mkdirSync(root);
  return runnerProject(root, main);
}

function outside({ files }: RunnerProject, name: string): string {
  return join(files.outsideDir, name);
}

const works = (one: RunnerProject): Promise<true> =>
  until('the runner works', () => agentNotes(one.journal).some(({ what }) => what === 'end'));

/**
 * A runner that sleeps while its agent works: then it holds no lock, which on this machine would be held for as long
 * as it sleeps.
 */
async function asleep(one: RunnerProject): Promise<StartedRunner> {
  const runner = startRunner({ ...one, env: { ...one.env, FAKE_WORK: '1.5' } });
  await works(one);
  const ended = agentNotes(one.journal).length;
  await until('the next agent works', () => agentNotes(one.journal).length > ended);
  const stat = `/proc/${runner.pid}/stat`;
  for (;;) {
    runner.child.kill('SIGSTOP');
    await until('it sleeps', () => /\) T /.test(readFileSync(stat, 'utf8')));
    if (!existsSync(`${one.files.state}.lock`)) return runner;
    runner.child.kill('SIGCONT');
    await pause(20);
  }
}

/** Has the runner that holds the loop look like one of another machine, of whose process nobody here can know. */
function moveElsewhere(one: RunnerProject): void {
  const path = outside(one, 'runner.holder');
  const holder = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>;
  writeFileSync(path, JSON.stringify({ ...holder, host: 'another machine', agent: null }));
  const state = JSON.parse(readFileSync(one.files.state, 'utf8')) as Record<string, unknown>;
  writeFileSync(one.files.state, JSON.stringify({ ...state, clientPid: 2 ** 30, clientStartedAt: 'there:1' }));
}

async function leftAsLost(runner: StartedRunner): Promise<void> {
  const { code } = await runner.over;
  assert.equal(code, 1, runner.said());
  const why = /This runner ends: another runner took over the loop, or its lease could not be renewed/;
  // What it said last can be read a moment after it has ended.
  await until('it says so', () => why.test(runner.said()));
  assert.match(runner.said(), why);
}

test('A runner that loses its lease ends its agent and itself, and leaves the loop ready to resume.', async () => {
  const one = project('gone');
  const runner = startRunner(one);
  await works(one);
  const lease = readdirSync(one.files.outsideDir).filter((name) => name.endsWith('.lease'));
  assert.deepEqual(lease, ['runner.holder.lease']);
  rmdirSync(outside(one, 'runner.holder.lease'));
  await leftAsLost(runner);
  await allGone(one);
  writeFileSync(one.finish, '');
  const next = await startRunner(one, ['--resume']).over;
  assert.equal(next.code, 0, next.said);
  assert.deepEqual(misRecorded(one, counted(one).iteration), []);
  assert.deepEqual(misAccounted(one, counted(one)), []);
});

test('A runner that slept beyond its lease ends, and neither writes nor takes anything from its successor.', async () => {
  const one = project('asleep');
  const slept = await asleep(one);
  // Its agent hears nothing of that, and ends its turn; the runner has not heard of it yet.
  await until('its agent ends its turn', () => agentNotes(one.journal).at(-1)?.what === 'end');
  moveElsewhere(one);
  // However long the other one takes to look at it.
  const fresh = setInterval(() => utimesSync(outside(one, 'runner.holder.lease'), new Date(), new Date()), 100);
  const refused = await startRunner(one, ['--resume']).over;
  clearInterval(fresh);
  assert.equal(refused.code, 1, 'its lease still holds');
  await pause(FREE_MS);
  const second = startRunner(one, ['--resume']);
  const notes = agentNotes(one.journal).length;
  const own = (): AgentNote[] => agentNotes(one.journal).slice(notes);
  await until('the other one works', () => own().filter(({ what }) => what === 'end').length > 2);
  const before = counted(one);
  slept.child.kill('SIGCONT');
  await leftAsLost(slept);
  assert.ok(
    readdirSync(one.files.outsideDir).includes('runner.holder.lease') &&
      readdirSync(one.files.outsideDir).includes('runner.holder'),
    'the other one still holds its lease',
  );
  await until('the other one goes on', () => counted(one).iteration > before.iteration + 2);
  writeFileSync(one.finish, '');
  const end = await second.over;
  assert.equal(end.code, 0, end.said);
  await allGone(one);
  const told = own().filter(({ what }) => what === 'end');
  assert.deepEqual(
    told.map(({ iteration }) => iteration),
    told.map((_, index) => (told[0]?.iteration ?? 0) + index),
    'no number was told twice',
  );
  assert.deepEqual(misRecorded(one, counted(one).iteration), []);
});

test('A runner that slept beyond its lease and is terminated does not interrupt its successor.', async () => {
  const one = project('told');
  const slept = await asleep(one);
  moveElsewhere(one);
  await pause(FREE_MS);
  const second = startRunner(one, ['--resume']);
  await until('the other one works', () => second.said().includes('iteration.started'));
  slept.child.kill('SIGTERM');
  slept.child.kill('SIGCONT');
  await leftAsLost(slept);
  writeFileSync(one.finish, '');
  const end = await second.over;
  assert.equal(end.code, 0, end.said);
});

test('Control: without the epoch a runner that slept overwrites what its successor has counted.', async () => {
  const unfenced = await bundleVariant(join(directory, 'unfenced'), [
    ...FREE_SOON,
    { file: 'state/lock/hold.ts', from: 'onLost();', to: 'void onLost;' },
    { file: 'state/with-state.ts', from: 'writer.epoch >= current.epoch', to: 'true' },
    // Else it pauses over the contract that its successor has written.
    { file: 'drive/runner/run-loop.ts', from: 'holdEvidence(files, started.loopId)', to: '() => undefined' },
  ]);
  const one = { ...project('control'), main: unfenced };
  const slept = await asleep(one);
  moveElsewhere(one);
  await pause(FREE_MS);
  const second = startRunner(one, ['--resume']);
  await until('the other one works', () =>
    readLines(one.files.events).entries.some(({ type }) => type === 'loop.resumed'),
  );
  slept.child.kill('SIGCONT');
  const seen = (): boolean => agentNotes(one.journal).some(({ what }) => what === 'beside');
  while (!seen() && slept.child.exitCode === null && second.child.exitCode === null) await pause(20);
  for (const { child } of [slept, second]) child.kill('SIGKILL');
  await Promise.all([slept.over, second.over]);
  await allGone(one);
  assert.ok(seen(), 'two agents worked at once');
});
