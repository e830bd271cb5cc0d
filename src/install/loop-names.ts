import { readdirSync } from 'node:fs';
import { LOOP_NAME, loopFiles } from '../state/loop-files.ts';

/** The names of all loops that have left something in a project, the default one (null) first. */
export function loopNames(projectDir: string, env: NodeJS.ProcessEnv): (string | null)[] {
  const { runtimeDir } = loopFiles(projectDir, null, env);
  let entries: string[];
  try {
    entries = readdirSync(runtimeDir);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return [];
    throw error;
  }
  const names = new Set<string | null>();
  for (const entry of entries) {
    const match = /^ralph-(?:state(?:\.(.+))?\.json|archive(?:\.(.+))?)$/.exec(entry);
    if (!match) continue;
    const name = match[1] ?? match[2] ?? null;
    if (name === null || LOOP_NAME.test(name)) names.add(name);
  }
  return [...names].sort((a, b) => (a === null ? -1 : b === null ? 1 : a < b ? -1 : 1));
}
