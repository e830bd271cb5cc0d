import { createHash } from 'node:crypto';
import { chmodSync, cpSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as esbuild from 'esbuild';
import * as z from 'zod';
import { COMMANDS } from '../src/cli/commands.ts';
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

/** What the client starts. */
const HOOKS = [
  ...['ralph-stop-hook', 'pre-tool-use', 'post-tool-use', 'session-start', 'user-prompt-submit', 'stop-failure'],
  'ralph-keep-code',
];
/** What some of these load with V8's code cache. */
const PARTS = [
  ...['ralph-stop-quick', 'ralph-stop-work', 'ralph-tool-note'],
  ...['ralph-tool-guard', 'ralph-steering', 'ralph-shell-guard', 'ralph-file-guard', 'ralph-globs'],
];

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

async function bundle(): Promise<void> {
  const shared = {
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    // What is loaded through vm.Script has no loader for `import()`: it becomes a `require`.
    supported: { 'dynamic-import': false },
    absWorkingDir: root,
    minify: true,
    metafile: true,
    logLevel: 'warning',
    legalComments: 'none',
    outExtension: { '.js': '.cjs' },
  } as const;
  const hooks = { outputs: {} };
  const bundleHooks = async (names: readonly string[], define: Record<string, string>, js = GUARD): Promise<void> => {
    const { metafile } = await esbuild.build({
      ...shared,
      entryPoints: names.map((name) => `hooks/${name}.ts`),
      outdir: '.build/dist/hooks',
      external: ['./ralph-*.cjs'],
      banner: { js },
      define,
    });
    Object.assign(hooks.outputs, metafile.outputs);
    if (js === GUARD) for (const name of names) shareBuiltins(join(draft, 'hooks', `${name}.cjs`));
  };
  await bundleHooks(PARTS, {});
  const digests = { PART_DIGESTS: JSON.stringify(Object.fromEntries(PARTS.map((part) => digestOf(part)))) };
  await bundleHooks(HOOKS, digests);
  // Registered by the agents of router mode, which says by itself that a loop may run.
  await bundleHooks(['router-tool-use'], digests, '');
  // A host calls them by themselves, whether a loop may run or not.
  await bundleHooks(['pre-execute', 'post-execute'], {}, '');
  const scripts = (entries: Record<string, string>, define: Record<string, string>, js = '#!/usr/bin/env node') =>
    esbuild.build({
      ...shared,
      entryPoints: entries,
      outdir: '.build/dist/scripts',
      external: ['./ralph-*.cjs'],
      banner: { js },
      define,
    });
  await scripts({ 'ralph-main': 'scripts/main.ts', 'ralph-keep-code': 'hooks/ralph-keep-code.ts' }, {}, '');
  await scripts(
    { main: 'scripts/load-main.ts', statusline: 'scripts/statusline.ts' },
    {
      PART_DIGESTS: JSON.stringify(Object.fromEntries([digestOf('ralph-main', 'scripts')])),
      COMMAND_NAMES: JSON.stringify(Object.keys(COMMANDS)),
    },
  );
  writeFileSync(join(generated, 'meta.json'), JSON.stringify({ hooks }));
}

/** The digest by which a loader knows the code cache of exactly this part. */
function digestOf(part: string, folder: 'hooks' | 'scripts' = 'hooks'): [string, string] {
  const text = readFileSync(join(draft, folder, `${part}.cjs`));
  return [`${part}.cjs`, createHash('sha256').update(text).digest('hex').slice(0, 16)];
}

/** Before any import, any read of stdin and any look at the disk: a session that runs no loop is left alone. */
const GUARD = "if(process.env.RALPH_ACTIVE!=='1')process.exit(0);";
const REQUIRED = /\brequire\("node:(\w+)"\)/g;

/**
 * Asks for each module of node once in a bundle. The bundler asks once in every file that imports it: 30 calls of
 * `require` and 600 bytes in the Stop hook, of what it has to load at every turn.
 */
function shareBuiltins(path: string): void {
  const text = readFileSync(path, 'utf8');
  const often = [...new Set([...text.matchAll(REQUIRED)].map(([, name = '']) => name))].filter(
    (name) => text.split(`require("node:${name}")`).length > 2,
  );
  if (often.length === 0) return;
  if (often.some((name) => text.includes(`$${name}`))) throw new Error(`${path} has a name that shareBuiltins gives`);
  const shared = text.replace(REQUIRED, (call, name: string) => (often.includes(name) ? `$${name}` : call));
  const names = often.map((name) => `$${name}=require("node:${name}")`).join(',');
  writeFileSync(
    path,
    shared.replace(GUARD, () => `${GUARD}var ${names};`),
  );
}

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
