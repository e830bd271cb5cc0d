import { chmodSync, cpSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as esbuild from 'esbuild';
import * as z from 'zod';
import { storedContract } from '../src/engine/schema/contract.ts';
import { planCheck, planStatus } from '../src/engine/schema/plan.ts';
import { policy } from '../src/engine/schema/policy.ts';
import { callRecord, iterationRecord, loopEvent } from '../src/engine/schema/records.ts';
import { loopIteration, runStatus, taskIterationRecord } from '../src/engine/schema/run-status.ts';
import { skillInput, skillOutput } from '../src/engine/schema/skill-contract.ts';
import { commonPart, fourKeyState, statusPart } from '../src/engine/schema/state.ts';
import { tddRecord, tddState } from '../src/engine/schema/tdd.ts';
import { publishedFrontmatter } from '../src/task/frontmatter/schema.ts';
import { INSTANT } from '../src/text/instant.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const generated = join(root, '.build');
/** What is built, until all of it is there: a build that fails leaves the last bundle as it was. */
const draft = join(generated, 'dist');
const dist = join(root, 'dist');

/** The published schemas, by file name. Each comes from the zod definition that the code itself uses. */
const SCHEMAS: Record<string, z.ZodType> = {
  'state-four-keys': fourKeyState,
  policy,
  contract: storedContract,
  'iteration-record': iterationRecord,
  event: loopEvent,
  'call-record': callRecord,
  'task-iteration-record': taskIterationRecord,
  'run-status': runStatus,
  'loop-iteration': loopIteration,
  'tdd-state': tddState,
  'tdd-record': tddRecord,
  'plan-status': planStatus,
  'plan-check': planCheck,
  input: skillInput,
  output: skillOutput,
  'ralph-md-frontmatter': publishedFrontmatter('ralph-md'),
  'task-md-frontmatter': publishedFrontmatter('checklist'),
  'prompt-frontmatter': publishedFrontmatter('prompt'),
};

/** Hooks that a loop's client starts: a small entry for each, and what it loads beside it. */
const CLIENT_HOOKS = [
  ...['ralph-stop-hook', 'pre-tool-use', 'post-tool-use', 'session-start', 'user-prompt-submit', 'stop-failure'],
  'router-tool-use',
];
/** Checks of a host that runs the skill: whole programs, which it calls with or without a loop. */
const HOST_HOOKS = ['pre-execute', 'post-execute'];

/**
 * Modules that become files of their own in dist/hooks, by the name of the file. A hook's `import()` of one loads that
 * file, only where it is needed: the tool hooks never load the engine, nor a Stop the shell parser or Markdown.
 */
const LAZY: Readonly<Record<string, string>> = {
  'hooks/pre-tool-use.ts': mainOf('pre-tool-use'),
  'hooks/post-tool-use.ts': mainOf('post-tool-use'),
  'src/drive/hook/abort-stop.ts': 'ralph-cancel',
  'src/drive/hook/user-prompt-submit.ts': 'ralph-steering',
  'src/drive/plan/plan-task.ts': 'ralph-plan',
  'src/drive/start/start-loop.ts': 'ralph-start',
  'src/guard/commands/evaluate-rules.ts': 'ralph-evidence-guard',
  'src/guard/evaluate-powershell.ts': 'ralph-powershell-guard',
  'src/guard/evaluate-shell-command.ts': 'ralph-shell-guard',
  'src/guard/files/evaluate-files.ts': 'ralph-file-guard',
  'src/guard/files/picomatch-glob.ts': 'ralph-globs',
  'src/task/commands/gate.ts': 'ralph-gate',
  'src/task/commands/run-evidence.ts': 'ralph-task-commands',
  'src/task/progress/fingerprint.ts': 'ralph-fingerprint',
  'src/guard/scope/evaluate-scope.ts': 'ralph-scope-guard',
};

/** Everything a project needs, in dist/: a folder that works with node alone. */
async function build(): Promise<void> {
  mkdirSync(generated, { recursive: true });
  writeSchemas();
  writeHookSchemas();
  rmSync(draft, { recursive: true, force: true });
  await bundle();
  for (const name of ['SKILL.md', 'references', 'skills', 'schemas', 'templates', 'rules', 'LICENSE']) {
    cpSync(join(root, name), join(draft, name), { recursive: true });
  }
  // Each skill has what it refers to in its own folder.
  cpSync(join(root, 'references'), join(draft, 'skills', 'ralph-draft', 'references'), { recursive: true });
  chmodSync(join(draft, 'scripts', 'main.cjs'), 0o755);
  rmSync(dist, { recursive: true, force: true });
  renameSync(draft, dist);
}

function writeSchemas(): void {
  mkdirSync(join(root, 'schemas'), { recursive: true });
  const all = Object.entries(SCHEMAS).map(([name, definition]) => [name, jsonSchema(definition)] as const);
  for (const [name, schema] of [['state', stateSchema()] as const, ...all]) {
    writeFileSync(join(root, 'schemas', `${name}.schema.json`), `${JSON.stringify(schema, null, 2)}\n`);
  }
}

function jsonSchema(definition: z.ZodType): Record<string, unknown> {
  return z.toJSONSchema(definition, { target: 'draft-7', io: 'input', unrepresentable: 'throw' });
}

/**
 * Common part and status part side by side. zod would multiply the intersection out into six whole objects, and the
 * generated validator would be 500 KB; the Stop hook has 40 KB in all.
 */
function stateSchema(): Record<string, unknown> {
  const parts = [commonPart, statusPart].map((part) => {
    const { $schema: _, ...schema } = jsonSchema(part);
    return schema;
  });
  return { $schema: 'http://json-schema.org/draft-07/schema#', allOf: parts };
}

/** The schemas that the hooks check state files against, as data for src/state/check-shape.ts. */
function writeHookSchemas(): void {
  const schemas = {
    // Whoever reads `plan` checks it (src/engine/plan/attempt.ts): the Stop of every other loop does not carry its shape.
    commonPart: forHooks(jsonSchema(commonPart.omit({ plan: true }))),
    statusPart: forHooks(jsonSchema(statusPart)),
    fourKeyState: forHooks(jsonSchema(fourKeyState)),
  };
  writeFileSync(join(generated, 'state-schemas.json'), JSON.stringify(schemas));
  writeShapes('state', schemas);
  // In a file of its own: the quick Stop carries the one above.
  writeShapes('tdd', { state: forHooks(jsonSchema(tddState)), record: forHooks(jsonSchema(tddRecord)) });
}

function writeShapes(name: string, schemas: Readonly<Record<string, unknown>>): void {
  const shapes = Object.entries(schemas).map(([key, schema]) => [key, compact(schema)]);
  writeFileSync(join(generated, `${name}-shapes.json`), JSON.stringify(Object.fromEntries(shapes)));
}

/** Ends a hook's process in a session without a loop, before any import and any look at the disk. */
const GUARD = "if(process.env.RALPH_ACTIVE!=='1')process.exit(0);";

const SHARED: esbuild.BuildOptions = {
  bundle: true,
  platform: 'node',
  format: 'cjs',
  target: 'node20',
  // Code that is loaded by vm.Script has no `import()`: it becomes a `require`.
  supported: { 'dynamic-import': false },
  absWorkingDir: root,
  minify: true,
  metafile: true,
  logLevel: 'warning',
  legalComments: 'none',
  outExtension: { '.js': '.cjs' },
};

async function bundle(): Promise<void> {
  const mains = CLIENT_HOOKS.map((name) => [mainOf(name), `hooks/${name}.ts`]);
  const lazy = Object.entries(LAZY).map(([module, name]) => [name, module]);
  const { metafile } = await esbuild.build({
    ...SHARED,
    entryPoints: Object.fromEntries([...mains, ...lazy, ...HOST_HOOKS.map((name) => [name, `hooks/${name}.ts`])]),
    outdir: '.build/dist/hooks',
    plugins: [lazyFiles],
  });
  for (const name of CLIENT_HOOKS) {
    // Registered by the agents of router mode, which themselves say that a loop may run.
    await loader(`hooks/${name}`, mainOf(name), name === 'router-tool-use' ? '' : GUARD);
  }
  await esbuild.build({
    ...SHARED,
    entryPoints: { 'ralph-main': 'scripts/main.ts', statusline: 'scripts/statusline.ts' },
    outdir: '.build/dist/scripts',
  });
  await loader('scripts/main', 'ralph-main', '#!/usr/bin/env node');
  writeFileSync(join(generated, 'meta.json'), JSON.stringify({ hooks: metafile }));
}

/** The file that an entry loads. */
function mainOf(entry: string): string {
  return `ralph-${entry.replace(/^ralph-|-hook$/g, '')}-main`;
}

/** An entry: `banner`, and what loads the file beside it with the code cache. */
async function loader(entry: string, main: string, banner: string): Promise<void> {
  const contents = `import { loadBeside } from './src/state/process/code-cache.ts'; loadBeside('${main}.cjs');`;
  const outfile = `.build/dist/${entry}.cjs`;
  await esbuild.build({ ...SHARED, stdin: { contents, resolveDir: root }, outfile, banner: { js: banner } });
}

/**
 * Turns `import()` of a module in the table into a `require` of its own file, and loads the modules of node that cost a
 * hook 2.5 ms each at the first call of one of their functions.
 */
const lazyFiles: esbuild.Plugin = {
  name: 'lazy-files',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /^\.\.?\// }, ({ kind, path, resolveDir }) => {
      const name = LAZY[relative(root, join(resolveDir, path)).replaceAll('\\', '/')];
      return kind === 'dynamic-import' && name ? { path: `./${name}.cjs`, external: true } : null;
    });
    onResolve({ filter: /^node:(child_process|crypto)$/ }, ({ path, namespace }) =>
      namespace === 'builtin' ? { path, external: true } : { path, namespace: 'builtin' },
    );
    onLoad({ filter: /^/, namespace: 'builtin' }, async ({ path }) => {
      const names = Object.keys(await import(path)).filter((name) => name !== 'default');
      const text = names.map((name) => `export const ${name} = (...args) => require('${path}').${name}(...args);`);
      return { contents: text.join('\n') };
    });
  },
};

