import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { initialState } from '../../../src/engine/initial-state.ts';
import type { LoopState } from '../../../src/engine/schema/state.ts';
import { type LoopFiles, loopFiles } from '../../../src/state/loop-files.ts';
import { serialise } from '../../../src/state/with-state.ts';
import { emptyFolder } from '../../support/folder.ts';

/** A project of its own for one test, gone after it, with the folder for runtime files made. */
export function aProject(t: TestContext, name: string | null = null): LoopFiles {
  const directory = emptyFolder(t);
  const files = loopFiles(join(directory, 'project'), name, { XDG_STATE_HOME: join(directory, 'state') });
  mkdirSync(files.runtimeDir, { recursive: true });
  return files;
}

export function aState(change: Partial<LoopState> = {}): LoopState {
  const fresh = initialState({
    loopId: 'loop-1',
    name: null,
    mode: 'hook',
    taskPath: '.claude/ralph/PROMPT.md',
    contractHash: null,
    maxIterations: 25,
    at: '2026-02-28T10:00:00Z',
    consented: true,
  });
  return { ...fresh, ...change } as LoopState;
}

export function anEndedState(at = '2026-02-28T11:00:00Z'): LoopState {
  return { ...aState({ iteration: 3 }), status: 'ended', ended: { at, as: 'complete', message: '', verified: false } };
}

export function putState(files: LoopFiles, state: LoopState): void {
  writeFileSync(files.state, serialise(state));
}

/** What lies in the runtime folder beside what is named: nothing, when everything was cleaned up. */
export function leftovers(files: LoopFiles, ...expected: string[]): string[] {
  return readdirSync(files.runtimeDir).filter((name) => !expected.includes(name));
}
