import { cpSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as esbuild from 'esbuild';

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** Rewrites one file of src; throws where it finds nothing to rewrite. */
export interface Rewrite {
  /** Its path below src. */
  readonly file: string;
  readonly from: string | RegExp;
  readonly to: string;
}

/**
 * A copy of the built bundle at `bundle` whose command line program has these lines otherwise: slower, faster, or wrong
 * on purpose. Gives the path of the program.
 */
export async function bundleVariant(bundle: string, rewrites: readonly Rewrite[]): Promise<string> {
  mkdirSync(bundle, { recursive: true });
  cpSync(join(root, 'dist', 'plugin'), bundle, { recursive: true });
  const main = join(bundle, 'scripts', 'main.cjs');
  const done = new Set<Rewrite>();
  const rewriting: esbuild.Plugin = {
    name: 'rewrite',
    setup: ({ onLoad }) => {
      for (const file of new Set(rewrites.map((rewrite) => rewrite.file))) {
        onLoad({ filter: new RegExp(`src/${file.replaceAll('.', '\\.')}$`) }, ({ path }) => {
          let contents = readFileSync(path, 'utf8');
          for (const rewrite of rewrites.filter((one) => one.file === file)) {
            const changed = contents.replace(rewrite.from, rewrite.to);
            if (changed !== contents) done.add(rewrite);
            contents = changed;
          }
          return { contents, loader: 'ts' };
        });
      }
    },
  };
  await esbuild.build({
    entryPoints: [join(root, 'scripts', 'main.ts')],
    outfile: main,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    absWorkingDir: root,
    logLevel: 'warning',
    plugins: [rewriting],
  });
  const idle = rewrites.filter((rewrite) => !done.has(rewrite));
  if (idle.length > 0) throw new Error(`nothing to rewrite: ${idle.map(({ file, from }) => `${file} ${from}`).join()}`);
  return main;
}