const CHECKED = new Set(
  'type const enum minimum maximum minLength pattern properties required items additionalProperties anyOf'.split(' '),
);

/**
 * The same schema without what a JSON number or the schema's readers take for granted. Throws on a keyword that
 * check-shape does not know, so that no rule is silently left unchecked.
 */
function forHooks(schema: unknown): unknown {
  if (typeof schema !== 'object' || schema === null) return schema;
  const kept = Object.entries(schema).flatMap(([key, value]): [string, unknown][] => {
    if (key === '$schema' || key === 'propertyNames') return [];
    if (key === 'maximum' && value === Number.MAX_SAFE_INTEGER) return [];
    if (key === 'oneOf') return [['anyOf', (value as unknown[]).map(forHooks)]];
    if (!CHECKED.has(key)) throw new Error(`check-shape does not know the JSON Schema keyword ${key}`);
    if (key === 'properties') {
      return [[key, Object.fromEntries(Object.entries(value).map(([name, item]) => [name, forHooks(item)]))]];
    }
    if (key === 'anyOf') return [[key, (value as unknown[]).map(forHooks)]];
    return [[key, key === 'items' || key === 'additionalProperties' ? forHooks(value) : value]];
  });
  return Object.fromEntries(kept);
}

/**
 * The same checks in half the bytes, for src/state/check-shape.ts. Throws on what that cannot say, so that no rule is
 * silently left unchecked.
 */
