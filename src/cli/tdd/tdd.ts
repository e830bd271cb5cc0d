import { DEFAULT_TIMEOUT_SECONDS } from '../../task/tdd/make-list.ts';
import { RalphError } from '../../text/ralph-error.ts';
import { type Command, type CommandContext, options } from '../command.ts';
import { tddInit } from './tdd-init.ts';
import { tddNext, tddPhase } from './tdd-next.ts';
import { tddStatus } from './tdd-status.ts';

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
  summary: 'Work on scenarios test-first, with proof of each step.',
  usage: 'STEP [SCENARIO]',
  help: `STEP is one of ${NAMES}. init stores the scenarios and the command that proves each one; next prints the current scenario; red expects its command to fail, green expects it to pass, and refactored expects it to pass again. The exit code is 1 if a step is not proved.`,
  example: 'ralph-loop tdd init --scenario "Rejects ties" --command "npm test"',
  options: options({
    'input FILE': 'init: scenarios as JSON, YAML or a Markdown list; "-" is standard input.',
    'scenario TEXT...': 'init: a scenario; repeatable.',
    'command COMMAND...': 'init: command that proves all scenarios, or one for each --scenario, in the same order.',
    'timeout SECONDS': `init: time limit of a command, 1 to 3600; default: ${DEFAULT_TIMEOUT_SECONDS}.`,
    fresh: 'init: archive the existing list and create a new one.',
    consent: 'init: approve the commands of a list that an agent created.',
    accept: 'init: adopt changed script files of the commands.',
    again: 'red: run again after the test was changed.',
  }),
  control: false,
  run(context) {
    const [step, id, ...more] = context.positionals;
    const go = step !== undefined && Object.hasOwn(STEPS, step) ? STEPS[step] : undefined;
    if (go === undefined || step === undefined) {
      const what = step === undefined ? 'tdd needs a step' : `"${step}" is not a step of tdd`;
      throw new RalphError('usage', `${what}: ${NAMES}.`);
    }
    if (more.length > 0 || (id !== undefined && !OF_ONE.includes(step))) {
      throw new RalphError('usage', `tdd ${step} takes ${OF_ONE.includes(step) ? 'one scenario' : 'no scenario'}.`);
    }
    return go(context, id ?? null);
  },
};
