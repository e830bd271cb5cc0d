import { isatty } from 'node:tty';

type Handler = (signal: NodeJS.Signals) => void;

/**
 * Calls `press` on Ctrl+C, and `leave` if the process has to exit: on SIGTERM, and on SIGHUP at a terminal, which is then
 * closed. Without a terminal (nohup, setsid, systemd-run, CI) a hang-up means nothing: node itself undoes that nohup ignores
 * it. Returns the function that removes the handlers.
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

/** Lets this process go on after a hang-up from now on, unless it is at a terminal. */
export function outliveHangUp(): void {
  if (!isAtTerminal()) process.on('SIGHUP', () => undefined);
}

/** Returns whether input or output of this process is a terminal. A closed one still counts. */
export function isAtTerminal(): boolean {
  atTerminal ??= [0, 1, 2].some((descriptor) => isatty(descriptor));
  return atTerminal;
}

/** Known since the first question, because a closed terminal no longer answers. */
let atTerminal: boolean | null = null;
