import assert from 'node:assert/strict';
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { makeCheckpoint, pushCheckpoint } from '../../../../src/fleet/git/checkpoint.ts';
import { askGit, git as gitOf } from '../../../../src/fleet/git/git.ts';
import { readRef } from '../../../../src/fleet/git/mirror.ts';
import { ownCall } from '../../../../src/fleet/git/place.ts';
import type { Workspace } from '../../../../src/fleet/git/workspace.ts';
import fc, { runs } from '../../../support/property.ts';
import { git } from '../../../support/repository.ts';
import '../../../support/starts-processes.ts';
import { type Fleet, fleet, meta, open, REF } from './support/fleet-place.ts';

const ROUNDS = Number(process.env['RALPH_FENCE_ROUNDS'] ?? runs(25));

type Push = (ws: Workspace, ref: string, sha: string, expected: string | null) => Promise<string>;

async function twoWorkers(t: Pick<TestContext, 'after'>): Promise<{ f: Fleet; workers: readonly Workspace[] }> {
  const f = fleet(t);
  return { f, workers: [await open(t, f, f.place('a')), await open(t, f, f.place('b'))] };
}

test('of two workers that expect the same commit, one has pushed and the other is fenced', async (t) => {
  const { f, workers } = await twoWorkers(t);
  let expected: string | null = null;
  for (let round = 1; round <= 4; round += 1) {
    const shas: string[] = [];
    // Each takes the other's last checkpoint over first.
    for (const ws of workers) {
      if (expected !== null) writeFileSync(join(ws.home, 'last'), expected);
      shas.push(await makeCheckpoint(ws, meta(round)));
    }
    assert.notEqual(shas[0], shas[1], 'equal work makes two checkpoints');
    const outcomes = await Promise.all(workers.map((ws, at) => pushCheckpoint(ws, REF, shas[at] ?? '', expected)));
    assert.deepEqual([...outcomes].sort(), ['fenced', 'pushed']);
    const winner = shas[outcomes.indexOf('pushed')] ?? '';
    assert.equal(git(f.remote, 'rev-parse', REF).trim(), winner);
    for (const ws of workers) git(join(ws.home, 'git'), 'fetch', '--quiet', f.remote, REF);
    expected = winner;
  }
  assert.equal(lineOf(f, REF).length, 4);
});

/** The checkpoints that a reference continues, newest first. Of two parents the second is the checkpoint before. */
function lineOf(f: Fleet, ref: string): string[] {
  const line: string[] = [];
  for (let at: string | undefined = git(f.remote, 'rev-parse', ref).trim(); at !== undefined; ) {
    line.push(at);
    at = git(f.remote, 'rev-list', '--parents', '--max-count=1', at).trim().split(' ')[2];
  }
  return line;
}

interface Story {
  readonly pushed: readonly string[];
  readonly line: readonly string[];
}

const step = fc.record({
  who: fc.constantFrom([0], [1], [0, 1]),
  does: fc.constantFrom('read', 'push', 'push'),
});
const steps = fc.array(step, { minLength: 3, maxLength: 8 });
type Step = { readonly who: readonly number[]; readonly does: string };

let serial = 0;

/** Lets two workers read and push as the steps say, several at once where a step names both. */
async function play(f: Fleet, workers: readonly Workspace[], story: readonly Step[], push: Push): Promise<Story> {
  serial += 1;
  const ref = `refs/ralph/round-${serial}`;
  const known: (string | null)[] = [null, null];
  const pushed: string[] = [];
  const act = async (at: number, does: string): Promise<void> => {
    const ws = workers[at];
    if (ws === undefined) return;
    if (does === 'read') {
      known[at] = await readRef(ws.mirror, ref, ws.env);
      if (known[at] !== null) {
        await askGit(
          ['fetch', '--quiet', 'origin', ref],
          { ...ownCall(ws), network: true },
          'a checkpoint was fetched',
        );
      }
      return;
    }
    const expected = known[at] ?? null;
    const parents = [f.sha, ...(expected === null ? [] : [expected])].flatMap((parent) => ['-p', parent]);
    const who = {
      GIT_AUTHOR_NAME: 'a',
      GIT_AUTHOR_EMAIL: 'a@b.c',
      GIT_COMMITTER_NAME: 'a',
      GIT_COMMITTER_EMAIL: 'a@b.c',
    };
    const call = { ...ownCall(ws), input: `${crypto.randomUUID()}\n`, more: who };
    const sha = await askGit(['commit-tree', `${f.sha}^{tree}`, ...parents], call, 'a checkpoint was made');
    if ((await push(ws, ref, sha, expected)) !== 'pushed') return;
    pushed.push(sha);
    known[at] = sha;
  };
  for (const { who, does } of story) await Promise.all(who.map((at) => act(at, does)));
  return { pushed, line: pushed.length === 0 ? [] : lineOf(f, ref) };
}

