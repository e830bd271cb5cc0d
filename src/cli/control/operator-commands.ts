import { randomUUID } from 'node:crypto';
import { NEWER_STATE } from '../../drive/control/messages.ts';
import { loopOfFourKeys, type Operated, operate, stopCommand } from '../../drive/control/operate.ts';
import { isDriverAlive } from '../../drive/control/ownership.ts';
import { restoreMidTurn } from '../../drive/control/restore-protected.ts';
import { type OperatorCommand, steering } from '../../engine/events.ts';
import { isFinishing, needsMessage } from '../../engine/initial-state.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { isHeld, runnerHold } from '../../state/lock/owner.ts';
import { findContract, type LoopFiles, readState } from '../../state/loop-files.ts';
import { processChain, terminalOf } from '../../state/process/ancestors.ts';
import { show } from '../../state/process/program.ts';
import { archiveState, dropContract, quarantine, withState } from '../../state/with-state.ts';
import { advise, RalphError } from '../../text/message.ts';
import { statusWords } from '../../text/status-words.ts';
import { askInPerson } from '../ask.ts';
import { chosenLoop, liveLoops, noLoop } from '../choose-loop.ts';
import { type Command, type CommandContext, options } from '../command.ts';

export interface Operation {
  readonly command: (context: Pick<CommandContext, 'values' | 'positionals'>, state: LoopState) => OperatorCommand;
  readonly answer: (done: Operated) => string;
}

interface OperatorCommandParts
  extends Operation,
    Omit<Command, 'usage' | 'control' | 'run'>,
    Partial<Pick<Command, 'usage'>> {
  /** Chooses the loop, and the words of the context other than its name; default: the loop named by the only word. */
  readonly loopOf?: (context: CommandContext) => { readonly files: LoopFiles; readonly context: CommandContext };
}

/** Help text for every command about a live loop. */
const WHICH_LOOP =
  'NAME is that of the loop, PATH its task folder or file; without them the command applies to the only live loop.';

/** Defines a command for a live loop: one event for the engine, one answer. */
function operatorCommand(parts: OperatorCommandParts): Command {
  const { name, usage, help, example, options = {} } = parts;
  return {
    name,
    example,
    options,
    usage: usage ?? '[NAME | PATH] [--loop NAME]',
    help: usage === undefined ? `${help} ${WHICH_LOOP}` : help,
    control: true,
    run(given) {
      const { files, context } = parts.loopOf?.(given) ?? { files: chosenLoop(given, name), context: given };
      return operateOn(files, parts, context);
    },
  };
}

export function operateOn(files: LoopFiles, parts: Operation, context: CommandContext): number {
  const { env, now, answer } = context;
  const from = { terminal: terminalOf(process.pid), processes: processChain() };
  const options = { from, restore: restoreMidTurn };
  const done = operate(files, env, now(), (state) => parts.command(context, state), options);
  const message = parts.answer(done);
  const { status, iteration } = done.after;
  answer({ success: true, message, status, iteration }, () => message);
  return 0;
}

/** What a person can do with a live loop, at a terminal or on a page: an event for the engine, and the answer to its effect. */
export const OPERATIONS: Readonly<Record<'stop' | 'cancel' | 'pause' | 'wake' | 'resume', Operation>> = {
  stop: {
    command: (_context, state) => stopCommand(state),
    answer: ({ after }) =>
      after.status === 'ended' ? 'The loop has stopped.' : 'The loop will stop after the current iteration.',
  },
  cancel: {
    command: () => ({ kind: 'cancel' }),
    answer: () => 'The loop is cancelled and archived. If its agent is still working, its next tool call is refused.',
  },
  pause: {
    command: () => ({ kind: 'pause' }),
    answer: ({ before, after }) => {
      if (after.status !== 'paused') return `The loop is ${statusWords(after.status)}.`;
      const more = before.status === 'running' ? ' An agent at work finishes its turn first.' : '';
      return show(advise(`The loop is paused.${more}`, 'Resume', 'resume'), after);
    },
  },
  wake: {
    command: () => ({ kind: 'wake' }),
    answer: ({ before }) => {
      if (before.status !== 'waiting') return `The loop is not waiting; it is ${statusWords(before.status)}.`;
      const isAnswered = before.turn === 'user';
      return `The next iteration starts ${isAnswered ? 'after an answer to a message in its session' : 'now'}.`;
    },
  },
  resume: {
    command: () => ({ kind: 'resume' }),
    answer: ({ before, after }) => {
      const inSession =
        before.mode === 'hook' && before.sessionId !== null && !isFinishing(before)
          ? ' Send any message in its session; it continues after the answer.'
          : '';
      const now = needsMessage(before) ? `waits for a message.${inSession}` : `is ${statusWords(after.status)}.`;
      const text =
        before.status === 'paused' ? `The loop is resumed.${inSession}` : `The loop was not paused; it ${now}`;
      const isUnseen = before.mode === 'hook' && before.sessionId !== null && before.clientPid === null;
      return isUnseen ? show(advise(text, 'If that session is gone', 'start', { resume: true }), before) : text;
    },
  },
};

