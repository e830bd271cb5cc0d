/** Calls `press` on Ctrl+C, and `leave` where the process has to exit. Returns a function that ends that. */
export function onStopSignals({
  press,
  leave,
}: {
  readonly press: () => void;
  readonly leave: () => void;
}): () => void {
  const handlers = { SIGINT: press, SIGTERM: leave, SIGHUP: leave };
  for (const [name, handler] of Object.entries(handlers)) process.on(name, handler);
  return () => {
    for (const [name, handler] of Object.entries(handlers)) process.off(name, handler);
  };
}
