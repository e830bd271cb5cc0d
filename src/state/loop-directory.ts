import { join } from 'node:path';

/** What belongs to a loop beside its task file, in its directory. All paths are absolute. */
export interface LoopDirectory {
  readonly dir: string;
  /** Settings of this loop. */
  readonly config: string;
  /** What the agent is asked to reflect on, in place of the default. */
  readonly reflect: string;
  /** What the loop shows of itself: its state, its events, and one file for each iteration. */
  readonly state: string;
  readonly events: string;
  readonly iterationsDir: string;
  /** Where what earlier runs showed is put. */
  readonly runsDir: string;
}

/** The files of a loop directory. Touches nothing. */
export function loopDirectoryIn(dir: string): LoopDirectory {
  return {
    dir,
    config: join(dir, 'config.json'),
    reflect: join(dir, 'reflect.md'),
    state: join(dir, 'state.json'),
    events: join(dir, 'events.jsonl'),
    iterationsDir: join(dir, 'iterations'),
    runsDir: join(dir, 'runs'),
  };
}

/** All but what its users write: what the loop shows is the loop's own. */
export function shownIn({ state, events, iterationsDir, runsDir }: LoopDirectory): readonly string[] {
  return [state, events, iterationsDir, runsDir];
}

/** For git: what a loop shows is no part of the project's history; its task, settings and reflection are. */
export const IGNORED = ['/state.json', '/events.jsonl', '/iterations/', '/runs/', '/.ralph-runner*/', ''].join('\n');
