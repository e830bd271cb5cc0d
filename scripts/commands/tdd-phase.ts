import type { TddPhase } from '../../src/core/schema/tdd-state.ts';
import { type PhaseAnswer, provePhase } from '../../src/drive/tdd/prove-phase.ts';
import { painter } from '../../src/term/paint.ts';
import { printable } from '../../src/term/printable.ts';
import type { CommandContext } from './command.ts';

const NEXT: Readonly<Record<TddPhase, string>> = {
  red: 'Write the least code that makes it pass, then: main.cjs tdd green',
  green: 'Clean up and run main.cjs tdd refactored, or go on with: main.cjs tdd next',
  refactored: 'Go on with: main.cjs tdd next',
};

/** `tdd red`, `green` and `refactored`: run the evidence command, and record what it proves. */
export async function tddPhase(context: CommandContext, phase: TddPhase, id: string | null): Promise<number> {
  const { files, env, now, values } = context;
  const told = new AbortController();
  const end = (): void => told.abort(new Error('ended'));
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, end);
  try {
    const again = values['again'] === true;
    const answer = await provePhase(files, { phase, id, again, env, signal: told.signal, now });
    tell(context, phase, answer);
    return answer.ok ? 0 : 1;
  } catch (error) {
    if (!told.signal.aborted) throw error;
    context.err(`ralph: tdd ${phase} was ended; nothing was recorded.`);
    return 130;
  }
}

function tell(context: CommandContext, phase: TddPhase, answer: PhaseAnswer): void {
  const { ok, ran, scenario, problem, output, bytes, exitCode, notes } = answer;
  const next = ok ? NEXT[phase] : null;
  if (!context.forPeople) {
    const told = { ok, phase, scenario, ran, exitCode, problem, next, notes };
    context.out(JSON.stringify({ ...told, bytes, output }, null, 2));
    return;
  }
  const paint = painter(context.forPeople, context.env);
  const verdict = ok
    ? paint('green', `${scenario?.id} is ${phase}${ran ? '' : ' already'}.`)
    : `${paint('red', `not ${phase}`)}: ${printable(problem ?? '')}`;
  const mended = notes.map((note) => paint('yellow', printable(note)));
  const printed = output === '' ? [] : [printable(output), ''];
  context.out([...mended, ...printed, verdict, ...(next === null ? [] : [next])].join('\n'));
}
