import { quoted } from './quote.ts';

export type LoopMode = 'hook' | 'runner' | 'router';

/** Message: what happened and, as data, what the reader can do about it. */
export interface Message {
  readonly text: string;
  readonly advice?: readonly Advice[];
  /** Loop to which the advice applies, if the caller that shows the message may not know it. */
  readonly loop?: LoopRef;
  /** Path of the task file that the text names. */
  readonly task?: string;
}

interface Advice {
  /** Effect of the command, shown before it: `Resume`. */
  readonly verb: string;
  /** Addition to the verb if a session, not a runner, works on the loop: `, then send any message in the session`. */
  readonly inSession?: string;
  /** `resume`, `start`, `restart` and `consent` depend on the loop's mode; other commands are literal words. */
  readonly command: string;
  /** Values of options; true is an option without a value, and false omits it. */
  readonly options?: Readonly<Record<string, string | boolean>> | undefined;
}

export interface LoopRef {
  readonly name: string | null;
  readonly mode: LoopMode;
}

/** Loop to which a message applies, and the program as its reader can call it. */
export interface MessageContext extends LoopRef {
  readonly program?: string | undefined;
  /** Project, if its reader is elsewhere. All commands but `init` may find it from there. */
  readonly elsewhere?: { readonly dir: string; readonly isFound: boolean } | undefined;
}

export const PROGRAM = 'ralph-loop';

const STARTERS: Record<LoopMode, string> = { hook: 'start', runner: 'run', router: 'router start' };

/** Returns the command, without the program, that starts a new loop of a mode on a task file. */
export function startOn(mode: LoopMode, taskPath: string, isPlan = false): string {
  return `${STARTERS[mode]} ${mode === 'runner' ? '' : '--task '}${quoted(taskPath)}${isPlan ? ' --plan' : ''}`;
}

const LOOP_COMMANDS = new Set([
  ...['stop', 'cancel', 'pause', 'wake', 'accept', 'reset', 'status', 'explain', 'logs', 'archive'],
  ...['router start', 'router next', 'router status', 'tdd init', 'tdd status'],
  ...['tdd next', 'tdd red', 'tdd green', 'tdd refactored'],
]);

export function advise(text: string, verb: string, command: string, options?: Advice['options']): Message {
  return { text, advice: [{ verb, command, ...(options && { options }) }] };
}

/** Creates a message with several pieces of advice: commands by their verbs. */
export function offer(text: string, commands: Readonly<Record<string, string>>): Message {
  return { text, advice: Object.entries(commands).map(([verb, command]) => ({ verb, command })) };
}

export function about(message: Message, { name, mode }: LoopRef): Message {
  return { ...message, loop: { name, mode } };
}

/** Renders a message (a string has no advice) for its reader: the text, then each piece of advice as a command line. */
export function render(message: Message | string, context: MessageContext): string {
  if (typeof message === 'string') return message;
  const { text, advice = [], loop = context } = message;
  const commands = advice.map((each) => {
    const verb = loop.mode === 'runner' ? each.verb : each.verb + (each.inSession ?? '');
    return `${verb}: ${commandLine(each, { ...context, ...loop })}.`;
  });
  return text === '' || text.endsWith('\n') ? text + commands.join(' ') : [text, ...commands].join(' ');
}

/** Returns the command line of a piece of advice, for this loop and this program. */
export function commandLine(
  { command, options = {} }: Pick<Advice, 'command' | 'options'>,
  { name, mode, program = PROGRAM, elsewhere }: MessageContext,
): string {
  const loop = name === null ? [] : ['--loop', name];
  const isNamed = elsewhere !== undefined && (!elsewhere.isFound || /^init\b/.test(command));
  const all = isNamed ? { project: quoted(elsewhere.dir), ...options } : options;
  const given = Object.entries(all).flatMap(([key, value]) =>
    typeof value === 'string' ? [`--${key}`, value] : value ? [`--${key}`] : [],
  );
  return [program, ...wordsOf(command, mode, loop), ...given].join(' ');
}

function wordsOf(command: string, mode: LoopMode, loop: readonly string[]): string[] {
  switch (command) {
    case 'steer':
      return [command, ...loop, '"TEXT"'];
    case 'resume':
    case 'undo':
      return [command, ...loop.slice(1)];
    case 'start':
      return [STARTERS[mode], ...loop];
    case 'restart':
      return [STARTERS[mode], ...loop, '--fresh'];
    case 'consent':
      return mode === 'runner' ? ['run', '--consent', ...loop.slice(1)] : ['start', '--consent', ...loop];
    default:
      return LOOP_COMMANDS.has(command) ? [command, ...loop] : [command];
  }
}

export type ErrorCode =
  | 'lock-timeout'
  | 'state-corrupt'
  | 'state-newer'
  | 'state-fenced'
  | 'state-io'
  | 'contract-missing'
  | 'contract-changed'
  | 'evidence-lost'
  | 'task-missing'
  | 'task-invalid'
  | 'usage'
  | 'mode-missing'
  | 'sandbox-missing'
  | 'refused'
  | 'name-taken'
  | 'no-loop'
  | 'work-lost'
  | 'client-missing'
  | 'client-too-old';

/** The only error class of this program: a stable code, a message of what, where and what to do, and the cause. */
export class RalphError extends Error {
  readonly code: ErrorCode;
  /** Message with its advice as data, to be rendered for a loop and a user. */
  readonly advised: Message;

  constructor(code: ErrorCode, message: Message | string, cause?: unknown) {
    super(render(message, { name: null, mode: 'hook' }), cause === undefined ? undefined : { cause });
    this.name = 'RalphError';
    this.code = code;
    this.advised = typeof message === 'string' ? { text: message } : message;
  }
}

/** Returns the result of `work`, or null if it throws a RalphError; with a code, only one with that code. */
export function nullIfRefused<T>(work: () => T, code?: ErrorCode): T | null {
  return ifRefused(work, () => null, code);
}

/** Returns the result of `work`, or of `instead` if it throws a RalphError; with a code, only one with that code. */
export function ifRefused<T, U>(work: () => T, instead: (error: RalphError) => U, code?: ErrorCode): T | U {
  try {
    return work();
  } catch (error) {
    if (error instanceof RalphError && (code ?? error.code) === error.code) return instead(error);
    throw error;
  }
}
