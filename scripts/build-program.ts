import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join, relative, sep } from 'node:path';
import { type OutputChunk, type Plugin, type PluginContext, rolldown } from 'rolldown';
import { CHUNKS as FILES, FLEET_FILE, WEB_FILE } from '../src/install/files/program-files.ts';
import { HOOK_FILES, HOOK_GUARD } from '../src/install/settings/registration.ts';

const CLIENT_HOOKS = HOOK_FILES.map((file) => basename(file, '.cjs'));
/** Checks for a host that runs the skill, which calls them with or without a loop. */
const HOST_HOOKS = ['pre-execute', 'post-execute'];
const ENTRIES = [
  ...[...CLIENT_HOOKS, ...HOST_HOOKS].map((name) => `hooks/${name}`),
  ...['main', 'statusline'].map((name) => `scripts/${name}`),
];

const TOOLS = ['drive/hook/tool-use', 'drive/hook/observe'];
const RULES = ['guard/files/evaluate-files', 'guard/evaluate-scope'];
const SHELL = ['guard/evaluate-shell-command', 'guard/evaluate-powershell'];
const SESSION = ['drive/hook/session-start', 'drive/hook/user-prompt-submit', 'drive/hook/stop-failure'];
const STATUS = ['drive/status/status-line'];
const STOP = ['drive/hook/run-hook', 'drive/hook/stop/stop'];
const PLAN = ['drive/plan/plan-task'];
const CHECKS = [
  'drive/control/restore-protected',
  'drive/hook/deliver',
  'drive/prompt/project-change',
  'drive/status/end-report',
  'drive/status/left-running',
  'drive/status/proof-record',
  'drive/tdd/prove-again',
  'drive/turn/background-wait',
  'task/commands/clean-copy',
  'task/commands/installed-dependencies',
  'task/commands/run-evidence',
  'task/pinned-scripts/contract-scripts',
];
const GIT = [
  ...['guard/files/picomatch-glob', 'task/git/git-view', 'task/git/start-point'],
  ...['engine/plan/commit-subject', '../node_modules/picomatch/index.js'],
];
const MAIN = ['cli/command-line'];
const SHOW = [
  ...['cli/show/list', 'cli/show/status', 'cli/show/explain', 'cli/history/logs', 'cli/history/archive'],
  ...['cli/history/signs', 'cli/control/operator-commands'],
];

/** Modules that read a task file with its settings and start nothing. */
const SETTINGS = ['cli/task/config', 'cli/setup/doctor'];

/** Also contains what no list names: commands that have little code of their own. */
const OTHERS = 'commands';

/**
 * Chunks of the program with modules of src: each contains what its lists of modules import statically and no earlier
 * chunk has. A process creates every function of a chunk that it loads, used or not: a chunk is what is needed together.
 */
const CHUNKS: readonly (readonly [name: string, ...needed: (readonly string[])[]])[] = [
  ['base', [...TOOLS, ...RULES, ...SHELL], [...SESSION, ...STATUS, ...STOP]],
  ['base', [...TOOLS, ...RULES], PLAN],
  ['tools', TOOLS],
  ['rules', RULES],
  ['shell', SHELL],
  ['hooks', [...SESSION, ...STATUS], STOP],
  ['session', [...SESSION, ...STATUS]],
  ['stop', STOP],
  ['common', [...MAIN, ...SHOW], [...PLAN, ...CHECKS]],
  ['git', GIT],
  ['session', SETTINGS, [...PLAN, ...CHECKS]],
  ['plan', PLAN],
  ['checks', CHECKS],
  ['main', [...MAIN, 'cli/run/run']],
  ['main', ['cli/setup/doctor'], SHOW],
  // The checker of schemas: only for `--input` and a host's two checks.
  ['json', ['drive/hook/validate-json', 'task/skill-contract/schema-problems']],
  ['show', SHOW],
  ['task', SETTINGS],
  ['start', ['cli/start/start', 'drive/start/start-by-hand', 'cli/task/check']],
  [OTHERS, ['cli/run/run-words', 'cli/run/batch/run-parallel', 'cli/run/resume', 'cli/setup/router', 'cli/web/report']],
  ['telemetry', ['telemetry/settings', 'telemetry/send']],
  ['web', ['cli/web/serve', 'cli/web/write-report']],
  ['fleet', ['cli/fleet/run-fleet', 'cli/fleet/fleet-feed']],
];

