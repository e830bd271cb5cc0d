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
  summary: 'Work on scenarios by tests first, with proof of each step.',
  usage: 'STEP [SCENARIO]',
  help: `The steps: ${NAMES}. init fixes the scenarios and the command that proves each, outside the project. next names the scenario to work on, with its red evidence; when all are complete it prints RALPH_AUDIT_COMPLETE_NO_FINDINGS. red runs the command, which has to fail; green runs it again, and it has to pass: then the scenario is complete, and never runs again. refactored has it pass once more after a clean-up. A run that executes no test, cannot start, or runs out of time is neither. What was proved stands in .claude/context/runtime/tdd-state.json. Exit code 0: the step stands; 1: it does not, and the answer says why.`,
  options: options({
    'input FILE': 'init: the scenarios as JSON, YAML or a Markdown list, "-" for standard input.',
    'scenario TEXT...': 'init: what must hold; may be given several times.',
    'command COMMAND...': 'init: what proves it: one for all scenarios, or one for each --scenario, in their order.',
    'timeout SECONDS': `init: what a command may take, 1 to 3600; ${DEFAULT_TIMEOUT_SECONDS} without it.`,
    fresh: 'init: put the list that is there aside and make a new one.',
    consent: 'init: agree to the commands of a list that an agent made.',
    accept: 'init: adopt script files of the commands that were changed since.',
    again: 'red: run once more, because the test was sharpened.',
  }),
  control: false,
  run(context) {
    const [step, id, ...more] = context.positionals;
    const go = step !== undefined && Object.hasOwn(STEPS, step) ? STEPS[step] : undefined;
    if (go === undefined || step === undefined) {
      throw new RalphError(
        'usage',
        `${step === undefined ? 'tdd needs a step' : `"${step}" is no step of tdd`}: ${NAMES}.`,
      );
    }
    if (more.length > 0 || (id !== undefined && !OF_ONE.includes(step))) {
      throw new RalphError('usage', `tdd ${step} takes ${OF_ONE.includes(step) ? 'one scenario' : 'no scenario'}.`);
    }
    return go(context, id ?? null);
  },
};
