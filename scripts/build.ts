import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Metafile } from 'esbuild';
import * as esbuild from 'esbuild';
import { HOOK_GUARD } from '../src/install/settings/stop-hooks.ts';
import { writePlugin, writeTemplates } from './build-plugin.ts';
import { CLIENT_HOOKS, HOST_HOOKS, placeOfParts, SCRIPTS, writeProgram } from './build-program.ts';
import { writeSchemas, writeShapes } from './build-shapes.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const generated = join(root, '.build');
/** Content under construction: a failed build leaves the previous one unchanged. */
const draft = join(generated, 'dist');
const dist = join(root, 'dist');
const plugin = join(draft, 'plugin');

async function build(): Promise<void> {
  mkdirSync(generated, { recursive: true });
  writeShapes(generated);
  writeSchemas(join(root, 'schemas'));
  writeTemplates(root, generated);
  await writePage();
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(join(plugin, 'scripts'), { recursive: true });
  await bundle();
  for (const name of ['schemas', 'templates', 'rules', 'LICENSE']) {
    cpSync(join(root, name), join(plugin, name), { recursive: true });
  }
  writePlugin(root, draft);
  rmSync(dist, { recursive: true, force: true });
  renameSync(draft, dist);
}

/** Bundles the page of report and dashboard, with script and style, for the program to serve and to write. */
async function writePage(): Promise<void> {
  const css = ['node_modules/uplot/dist/uPlot.min.css', 'src/web/page/style.css'].map((path) =>
    readFileSync(join(root, path), 'utf8'),
  );
  const [{ outputFiles }, { code: style }] = await Promise.all([
    esbuild.build({
      bundle: true,
      write: false,
      minify: true,
      legalComments: 'none',
      logLevel: 'warning',
      absWorkingDir: root,
      entryPoints: ['src/web/page/main.ts'],
      format: 'iife',
      target: 'es2022',
      charset: 'ascii',
    }),
    esbuild.transform(css.join('\n'), { loader: 'css', minify: true, charset: 'ascii' }),
  ]);
  const script = (outputFiles[0]?.text ?? '').replaceAll('</script', '<\\/script');
  writeFileSync(join(generated, 'page.json'), JSON.stringify({ script, style }));
}

const SHARED: esbuild.BuildOptions = {
  bundle: true,
  platform: 'node',
  target: 'node20',
  absWorkingDir: root,
  minify: true,
  logLevel: 'warning',
  legalComments: 'none',
};

/** Code in a vm.Script has no `import()`: it becomes a `require`. */
const COMMON_JS = { format: 'cjs', supported: { 'dynamic-import': false } } as const;

async function bundle(): Promise<void> {
  const hooks = [...CLIENT_HOOKS, ...HOST_HOOKS];
  const entries = [
    ...hooks.map((name) => [name, `hooks/${name}.ts`]),
    ...SCRIPTS.map((name) => [name, `scripts/${name}.ts`]),
  ];
  const { metafile, outputFiles } = await esbuild.build({
    ...SHARED,
    format: 'esm',
    splitting: true,
    write: false,
    metafile: true,
    entryPoints: Object.fromEntries(entries),
    outdir: '.build/parts',
    chunkNames: '[hash]',
    plugins: [lazyBuiltins],
  });
  const texts = new Map(outputFiles.map(({ path, text }) => [basename(path), text]));
  writeProgram(join(plugin, 'scripts'), texts, placeOfParts(metafile));
  for (const name of hooks) {
    // Agents of router mode register router-tool-use, which itself sets that a loop may run.
    await loader(name, `hooks/${name}`, CLIENT_HOOKS.includes(name) && name !== 'router-tool-use' ? HOOK_GUARD : '');
  }
  for (const name of SCRIPTS) await loader(name, `scripts/${name}`, '#!/usr/bin/env node');
  chmodSync(join(plugin, 'scripts', 'main.cjs'), 0o755);
  writeFileSync(join(generated, 'meta.json'), JSON.stringify(metafile));
  writeFileSync(join(plugin, 'THIRD-PARTY-LICENSES.txt'), thirdPartyLicenses(root, metafile));
}

/** Writes an entry: `banner`, and code that loads the program with the code cache. */
async function loader(name: string, path: string, banner: string): Promise<void> {
  const contents = `import { runEntry } from './src/state/files/code-cache.ts'; runEntry('${name}');`;
  const outfile = `.build/dist/plugin/${path}.cjs`;
  const stdin = { contents, resolveDir: root };
  await esbuild.build({ ...SHARED, ...COMMON_JS, stdin, outfile, banner: { js: banner }, plugins: [lazyBuiltins] });
}

/** Loads node modules that cost a hook 0.2 to 2 ms each at the first call of one of their functions. */
const lazyBuiltins: esbuild.Plugin = {
  name: 'lazy-builtins',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /^node:(child_process|crypto|os|timers\/promises|v8)$/ }, ({ path, namespace }) =>
      namespace === 'builtin' ? { path, external: true } : { path, namespace: 'builtin' },
    );
    onLoad({ filter: /^/, namespace: 'builtin' }, async ({ path }) => {
      const all = Object.entries(await import(path));
      const names = all.flatMap(([name, value]) => (typeof value === 'function' ? [name] : []));
      const text = names.map((name) => `export const ${name} = (...args) => require('${path}').${name}(...args);`);
      return { contents: text.join('\n') };
    });
  },
};

await build();

type Package = Readonly<Record<'name' | 'version' | 'license', string>>;

/** Returns the licences of the packages in the program, each text once. Throws if a package has none. */
function thirdPartyLicenses(root: string, { outputs }: Metafile): string {
  const inputs = Object.values(outputs).flatMap(({ inputs }) =>
    Object.entries(inputs).flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? [path] : [])),
  );
  const folders = new Set(inputs.flatMap((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? []));
  const byText = new Map<string, string[]>();
  for (const folder of [...folders].sort()) {
    const { name, version, license } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')) as Package;
    const file = readdirSync(join(root, folder)).find((entry) => /^licen[cs]e(?:\.\w+)?$/i.test(entry));
    if (file === undefined) throw new Error(`${folder} has no licence file`);
    const text = readFileSync(join(root, folder, file), 'utf8').trim();
    byText.set(text, [...(byText.get(text) ?? []), `${name} ${version} (${license})`]);
  }
  const rule = '-'.repeat(80);
  return [...byText].map(([text, names]) => `${names.join('\n')}\n\n${text}\n`).join(`\n${rule}\n\n`);
}
