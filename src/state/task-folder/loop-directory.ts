import { join } from 'node:path';

/** Absolute paths of a loop directory's files. */
export type LoopDirectory = Readonly<ReturnType<typeof loopDirectoryIn>>;

export function loopDirectoryIn(dir: string) {
  return {
    dir,
    config: join(dir, 'config.json'),
    /** The user's text for the reflection, instead of the default. */
    reflect: join(dir, 'reflect.md'),
    /** Projection of the loop: its state, its events, and one file for each iteration. */
    state: join(dir, 'state.json'),
    events: join(dir, 'events.jsonl'),
    iterationsDir: join(dir, 'iterations'),
    runsDir: join(dir, 'runs'),
  };
}
