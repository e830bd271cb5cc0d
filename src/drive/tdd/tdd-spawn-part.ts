import { join } from 'node:path';
import { section } from '../../core/assemble-prompt.ts';
import { RalphError } from '../../core/ralph-error.ts';
import type { Contract } from '../../core/schema/contract.ts';
import type { TddStanding } from '../../core/schema/tdd-state.ts';
import { nextScenario } from '../../core/tdd/next-scenario.ts';
import { sectionText } from '../../core/tdd/section-text.ts';
import { redEvidence, standingOf } from '../../core/tdd/standing.ts';
import { TDD_TEXTS } from '../../core/tdd/texts.ts';
import { hashTddList } from '../../state/hash-tdd-list.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { withTdd } from '../../state/tdd-store.ts';
import { listOf } from './list-of.ts';

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
