import { existsSync, readdirSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { namesIn, readRegularFile } from '../../state/files/read-regular-file.ts';
import { outsideRoot, PROJECT_FILE } from '../../state/loop-files.ts';

const MOST_BYTES = 1024 * 1024;

/** Returns the given project and every other one of this user in which a loop was started and that still exists. */
export function knownProjects(projectDir: string, env: NodeJS.ProcessEnv): string[] {
  const root = outsideRoot(env);
  const folders = existsSync(root)
    ? readdirSync(root, { withFileTypes: true }).filter((each) => each.isDirectory())
    : [];
  const others = folders.flatMap(({ name }) => projectsNamedIn(join(root, name)));
  return [...new Set([projectDir, ...others.filter((path) => existsSync(path)).sort()])];
}

/** A project's folder names the project; one of a former version only in the contract of a live loop. */
function projectsNamedIn(folder: string): string[] {
  const files = namesIn(folder).filter((name) => name === PROJECT_FILE || /^contract(?:\..+)?\.json$/.test(name));
  return files.flatMap((name) => {
    try {
      const { projectDir, contract } = JSON.parse(readRegularFile(join(folder, name), MOST_BYTES) ?? '{}') as {
        readonly projectDir?: unknown;
        readonly contract?: { readonly projectDir?: unknown };
      };
      const path = projectDir ?? contract?.projectDir;
      return typeof path === 'string' && isAbsolute(path) ? [path] : [];
    } catch {
      return []; // not ours, or torn
    }
  });
}
