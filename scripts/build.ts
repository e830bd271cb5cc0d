import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as esbuild from 'esbuild';
import { HOOK_FILES } from '../src/install/settings/registration.ts';
import { writePlugin, writeTemplates } from './build-plugin.ts';
import { writeSchemas, writeShapes } from './build-shapes.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const generated = join(root, '.build');
// In a fresh clone the program can be imported only once these files exist.
mkdirSync(generated, { recursive: true });
writeShapes(generated);
const { PROGRAM_FILES, PROGRAM_HEAD } = await import('../src/state/process/code-cache.ts');
/** Content under construction: a failed build leaves the previous one unchanged. */
const draft = join(generated, 'dist');
const dist = join(root, 'dist');
const plugin = join(draft, 'plugin');

const CLIENT_HOOKS = HOOK_FILES.map((file) => basename(file, '.cjs'));
/** Checks of a host that runs the skill, which calls them with or without a loop. */
const HOST_HOOKS = ['pre-execute', 'post-execute'];
const SCRIPTS = ['main', 'statusline'];
/** The user's rules for files and a task's scope: small, and needed at every edit if there are any. */
const RULES = ['src/guard/files/evaluate-files.ts', 'src/guard/scope/evaluate-scope.ts'];
const SHELL = 'src/guard/evaluate-shell-command.ts';
/** Module for a start by hand, the only use of zod and yaml in a hook. */
const START = 'src/drive/start/start-loop.ts';
/** Commands with the page and the server, which nothing else loads. */
const WEB = ['src/cli/web/serve.ts', 'src/cli/web/write-report.ts'];
/** Every command of the fleet. */
const FLEET = ['src/cli/fleet/run-fleet.ts'];

async function build(): Promise<void> {
  writeSchemas(join(root, 'schemas'));
  writeTemplates(root, generated);
  await writePage();
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(join(plugin, 'scripts'), { recursive: true });
  await bundle();
  for (const name of ['SKILL.md', 'references', 'schemas', 'templates', 'rules', 'LICENSE']) {
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
      ...{ bundle: true, write: false, minify: true, legalComments: 'none', logLevel: 'warning', absWorkingDir: root },
      ...{ entryPoints: ['src/web/page/main.ts'], format: 'iife', target: 'es2022', charset: 'ascii' },
    }),
    esbuild.transform(css.join('\n'), { loader: 'css', minify: true, charset: 'ascii' }),
  ]);
  const script = (outputFiles[0]?.text ?? '').replaceAll('</script', '<\\/script');
  writeFileSync(join(generated, 'page.json'), JSON.stringify({ script, style }));
}

/** Ends a hook before any import: without a loop, and if the launcher has passed hooks of its own (Windows). */
const GUARD =
  "if(process.env.RALPH_ACTIVE!=='1'||process.env.RALPH_HOOKS&&process.argv.includes('--registered'))process.exit(0);";

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
  writeProgram(texts, placeOfParts(metafile));
  for (const name of hooks) {
    // Agents of router mode register router-tool-use, which itself sets that a loop may run.
    await loader(name, `hooks/${name}`, CLIENT_HOOKS.includes(name) && name !== 'router-tool-use' ? GUARD : '');
  }
  for (const name of SCRIPTS) await loader(name, `scripts/${name}`, '#!/usr/bin/env node');
  chmodSync(join(plugin, 'scripts', 'main.cjs'), 0o755);
  writeFileSync(join(generated, 'meta.json'), JSON.stringify(metafile));
  writeFileSync(join(plugin, 'THIRD-PARTY-LICENSES.txt'), thirdPartyLicenses(metafile));
}

