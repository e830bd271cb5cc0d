import { createRequire } from 'node:module';

/** Loaded before a program, it has every rename write in place instead, in two steps: what a write without a rename would do. */
const fs = createRequire(import.meta.url)('node:fs') as typeof import('node:fs');
const { openSync, writeSync, closeSync, readFileSync, unlinkSync } = fs;

fs.renameSync = (from, to) => {
  const content = readFileSync(from);
  const half = Math.floor(content.length / 2);
  const descriptor = openSync(to, 'w');
  writeSync(descriptor, content.subarray(0, half));
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2);
  writeSync(descriptor, content.subarray(half));
  closeSync(descriptor);
  unlinkSync(from);
};
