import { join } from 'node:path';
import type { PromptParts } from '../../core/assemble-prompt.ts';
import { openFindings } from '../../core/findings-log.ts';
import type { StoredContract } from '../../state/contract-store.ts';
import { readRegularFile } from '../../state/read-regular-file.ts';

/** More than a log that an agent reads at every iteration. */
const LIMIT = 8 * 1024 * 1024;

/** What the findings log really holds, beside what the agent said; null where the project keeps none. */
export function realFindings(
  projectDir: string,
  stored: StoredContract | null,
  claimed: number | null,
): PromptParts['findings'] {
  if (stored === null) return null;
  const text = readRegularFile(join(projectDir, stored.contract.findingsLog), LIMIT);
  return text === null ? null : { claimed, open: openFindings(text).length };
}
