import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import * as esbuild from 'esbuild';

const require = createRequire(import.meta.url);
const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');

/** Test files that share a process. */
export type Group = readonly string[];

/**
 * Bundles test files, each group into one that node runs as it is, with what they share beside them: a test file then
 * starts without a compiler. Returns the path of each group, named by its first file.
 */
export async function bundleTests(groups: readonly Group[], folder: string): Promise<string[]> {
  const outs = groups.map(([first = '', ...others]) => {
    const path = relative(join(root, 'tests'), resolve(root, first)).replace(/\.ts$/, '');
    return others.length === 0 ? path : `${path}+${others.length}`;
  });
  await esbuild.build({
    entryPoints: groups.map((files, at) => ({
      in: files.length === 1 ? resolve(root, files[0] ?? '') : `${GROUP}${files.join()}`,
      out: outs[at] ?? '',
    })),
    inject: [join(root, 'tests', 'support', 'left-open.ts')],
    absWorkingDir: root,
    outdir: folder,
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
    plugins: [{ name: 'as-sources', setup: (build) => setup(build, groups) }],
  });
  return outs.map((path) => join(folder, `${path}.mjs`));
}

const GROUP = 'group:';

function setup(build: esbuild.PluginBuild, groups: readonly Group[]): void {
  build.onResolve({ filter: /^group:/ }, ({ path }) => ({ path: path.slice(GROUP.length), namespace: 'group' }));
  build.onLoad({ filter: /./, namespace: 'group' }, ({ path }) => ({
    contents: path.replaceAll(/[^,]+,?/g, (file) => `import './${file.replace(',', '')}';\n`),
    resolveDir: root,
  }));
  const shared = new Set(groups.filter(({ length }) => length > 1).flatMap((files) => files.map(slashed)));
  nameTests(build, (file) => shared.has(file));
  behaveAsSources(build);
}

const slashed = (file: string): string => relative(root, resolve(root, file)).replaceAll('\\', '/');

/** Gives each of these test files a `node:test` of its own, which puts the file before the names of its tests. */
export function nameTests({ onLoad, onResolve }: esbuild.PluginBuild, isNamed: (file: string) => boolean): void {
  onResolve({ filter: /^node:test$/ }, ({ importer, namespace }) =>
    namespace === 'file' && isNamed(slashed(importer)) ? { path: slashed(importer), namespace: 'named' } : null,
  );
  onLoad({ filter: /./, namespace: 'named' }, ({ path }) => ({ contents: namedTests(path), resolveDir: root }));
}

function namedTests(file: string): string {
  return `import * as all from 'node:test';
export * from 'node:test';
const named = (make) => Object.assign((name, ...rest) => make('${file}: ' + name, ...rest), make);
export const test = named(all.test);
export const it = named(all.it);
export const describe = named(all.describe);
export default test;
`;
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
  // Two hundred files of node_modules, which most starts would read.
  onResolve({ filter: /^zod$/ }, ({ path }) => ({ path: fileURLToPath(import.meta.resolve(path)) }));
  // Its ES modules import each other without endings.
  onResolve({ filter: /^jsonc-parser\// }, ({ path }) => ({ path: require.resolve(path) }));
}