/** Writes hooks/ and scripts/ of the bundle: the entries, the chunks of the program, which they share, and meta.json. */
export async function writeProgram(root: string, folder: string, generated: string): Promise<readonly string[]> {
  const loader = await loaderText(root);
  const input = Object.fromEntries(ENTRIES.map((name) => [name, join(root, `${name}.ts`)]));
  let meta: Meta['inputs'] = {};
  const bundle = await rolldown({
    input,
    cwd: root,
    platform: 'node',
    transform: { target: 'node20' },
    plugins: [
      lazyBuiltins,
      lateDecoder,
      lateShapes,
      plainExports,
      readingSchemas,
      {
        name: 'meta',
        buildEnd() {
          meta = inputsOf(this, root);
        },
      },
    ],
    preserveEntrySignatures: false,
    // Modules loaded by import() are together in a chunk.
    checks: { ineffectiveDynamicImport: false },
  });
  let chunks: ReadonlyMap<string, string> | undefined;
  const { output } = await bundle.write({
    dir: folder,
    format: 'cjs',
    strict: true,
    esModule: false,
    // Code in a vm.Script has no import().
    dynamicImportInCjs: false,
    externalLiveBindings: false,
    minify: true,
    // The loader reads Latin-1.
    charset: 'ascii',
    topLevelVar: true,
    // While an update writes its files, a hook may load files of two builds: a function may be missing, but is never another.
    minifyInternalExports: false,
    entryFileNames: '[name].cjs',
    chunkFileNames: 'scripts/ralph-[name].cjs',
    // A chunk imports only earlier ones.
    strictExecutionOrder: false,
    codeSplitting: {
      includeDependenciesRecursively: false,
      groups: [
        {
          debugName: 'chunks',
          name: (id, context) => {
            if (Object.values(input).includes(id)) return null;
            chunks ??= chunksOf(
              (of) => {
                const info = context.getModuleInfo(of);
                if (info === null && of.startsWith(root)) throw new Error(`${of} is no part of the program any more`);
                return info?.importedIds ?? [];
              },
              (path) => join(root, 'src', path.endsWith('.js') ? path : `${path}.ts`),
            );
            return chunks.get(id) ?? OTHERS;
          },
        },
      ],
    },
    // A chunk is a function of what the loader passes to it.
    postBanner: ({ name, isEntry }) =>
      isEntry
        ? `${firstLines(name)}require=${loader}.requireOf("${basename(name)}",__dirname,require);`
        : '(function(exports,require,module,__filename){',
    postFooter: ({ isEntry }) => (isEntry ? '' : '})'),
  });
  chmodSync(join(folder, 'scripts', 'main.cjs'), 0o755);
  const written = output.filter((each) => each.type === 'chunk');
  checkFiles(written);
  writeFileSync(join(generated, 'meta.json'), JSON.stringify({ inputs: meta, outputs: outputsOf(written, root) }));
  return written.flatMap(({ modules }) =>
    Object.entries(modules).flatMap(([path, { renderedLength }]) => (renderedLength > 0 ? [path] : [])),
  );
}

/**
 * Returns the chunk of each module. What a module imports statically is in its own chunk or an earlier one, so a chunk never
 * meets a half-loaded one.
 */
