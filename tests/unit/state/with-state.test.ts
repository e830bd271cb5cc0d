import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import type { LoopState } from '../../../src/engine/schema/state.ts';
import { withLock } from '../../../src/state/lock/lock.ts';
import { readState } from '../../../src/state/loop-files.ts';
import { quarantine, serialise, withState } from '../../../src/state/with-state.ts';
import { type ErrorCode, RalphError } from '../../../src/text/message.ts';
import { aProject, aState, leftovers, putState } from './a-loop.ts';

function refused(code: ErrorCode, work: () => unknown): void {
  assert.throws(work, (error) => error instanceof RalphError && error.code === code);
}

test('The first state of a loop creates its file.', (t) => {
  const files = aProject(t);
  const found = withState(files, (current) => ({ next: aState(), result: current.kind }));
  assert.equal(found, 'absent');
  assert.deepEqual(readState(files.state), { kind: 'loop', state: aState() });
  assert.deepEqual(leftovers(files, 'ralph-state.json'), []);
});

test('Without a folder there is no loop: reading leaves no trace, and writing fails.', (t) => {
  const files = aProject(t);
  rmSync(files.runtimeDir, { recursive: true });
  assert.equal(
    withState(files, ({ kind }) => ({ next: 'keep', result: kind })),
    'absent',
  );
  refused('no-loop', () => withState(files, () => ({ next: aState(), result: 0 })));
  assert.equal(existsSync(files.runtimeDir), false);
});

test('Decides a change on the content on disk under the lock, and writes it to disk.', (t) => {
  const files = aProject(t);
  putState(files, aState());
  for (let iteration = 1; iteration <= 3; iteration++) {
    const result = withState(files, (current) => {
      assert.ok(current.kind === 'loop');
      refused('lock-timeout', () => withLock(files.lock, () => 'never', 0));
      return { next: { ...current.state, iteration: current.state.iteration + 1 }, result: current.state.iteration };
    });
    assert.equal(result, iteration - 1);
    assert.equal(JSON.parse(readFileSync(files.state, 'utf8')).iteration, iteration);
  }
});

test('Writes nothing if nothing changed.', (t) => {
  const files = aProject(t);
  putState(files, aState());
  const before = statSync(files.state).ino;
  withState(files, () => ({ next: 'keep', result: 0 }));
  withState(files, () => ({ next: aState(), result: 0 }));
  assert.equal(statSync(files.state).ino, before);
});

test('Also writes a change made in the very object that was read.', (t) => {
  const files = aProject(t);
  putState(files, aState());
  withState(files, (current) => {
    assert.ok(current.kind === 'loop');
    current.state.iteration = 7;
    return { next: current.state, result: 0 };
  });
  assert.deepEqual(readState(files.state), { kind: 'loop', state: aState({ iteration: 7 }) });
});

test('Removes a state, and treats a missing one as removed.', (t) => {
  const files = aProject(t);
  putState(files, aState());
  for (const kind of ['loop', 'absent']) {
    const found = withState(files, (current) => ({ next: 'remove', result: current.kind }));
    assert.equal(found, kind);
    assert.deepEqual(leftovers(files), []);
  }
});

test('A decision that throws changes nothing and releases the lock.', (t) => {
  const files = aProject(t);
  putState(files, aState());
  assert.throws(() => withState(files, () => assert.fail('no decision')), /no decision/);
  assert.deepEqual(readState(files.state), { kind: 'loop', state: aState() });
  assert.equal(
    withState(files, () => ({ next: 'keep', result: 'free' })),
    'free',
  );
});

test('Fences off a write from an older epoch; the same epoch, a newer one and another loop may write.', (t) => {
  const files = aProject(t);
  putState(files, aState({ epoch: 5 }));
  const write = (next: LoopState): void => withState(files, () => ({ next, result: undefined }));
  refused('state-fenced', () => write(aState({ epoch: 4, iteration: 9 })));
  assert.deepEqual(readState(files.state), { kind: 'loop', state: aState({ epoch: 5 }) });
  for (const next of [aState({ epoch: 5, iteration: 1 }), aState({ epoch: 6 }), aState({ loopId: 'loop-2' })]) {
    write(next);
    assert.deepEqual(readState(files.state), { kind: 'loop', state: next });
  }
});

