import { join } from 'node:path';
import { portableTerms, prepareContract } from '../drive/start/prepare-contract.ts';
import type { ContractRequest, PreparedContract } from '../drive/start/stages.ts';
import { type RiskySetting, rememberAgreed, unagreedSettings } from '../drive/start/terms/agreed-settings.ts';
import { type ConsentTerms, consentDigest } from '../drive/start/terms/consent-terms.ts';
import { readPins } from '../task/settings/build-contract.ts';
import type { FleetPlace } from './git/place.ts';
import type { Submission } from './job.ts';

interface FleetTask extends Pick<Submission['contract'], 'flags' | 'args'> {
  readonly projectDir: string;
  readonly name: string;
  /** Path relative to the project. */
  readonly task: string;
}

/** Variables with settings of a loop. In the fleet, settings come from the repository and the submission. */
const SETTINGS = ['RALPH_MAX_ITERATIONS', 'RALPH_COMPLETION_SIGNAL', 'RALPH_CIRCUIT_BREAKER_THRESHOLD', 'RALPH_LOOP'];

/** Returns the environment of a loop, without this machine's settings, which other machines lack. */
export function loopEnvironment({ dir }: FleetPlace, env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const kept = Object.entries(env).filter(([name]) => !SETTINGS.includes(name));
  return { ...Object.fromEntries(kept), RALPH_USER_CONFIG: join(dir, 'no-user-config.json') };
}

export interface FleetTerms {
  readonly terms: ConsentTerms;
  readonly digest: string;
  /** Contract with which a run of the loop starts. */
  readonly fixed: PreparedContract;
  /** Settings of the repository that start programs or widen permissions and that this machine has not agreed to. */
  readonly risky: readonly RiskySetting[];
}

/** Reads the task and returns its terms, identical on every machine. Throws RalphError with every problem. */
export function fleetTerms(task: FleetTask, env: NodeJS.ProcessEnv, at: string): FleetTerms {
  const way = { consented: true, headless: true, launched: true, mode: 'runner' } as const;
  const request: ContractRequest = { ...task, env, at, ...way };
  const found = prepareContract(request);
  const fixed = { ...found, terms: { ...found.terms, pins: readPins(found.terms) } };
  const terms = portableTerms(fixed);
  return { terms, digest: consentDigest(terms), fixed, risky: unagreedSettings(request, fixed.resolved) };
}

/** Records consent on this machine to settings that the signed submission covers. */
export function agreeTo({ risky }: FleetTerms, env: NodeJS.ProcessEnv): void {
  if (risky.length > 0) rememberAgreed(env, risky);
}
