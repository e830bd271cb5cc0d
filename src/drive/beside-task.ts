import { memoryText } from '../core/memory-text.ts';
import type { Contract } from '../core/schema/contract.ts';
import type { LoopFiles } from '../state/loop-files.ts';
import { projectMemory } from '../task/project-memory.ts';
import { tddSpawnPart } from './tdd/tdd-spawn-part.ts';

/**
 * What a prompt says of what lies beside its task file, each a section: to a context that knows nothing (`fresh`) where
 * the memory of the project is, and the scenario that a TDD loop works on, which this goes on to where it is complete.
 */
export function besideTask(files: LoopFiles, contract: Contract, at: string, fresh: boolean): string[] {
  const memory = fresh ? memoryText(projectMemory(files.projectDir)) : null;
  const scenario = tddSpawnPart(files, contract, at)?.section ?? null;
  return [memory, scenario].filter((section) => section !== null);
}
