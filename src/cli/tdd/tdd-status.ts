import { printableLine } from '../../drive/start/terms/consent-terms.ts';
import { whyNoList } from '../../drive/tdd/scenario-list.ts';
import type { TddRecord } from '../../engine/schema/tdd.ts';
import { TDD_TEXTS } from '../../engine/tdd/messages.ts';
import { allComplete, scenarioCount, standingOf } from '../../engine/tdd/phases.ts';
import { show, withPrefix } from '../../state/process/program.ts';
import { tddFiles, withTdd } from '../../state/tdd-store.ts';
import { type Paint, table } from '../../term/format.ts';
import type { CommandContext } from '../command.ts';

/** Prints data, which agents read, or text for a user at a terminal. */
export function tddStatus(context: CommandContext): number {
  const found = withTdd(context.files, context.now(), (list) => ({ next: 'keep', result: list }));
  if (found.kind === 'none') {
    const message = show(whyNoList(found), { name: context.files.name, mode: 'hook' });
    if (context.atTerminal) context.out(withPrefix(message));
    else context.json({ active: false, message });
    return 0;
  }
  const { record, notes } = found;
  if (context.atTerminal) sayList(context, record, notes);
  else context.json({ ...statusOf(record), stateFile: tddFiles(context.files).state, notes });
  return 0;
}

/** Shows the list to a user, with the next step for one that no loop works on yet. */
export function sayList(
  { files: { name }, out, paint }: CommandContext,
  record: TddRecord,
  notes: readonly string[],
): void {
  const start = { verb: 'Start a loop on it', command: 'start', options: { tdd: true } } as const;
  const todo = { text: '', advice: [start, { verb: 'Or see the first step', command: 'tdd next' }] };
  const next = allComplete(record) ? TDD_TEXTS.nothingToStart : todo;
  const isNew = record.consented && record.loopId === null;
  const last = isNew ? [withPrefix(next, { name, mode: 'runner' })] : [];
  out([forReading(record, paint, name), ...notes, ...last].join('\n'));
}

export function statusOf(record: TddRecord): object {
  return {
    active: true,
    complete: allComplete(record),
    consented: record.consented,
    ...scenarioCount(record),
    currentScenario: record.current,
    broken: record.broken?.scenarioId ?? null,
    scenarios: record.scenarios.map(({ id, description, run, timeoutSeconds }) => ({
      id,
      description,
      status: standingOf(record, id),
      command: run,
      timeoutSeconds,
    })),
  };
}

const COLOURS = { pending: 'dim', red: 'red', green: 'green', refactored: 'green' } as const;

const TAKEN_OVER = (count: number): string =>
  `${count} of the complete scenarios ${count === 1 ? 'was' : 'were'} adopted as complete from a tdd-state.json, without a recorded run.`;

/** Renders the list with each description and command on one line, free of control characters. */
export function forReading(record: TddRecord, paint: Paint, name: string | null): string {
  const rows = record.scenarios.map(({ id, description, run }) => {
    const standing = standingOf(record, id);
    const broken = record.broken?.scenarioId === id ? paint('red', 'broken') : paint(COLOURS[standing], standing);
    return [
      record.current === id ? '>' : ' ',
      id,
      broken,
      printableLine(description),
      paint('dim', printableLine(run)),
    ];
  });
  const proved = new Set(
    record.log.filter(({ exitCode }) => exitCode !== undefined).map(({ scenarioId }) => scenarioId),
  );
  const takenOver = record.completed.filter(({ id }) => !proved.has(id)).length;
  const noConsent = show(TDD_TEXTS.noConsent, { name, mode: 'hook' });
  return [
    `${record.completed.length} of ${record.scenarios.length} scenarios complete.`,
    table(rows),
    ...(takenOver === 0 ? [] : [paint('yellow', TAKEN_OVER(takenOver))]),
    ...(record.consented ? [] : [paint('yellow', `Nothing runs yet: ${noConsent}`)]),
  ].join('\n');
}
