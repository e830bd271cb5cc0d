import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** Relative path of the project's guardrails file, or null when it has none. */
export function guardrailsPath(projectDir: string): string | null {
  const path = '.claude/ralph/guardrails.md';
  return existsSync(join(projectDir, path)) ? path : null;
}
