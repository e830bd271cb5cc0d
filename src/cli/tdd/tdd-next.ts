import { type PhaseAnswer, provePhase } from '../../drive/tdd/prove-phase.ts';
import { listOf } from '../../drive/tdd/scenario-list.ts';
import type { TddPhase } from '../../engine/schema/tdd.ts';
import { nextScenario, redEvidence, standingOf } from '../../engine/tdd/phases.ts';
import { show } from '../../state/process/program.ts';
import { withTdd } from '../../state/tdd-store.ts';
import { advise, type Message, offer } from '../../text/message.ts';
import type { CommandContext } from '../command.ts';

const COMPLETE = 'RALPH_AUDIT_COMPLETE_NO_FINDINGS';

export function tddNext(context: CommandContext): number {
  const { files, now, answer, json, err } = context;
  const { record, scenario, notes } = withTdd(files, now(), (found) => {
    const list = listOf(found, files.name);
    const next = nextScenario(list.record);
    return { next: next.record === list.record ? 'keep' : next.record, result: { ...next, notes: list.notes } };
  });
  for (const note of notes) err(`ralph-loop: ${note}`);
  if (scenario === null) {
    answer({ complete: true, signal: COMPLETE }, () => COMPLETE);
    return 0;
  }
  const { id, description, run: command } = scenario;
  const red = redEvidence(record, id);
  const broken = record.broken?.output ?? null;
  const status = standingOf(record, id);
  const done = record.completed.length;
  const total = record.scenarios.length;
  json({
    complete: false,
    scenario: { id, description, command, status },
    redEvidence: red?.output ?? null,
    ...(broken !== null && { broken }),
    done,
    total,
    consented: record.consented,
  });
  return 0;
}

const NEXT: Readonly<Record<TddPhase, Message>> = {
  red: advise('Write the least code that makes it pass.', 'Then', 'tdd green'),
  green: offer('', { 'Clean up, then': 'tdd refactored', 'Or continue': 'tdd next' }),
  refactored: { text: '', advice: [{ verb: 'Continue', command: 'tdd next' }] },
};

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
    context.err(`ralph-loop: tdd ${phase} was interrupted; nothing was recorded.`);
    return 130;
  }
}

function tell(context: CommandContext, phase: TddPhase, answer: PhaseAnswer): void {
  const { ok, ran, scenario, problem, output, bytes, exitCode, notes } = answer;
  const told = {
    ok,
    phase,
    scenario,
    ran,
    exitCode,
    problem,
    next: ok ? show(NEXT[phase], { name: context.files.name, mode: 'hook' }) : null,
    notes,
  };
  context.json({ ...told, bytes, output });
}