const isOneLine = ({ pushed, line }: Story): boolean =>
  pushed.length === line.length && pushed.every((sha) => line.includes(sha));

test('however two workers interleave, all pushed checkpoints are on one straight line', async (t) => {
  const { f, workers } = await twoWorkers(t);
  await fc.assert(
    fc.asyncProperty(steps, async (story) => {
      const told = await play(f, workers, story, pushCheckpoint);
      assert.ok(isOneLine(told), JSON.stringify(told));
    }),
    { numRuns: ROUNDS, endOnFailure: true },
  );
});

test('control: workers that compare and then push without the lease lose a checkpoint', async (t) => {
  const { f, workers } = await twoWorkers(t);
  // Both have looked before either pushes.
  const met: (() => void)[] = [];
  let turns: Promise<unknown> = Promise.resolve();
  const looksFirst: Push = async (ws, ref, sha, expected) => {
    if ((await readRef(ws.mirror, ref, ws.env)) !== expected) return 'fenced';
    await new Promise<void>((go) => {
      met.push(go);
      if (met.length === workers.length) for (const each of met) each();
    });
    const words = ['push', '--quiet', '--force', 'origin', `${sha}:${ref}`];
    // One after the other: the repository itself refuses the second of two pushes at the same moment.
    const turn = turns.then(() => gitOf(words, { ...ownCall(ws), network: true }));
    turns = turn;
    return (await turn).ok ? 'pushed' : 'unreachable';
  };
  const told = await play(f, workers, [{ who: [0, 1], does: 'push' }], looksFirst);
  assert.equal(told.pushed.length, 2, 'both were told that they have pushed');
  assert.equal(isOneLine(told), false, JSON.stringify(told));
});

test('a push whose answer was lost counts, unless another one overtook it', async (t) => {
  const f = fleet(t);
  const ws = await open(t, f, f.place('a'));
  const first = await makeCheckpoint(ws, meta(1));
  git(join(ws.home, 'git'), 'push', '--quiet', f.remote, `${first}:${REF}`);
  assert.equal(await pushCheckpoint(ws, REF, first, null), 'pushed');
  const second = await makeCheckpoint(ws, meta(2));
  git(f.remote, 'update-ref', '-d', REF);
  assert.equal(await pushCheckpoint(ws, REF, second, first), 'fenced', 'a reference that was removed was moved');
});

test('a repository that does not answer is unreachable, and the same checkpoint is pushed later', async (t) => {
  const f = fleet(t);
  const ws = await open(t, f, f.place('a'));
  const sha = await makeCheckpoint(ws, meta());
  renameSync(f.remote, `${f.remote}.away`);
  let said = '';
  const outcome = await pushCheckpoint(ws, REF, sha, null, (complaint) => {
    said = complaint;
  });
  assert.equal(outcome, 'unreachable');
  assert.match(said, /does not appear to be a git repository/);
  renameSync(`${f.remote}.away`, f.remote);
  assert.equal(await pushCheckpoint(ws, REF, sha, null), 'pushed');
});

test('does not push a checkpoint that does not continue the expected one', async (t) => {
  const f = fleet(t);
  const ws = await open(t, f, f.place('a'));
  const [one, other] = [await makeCheckpoint(ws, meta(1)), await makeCheckpoint(ws, meta(1))];
  assert.equal(await pushCheckpoint(ws, REF, one, null), 'pushed');
  await assert.rejects(pushCheckpoint(ws, REF, other, one), /does not continue/);
  assert.equal(git(f.remote, 'rev-parse', REF).trim(), one);
});
