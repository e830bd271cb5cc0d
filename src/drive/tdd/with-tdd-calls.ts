import type { Guardrails } from '../../core/schema/contract.ts';
import type { StoredContract } from '../../state/contract-store.ts';

const STEPS = 'next|red|green|refactored|status';

/**
 * The user's rules, with an allowlist that lets the steps of a TDD loop through: the prompt asks for them, and what they
 * run was fixed at the start. `programs` are the absolute paths of main.cjs.
 */
export function withTddCalls(
  rules: Guardrails,
  { contract: { tdd } }: StoredContract,
  programs: readonly string[],
): Guardrails {
  if (tdd === undefined || rules.shellAllow === null) return rules;
  const calls = programs.map(
    (program) => `node ${literal(program)} tdd(?: --loop [\\w.-]+)? (?:${STEPS})(?: [\\w.-]+)*`,
  );
  return { ...rules, shellAllow: [...rules.shellAllow, ...calls] };
}

function literal(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
