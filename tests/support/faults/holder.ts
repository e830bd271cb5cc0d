import { writeSync } from 'node:fs';
import { pauseThread } from '../../../src/state/files/regular-file.ts';
import { withLock } from '../../../src/state/lock/lock.ts';

/** Takes the lock it is given, says so, and holds it until it is killed. */
withLock(process.argv[2] ?? '', () => {
  writeSync(1, 'held\n');
  for (;;) pauseThread(10_000);
});
