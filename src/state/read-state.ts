import { readFileSync } from 'node:fs';
import schemas from '../../.build/state-shapes.json' with { type: 'json' };
import { SCHEMA_VERSION } from '../engine/schema/constants.ts';
import type { FourKeyState, LoopState } from '../engine/schema/state.ts';
import { checkShape, isTooDeep, type Shape } from './check-shape.ts';
import { regularFile } from './files/regular-file.ts';
import type { LoopFiles } from './loop-files.ts';

export type ReadState =
  | { readonly kind: 'absent' }
  | { readonly kind: 'loop'; readonly state: LoopState }
  /** A file of four keys (see fourKeyState). */
  | { readonly kind: 'four-keys'; readonly file: FourKeyState }
  | { readonly kind: 'newer'; readonly version: number }
  | { readonly kind: 'corrupt'; readonly problem: string };

/** A larger file is no state of ours. */
const MAX_BYTES = 16 * 1024 * 1024;

/** Reads and validates a state file. Throws the system's error for a file that cannot be opened. */
export function readState(path: string): ReadState {
  let text: string;
  try {
    text = readFileSync(regularFile(path), 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ENAMETOOLONG') return { kind: 'absent' };
    if (code === undefined) return { kind: 'corrupt', problem: message };
    throw error;
  }
  return parseState(text);
}

/** Returns the state of this loop; null once it has ended, was replaced or cannot be read. */
export function readLoop(files: Pick<LoopFiles, 'state'>, loopId: string): LoopState | null {
  const current = readState(files.state);
  return current.kind === 'loop' && current.state.loopId === loopId ? current.state : null;
}

/** Validates the text of a state file. Never throws. */
export function parseState(text: string): ReadState {
  if (text.length > MAX_BYTES) return { kind: 'corrupt', problem: `it has ${text.length} characters` };
  let value: unknown;
  try {
    // Windows PowerShell begins a UTF-8 file with a byte order mark.
    value = JSON.parse(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text);
  } catch (error) {
    return { kind: 'corrupt', problem: (error as Error).message };
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { kind: 'corrupt', problem: 'it is not a JSON object' };
  }
  if (isTooDeep(value)) return { kind: 'corrupt', problem: 'it is nested too deeply' };
  const version = (value as { schemaVersion?: unknown }).schemaVersion;
  if (typeof version === 'number' && version > SCHEMA_VERSION) return { kind: 'newer', version };
  if (version === undefined) {
    const problem = checkShape(value, fourKeyState);
    return problem === null ? { kind: 'four-keys', file: value as FourKeyState } : { kind: 'corrupt', problem };
  }
  const problem = validateLoopState(value);
  return problem === null ? { kind: 'loop', state: value as LoopState } : { kind: 'corrupt', problem };
}

const { commonPart, fourKeyState, statusPart } = schemas as Record<keyof typeof schemas, Shape>;

/** Returns null for a valid state, else what is wrong and where. */
export function validateLoopState(value: unknown): string | null {
  return checkShape(value, commonPart) ?? checkShape(value, statusPart);
}
