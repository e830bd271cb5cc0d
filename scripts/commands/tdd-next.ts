import { nextScenario } from '../../src/core/tdd/next-scenario.ts';
import { redEvidence, standingOf } from '../../src/core/tdd/standing.ts';
import { listOf } from '../../src/drive/tdd/list-of.ts';
import { withTdd } from '../../src/state/tdd-store.ts';
import { painter } from '../../src/term/paint.ts';
import { printable } from '../../src/term/printable.ts';
import type { CommandContext } from './command.ts';

/** What an agent ends its message with when every scenario is complete. */
const COMPLETE = 'RALPH_AUDIT_COMPLETE_NO_FINDINGS';

/** `tdd next`: the scenario to work on and its red evidence, verbatim; or that all are complete. */
export function tddNext(context: CommandContext): number {
  const { files, now, out, err, forPeople, env, values } = context;
  const { record, scenario, notes } = withTdd(files, now(), (found) => {
    const list = listOf(found, files.name);
    const next = nextScenario(list.record);
    return {
      next: next.record === list.record ? 'keep' : next.record,
      result: { ...next, notes: list.notes },
    };
  });
  for (const note of notes) err(`ralph: ${note}`);
  if (scenario === null) {
    out(values['json'] === true ? JSON.stringify({ complete: true, signal: COMPLETE }) : COMPLETE);
    return 0;
  }
  const { id, description, run: command } = scenario;
  const red = redEvidence(record, id);
  const broken = record.broken?.output ?? null;
  const status = standingOf(record, id);
  const done = record.completed.length;
  const total = record.scenarios.length;
  const answer = {
    complete: false,
    scenario: { id, description, command, status },
    redEvidence: red?.output ?? null,
    ...(broken !== null && { broken }),
    done,
    total,
    consented: record.consented,
  };
  if (!forPeople) {
    out(JSON.stringify(answer, null, 2));
    return 0;
  }
  const paint = painter(forPeople, env);
  out(
    [
      `${paint('bold', `${id}: ${printable(description)}`)}  (${status}, ${done} of ${total} complete)`,
      `proved by  ${printable(command)}`,
      ...(red === null ? [] : ['', 'It failed with:', printable(red.output)]),
      ...(broken === null ? [] : ['', paint('red', 'It fails since the refactoring:'), printable(broken)]),
    ].join('\n'),
  );
  return 0;
}