function compact(schema: unknown): unknown {
  const { type, properties, required, items, additionalProperties, anyOf, ...rest } = schema as Record<string, unknown>;
  const rules = Object.entries(rest).sort(([a], [b]) => (a < b ? -1 : 1));
  const name = shortName(type, JSON.stringify(Object.fromEntries(rules)));
  if (name !== null) return name;
  if ('const' in rest) return oneOf([rest['const']]);
  if ('enum' in rest) return oneOf(rest['enum'] as unknown[]);
  if (type === 'integer' && rules.length === 2) return `${rest['minimum']}..${rest['maximum']}`;
  if (Array.isArray(anyOf)) {
    const options = anyOf.map(compact);
    return options.length === 2 && options[1] === 'null' && typeof options[0] === 'string' ? `${options[0]}?` : options;
  }
  if (rules.length === 0 && type === 'array') return [compact(items)];
  if (rules.length === 0 && type === 'object' && additionalProperties) return { '*': compact(additionalProperties) };
  if (rules.length > 0 || type !== 'object' || !Array.isArray(required)) {
    throw new Error(`check-shape cannot say ${JSON.stringify(schema)}`);
  }
  const named = Object.entries((properties ?? {}) as object).map(([key, value]): [string, unknown] => {
    const shape = compact(value);
    if (key === '*' || key.endsWith('?')) throw new Error(`check-shape cannot say a property ${key}`);
    return [required.includes(key) ? key : `${key}?`, shape];
  });
  return Object.fromEntries(named);
}

function oneOf(values: readonly unknown[]): string {
  const [only] = values;
  if (values.length === 1 && Number.isInteger(only)) return `${only}..${only}`;
  if (values.every((value) => typeof value === 'string' && !/[|?]/.test(value))) return `=${values.join('|')}`;
  throw new Error(`check-shape cannot say one of ${JSON.stringify(values)}`);
}

function shortName(type: unknown, rules: string): string | null {
  if (Array.isArray(type)) {
    const bare = type.length === 2 && type[1] === 'null' ? shortName(type[0], rules) : null;
    return bare === null ? null : `${bare}?`;
  }
  if (rules === '{}' && ['string', 'boolean', 'number', 'null'].includes(String(type))) return String(type);
  if (type === 'integer' && rules === '{"minimum":0}') return 'count';
  if (type === 'number' && rules === '{"minimum":0}') return 'amount';
  if (type === 'string' && rules === '{"minLength":1}') return 'text';
  if (type === 'string' && rules === JSON.stringify({ pattern: INSTANT.source })) return 'instant';
  return null;
}

await build();
