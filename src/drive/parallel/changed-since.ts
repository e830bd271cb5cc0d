import { join } from 'node:path';
import { homeFolder } from '../../state/home-folder.ts';
import { buildContract } from '../../task/settings/build-contract.ts';
import { fileSet } from '../control/protection.ts';
import type { Prepared } from '../start/stages.ts';
import { askGit } from '../worktree/repository.ts';
import type { PlanBatch } from './batch.ts';

/** Returns what the checks of a plan rest on and protect, as in this commit. */
export function restsOf({ terms }: Prepared, commit: string): PlanBatch['plan']['rests'] {
  const files = Object.keys(buildContract({ ...terms, loopId: 'plan' }).contract.scripts).map((key) =>
    key.replace(/#.*$/s, ''),
  );
  const { guardrails, unchanged = [] } = terms;
  return { commit, files: [...new Set(files)], patterns: [...guardrails.protectedFiles, ...unchanged] };
}

/** Returns the files that the checks of a plan rest on and that its branch has otherwise than the commit known for them. */
export function changedSince(
  projectDir: string,
  { commit, files, patterns }: NonNullable<PlanBatch['plan']['rests']>,
  env: NodeJS.ProcessEnv,
): readonly string[] {
  const words = ['diff-tree', '-r', '-z', '--name-only', '--no-renames', '--relative', commit, 'HEAD'];
  const { covers } = fileSet(projectDir, homeFolder(env), patterns);
  return askGit(projectDir, words, env, 'the changes of the branch could not be listed')
    .split('\0')
    .filter((path) => path !== '' && (files.includes(path) || covers(join(projectDir, path))));
}
