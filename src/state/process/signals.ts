import { isatty } from 'node:tty';

type Handler = (signal: NodeJS.Signals) => void;

/**
 * Calls `press` on Ctrl+C, and `leave` if the process must exit: on SIGTERM, and on SIGHUP when its terminal was closed.
 * Without a terminal (nohup, setsid, systemd-run, CI) a hang-up means nothing: node itself resets the SIGHUP that nohup
 * ignores. Returns a function that removes the handlers.
 */
export function onSignals({ press, leave }: { readonly press: Handler; readonly leave: Handler }): () => void {
  const hangUp: Handler = (signal) => {
    if (isAtTerminal()) leave(signal);
  };
  const handlers = { SIGINT: press, SIGTERM: leave, SIGHUP: hangUp };
  for (const [name, handler] of Object.entries(handlers)) process.on(name, handler);
  return () => {
    for (const [name, handler] of Object.entries(handlers)) process.off(name, handler);
  };
}

/** Lets this process survive a hang-up from now on, unless it is at a terminal. */
export function outliveHangUp(): void {
  if (!isAtTerminal()) process.on('SIGHUP', () => undefined);
}

/** Returns whether input or output of this process is a terminal, even one that has been closed. */
export function isAtTerminal(): boolean {
  atTerminal ??= [0, 1, 2].some((descriptor) => isatty(descriptor));
  return atTerminal;
}

/** Kept from the first question, because a closed terminal no longer answers. */
let atTerminal: boolean | null = null;