function chunksOf(
  importsOf: (id: string) => readonly string[],
  idOf: (path: string) => string,
): ReadonlyMap<string, string> {
  const chunks = new Map<string, string>();
  for (const [name, ...lists] of CHUNKS) {
    const [first = new Set<string>(), ...others] = lists.map((paths) => {
      const found = new Set(paths.map(idOf));
      // Iterating a set also visits elements that are added meanwhile.
      for (const id of found) for (const next of importsOf(id)) found.add(next);
      return found;
    });
    for (const id of first) if (!chunks.has(id) && others.every((other) => other.has(id))) chunks.set(id, name);
  }
  return chunks;
}

/** Throws if the program's files differ from those that `init` installs, are not ASCII, or need files that a copy lacks. */
function checkFiles(written: readonly OutputChunk[]): void {
  const names = written.flatMap(({ fileName, isEntry }) => (isEntry ? [] : [basename(fileName)]));
  const known = [...FILES.map((name) => `ralph-${name}.cjs`), WEB_FILE, FLEET_FILE];
  const odd = [...names.filter((name) => !known.includes(name)), ...known.filter((name) => !names.includes(name))];
  for (const { fileName, imports, code } of written) {
    const missing = [WEB_FILE, FLEET_FILE].filter((file) => imports.some((path) => basename(path) === file));
    if (FILES.some((name) => fileName.endsWith(`ralph-${name}.cjs`)) && missing.length > 0) {
      throw new Error(`${fileName} imports ${missing.join()}, which a project's copy leaves out`);
    }
    if (/[^\0-\x7f]/.test(code)) throw new Error(`${fileName} is not ASCII: write \\u escapes in regular expressions`);
  }
  if (odd.length > 0) throw new Error(`src/install/files/program-files.ts differs from the build: ${odd.join(', ')}`);
}

interface Meta {
  readonly inputs: Readonly<Record<string, { readonly imports: readonly { path: string; kind: string }[] }>>;
  readonly outputs: Readonly<Record<string, { inputs: Readonly<Record<string, { bytesInOutput: number }>> }>>;
}

const named = (root: string, id: string): string =>
  id.startsWith(root) ? relative(root, id).split(sep).join('/') : id;

/** Returns which modules each module imports, statically and later. */
function inputsOf(context: PluginContext, root: string): Meta['inputs'] {
  const list = (ids: readonly string[], kind: string) => ids.map((id) => ({ path: named(root, id), kind }));
  return Object.fromEntries(
    [...context.getModuleIds()].map((id) => {
      const { importedIds = [], dynamicallyImportedIds = [] } = context.getModuleInfo(id) ?? {};
      const imports = [...list(importedIds, 'import-statement'), ...list(dynamicallyImportedIds, 'dynamic-import')];
      return [named(root, id), { imports }];
    }),
  );
}

/** Returns which modules each file contains, with their sizes before names were shortened. */
function outputsOf(written: readonly OutputChunk[], root: string): Meta['outputs'] {
  return Object.fromEntries(
    written.map(({ fileName, modules }) => {
      const sizes = Object.entries(modules).map(([id, { renderedLength }]) => [
        named(root, id),
        { bytesInOutput: renderedLength },
      ]);
      return [fileName, { inputs: Object.fromEntries(sizes) }];
    }),
  );
}

function firstLines(name: string): string {
  if (name.startsWith('scripts/')) return '#!/usr/bin/env node\n';
  const hook = basename(name);
  // The agents of router mode register router-tool-use, which itself declares that a loop may run.
  return CLIENT_HOOKS.includes(hook) && hook !== 'router-tool-use' ? `${HOOK_GUARD}\n` : '';
}

/** Returns the code of the loader, for the beginning of each entry. */
async function loaderText(root: string): Promise<string> {
  const bundle = await rolldown({
    input: join(root, 'src/state/files/code-cache.ts'),
    platform: 'node',
    transform: { target: 'node20' },
    plugins: [lazyBuiltins],
  });
  const { output } = await bundle.generate({ format: 'cjs', minify: true, charset: 'ascii', esModule: false });
  return `(exports=>{${output[0].code.trim()};return exports})({})`;
}

