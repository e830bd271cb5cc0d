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
  | 'refused'
  | 'no-loop'
  | 'client-missing'
  | 'client-too-old';

/** The one error of this program: a stable code, a message that says what, where and what to do, and the cause. */
export class RalphError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'RalphError';
    this.code = code;
  }
}