export const steerAnswer = ({ after }: Operated): string =>
  after.steering.at(-1)?.delivery === 'next'
    ? 'The agent receives it with its next prompt.'
    : 'The agent receives it at its next tool call, or with its next prompt.';

export const STOP_COMMAND = operatorCommand({
  name: 'stop',
  help: 'Ends the loop as stopped when the current iteration is over; a waiting or paused loop ends at once. The archive keeps its state.',
  example: 'ralph-loop stop --loop docs',
  ...OPERATIONS.stop,
});

export const CANCEL_COMMAND = operatorCommand({
  name: 'cancel',
  help: 'Archives the loop at once, as cancelled. A working agent is stopped at its next tool call.',
  example: 'ralph-loop cancel --loop docs',
  ...OPERATIONS.cancel,
});

export const PAUSE_COMMAND = operatorCommand({
  name: 'pause',
  help: 'Pauses the loop: its session may stop at any time, and nothing is counted. ralph-loop resume continues and keeps the counters.',
  example: 'ralph-loop pause --loop docs',
  ...OPERATIONS.pause,
});

export const WAKE_COMMAND = operatorCommand({
  name: 'wake',
  help: 'Starts the next iteration of a loop that is waiting after an idle iteration or between two iterations.',
  example: 'ralph-loop wake --loop docs',
  ...OPERATIONS.wake,
});

export const STEER_COMMAND = operatorCommand({
  name: 'steer',
  usage: '[NAME] TEXT [options]',
  help: 'Delivers TEXT once, in order, at the next tool call of the agent or with its next prompt: to the live loop NAME, of --path or --loop, or else to the only live one.',
  example: 'ralph-loop steer "Leave the public API as it is"',
  options: options({
    next: 'Deliver the message with the next prompt.',
    'p, path PATH': 'Task folder or task file of the loop.',
  }),
  loopOf: (context) => {
    const { path, loop } = context.values;
    if (path !== undefined && loop !== undefined)
      throw new RalphError('usage', 'steer takes --path or --loop, not both.');
    const [word = '', ...text] = context.positionals;
    const mayName = path === undefined && loop === undefined && text.length > 0;
    const named = mayName ? liveLoops(context).find(({ name }) => name === word) : undefined;
    if (named === undefined)
      return { files: chosenLoop(context, 'steer --path', typeof path === 'string' ? path : null), context };
    if (text.length === 1) return { files: named.files, context: { ...context, positionals: text } };
    const unclear = `${word} is the name of a loop, or the first word of the message. Quote the message.`;
    throw new RalphError('usage', advise(unclear, 'Usage', `steer ${word} "TEXT"`));
  },
  command: ({ positionals, values }) => {
    const text = positionals.join(' ').trim();
    if (text === '') throw new RalphError('usage', advise('the message is missing.', 'Usage', 'steer "TEXT"'));
    return steering(randomUUID(), text, values['next'] === true ? 'next' : 'now');
  },
  answer: steerAnswer,
});

export const RESET_COMMAND: Command = {
  name: 'reset',
  usage: '[NAME | PATH] [--loop NAME] [--force]',
  help: `Moves the state of a loop into the archive, as cancelled; nothing is deleted. It refuses while the client or the runner of the loop is alive. ${WHICH_LOOP}`,
  example: 'ralph-loop reset --force',
  options: options({ force: 'Reset a loop whose client is alive; asks at your terminal.' }),
  control: true,
  run(context) {
    const message = resetLoop(context);
    context.answer({ success: true, message }, () => message);
    return 0;
  },
};

