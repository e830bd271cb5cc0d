import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as esbuild from 'esbuild';

const here = fileURLToPath(new URL('.', import.meta.url));

/**
 * One program of this folder with the state layer in it, as a plain CJS file in `directory`: it starts as fast as node
 * itself, and its calls of `fs` can be replaced before it is loaded, because a bundle calls them as properties.
 */
export async function bundleProgram(name: string, directory: string): Promise<string> {
  const outfile = join(directory, `${name}.cjs`);
  await esbuild.build({
    entryPoints: [join(here, `${name}.ts`)],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    define: { 'import.meta.url': '__filename' },
    logLevel: 'warning',
  });
  return outfile;
}

/**
 * A folder for one test run, and how to remove it: on the disk, or in memory where the system has such a place, for
 * tests that make thousands of files and do not care where.
 */
export function scratch(where: 'disk' | 'memory'): { readonly directory: string; readonly remove: () => void } {
  const parent = where === 'memory' && existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
  const directory = mkdtempSync(join(parent, 'ralph-faults-'));
  return { directory, remove: () => rmSync(directory, { recursive: true, force: true }) };
}
