type Handler = (signal: NodeJS.Signals) => void;

/** Calls `press` on Ctrl+C, and `leave` if the process has to exit. Returns the function that removes the handlers. */
export function onSignals({ press, leave }: { readonly press: Handler; readonly leave: Handler }): () => void {
  const handlers = { SIGINT: press, SIGTERM: leave, SIGHUP: leave };
  for (const [name, handler] of Object.entries(handlers)) process.on(name, handler);
  return () => {
    for (const [name, handler] of Object.entries(handlers)) process.off(name, handler);
  };
}
