import { comparablePath } from './comparable-path.ts';
import type { GuardRules } from './guard-rules.ts';
import type { ProtectedPath } from './protected-paths.ts';
import { protectedPaths } from './protected-paths.ts';
import { realPath } from './real-path.ts';

/** Rules made ready for one judgement. */
export interface Guard {
  readonly rules: GuardRules;
  readonly own: readonly ProtectedPath[];
  /** Comparable form, as given and real. */
  readonly project: readonly string[];
  /** Copies of the control program and launchers, as given and real. */
  readonly control: readonly string[];
}

export function prepareGuard(rules: GuardRules): Guard {
  const both = (path: string): string[] => {
    const given = comparablePath(path, rules.caseInsensitive);
    const real = comparablePath(realPath(path), rules.caseInsensitive);
    return given === real ? [given] : [given, real];
  };
  return {
    rules,
    own: protectedPaths(rules),
    project: both(rules.projectDir),
    control: rules.controlProgram.flatMap(both),
  };
}
