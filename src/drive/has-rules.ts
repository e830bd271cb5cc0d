import type { Guardrails } from '../core/schema/contract.ts';

/** Whether there is anything that a call of the agent could break. */
export function hasRules({ blockCommands, shellAllow, protectedFiles, privateFiles, strict }: Guardrails): boolean {
  return (
    strict || shellAllow !== null || blockCommands.length > 0 || protectedFiles.length > 0 || privateFiles.length > 0
  );
}
