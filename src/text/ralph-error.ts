import { type Message, render } from './message.ts';

export type ErrorCode =
  | 'lock-timeout'
  | 'state-corrupt'
  | 'state-newer'
  | 'state-fenced'
  | 'state-io'
  | 'contract-missing'
  | 'contract-changed'
  | 'task-missing'
  | 'task-invalid'
  | 'usage'
  | 'mode-missing'
  | 'sandbox-missing'
  | 'refused'
  | 'no-loop'
  | 'client-missing'
  | 'client-too-old';

/** The one error of this program: a stable code, a message that says what, where and what to do, and the cause. */
export class RalphError extends Error {
  readonly code: ErrorCode;
  /** The message with its advice as data, to be shown for a loop and a user. */
  readonly advised: Message;

  constructor(code: ErrorCode, message: Message | string, cause?: unknown) {
    super(render(message, { name: null, mode: 'hook' }), cause === undefined ? undefined : { cause });
    this.name = 'RalphError';
    this.code = code;
    this.advised = typeof message === 'string' ? { text: message } : message;
  }
}