function resetLoop(called: CommandContext): string {
  const files = chosenLoop(called, 'reset');
  const context = { ...called, files };
  const { env, now, values } = context;
  const found = readState(files.state);
  switch (found.kind) {
    case 'absent':
      return endsLost(files) ? LOST_RESET : 'There was no state to reset.';
    case 'newer':
      throw new RalphError('state-newer', NEWER_STATE(files.state));
    case 'four-keys':
    case 'corrupt':
      return putAside(context);
    case 'loop':
      if (isDriverAlive(files, found.state) === true && values['force'] !== true) {
        const { mode, clientPid } = found.state;
        const who = mode === 'runner' ? 'the runner of this loop' : `the client of this loop (process ${clientPid})`;
        const advice = [
          { verb: 'End the loop', command: 'stop' },
          { verb: 'Or force the reset', command: 'reset', options: { force: true } },
        ] as const;
        throw new RalphError('refused', show({ text: `Cannot reset: ${who} is alive.`, advice }, found.state));
      }
      if (isDriverAlive(files, found.state) === true) askToReset(files, found.state);
      operate(files, env, now(), () => ({ kind: 'cancel' }), { restore: restoreMidTurn });
      return `The loop was reset. Its state is in ${files.archiveDir}.`;
    default:
      return found satisfies never;
  }
}

function askToReset(files: LoopFiles, { taskPath, iteration, maxIterations }: LoopState): void {
  const heading = 'This loop is running, and a reset ends it as cancelled:';
  const lines = [`  task        ${taskPath}`, `  iterations  ${iteration} of ${maxIterations} done`];
  const declined = 'nothing was reset.';
  askInPerson(files, { command: 'reset --force', heading, lines, question: 'Reset it?', declined });
}

const LOST_RESET =
  'The state file of the loop was missing. Its contract is set aside, so no session is under its rules.';

/** Moves the contract of a loop without a state aside, unless its runner is alive, which will write the state again. */
function endsLost(files: LoopFiles): boolean {
  return withState(files, ({ kind }) => {
    // Under the lock, because a start writes the contract first.
    const isLost = kind === 'absent' && findContract(files) !== 'absent' && !isHeld(runnerHold(files));
    if (isLost) dropContract(files);
    return { next: 'keep', result: isLost };
  });
}

/** Archives a state that the engine cannot read, unchanged. */
function putAside({ files, now, env }: CommandContext): string {
  const at = now();
  const path = withState(files, (current) => {
    if (current.kind === 'corrupt') {
      // The state file has been moved away here.
      return { next: 'keep', result: quarantine(files, at, 'corrupt') };
    }
    if (current.kind !== 'four-keys') return { next: 'keep', result: null };
    const adopted = loopOfFourKeys(current.file, files, env);
    const ended = { at, as: 'cancelled', message: 'reset by the user.', verified: false } as const;
    return { next: 'remove', result: archiveState(files, { ...adopted, status: 'ended', ended }, at, 'cancelled') };
  });
  dropContract(files);
  return path === null ? 'There was no state to reset.' : `The state was reset. It is in ${path}.`;
}

export const ACCEPT_COMMAND: Command = {
  name: 'accept',
  usage: '[NAME | PATH] [--loop NAME]',
  help: `Shows at your terminal what has changed in the frontmatter of the loop's task file and in the scripts of its checks since the start, and updates the contract when you type yes; every report of the loop names the change. An agent cannot answer for you, but a program with your rights can imitate a person at a terminal. ${WHICH_LOOP}`,
  example: 'ralph-loop accept tasks/docs',
  control: true,
  async run(context) {
    const { acceptContract, changedContract } = await import('../../drive/start/live/accept-contract.ts');
    const { env, now, answer } = context;
    const files = chosenLoop(context, 'accept');
    if (readState(files.state).kind === 'absent') noLoop('there is no live loop here.');
    const changed = changedContract(files, env);
    const { changes } = changed;
    const lines = changes.map((line) => `  ${line}`);
    if (changes.length > 0) {
      const question = 'Adopt these changes?';
      const heading = 'Changed since the loop started:';
      const asked = { command: 'accept', heading, lines, question, declined: 'nothing was adopted.' };
      const person = askInPerson(files, asked);
      acceptContract(files, env, now(), changed, person);
    }
    const message = changes.length === 0 ? 'Nothing had changed.' : ['Adopted:', ...lines].join('\n');
    answer({ success: true, message, changes }, () => message);
    return 0;
  },
};
