import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as esbuild from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));

/**
 * Code of a test, which imports sources by their path from this folder, as a program in `directory` that node starts by
 * itself: with a compiler in each process, a start takes ten times as long. Returns its path.
 */
export async function plainProgram(directory: string, code: string): Promise<string> {
  const outfile = join(directory, 'program.mjs');
  await esbuild.build({
    stdin: { contents: code, resolveDir: here, loader: 'ts' },
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    // Packages in CommonJS call it for modules of node.
    banner: { js: "import { createRequire as of } from 'node:module'; const require = of(process.execPath);" },
    logLevel: 'warning',
  });
  return outfile;
}
