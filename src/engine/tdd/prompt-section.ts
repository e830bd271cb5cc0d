import { fenced } from '../../text/quote.ts';
import { section } from '../prompt/assemble-prompt.ts';
import type { TddRecord, TddScenario } from '../schema/tdd.ts';
import { redEvidence, standingOf } from './phases.ts';

/** Returns the prompt's section about the list. `tdd`: the command line without the step; `notes`: repairs. Pure. */
export function sectionText(
  record: TddRecord,
  scenario: TddScenario | null,
  tdd: string,
  notes: readonly string[],
): string {
  const { scenarios, completed } = record;
  if (scenario === null) {
    return section('Scenarios', [
      `Every scenario is complete (${completed.length} of ${scenarios.length}). The rest of this prompt says what is left to do.`,
      ...noteLines(notes),
    ]);
  }
  const { id, description, run } = scenario;
  return section(`Scenario ${id}, test-first (${completed.length} of ${scenarios.length} complete)`, [
    description,
    '',
    'This command proves it; the commands below run it in the project:',
    fenced(run),
    '',
    ...stepLines(record, scenario, tdd),
    '',
    `Work on this scenario alone, then end your message: the next iteration brings the next one. \`${tdd} next\` shows it again. Never edit tdd-state.json: it only shows what was proved.`,
    ...noteLines(notes),
  ]);
}

function stepLines(record: TddRecord, { id }: TddScenario, tdd: string): string[] {
  if (record.broken?.scenarioId === id) {
    return [
      'It was green, and fails now. Fix it or undo the change, then:',
      `- \`${tdd} refactored\``,
      '',
      'It failed with:',
      fenced(record.broken.output),
    ];
  }
  const refactored = `Clean up if needed, and prove that it still passes: \`${tdd} refactored\``;
  const green = `Write the least code that makes it pass, and prove it: \`${tdd} green\``;
  const standing = standingOf(record, id);
  switch (standing) {
    case 'pending':
      return numbered([
        `Write its test, and no other code. See it fail because the behaviour is missing: \`${tdd} red\``,
        green,
        refactored,
      ]);
    case 'red': {
      const output = redEvidence(record, id)?.output ?? '';
      const evidence =
        output === ''
          ? ['Its test is written and fails, and prints nothing.']
          : ['Its test is written and fails. This is the red evidence, verbatim:', fenced(output)];
      return [...evidence, '', ...numbered([green, refactored])];
    }
    case 'green':
    case 'refactored':
      return numbered([refactored]);
    default:
      return standing satisfies never;
  }
}

function noteLines(notes: readonly string[]): string[] {
  return notes.length === 0 ? [] : ['', ...notes];
}

function numbered(steps: readonly string[]): string[] {
  return steps.map((step, index) => `${index + 1}. ${step}`);
}
