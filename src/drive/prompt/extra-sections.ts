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

/** Returns the project memory for a fresh context, and the scenario of a TDD loop, which advances if complete. */
export function extraSections(files: LoopFiles, contract: Contract, at: string, fresh: boolean): string[] {
  const memory = fresh ? memoryText(projectMemory(files.projectDir)) : null;
  const scenario = tddSpawnPart(files, contract, at)?.section ?? null;
  return [memory, scenario].filter((section) => section !== null);
}

/** Part of a TDD loop in the prompt of an iteration, and of a subagent. */
export interface TddSpawnPart {
  /** null if all are complete, or the list cannot be read. */
  readonly scenario: {
    readonly id: string;
    readonly description: string;
    readonly command: string;
    readonly status: TddStanding;
  } | null;
  /** Output of the failing test, verbatim, at most 12,000 characters; null before it. */
  readonly redEvidence: string | null;
  /** Markdown for the prompt: the scenario, its evidence, the steps. */
  readonly section: string;
  readonly agentType: 'ralph-developer';
}

/** Advances to the next scenario if one is complete. Returns null without TDD; an unreadable list is reported. */
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

/** Returns the command line of the loop's bundle for the agent's shell. */
function commandLine({ projectDir, name }: LoopFiles, { bundleDir }: Contract): string {
  const bundle = bundleDir ?? join(projectDir, '.claude', 'skills', 'ralph-loop');
  const main = join(bundle, 'scripts', 'main.cjs');
  const loop = name === null ? '' : ` --loop ${name}`;
  return `node '${main.replaceAll("'", "'\\''")}' tdd${loop}`;
}

const LIMIT = 8 * 1024 * 1024;

/** Returns the number of open findings in the log beside the one that the agent claims; null without a log. */
export function realFindings(
  projectDir: string,
  stored: StoredContract | null,
  claimed: number | null,
): PromptParts['findings'] {
  if (stored === null) return null;
  const text = readRegularFile(join(projectDir, stored.contract.findingsLog), LIMIT);
  return text === null ? null : { claimed, open: openFindings(text).length };
}
