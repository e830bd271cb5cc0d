import './style-text.ts';
import { cpSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as esbuild from 'esbuild';
import { writePlugin, writeTemplates } from './build-plugin.ts';
import { writeProgram } from './build-program.ts';
import { writeSchemas, writeShapes } from './build-shapes.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const generated = join(root, '.build');
/** Build folder: a failed build leaves the previous content unchanged. */
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
  const modules = await writeProgram(root, plugin, generated);
  writeFileSync(join(plugin, 'THIRD-PARTY-LICENSES.txt'), thirdPartyLicenses(modules));
  for (const name of ['schemas', 'templates', 'rules', 'LICENSE']) {
    cpSync(join(root, name), join(plugin, name), { recursive: true });
  }
  writePlugin(root, draft);
  rmSync(dist, { recursive: true, force: true });
  renameSync(draft, dist);
}

/** Bundles the page of report and dashboard, with script and style, for the program to serve and to write. */
async function writePage(): Promise<void> {
  const css = readFileSync(join(root, 'src/web/page/style.css'), 'utf8');
  const [{ outputFiles }, { code: style }] = await Promise.all([
    esbuild.build({
      bundle: true,
      write: false,
      minify: true,
      legalComments: 'none',
      logLevel: 'warning',
      absWorkingDir: root,
      entryPoints: ['src/web/page/dashboard.ts'],
      format: 'iife',
      target: 'es2022',
      charset: 'ascii',
    }),
    esbuild.transform(css, { loader: 'css', minify: true, charset: 'ascii' }),
  ]);
  const script = (outputFiles[0]?.text ?? '').replaceAll('</script', '<\\/script');
  writeFileSync(join(generated, 'page.json'), JSON.stringify({ script, style }));
}

await build();

type Package = Readonly<Record<'name' | 'version' | 'license', string>>;

/** Returns the licences of the packages in the program, each text once. Throws if a package has none. */
function thirdPartyLicenses(modules: readonly string[]): string {
  const folders = new Set(modules.flatMap((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? []));
  const byText = new Map<string, string[]>();
  for (const folder of [...folders].sort()) {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Package;
    const file = readdirSync(folder).find((entry) => /^licen[cs]e(?:\.\w+)?$/i.test(entry));
    if (file === undefined) throw new Error(`${folder} has no licence file`);
    const text = readFileSync(join(folder, file), 'utf8').trim();
    byText.set(text, [...(byText.get(text) ?? []), `${name} ${version} (${license})`]);
  }
  const rule = '-'.repeat(80);
  return [...byText].map(([text, names]) => `${names.join('\n')}\n\n${text}\n`).join(`\n${rule}\n\n`);
}
