import type { Contract } from '../../core/schema/contract.ts';

/** Every command that a loop under this contract would run by itself, as its shell gets it. */
export function commandsOf({ task, validation }: Contract): string[] {
  return [...(task?.commands ?? []), ...validation].map(({ run }) => run);
}
