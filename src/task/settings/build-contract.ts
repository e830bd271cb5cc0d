import type { CommandDefinition, Contract } from '../../engine/schema/contract.ts';
import { CONTRACT_VERSION, contract as schema } from '../../engine/schema/contract.ts';
import { hashContract } from '../../state/hash-contract.ts';
import type { StoredContract } from '../../state/loop-files.ts';
import { RalphError } from '../../text/message.ts';
import type { ValidationEntry } from '../frontmatter/schema.ts';
import { contractPins } from '../pinned-scripts/contract-scripts.ts';
import { pinPrograms } from '../pinned-scripts/pinned-programs.ts';
import { VALIDATION_TIMEOUT_SECONDS } from './defaults.ts';

export interface ContractTerms extends Omit<Contract, 'contractVersion' | 'validation' | 'evidence' | keyof Pins> {
  readonly validation: readonly ValidationEntry[];
  /** Pins that were fixed earlier; otherwise they are read in the project. */
  readonly pins?: Pins;
}

type Pins = Pick<Contract, 'scripts' | 'watched' | 'programs'>;

/** Builds the contract of a new loop, which lists no evidence yet. Throws `task-invalid` for duplicate command names. */
export function buildContract({ pins, ...terms }: ContractTerms): StoredContract {
  const validation = normaliseValidation(terms.validation);
  const pinned = pins ?? readPins(terms);
  const contract = schema.parse({ ...terms, contractVersion: CONTRACT_VERSION, validation, evidence: {}, ...pinned });
  return { hash: hashContract(contract), contract };
}

/** Reads in the project what the checks rely on. */
export function readPins(terms: Omit<ContractTerms, 'loopId'>): Pins {
  const validation = normaliseValidation(terms.validation);
  const { scripts, watched, programs: names } = contractPins({ ...terms, validation });
  const programs = pinPrograms(names, terms.environment ?? {});
  return {
    scripts,
    ...(Object.keys(watched).length > 0 && { watched }),
    ...(names.length > 0 && terms.environment && { programs }),
  };
}

const MAX_NAME = 60;

/** Names unnamed commands after what they run, with a number if necessary. Throws `task-invalid` for duplicates. */
export function normaliseValidation(entries: readonly ValidationEntry[]): CommandDefinition[] {
  const taken = new Set<string>();
  for (const entry of entries) {
    const name = typeof entry === 'string' ? undefined : entry.name;
    if (name === undefined) continue;
    if (taken.has(name))
      throw new RalphError('task-invalid', `two validation commands are named "${name}": give each a unique name.`);
    taken.add(name);
  }
  return entries.map((entry) => {
    const { run, name, timeout } = typeof entry === 'string' ? { run: entry } : entry;
    return { name: name ?? freeName(run, taken), run, timeoutSeconds: timeout ?? VALIDATION_TIMEOUT_SECONDS };
  });
}

function freeName(run: string, taken: Set<string>): string {
  const whole = run.trim().split(/\s+/).join(' ');
  const base = whole.length > MAX_NAME ? `${whole.slice(0, MAX_NAME - 1).trimEnd()}…` : whole;
  let name = base;
  for (let copy = 2; taken.has(name); copy++) name = `${base} (${copy})`;
  taken.add(name);
  return name;
}
