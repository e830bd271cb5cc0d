import { closeSync, linkSync, openSync, readSync, unlinkSync, writeFileSync, writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pauseThread } from '../../../src/state/files/regular-file.ts';
import { withLock } from '../../../src/state/lock/lock.ts';
import { newOwner, ownerLives, readOwner } from '../../../src/state/lock/owner.ts';
import { withoutLinks } from './without-links.ts';

/**
 * Takes part in races for a lock. Each line on stdin, `LOCK START`, is one race: from that millisecond on it tries to
 * get the lock; as its holder it makes a witness file that must not be there and removes it again. The answer on stdout
 * is `alone`, or `together` when another holder's witness was there.
 * Usage: contender.cjs WAY. `naive` takes a dead owner's lock over without an election and must be caught; `with-pauses`
 * and `without-links` in its name make the real lock slow between any two system calls, and do without hard links.
 */
const [way = ''] = process.argv.slice(2);
if (way.includes('without-links')) withoutLinks();
if (way.includes('with-pauses')) pauseBeforeEveryCall();

for (let line = nextLine(); line !== null; line = nextLine()) {
  const [lock = '', start = '0'] = line.split(' ');
  while (Date.now() < Number(start)) pauseThread(0.1);
  const answer = way === 'naive' ? naively(lock) : withLock(lock, () => witness(lock), 60_000);
  writeSync(1, `${answer}\n`);
}

function witness(lock: string): string {
  const path = `${lock}-witness`;
  try {
    closeSync(openSync(path, 'wx'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return 'together';
    throw error;
  }
  pauseThread(Math.random() * 2);
  unlinkSync(path);
  return 'alone';
}

/** Sees that the owner is dead, removes the lock, makes its own: what it removes may be another's by then. */
function naively(lock: string): string {
  const mine = newOwner();
  const draft = `${lock}-${mine.token}`;
  writeFileSync(draft, JSON.stringify(mine));
  for (;;) {
    try {
      linkSync(draft, lock);
      unlinkSync(draft);
      break;
    } catch {
      const owner = readOwner(lock);
      if (typeof owner !== 'object' || ownerLives(owner, lock)) {
        pauseThread(Math.random());
        continue;
      }
      pauseThread(Math.random() * 2); // the scheduler can put this pause anywhere; here it is made likely
      removeIfItCan(lock);
    }
  }
  const answer = witness(lock);
  removeIfItCan(lock);
  return answer;
}

function removeIfItCan(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // another was faster
  }
}

/** What the scheduler can do at any moment, done often: so that every order of the contenders' steps comes up. */
function pauseBeforeEveryCall(): void {
  const fs = createRequire(import.meta.url)('node:fs') as Record<string, (...parameters: unknown[]) => unknown>;
  const names = [
    'openSync',
    'linkSync',
    'unlinkSync',
    'mkdirSync',
    'rmdirSync',
    'renameSync',
    'readFileSync',
    'statSync',
  ];
  for (const name of names) {
    const call = fs[name];
    fs[name] = (...parameters) => {
      if (Math.random() < 0.3) pauseThread(Math.random() * 3);
      return call?.apply(fs, parameters);
    };
  }
}

function nextLine(): string | null {
  const bytes = Buffer.alloc(4096);
  let line = '';
  while (!line.endsWith('\n')) {
    const length = readSync(0, bytes, 0, bytes.length, null);
    if (length === 0) return null;
    line += bytes.toString('utf8', 0, length);
  }
  return line.trimEnd();
}
