import { readFileSync } from 'node:fs';
import { type Message, RalphError } from '../../text/message.ts';
import { regularFile } from '../files/regular-file.ts';

const CAUSES = {
  missing: 'is missing',
  empty: 'is empty',
  torn: 'is incomplete or not readable',
  older: 'was replaced by an older copy',
  edited: 'was changed by another program',
  foreign: 'belongs to another loop',
} as const;

export type Cause = keyof typeof CAUSES;

/** File of a loop's evidence that cannot be believed, and why. */
interface LostEvidence {
  readonly path: string;
  readonly why: Cause;
}

/** Returns which file is lost, and the cause. */
export function lossText({ path, why }: LostEvidence): string {
  return `${path} ${CAUSES[why]}`;
}

/** Returns the RalphError `evidence-lost` that names the file and the cause. */
export function evidenceLost(path: string, why: Cause): RalphError {
  const message: Message = {
    text: `Evidence of this loop is lost: ${lossText({ path, why })}.`,
    advice: [{ verb: 'Check the project, then take its present state as a new start', command: 'resume' }],
  };
  return new RalphError('evidence-lost', message, { path, why } satisfies LostEvidence);
}

/** Returns what an error says about lost evidence; null for every other error. */
export function lostBy(error: unknown): LostEvidence | null {
  return error instanceof RalphError && error.code === 'evidence-lost' ? (error.cause as LostEvidence) : null;
}

/** Returns the message about lost evidence. Throws every other error. */
export function lossIn(error: unknown): Message {
  if (lostBy(error) !== null) return (error as RalphError).advised;
  throw error;
}

/** Returns the message about the evidence that `prove` finds lost; null if it finds none. Throws every other error. */
export function lossBy(prove: () => void): Message | null {
  try {
    prove();
    return null;
  } catch (error) {
    return lossIn(error);
  }
}

/** Returns what `read` returns, or `otherwise` if it finds evidence lost. Throws every other error. */
export function unlessLost<T, U>(read: () => T, otherwise: U): T | U {
  try {
    return read();
  } catch (error) {
    lossIn(error);
    return otherwise;
  }
}

/** Returns the bytes of a file of evidence. Throws `evidence-lost` if it is missing, empty or not readable. */
export function evidenceBytes(path: string): Buffer {
  let bytes: Buffer;
  try {
    bytes = readFileSync(regularFile(path));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw evidenceLost(path, code === 'ENOENT' || code === 'ENOTDIR' ? 'missing' : 'torn');
  }
  if (bytes.length === 0) throw evidenceLost(path, 'empty');
  return bytes;
}

/** Parses a record of evidence. Throws `evidence-lost` if it is not a JSON object. */
export function evidenceJson(path: string, bytes: Buffer): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString('utf8'));
  } catch {
    throw evidenceLost(path, 'torn');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw evidenceLost(path, 'torn');
  return value as Readonly<Record<string, unknown>>;
}
