import { after } from 'node:test';

/** Time in which a file's process has to end after its tests, in milliseconds. */
const ENDS_WITHIN_MS = 420_000;

/** Ends a test file that something left open keeps alive, such as a connection: the run would wait for it for ever. */
after(() => {
  const end = (): void => {
    console.error(`Something that a test left open kept its file alive: ${process.argv[1]}.`);
    process.exit(1);
  };
  setTimeout(end, ENDS_WITHIN_MS).unref();
});
