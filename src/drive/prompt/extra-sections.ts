import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isOpen, readFindings } from '../../engine/findings/read-findings.ts';
import { goneText, unreadLogText } from '../../engine/identity/messages.ts';
import { type PromptParts, section } from '../../engine/prompt/assemble-prompt.ts';
import type { Contract } from '../../engine/schema/contract.ts';
import { TDD_TEXTS } from '../../engine/tdd/messages.ts';
import { nextScenario } from '../../engine/tdd/phases.ts';
import { sectionText } from '../../engine/tdd/prompt-section.ts';
import { lostBy } from '../../state/evidence/evidence.ts';
import { hashTddList } from '../../state/hash-contract.ts';
import type { LoopFiles, StoredContract } from '../../state/loop-files.ts';
import { withTdd } from '../../state/tdd-store.ts';
import { owedFindings, readFindingsLog } from '../../task/outputs/check-task-outputs.ts';
import { memoryText, projectMemory } from '../../task/project-memory.ts';
import { GUARDRAILS } from '../../task/task-file.ts';
import { RalphError } from '../../text/message.ts';
import { listOf } from '../tdd/scenario-list.ts';
import { glanceAtSeen } from './seen-record.ts';

/** Returns the project memory, for a fresh context, and the scenario of a TDD loop, which advances if complete. */
export function extraSections(files: LoopFiles, contract: Contract, at: string, fresh: boolean): string[] {
  const memory = fresh ? memoryText(projectMemory(files.projectDir)) : null;
  const scenario = scenarioSection(files, contract, at);
  return [memory, scenario].filter((section) => section !== null);
}

/**
 * Returns the scenario of a TDD loop, after advancing to the next one if it is complete. An unreadable list is reported.
 * Throws `evidence-lost`.
 */
export function scenarioSection(files: LoopFiles, contract: Contract, at: string): string | null {
  const { tdd } = contract;
  if (tdd === undefined) return null;
  try {
    const { record, scenario, notes } = withTdd(files, at, (found) => {
      const { record: list, notes } = listOf(found, files.name);
      if (hashTddList(list) !== tdd.hash) throw new RalphError('contract-changed', TDD_TEXTS.listChanged);
      const next = nextScenario(list);
      return { next: next.record === list ? 'keep' : next.record, result: { ...next, notes } };
    });
    const alone = contract.sandbox === undefined ? [] : [TDD_TEXTS.callAlone];
    return sectionText(record, scenario, tddCommand(files, contract), [...alone, ...notes]);
  } catch (error) {
    if (lostBy(error) !== null) throw error;
    const ofTheSystem = error instanceof Error && (error as NodeJS.ErrnoException).syscall !== undefined;
    if (!ofTheSystem && !(error instanceof RalphError)) throw error;
    return section('Scenarios', [ofTheSystem ? TDD_TEXTS.unusable(error.message) : error.message]);
  }
}

/** Returns the tdd command line for prompts, without the step. */
export function tddCommand({ projectDir, name }: LoopFiles, { bundleDir }: Contract): string {
  const bundle = bundleDir ?? join(projectDir, '.claude', 'skills', 'ralph-loop');
  const main = join(bundle, 'scripts', 'main.cjs');
  const loop = name === null ? '' : ` --loop ${name}`;
  return `node '${main.replaceAll("'", "'\\''")}' tdd${loop}`;
}

/** Returns the state of the findings log, to compare with the agent's claim; null without a log. */
export function realFindings(
  files: LoopFiles,
  stored: StoredContract | null,
  claimed: number | null,
): PromptParts['findings'] {
  if (stored === null) return null;
  const { findingsLog } = stored.contract;
  const log = readFindingsLog(files.projectDir, findingsLog);
  const owed = glanceAtSeen(files, stored.contract).findings;
  if (log.kind === 'unavailable' || (log.kind === 'absent' && owed.length === 0)) return null;
  const { findings, isUnread } = readFindings(log.kind === 'text' ? log.text : '');
  const { missing } = owedFindings(owed, findings);
  const problems = [
    ...(missing.length > 0 ? [goneText(log.path, missing)] : []),
    ...(isUnread ? [unreadLogText(log.path)] : []),
  ];
  return { claimed, open: findings.filter(isOpen).length, problems };
}

export function guardrailsPath(projectDir: string): string | null {
  return existsSync(join(projectDir, GUARDRAILS)) ? GUARDRAILS : null;
}
