import type { HookAnswer } from '../../hosts/hook-io/stdio.ts';
import type { ProtectionReport } from '../control/restore-protected.ts';
import { HOOK_TEXTS, withPrefix } from '../turn/messages.ts';

export function denied(rule: string, message: string): HookAnswer {
  return { hookSpecificOutput: denial(`[blocked by guardrail: ${rule}] ${message}`) };
}

/** Returns the answer that ends the turn, with what the user and the agent are shown. */
export function turnEnds(stop: string = HOOK_TEXTS.cancelledStop, reason: string = HOOK_TEXTS.cancelled): HookAnswer {
  return { continue: false, stopReason: withPrefix(stop), hookSpecificOutput: denial(reason) };
}

function denial(reason: string): NonNullable<HookAnswer['hookSpecificOutput']> {
  return { hookEventName: 'PreToolUse', permissionDecision: 'deny', permissionDecisionReason: reason };
}

const ALLOWED = {
  permissionDecision: 'allow',
  permissionDecisionReason: 'ralph-loop: the user named this command as a check of the loop.',
} as const;

/** Steering as the user and the agent are shown it. */
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
    hookSpecificOutput: {
      hookEventName,
      ...(isCheck && ALLOWED),
      ...(told !== null && { additionalContext: told }),
    },
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