/** Returns the licences of the packages in the program, each text once. Throws if a package has none. */
function thirdPartyLicenses({ outputs }: esbuild.Metafile): string {
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

type Package = Readonly<Record<'name' | 'version' | 'license', string>>;

type Place = readonly [file: (typeof PROGRAM_FILES)[number], isFirst: boolean];

/** Writes the program: parts without shared code, each in a function, after the numbers of the entries. */
function writeProgram(texts: ReadonlyMap<string, string>, placeOf: (part: string) => Place): void {
  const entries = [...CLIENT_HOOKS, ...HOST_HOOKS, ...SCRIPTS];
  const numbers = new Map<string, number>();
  const files = PROGRAM_FILES.map((file, nth) => {
    const own = [true, false].map((first) => {
      return [...texts.keys()].filter((name) => placeOf(name).every((each, at) => each === [file, first][at]));
    });
    for (const [index, name] of own.flat().entries()) numbers.set(name, nth * 1000 + index + 1);
    return { file, own };
  });
  let slots = 0;
  for (const part of [...numbers.keys()]) {
    const isLazy = [...texts.values()].some((text) => text.includes(`import("./${part}")`));
    const [, list = ''] = isLazy ? [] : (EXPORT.exec(texts.get(part) ?? '') ?? []);
    for (const [, name] of pairsOf(list)) numbers.set(`${part} ${name}`, slots++);
  }
  const table = JSON.stringify(Object.fromEntries(entries.map((name) => [name, numbers.get(`${name}.js`)])));
  for (const { file, own } of files) {
    const [first = '', rest = ''] = own.map((names) =>
      asAscii(
        names.map((name) => `(require,values)=>{${functionBody(texts.get(name) ?? '', name, numbers)}},\n`).join(''),
      ),
    );
    const begin = `*/"use strict";(__filename)=>[${table},\n${first}`;
    const head = `/*${PROGRAM_HEAD + begin.length} ${(own[0]?.length ?? 0) + 1}`.padEnd(PROGRAM_HEAD);
    writeFileSync(join(plugin, 'scripts', file), `${head}${begin}${rest}]\n`);
  }
}

/** Makes the program ASCII, so that offsets in bytes and text agree. esbuild escapes everything but regular expressions. */
function asAscii(text: string): string {
  return text.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

const IMPORT = /\bimport(?: ([\w$]+) from|\*as ([\w$]+) from|\{([^{}"]*)\}from)?"(node:[\w/]+|\.\/[\w-]+\.js)";/g;
const LAZY_IMPORT = /\bimport\("(\.\/[\w-]+\.js)"\)/g;
const EXPORT = /export\{([^{}]*)\};\s*$/;

function pairsOf(list: string): (readonly [from: string, to: string])[] {
  return list.split(',').flatMap((each) => {
    const [from = '', to = from] = each.split(' as ');
    return from === '' ? [] : [[from, to] as const];
  });
}

/**
 * Makes a part a function's body. What another part imports is in an array that all share: objects, which V8 makes name by
 * name in every process, cost a shell command a millisecond. What import() loads is returned.
 */
function functionBody(text: string, own: string, numbers: ReadonlyMap<string, number>): string {
  const slotOf = (part: string, name: string): number | undefined => numbers.get(`${part} ${name}`);
  const body = text
    .replace(IMPORT, (_, name?: string, all?: string, list = '', from = '') => {
      if (!from.startsWith('.'))
        return `const ${name ?? all ?? `{${list.replaceAll(' as ', ':')}}`}=require("${from}");`;
      const part = from.slice(2);
      const taken = pairsOf(list).map(([exported, local]) => `const ${local}=values[${slotOf(part, exported)}];`);
      return `require(${numbers.get(part)});${taken.join('')}`;
    })
    .replace(LAZY_IMPORT, (_, from: string) => `Promise.resolve().then(()=>require(${numbers.get(from.slice(2))}))`)
    .replace(EXPORT, (_, list: string) => {
      const pairs = pairsOf(list);
      if (pairs.every(([, name]) => slotOf(own, name) === undefined)) {
        return `return{${pairs.map(([local, name]) => `${name}:${local}`).join(',')}}`;
      }
      return pairs.map(([local, name]) => `values[${slotOf(own, name)}]=${local};`).join('');
    });
  const odd = /(?:^|[;}])(?:import(?:[*{"]| [\w$]+ from")|export\{).{0,80}|(?:values\[|require\()undefined/.exec(body);
  if (odd !== null) throw new Error(`cannot convert ${odd[0]}`);
  return body;
}

/** Returns the place of a part: what hooks load at once (tool hooks' first), what they may load later, everything else. */
function placeOfParts({ outputs }: esbuild.Metafile): (part: string) => Place {
  const all = Object.entries(outputs);
  const path = (name: string): string => `.build/parts/${name}.js`;
  const reach = (from: readonly string[], lazily: boolean, without: readonly string[] = []): ReadonlySet<string> => {
    const found = new Set(from);
    // A set also visits elements that are added meanwhile.
    for (const part of found) {
      for (const { path, kind, external } of outputs[part]?.imports ?? []) {
        if (!external && !without.includes(path) && (lazily || kind === 'import-statement')) found.add(path);
      }
    }
    return found;
  };
  const partOf = (source: string): string => {
    const [part] = all.find(([, { entryPoint }]) => entryPoint === source) ?? [];
    if (part === undefined) throw new Error(`nothing loads ${source} by import() any more`);
    return part;
  };
  const hooks = [...CLIENT_HOOKS, 'statusline'].map(path);
  const [first, second, third, fourth, fifth] = PROGRAM_FILES;
  const atOnce = reach([...hooks, ...RULES.map(partOf)], false);
  const tools = reach([...hooks.filter((each) => each.includes('-tool-use')), ...RULES.map(partOf)], false);
  const shell = reach([partOf(SHELL)], false);
  const later = reach(hooks, true, [partOf(START)]);
  const commands = [...hooks, ...SCRIPTS.map(path), ...HOST_HOOKS.map(path)];
  const others = reach(commands, true, [...WEB, ...FLEET].map(partOf));
  const web = reach(commands, true, FLEET.map(partOf));
  return (name) => {
    const part = `.build/parts/${name}`;
    if (atOnce.has(part)) return [first, tools.has(part)];
    if (later.has(part)) return [second, shell.has(part)];
    return [others.has(part) ? third : web.has(part) ? fourth : fifth, false];
  };
}

/** Writes an entry: `banner`, and code that loads the program with the code cache. */
async function loader(name: string, path: string, banner: string): Promise<void> {
  const contents = `import { runEntry } from './src/state/process/code-cache.ts'; runEntry('${name}');`;
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
