import { readFileSync } from 'node:fs';
import { SCHEMA_VERSION } from '../../../src/engine/schema/constants.ts';
import { parseState } from '../../../src/state/loop-files.ts';
import { identityOf } from '../../../src/state/process/identity.ts';
import type { Laid } from './case.ts';

/** What lies on disk before a hook is called. */
export interface Before {
  readonly state: Buffer | null;
  readonly contract: Buffer | null;
  readonly cancellation: Buffer | null;
}

export function lookAt({ files }: Laid): Before {
  return {
    state: bytes(files.state),
    contract: bytes(files.contract),
    cancellation: bytes(files.cancellation),
  };
}

/**
 * Whether a Stop of this session may be blocked at all: an active loop lies here that is this session's, or nobody's
 * and free for it. Written from the specification and nothing else, and a little too generous where the contract
 * restores a loop; what is refused here may never be blocked.
 */
export function mayBlock(before: Before, env: Readonly<Record<string, string>>, session: unknown): boolean {
  if (env['RALPH_DRIVER'] === 'runner' || env['RALPH_DRIVER'] === 'router') return false;
  const grave = object(before.cancellation);
  const wanted = env['RALPH_LOOP_ID'] || null;
  if (grave?.['sessionId'] === session || (grave?.['sessionId'] === null && grave['loopId'] === wanted)) return false;
  const state = object(before.state);
  if (state === null) return false;
  const contract = object(before.contract);
  if (before.contract !== null && contract === null) return false;
  const terms = inner(contract, 'contract');
  if (contract !== null && terms['consented'] !== true) return false;
  const restored = terms['loopId'];
  const mayRestore = contract !== null && (wanted === null || wanted === restored);
  if (state['schemaVersion'] === undefined) return contract === null ? wanted === null : mayRestore;
  if (state['schemaVersion'] !== SCHEMA_VERSION || state['mode'] !== 'hook') return false;
  if (wanted !== null && state['loopId'] !== wanted) return false;
  if (!belongs(state, env, session, wanted)) return false;
  const rewritten =
    // A completion that still has its contract was proved by nobody.
    inner(state, 'ended')['as'] === 'complete' ||
    state['contractHash'] !== contract?.['hash'] ||
    state['loopId'] !== restored ||
    state['maxIterations'] !== inner(terms, 'policy')['maxIterations'] ||
    Date.parse(String(state['startedAt'])) > Date.parse(String(terms['createdAt']));
  if (contract !== null && rewritten) return mayRestore;
  if (contract === null && state['contractHash'] !== null) return false;
  return ['running', 'waiting', 'verifying'].includes(String(state['status'])) && state['stopRequested'] === false;
}

function belongs(
  state: Record<string, unknown>,
  env: Readonly<Record<string, string>>,
  session: unknown,
  wanted: string | null,
): boolean {
  if (state['sessionId'] === session) return true;
  if (state['sessionId'] === null) return wanted === null;
  // `/clear` changes the session and keeps the process.
  const pid = Number(env['CLAUDE_PID']);
  return pid > 0 && state['clientPid'] === pid && state['clientStartedAt'] === identityOf(pid).startedAt;
}

/**
 * A valid loop that is surely none of this session's business: its file must not change by a byte. The tool hooks alone
 * (`tools`) serve the agents of a runner and of a router, and bring them what the user has to say.
 */
export function isForeign(
  before: Before,
  env: Readonly<Record<string, string>>,
  session: unknown,
  tools: boolean,
): boolean {
  const state = object(before.state);
  if (state === null || parseState(before.state?.toString('utf8') ?? '').kind !== 'loop') return false;
  const wanted = env['RALPH_LOOP_ID'] || null;
  if (state['mode'] === 'runner') return !(tools && env['RALPH_DRIVER'] === 'runner' && wanted === state['loopId']);
  if (state['mode'] === 'router') {
    return !(tools && env['RALPH_DRIVER'] === 'router' && belongs(state, env, session, wanted));
  }
  if (wanted !== null && wanted !== state['loopId']) return true;
  return typeof state['sessionId'] === 'string' && wanted === null && !belongs(state, env, session, wanted);
}

/** The file as a JSON object, or null. */
export function object(file: Buffer | null): Record<string, unknown> | null {
  if (file === null) return null;
  try {
    const value: unknown = JSON.parse(file.toString('utf8').replace(/^\ufeff/, ''));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

function inner(value: Record<string, unknown> | null, key: string): Record<string, unknown> {
  const found = value?.[key];
  return typeof found === 'object' && found !== null ? (found as Record<string, unknown>) : {};
}

function bytes(path: string): Buffer | null {
  try {
    return readFileSync(path);
  } catch {
    return null;
  }
}