/** Loads node modules that cost a hook 0.2 to 2 ms each at the first call of one of their functions. */
const lazyBuiltins: Plugin = {
  name: 'lazy-builtins',
  resolveId: {
    filter: { id: /^node:(child_process|crypto|os|readline(\/promises)?|timers\/promises|v8)$/ },
    handler: (id, importer) => (importer?.startsWith('builtin:') ? { id, external: true } : `builtin:${id}`),
  },
  load: {
    filter: { id: /^builtin:/ },
    async handler(id) {
      const path = id.replace('builtin:', '');
      const names = Object.entries(await import(path)).flatMap(([name, value]) =>
        typeof value === 'function' && name !== 'default' ? [name] : [],
      );
      return names.map((name) => `export const ${name} = (...args) => require('${path}').${name}(...args);`).join('\n');
    },
  },
};

/** Pattern for the getter by which a chunk exports a name of its own. */
const GETTER =
  /^Object\.defineProperty\(exports, "(.+)", \{\n {2}enumerable: true,\n {2}get: function \(\) \{\n {4}return (.+);\n {2}\}\n\}\);$/gm;

/** Exports values, not getters, of which a hook makes 700 in 0.4 ms. A name that is set more than once keeps its getter. */
const plainExports: Plugin = {
  name: 'plain-exports',
  renderChunk(code) {
    const declared = new Set(
      [...code.matchAll(/^(?:async )?(?:(?:function\*?|class) ([\w$]+)|(?:const|let|var) ([\w$]+) =)/gm)].map(
        ([, made, set]) => made ?? set,
      ),
    );
    const set = [...code.matchAll(/(?<![.\w$])([\w$]+)(?: [^\s\w=!<>]{0,3}=(?![=>])|\+\+|--)/g)].map(
      ([, name]) => name,
    );
    const twice = new Set(set.filter((name, index) => set.indexOf(name) !== index));
    return code.replace(GETTER, (getter, name: string, own: string) =>
      declared.has(own) && !twice.has(own) ? `exports.${name} = ${own};` : getter,
    );
  },
};

/** Creates the decoder for bytes in `$'…'` only when a command has some: it costs a tool hook 0.15 ms. */
const lateDecoder: Plugin = {
  name: 'late-decoder',
  transform: {
    filter: { id: /unbash[\\/]dist[\\/]ansi-c\.js$/ },
    handler(code) {
      const changed = code.replace(/^const utf8 = (new TextDecoder\(.*\));$/m, 'const utf8 = () => $1;');
      if (changed === code) throw new Error('unbash decodes bytes elsewhere now');
      return changed.replace('utf8.decode(', 'utf8().decode(');
    },
  },
};

/** Creates the shape of a stored file when one is checked: nested literals of all of them took a tenth of a Stop. */
const lateShapes: Plugin = {
  name: 'late-shapes',
  load: {
    filter: { id: /-shapes\.json$/ },
    handler(id) {
      const shapes = Object.entries(JSON.parse(readFileSync(id, 'utf8')) as Record<string, object>);
      const made = shapes.map(([key, shape]) => {
        return `get ${key}() { return (made.${key} ??= JSON.parse(${JSON.stringify(JSON.stringify(shape))})); },`;
      });
      return { code: `const made = {};\nexport default {\n${made.join('\n')}\n};`, moduleType: 'js' };
    },
  },
};

/** Makes zod interpret a schema instead of compiling it at its first use: our processes parse a few values and end. */
const readingSchemas: Plugin = {
  name: 'reading-schemas',
  transform: {
    filter: { id: /zod[\\/]v4[\\/]core[\\/]core\.js$/ },
    handler(code) {
      const changed = code.replace('__zod_globalConfig = {}', '__zod_globalConfig = { jitless: true }');
      if (changed === code) throw new Error('zod keeps its settings elsewhere now');
      return changed;
    },
  },
};
