import type { Contract } from '../../core/schema/contract.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { peekTdd } from '../../state/tdd-store.ts';

/** Every command that a loop under this contract would run by itself, as its shell gets it. */
export function commandsOf(files: LoopFiles, { task, validation, tdd }: Contract): string[] {
  const scenarios = tdd === undefined ? [] : (peekTdd(files)?.scenarios ?? []);
  return [...(task?.commands ?? []), ...validation, ...scenarios].map(({ run }) => run);
}
