import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ancestors, sessionLeader } from '../../../src/state/process/ancestors.ts';

/** What a system with these sessions says of a process. */
function sessions(known: Record<number, number>): (pid: number) => number | null {
  return (pid) => known[pid] ?? null;
}

test('identifies a session by the process that began it', () => {
  assert.equal(sessionLeader(sessions({ [process.pid]: 4711, [process.ppid]: 0 })), 4711);
});

test('identifies a session that was begun outside by its topmost process in here', () => {
  const above = ancestors();
  const [parent, grandparent = 1] = above;
  const outside = Object.fromEntries([process.pid, ...above].map((pid) => [pid, 0]));
  assert.equal(sessionLeader(sessions({ ...outside, 1: 0 })), 1);
  assert.equal(sessionLeader(sessions({ ...outside, 1: 1 })), above.at(-1) ?? process.pid);
  assert.equal(sessionLeader(sessions({ ...outside, [grandparent]: grandparent, 1: 1 })), parent ?? process.pid);
  assert.equal(sessionLeader(sessions({ [process.pid]: 0, [parent ?? 1]: 77 })), process.pid);
});

test('uses the parent where the system does not report sessions', () => {
  assert.equal(sessionLeader(sessions({})), process.ppid);
});
