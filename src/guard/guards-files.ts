import type { Guardrails } from '../core/schema/contract.ts';
import type { ToolPaths } from './tool-paths.ts';

/** Whether the user's rules say anything about files, or about this kind of access to them. */
export function guardsFiles(rules: Guardrails, access: ToolPaths['access'] = 'changes'): boolean {
  if (access === 'none') return false;
  return rules.privateFiles.length > 0 || (access === 'changes' && rules.protectedFiles.length > 0);
}
