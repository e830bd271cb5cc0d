import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CommandDefinition, Contract } from '../../engine/schema/contract.ts';
import { taskCommand } from '../frontmatter/placeholders.ts';
import { isProjectFile } from '../project-file.ts';
import { namedScripts } from './named-scripts.ts';
import { packageScript, splitPackageScriptKey } from './package-scripts.ts';

type Terms = Pick<Contract, 'projectDir' | 'taskPath' | 'task'> & {
  readonly validation: readonly Pick<CommandDefinition, 'run'>[];
  readonly policy: Pick<Contract['policy'], 'maxIterations'>;
};

/** Hashes of all project files that the validation and task commands name, in any iteration, by relative path. */
export function scriptsOf(terms: Terms): Record<string, string> {
  const { projectDir, task } = terms;
  const keys = new Set(terms.validation.flatMap(({ run }) => namedScripts(projectDir, run)));
  for (const command of task?.commands ?? []) {
    const runs = new Map<string, string>();
    for (let iteration = 1; iteration <= terms.policy.maxIterations; iteration++) {
      const { run, directory } = taskCommand(terms, projectDir, command, iteration);
      runs.set(run, directory); // one and the same, unless it has the iteration's number in it
    }
    for (const [run, directory] of runs)
      for (const key of namedScripts(projectDir, run, new Set(), directory)) keys.add(key);
  }
  const scripts: Record<string, string> = {};
  for (const key of [...keys].toSorted()) {
    const hash = scriptHash(projectDir, key);
    if (hash !== null) scripts[key] = hash;
  }
  return scripts;
}

export function changedScripts(
  contract: Pick<Contract, 'scripts'>,
  projectDir: string,
  keys: readonly string[],
): { readonly key: string; readonly what: string }[] {
  return keys.flatMap((key) => {
    const expected = contract.scripts[key];
    if (expected === undefined) return [];
    const hash = scriptHash(projectDir, key);
    if (hash === expected) return [];
    return [{ key, what: hash === null ? `${key} is gone` : `${key} was changed` }];
  });
}

/** SHA-256 of a script that `namedScripts` names; null if it is missing. */
export function scriptHash(projectDir: string, key: string): string | null {
  const inPackage = splitPackageScriptKey(key);
  if (inPackage !== null) {
    const text = packageScript(projectDir, inPackage.packagePath, inPackage.script);
    return text === null ? null : sha256(text);
  }
  if (!isProjectFile(projectDir, key)) return null;
  try {
    return sha256(readFileSync(join(projectDir, key)));
  } catch {
    return null; // gone or closed to us since the look before
  }
}

function sha256(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}
