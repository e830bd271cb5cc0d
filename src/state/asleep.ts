import { readRegularFile } from './files/regular-file.ts';

/** A busy machine may take longer from one clock to the other: then they are read again. */
const CLOSE_MS = 330;
const READS = 5;

/**
 * Returns the milliseconds for which this machine has slept since its start, up to a constant: one of its clocks goes on
 * meanwhile, the other one does not. Null on systems without /proc, whose clocks do not tell.
 */
export function asleepMs(): number | null {
  const awakeMs = (): number => Number(process.hrtime.bigint() / 1_000_000n);
  for (let read = 0; read < READS; read++) {
    const before = awakeMs();
    const text = readRegularFile('/proc/uptime');
    const later = awakeMs();
    const upMs = text === null ? Number.NaN : Number.parseFloat(text) * 1_000;
    // Some containers have an empty file.
    if (!Number.isFinite(upMs)) return null;
    if (later - before < CLOSE_MS) return Math.round(upMs) - later;
  }
  return null;
}
