import { delimiter, sep } from 'node:path';
import type { Contract } from '../../engine/schema/contract.ts';

/** Folders that a contract names by their absolute paths and that are elsewhere on another machine. */
export interface Folders {
  readonly project: string;
  readonly home: string;
}

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
