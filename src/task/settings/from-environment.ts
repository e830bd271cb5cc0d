import { join } from 'node:path';
import type { Policy } from '../../engine/schema/contract.ts';
import { signalProblem } from '../../engine/signals/signals.ts';
import { readRecord } from '../../state/files/regular-file.ts';
import { excerpt } from '../../text/quote.ts';
import { PROJECT_CONFIG } from '../task-file.ts';
import { plainValues } from './read-values.ts';

/**
 * Returns the policy of a four-key state: defaults, the project's limit of iterations, and valid RALPH_ variables; reports
 * invalid ones.
 */
export function policyFromEnvironment(env: Readonly<Record<string, string | undefined>>, projectDir: string) {
  const notes: string[] = [];
  const number = (name: string, least: number, most: number, otherwise: number): number => {
    const text = env[name];
    if (text === undefined || text === '') return otherwise;
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    notes.push(`${name} must be an integer from ${least} to ${most}, but is ${shown(text)}: ${otherwise} is used.`);
    return otherwise;
  };
  const plain = plainValues().policy;
  const { breaker, maxIterations } = plain;
  const policy: Policy = {
    ...plain,
    maxIterations: number('RALPH_MAX_ITERATIONS', 1, 100, configured(projectDir) ?? maxIterations),
    breaker: { ...breaker, findings: number('RALPH_CIRCUIT_BREAKER_THRESHOLD', 0, 1_000_000, breaker.findings) },
    completion: completion(env['RALPH_COMPLETION_SIGNAL'], plain.completion, notes),
  };
  return { policy, notes };
}

/** Returns the limit set by `config --max-iterations`; null without a valid one, which `config` reports. */
function configured(projectDir: string): number | null {
  const value = readRecord<{ max_iterations: unknown }>(join(projectDir, PROJECT_CONFIG))?.max_iterations;
  return Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 100 ? Number(value) : null;
}

function completion(text: string | undefined, otherwise: Policy['completion'], notes: string[]): Policy['completion'] {
  if (text === undefined || text === '') return otherwise;
  const problem = signalProblem(text);
  if (problem === null) return { kind: 'signal', text };
  notes.push(`RALPH_COMPLETION_SIGNAL ${problem}, but is ${shown(text)}: the default signal is used.`);
  return otherwise;
}

function shown(text: string): string {
  return JSON.stringify(excerpt(text, 80));
}
