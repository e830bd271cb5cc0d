import { delimiter, sep } from 'node:path';
import { consentDigest, consentTerms } from '../../drive/start/consent-terms.ts';
import type { Contract } from '../../engine/schema/contract.ts';
import { homeOf } from '../../sandbox/terms.ts';
import { readContract } from '../../state/contract-store.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { peekTdd } from '../../state/tdd-store.ts';

/** Folders that a contract names by their absolute paths and that are elsewhere on another machine. */
export interface Folders {
  readonly project: string;
  readonly home: string;
}

const ANYWHERE: Folders = { project: '/project', home: '/home' };

/**
 * Returns the contract as it reads where project and home folder are others. The task file's text stays byte for byte.
 * A program stays pinned by its content.
 */
export function relocateContract(contract: Contract, from: Folders, to: Folders): Contract {
  const moves = [[from.project, to.project] as const, [from.home, to.home] as const].sort(
    ([a], [b]) => b.length - a.length,
  );
  const moved = (path: string): string => {
    const move = moves.find(([old]) => path === old || path.startsWith(old + sep));
    return move === undefined ? path : move[1] + path.slice(move[0].length);
  };
  const walk = (value: unknown): unknown => {
    if (typeof value === 'string') return moved(value);
    if (Array.isArray(value)) return value.map(walk);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, walk(item)]));
  };
  const { frontmatter, head, environment } = contract;
  const lists = Object.entries(environment ?? {}).map(
    ([key, value]) => [key, value.split(delimiter).map(moved).join(delimiter)] as const,
  );
  return {
    ...(walk(contract) as Contract),
    ...{ frontmatter, head },
    ...(environment && { environment: Object.fromEntries(lists) }),
  };
}

/**
 * Returns the digest of what a loop's user agreed to, the same wherever the project and their home folder are; null
 * without a contract. Throws RalphError `contract-changed` if it is unreadable.
 */
export function contractDigest(files: LoopFiles, env: NodeJS.ProcessEnv): string | null {
  const stored = readContract(files);
  if (stored === null) return null;
  const { contract } = stored;
  const here = { project: contract.projectDir, home: homeOf(env) };
  const list = contract.tdd === undefined ? null : peekTdd(files);
  return consentDigest(consentTerms(relocateContract(contract, here, ANYWHERE), list));
}
