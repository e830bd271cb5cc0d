import { type PhaseAnswer, provePhase } from '../../drive/tdd/prove-phase.ts';
import { listOf } from '../../drive/tdd/scenario-list.ts';
import { reasonLines } from '../../engine/messages.ts';
import type { TddPhase } from '../../engine/schema/tdd.ts';
import { TDD_TEXTS } from '../../engine/tdd/messages.ts';
import { nextScenario, redEvidence, scenarioCount, standingOf } from '../../engine/tdd/phases.ts';
import { show, withPrefix } from '../../state/process/program.ts';
import { withTdd } from '../../state/tdd-store.ts';
import { COMPLETION_SIGNAL } from '../../task/settings/defaults.ts';
import { DEFAULT_TIMEOUT_SECONDS } from '../../task/tdd/make-list.ts';
import { printable } from '../../term/format.ts';
import { advise, type LoopRef, type Message, offer, RalphError } from '../../text/message.ts';
import { formatDuration } from '../../text/time.ts';
import { type Command, type CommandContext, options } from '../command.ts';
import { checklistText } from '../show/status-text.ts';
import { tddInit, tddStatus } from './tdd-list.ts';

const STEPS: Readonly<Record<string, (context: CommandContext, id: string | null) => Promise<number> | number>> = {
  init: tddInit,
  next: tddNext,
  red: (context, id) => tddPhase(context, 'red', id),
  green: (context, id) => tddPhase(context, 'green', id),
  refactored: (context, id) => tddPhase(context, 'refactored', id),
  status: tddStatus,
};
const NAMES = Object.keys(STEPS).join(', ');
const OF_ONE = ['red', 'green', 'refactored'];

export const TDD_COMMAND: Command = {
  name: 'tdd',
  usage: 'STEP [SCENARIO]',
  help: `STEP is one of ${NAMES}. init stores the scenarios and the command that proves each one; next shows the current scenario; red expects its command to fail, green expects it to pass, and refactored expects it to pass again. The exit code is 1 if a step is not proved.`,
  example: 'ralph-loop tdd init --scenario "Rejects ties" --command "npm test"',
  options: options({
    'input FILE': 'init: scenarios as JSON, YAML or a Markdown list; "-" is standard input.',
    'scenario TEXT...': 'init: a scenario; repeatable.',
    'command COMMAND...': 'init: command that proves all scenarios, or one for each --scenario, in the same order.',
    'timeout TIME': `init: time limit of a command, 1s to 1h; default: ${formatDuration(DEFAULT_TIMEOUT_SECONDS * 1000)}.`,
    fresh: 'init: archive the existing list and create a new one.',
    consent: 'init: approve the commands of a list that an agent created.',
    accept: 'init: adopt changed script files of the commands.',
    again: 'red: run again after the test was changed.',
  }),
  run(context) {
    const [step, id, ...more] = context.positionals;
    const go = step !== undefined && Object.hasOwn(STEPS, step) ? STEPS[step] : undefined;
    if (go === undefined || step === undefined) {
      const what = step === undefined ? 'tdd needs a step' : `"${step}" is not a step of tdd`;
      throw new RalphError('usage', `${what}: ${NAMES}.`);
    }
    if (more.length > 0 || (id !== undefined && !OF_ONE.includes(step)))
      throw new RalphError('usage', `tdd ${step} takes ${OF_ONE.includes(step) ? 'one scenario' : 'no scenario'}.`);
    return go(context, id ?? null);
  },
};

function tddNext(context: CommandContext): number {
  const { files, now, answer, json, err, atTerminal } = context;
  const { record, scenario, notes } = withTdd(files, now(), (found) => {
    const list = listOf(found, files.name);
    const next = nextScenario(list.record);
    return { next: next.record === list.record ? 'keep' : next.record, result: { ...next, notes: list.notes } };
  });
  for (const note of notes) err(`ralph-loop: ${note}`);
  if (scenario === null) {
    if (atTerminal) context.out(withPrefix(TDD_TEXTS.nothingToStart, loopOf(context)));
    else answer({ complete: true, signal: COMPLETION_SIGNAL }, () => COMPLETION_SIGNAL);
    return 0;
  }
  const { id, description, run: command } = scenario;
  const red = redEvidence(record, id);
  const broken = record.broken?.output ?? null;
  const status = standingOf(record, id);
  const count = scenarioCount(record);
  if (atTerminal) {
    const head = `${id} is ${status}, ${checklistText(count)} scenarios are complete: ${description}`;
    const todo = status === 'red' ? NEXT.red : TDD_TEXTS.redFirst(id);
    const next = broken === null ? todo : TDD_TEXTS.brokenSince(id);
    sayStep(context, head, broken ?? red?.output ?? '', record.consented ? next : TDD_TEXTS.noConsent);
    return 0;
  }
  json({
    complete: false,
    scenario: { id, description, command, status },
    redEvidence: red?.output ?? null,
    ...(broken !== null && { broken }),
    ...count,
    consented: record.consented,
  });
  return 0;
}

const NEXT: Readonly<Record<TddPhase, Message>> = {
  red: advise('Write the least code that makes it pass.', 'Then', 'tdd green'),
  green: offer('', { 'Clean up, then': 'tdd refactored', 'Or continue': 'tdd next' }),
  refactored: { text: '', advice: [{ verb: 'Continue', command: 'tdd next' }] },
};

async function tddPhase(context: CommandContext, phase: TddPhase, id: string | null): Promise<number> {
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
  const { ok, ran, scenario, problem, output, bytes, exitCode, failedTests, notes } = answer;
  if (context.atTerminal) {
    const why = [...notes, ...(problem === null ? [] : [problem])];
    const result = failedTests ?? `its command exits with ${exitCode}.`;
    const head = ok
      ? `${phase}: ${result}`
      : [`not ${phase}:`, ...why, ...(failedTests ? [failedTests] : [])].join(' ');
    const next = ok ? NEXT[phase] : advise('', 'Try again', `tdd ${phase}`);
    if (ok) for (const note of notes) context.err(withPrefix(note));
    if (ran) sayStep(context, `${scenario?.id} is ${head}`, output, next);
    else context.out(why.map((line) => withPrefix(line)).join('\n'));
    return;
  }
  const told = {
    ok,
    phase,
    scenario,
    ran,
    exitCode,
    problem,
    next: ok ? show(NEXT[phase], loopOf(context)) : null,
    notes,
  };
  context.json({ ...told, bytes, output });
}

const loopOf = ({ files: { name } }: CommandContext): LoopRef => ({ name, mode: 'hook' });

/** Tells a user the status of a scenario, with the last output of its command and the next step. */
function sayStep(context: CommandContext, head: string, output: string, next: Message): void {
  const lines = reasonLines(printable(`${head}\n${output}`), { indent: '' });
  context.out([...lines, '', withPrefix(next, loopOf(context))].join('\n'));
}