test('Does not ask the holder of a lease once another took the loop over or replaced it.', (t) => {
  const files = aProject(t);
  const lease = { loopId: 'loop-1', epoch: 4 };
  const remove = (): void =>
    withState(
      files,
      () => {
        asked += 1;
        return { next: 'remove', result: undefined };
      },
      { lease },
    );
  let asked = 0;
  putState(files, aState({ epoch: 5 }));
  refused('state-fenced', remove);
  putState(files, aState({ loopId: 'loop-2' }));
  refused('state-fenced', remove);
  assert.equal(asked, 0);
  putState(files, aState({ epoch: 4 }));
  remove();
  assert.deepEqual([asked, readState(files.state).kind], [1, 'absent']);
});

test('Neither overwrites nor removes a file of a newer program.', (t) => {
  const files = aProject(t);
  const text = '{"schemaVersion":3,"iteration":40}';
  writeFileSync(files.state, text);
  refused('state-newer', () => withState(files, () => ({ next: aState(), result: 0 })));
  refused('state-newer', () => withState(files, () => ({ next: 'remove', result: 0 })));
  assert.equal(readFileSync(files.state, 'utf8'), text);
});

test('Does not overwrite a corrupt file: it is moved aside first, or stays.', (t) => {
  const files = aProject(t);
  writeFileSync(files.state, '{"iter');
  refused('state-corrupt', () => withState(files, () => ({ next: aState(), result: 0 })));
  assert.equal(readFileSync(files.state, 'utf8'), '{"iter');
  const moved = withState(files, () => {
    const result = quarantine(files, '2026-02-28T10:00:00Z', 'corrupt');
    return { next: aState(), result };
  });
  assert.equal(readFileSync(moved, 'utf8'), '{"iter');
  assert.deepEqual(readState(files.state), { kind: 'loop', state: aState() });
});

test('Rewrites a state that was moved aside as tampered with, even if the restored one is equal.', (t) => {
  const files = aProject(t);
  putState(files, aState());
  withState(files, () => {
    quarantine(files, '2026-02-28T10:00:00Z', 'tampered');
    return { next: aState(), result: 0 };
  });
  assert.deepEqual(readState(files.state), { kind: 'loop', state: aState() });
});

test('Refuses a state that could not be read back, and keeps the old one.', (t) => {
  const files = aProject(t);
  putState(files, aState());
  const bad: Partial<LoopState>[] = [
    { iteration: Number.NaN },
    { iteration: -1 },
    { lastRunAt: 'yesterday' },
    { schemaVersion: 3 as never },
    { usage: undefined as never },
  ];
  for (const change of bad) {
    refused('state-corrupt', () => withState(files, () => ({ next: aState(change), result: 0 })));
  }
  assert.deepEqual(readState(files.state), { kind: 'loop', state: aState() });
});

test('Two loops of one project have separate locks and states.', (t) => {
  const files = aProject(t);
  const named = { ...files, state: `${files.state}.x`, lock: `${files.state}.x.lock` };
  withState(files, () => {
    withState(named, () => ({ next: aState({ name: 'x' }), result: 0 }));
    return { next: aState(), result: 0 };
  });
  assert.deepEqual(readState(files.state), { kind: 'loop', state: aState() });
  assert.equal(readFileSync(named.state, 'utf8'), serialise(aState({ name: 'x' })));
});

test('A state that cannot be read for a reason of the system is an error, neither missing nor corrupt.', (t) => {
  const files = aProject(t);
  // A link to itself stands for any error that readState does not know.
  symlinkSync(files.state, files.state);
  assert.throws(() => withState(files, () => assert.fail('asked')), { code: 'ELOOP' });
  assert.deepEqual(leftovers(files, 'ralph-state.json'), []);
});
