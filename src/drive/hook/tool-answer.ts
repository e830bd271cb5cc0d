import type { BudgetReading } from '../../engine/events.ts';
import type { HookAnswer } from '../../hosts/hook-io/stdio.ts';
import { withPrefix } from '../../state/process/program.ts';
import type { ProtectionReport } from '../control/restore-protected.ts';

/** Texts of the hooks around a tool call, with no others: V8 makes a table of functions one by one. */
export const TOOL_TEXTS = {
  onlyReading: (lost: string): string =>
    `${lost} Until the user has looked into it, only reading is allowed. End your turn and report this.`,
  unreadable:
    'the input of this call cannot be read: it is no object, or nested more than 500 levels deep. Pass it in a flatter form, or in a file.',
  cancelledStop: 'The loop was cancelled.',
  toolFailed: (message: string): string =>
    `ralph-loop refused this call because evaluating it failed: ${message} Try again, or end your turn and report it.`,
  over: (why: string): string => `${why} End your turn.`,
  cancelled: 'The user cancelled this loop: stop working on it and end your turn.',
  timeIsUp: 'Time is up: end your message with what is done and what is next. The next iteration continues from there.',
  budgetIsUp: ({ name, text }: BudgetReading): string =>
    `The loop has used its ${name} (${text}): end your message with what is done and what is next.`,
} as const;

export function denied(rule: string, message: string): HookAnswer {
  return { hookSpecificOutput: denial(`[blocked by guardrail: ${rule}] ${message}`) };
}

/** Returns the answer that ends the turn of a loop that is over; `why` is absent if its user cancelled it. */
export function turnEnds(why?: string): HookAnswer {
  const reason = why === undefined ? TOOL_TEXTS.cancelled : TOOL_TEXTS.over(why);
  const stopReason = withPrefix(why ?? TOOL_TEXTS.cancelledStop);
  return { continue: false, stopReason, hookSpecificOutput: denial(reason) };
}

function denial(reason: string): NonNullable<HookAnswer['hookSpecificOutput']> {
  return { hookEventName: 'PreToolUse', permissionDecision: 'deny', permissionDecisionReason: reason };
}

const ALLOWED = {
  permissionDecision: 'allow',
  permissionDecisionReason: 'ralph-loop: the user named this command as a check of the loop.',
} as const;

/** Steering as shown to the user and the agent. */
type Delivered = { readonly systemMessage: string | null; readonly additionalContext: string | null } | null;

/** Returns the answer to a call that runs or has run; null if there is nothing to say. */
export function allowed(
  hookEventName: string,
  seen: ProtectionReport | null,
  steering: Delivered,
  isCheck = false,
): HookAnswer | null {
  const told = joined(seen?.toAgent ?? null, steering?.additionalContext ?? null);
  const lines = seen === null ? null : seen.toUser.map((text) => withPrefix(text)).join('\n');
  const systemMessage = joined(lines, steering?.systemMessage ?? null);
  if (told === null && !isCheck) return seen === null || systemMessage === null ? null : { systemMessage };
  return {
    ...(systemMessage !== null && { systemMessage }),
    hookSpecificOutput: { hookEventName, ...(isCheck && ALLOWED), ...(told !== null && { additionalContext: told }) },
  };
}

/** Joins the answers of two loops to one call that both allow. */
export function together(one: HookAnswer, other: HookAnswer): HookAnswer {
  const [first, second] = [other, one].flatMap(({ hookSpecificOutput }) => hookSpecificOutput ?? []);
  const context = joined(
    ...[one, other].map(({ hookSpecificOutput }) => hookSpecificOutput?.additionalContext ?? null),
  );
  const systemMessage = joined(one.systemMessage ?? null, other.systemMessage ?? null);
  return {
    ...one,
    ...(systemMessage !== null && { systemMessage }),
    ...(first && context !== null && { hookSpecificOutput: { ...first, ...second, additionalContext: context } }),
  };
}

function joined(...texts: readonly (string | null)[]): string | null {
  const all = texts.filter((text) => text !== null);
  return all.length === 0 ? null : all.join('\n');
}
