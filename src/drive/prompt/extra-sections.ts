import { join } from 'node:path';
import { type PromptParts, section } from '../../engine/prompt/assemble-prompt.ts';
import { memoryText } from '../../engine/prompt/memory.ts';
import type { Contract } from '../../engine/schema/contract.ts';
import type { TddStanding } from '../../engine/schema/tdd.ts';
import { openFindings } from '../../engine/signals/findings.ts';
import { TDD_TEXTS } from '../../engine/tdd/messages.ts';
import { nextScenario, redEvidence, standingOf } from '../../engine/tdd/phases.ts';
import { sectionText } from '../../engine/tdd/prompt-section.ts';
import type { StoredContract } from '../../state/contract-store.ts';
import { readRegularFile } from '../../state/files/read-regular-file.ts';
import { hashTddList } from '../../state/hash-contract.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { withTdd } from '../../state/tdd-store.ts';
import { projectMemory } from '../../task/memory/project-memory.ts';
import { RalphError } from '../../text/ralph-error.ts';
import { listOf } from '../tdd/scenario-list.ts';

/**
 * What a prompt says of what lies beside its task file, each a section: to a context that knows nothing (`fresh`) where
 * the memory of the project is, and the scenario that a TDD loop works on, which this goes on to where it is complete.
 */
export function extraSections(files: LoopFiles, contract: Contract, at: string, fresh: boolean): string[] {
  const memory = fresh ? memoryText(projectMemory(files.projectDir)) : null;
  const scenario = tddSpawnPart(files, contract, at)?.section ?? null;
  return [memory, scenario].filter((section) => section !== null);
}

/** What a TDD loop adds to the prompt of an iteration, and to the one of a subagent. */
export interface TddSpawnPart {
  /** null when all are complete, or where the list cannot be read. */
  readonly scenario: {
    readonly id: string;
    readonly description: string;
    readonly command: string;
    readonly status: TddStanding;
  } | null;
  /** What the failing test printed, verbatim: 12,000 characters at most; null before it. */
  readonly redEvidence: string | null;
  /** For the prompt, as Markdown: the scenario, its evidence, the steps. It stands in every TDD prompt already. */
  readonly section: string;
  /** Who works on it, where a host starts subagents. */
  readonly agentType: 'ralph-developer';
}

/**
 * Goes on to the next scenario where the current one is complete, and gives what the prompt has to say of it; null for a
 * loop that is no TDD loop. Where the list cannot be read the section says so: an iteration is never lost by that.
 */
export function tddSpawnPart(files: LoopFiles, contract: Contract, at: string): TddSpawnPart | null {
  const { tdd } = contract;
  if (tdd === undefined) return null;
  const agentType = 'ralph-developer';
  try {
    const { record, scenario, notes } = withTdd(files, at, (found) => {
      const { record: list, notes } = listOf(found, files.name);
      if (hashTddList(list) !== tdd.hash) throw new RalphError('contract-changed', TDD_TEXTS.listChanged);
      const next = nextScenario(list);
      return { next: next.record === list ? 'keep' : next.record, result: { ...next, notes } };
    });
    const text = sectionText(record, scenario, commandLine(files, contract), notes);
    if (scenario === null) return { scenario, redEvidence: null, section: text, agentType };
    const { id, description, run: command } = scenario;
    const shown = { id, description, command, status: standingOf(record, id) };
    return { scenario: shown, redEvidence: redEvidence(record, id)?.output ?? null, section: text, agentType };
  } catch (error) {
    const ofTheSystem = error instanceof Error && (error as NodeJS.ErrnoException).syscall !== undefined;
    if (!ofTheSystem && !(error instanceof RalphError)) throw error;
    const why = ofTheSystem ? TDD_TEXTS.unusable(error.message) : error.message;
    return { scenario: null, redEvidence: null, section: section('Scenarios', [why]), agentType };
  }
}

/** The command line of the bundle that drives the loop, as the agent's shell takes it. */
function commandLine({ projectDir, name }: LoopFiles, { bundleDir }: Contract): string {
  const bundle = bundleDir ?? join(projectDir, '.claude', 'skills', 'ralph-loop');
  const main = join(bundle, 'scripts', 'main.cjs');
  const loop = name === null ? '' : ` --loop ${name}`;
  return `node '${main.replaceAll("'", "'\\''")}' tdd${loop}`;
}

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
