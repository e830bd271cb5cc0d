/**
 * Gives how many milliseconds are left until an instant (epoch milliseconds): by the clock on the wall, which counts
 * the time that the machine sleeps, and never more than there were when it was first asked, less the time since. So a
 * clock that is set back makes no wait longer.
 */
export function timeLeft(until: number): () => number {
  const steady = performance.now() + (until - Date.now());
  return () => Math.min(until - Date.now(), steady - performance.now());
}
