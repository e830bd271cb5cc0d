import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import * as esbuild from 'esbuild';

const require = createRequire(import.meta.url);
const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');

/**
 * Bundles test files, each into one that node runs as it is, with what they share beside them: a test file then starts
 * without a compiler. Returns their paths, which in `folder` are those of the files in tests.
 */
export async function bundleTests(files: readonly string[], folder: string): Promise<string[]> {
  await esbuild.build({
    entryPoints: files.map((file) => resolve(root, file)),
    inject: [join(root, 'tests', 'support', 'left-open.ts')],
    absWorkingDir: root,
    outdir: folder,
    outbase: 'tests',
    outExtension: { '.js': '.mjs' },
    chunkNames: 'shared/[hash]',
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    packages: 'external',
    sourcemap: 'linked',
    sourcesContent: false,
    logLevel: 'warning',
    plugins: [{ name: 'as-sources', setup: behaveAsSources }],
  });
  return files.map((file) => join(folder, relative(join(root, 'tests'), resolve(root, file)).replace(/\.ts$/, '.mjs')));
}

/** Lets code that is bundled find what lies beside its source, and takes in packages that node alone cannot import. */
export function behaveAsSources({ onLoad, onResolve }: esbuild.PluginBuild): void {
  onLoad({ filter: /\.ts$/ }, ({ path }) => {
    const text = readFileSync(path, 'utf8');
    if (!text.includes('import.meta.')) return null;
    const places = { url: pathToFileURL(path).href, dirname: dirname(path) };
    const contents = text.replace(/(?<!['"])\bimport\.meta\.(url|dirname)\b/g, (_, name: 'url' | 'dirname') =>
      JSON.stringify(places[name]),
    );
    return { contents, loader: 'ts' };
  });
  // Its ES modules import each other without endings.
  onResolve({ filter: /^jsonc-parser\// }, ({ path }) => ({ path: require.resolve(path) }));
}
