import { createRequire } from 'node:module';

/**
 * Loaded before a hook, it gives each process a lock of its own, so that none keeps another out: what the hook would do
 * without its lock.
 */
const fs = createRequire(import.meta.url)('node:fs') as Record<string, (...parameters: unknown[]) => unknown>;
for (const name of ['openSync', 'linkSync', 'unlinkSync', 'readFileSync', 'statSync']) {
  const call = fs[name];
  fs[name] = (...parameters) => call?.apply(fs, parameters.map(ownLock));
}

function ownLock(parameter: unknown): unknown {
  return typeof parameter === 'string' ? parameter.replace('.json.lock', `.json.lock-of-${process.pid}`) : parameter;
}
