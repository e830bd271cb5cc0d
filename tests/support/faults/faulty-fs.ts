import { createRequire } from 'node:module';

/** Every call through which the state layer changes or asks the file system. */
const WATCHED = [
  'closeSync',
  'existsSync',
  'fchmodSync',
  'fstatSync',
  'fsyncSync',
  'futimesSync',
  'linkSync',
  'lstatSync',
  'mkdirSync',
  'openSync',
  'readFileSync',
  'readSync',
  'readdirSync',
  'readlinkSync',
  'realpathSync',
  'renameSync',
  'rmdirSync',
  'statSync',
  'symlinkSync',
  'unlinkSync',
  'writeSync',
] as const;

type Call = (...parameters: unknown[]) => unknown;

/** What happens instead of a call. `real` makes the call after all. */
export type Fault = (name: string, real: () => unknown, parameters: unknown[]) => unknown;

const fs = createRequire(import.meta.url)('node:fs') as Record<string, Call>;

/**
 * Runs `work` with every file system call passed through `fault`. It reaches code that calls `fs` by property, as a
 * bundle in CJS form does, and not code that imported from it.
 */
export function withFaults<T>(fault: Fault, work: () => T): T {
  const originals = WATCHED.map((name) => [name, fs[name] as Call] as const);
  for (const [name, original] of originals) {
    const replaced: Call = (...parameters) => fault(name, () => original.apply(fs, parameters), parameters);
    fs[name] = Object.assign(replaced, original);
  }
  // The pauses of a retry are of no use here: nothing passes by itself.
  const { wait } = Atomics;
  Atomics.wait = () => 'timed-out';
  try {
    return work();
  } finally {
    Atomics.wait = wait;
    for (const [name, original] of originals) fs[name] = original;
  }
}

/** The call fails as if nothing had been done; a descriptor is closed all the same, as the system does it. */
export function refuse(code: string): Fault {
  return (name, real) => {
    if (name === 'closeSync') real();
    if (name === 'existsSync') return false;
    throw failure(name, code);
  };
}

/** The call does its work and then says that it failed, as a network file system can. */
export function refuseAfterwards(code: string): Fault {
  return (name, real) => {
    const result = real();
    if (name === 'existsSync') return result;
    throw failure(name, code);
  };
}

/** A write takes a part of the bytes; every other call works. */
export function writeOnly(part: (length: number) => number): Fault {
  return (name, real, parameters) => {
    if (name !== 'writeSync') return real();
    const [descriptor, bytes, at = 0] = parameters as [number, Uint8Array, number?];
    const length = part(bytes.length - at);
    return length === 0 ? 0 : fs['writeSync']?.(descriptor, bytes, at, length);
  };
}

function failure(name: string, code: string): Error {
  return Object.assign(new Error(`${code}: injected into ${name}`), { code, syscall: name });
}

const CHANGES = new Set(
  'appendFileSync fchmodSync fsyncSync futimesSync linkSync mkdirSync openSync renameSync rmSync symlinkSync unlinkSync writeFileSync writeSync'.split(
    ' ',
  ),
);

/** Kills this process with SIGKILL in place of the N-th call that changes the disk; a write is cut in the middle. */
export function killAtChange(n: number, work: () => unknown): void {
  let calls = 0;
  withFaults((name, real, parameters) => {
    if (CHANGES.has(name)) calls += 1;
    if (!CHANGES.has(name) || calls !== n) return real();
    if (name === 'writeSync') writeOnly((length) => length >> 1)(name, real, parameters);
    process.kill(process.pid, 'SIGKILL');
  }, work);
}
