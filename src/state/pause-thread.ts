let cell: Int32Array | undefined;

/** Blocks this thread for so many milliseconds. For the few milliseconds of a contended lock, nothing longer. */
export function pauseThread(milliseconds: number): void {
  cell ??= new Int32Array(new SharedArrayBuffer(4));
  Atomics.wait(cell, 0, 0, milliseconds);
}
