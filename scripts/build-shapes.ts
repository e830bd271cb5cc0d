import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { batch } from '../src/engine/schema/batch.ts';
import { policy, storedContract } from '../src/engine/schema/contract.ts';
import { streamEvent } from '../src/engine/schema/event.ts';
import { planCheck, planStatus } from '../src/engine/schema/plan.ts';
import { proofRecord } from '../src/engine/schema/proof.ts';
import { loopIteration, runStatus, taskIterationRecord } from '../src/engine/schema/records.ts';
import { run } from '../src/engine/schema/run.ts';
import { seen } from '../src/engine/schema/seen.ts';
import { skillInput, skillOutput } from '../src/engine/schema/skill-contract.ts';
import { commonPart, counters, fourKeyState, statusPart } from '../src/engine/schema/state.ts';
import {
  contractView,
  countersView,
  guardrailsView,
  lostIterationView,
  promptedTurnView,
  runStatusView,
  spawnView,
  taskIterationView,
} from '../src/engine/schema/stored-views.ts';
import { tddRecord, tddState } from '../src/engine/schema/tdd.ts';
import { publishedFrontmatter } from '../src/task/frontmatter/schema.ts';
import { INSTANT } from '../src/text/time.ts';

/** Published schemas by file name, each from the zod definition that the program itself uses. */
const SCHEMAS: Record<string, z.ZodType> = {
  'state-four-keys': fourKeyState,
  policy,
  contract: storedContract,
  event: streamEvent,
  proof: proofRecord,
  'task-iteration-record': taskIterationRecord,
  'run-status': runStatus,
  'loop-iteration': loopIteration,
  'tdd-state': tddState,
  'tdd-record': tddRecord,
  'plan-status': planStatus,
  'plan-check': planCheck,
  run,
  input: skillInput,
  output: skillOutput,
  'ralph-md-frontmatter': publishedFrontmatter('ralph-md'),
  'task-md-frontmatter': publishedFrontmatter('checklist'),
  'prompt-frontmatter': publishedFrontmatter('prompt'),
};

/** Stored records that are not published, or of which readers need only a part. */
const RECORD_VIEWS = {
  counters: countersView,
  lostIteration: lostIterationView,
  promptedTurn: promptedTurnView,
  runStatus: runStatusView,
  seen,
  spawn: spawnView,
  taskIteration: taskIterationView,
};

export function writeSchemas(folder: string): void {
  mkdirSync(folder, { recursive: true });
  const all = Object.entries(SCHEMAS).map(([name, definition]) => [name, jsonSchema(definition)] as const);
  for (const [name, schema] of [['state', stateSchema()] as const, ...all]) {
    writeFileSync(join(folder, `${name}.schema.json`), `${JSON.stringify(schema, null, 2)}\n`);
  }
}

function jsonSchema(definition: z.ZodType): Record<string, unknown> {
  return z.toJSONSchema(definition, { target: 'draft-7', io: 'input', unrepresentable: 'throw' });
}

/** Combines common and status part; zod would expand the intersection into six whole objects. */
function stateSchema(): Record<string, unknown> {
  const parts = [commonPart, statusPart].map((part) => {
    const { $schema: _, ...schema } = jsonSchema(part);
    return schema;
  });
  return { $schema: 'http://json-schema.org/draft-07/schema#', allOf: parts };
}

/** Writes the shapes with which src/state/check-shape.ts checks the program's files, and their schemas. */
export function writeShapes(folder: string): void {
  const schemas = {
    // Readers of `plan` check it (src/engine/plan/attempt.ts), so that the Stop of other loops need not load its shape.
    commonPart: forHooks(jsonSchema(commonPart.omit({ plan: true }))),
    statusPart: forHooks(jsonSchema(statusPart)),
    fourKeyState: forHooks(jsonSchema(fourKeyState)),
    counters: forHooks(jsonSchema(counters)),
  };
  writeFileSync(join(folder, 'state-schemas.json'), JSON.stringify(schemas));
  const write = (name: string, all: Readonly<Record<string, unknown>>): void => {
    const shapes = Object.entries(all).map(([key, schema]) => [key, compact(schema)]);
    writeFileSync(join(folder, `${name}-shapes.json`), JSON.stringify(Object.fromEntries(shapes)));
  };
  write('state', schemas);
  write('contract', { contract: forHooks(jsonSchema(contractView)), guardrails: forHooks(jsonSchema(guardrailsView)) });
  const records = Object.entries(RECORD_VIEWS).map(([key, view]) => [key, forHooks(jsonSchema(view))]);
  write('record', Object.fromEntries(records));
  write('batch', { batch: forHooks(jsonSchema(batch)) });
  write('tdd', { state: forHooks(jsonSchema(tddState)), record: forHooks(jsonSchema(tddRecord)) });
}

const CHECKED = new Set(
  'type const enum minimum maximum minLength pattern properties required items additionalProperties anyOf'.split(' '),
);

/** Drops what JSON itself guarantees. Throws on a keyword that check-shape does not support, so that no rule is lost. */
function forHooks(schema: unknown): unknown {
  if (typeof schema !== 'object' || schema === null) return schema;
  const kept = Object.entries(schema).flatMap(([key, value]): [string, unknown][] => {
    if (key === '$schema' || key === 'propertyNames') return [];
    if (key === 'maximum' && value === Number.MAX_SAFE_INTEGER) return [];
    if (key === 'oneOf') return [['anyOf', (value as unknown[]).map(forHooks)]];
    if (!CHECKED.has(key)) throw new Error(`check-shape does not support the JSON Schema keyword ${key}`);
    if (key === 'properties') {
      return [[key, Object.fromEntries(Object.entries(value).map(([name, item]) => [name, forHooks(item)]))]];
    }
    if (key === 'anyOf') return [[key, (value as unknown[]).map(forHooks)]];
    return [[key, key === 'items' || key === 'additionalProperties' ? forHooks(value) : value]];
  });
  return Object.fromEntries(kept);
}

/** Returns the same checks in the short form of check-shape. Throws on anything that this form cannot express. */
function compact(schema: unknown): unknown {
  const { type, properties, required, items, additionalProperties, anyOf, ...rest } = schema as Record<string, unknown>;
  const rules = Object.entries(rest).sort(([a], [b]) => (a < b ? -1 : 1));
  const name = shortName(type, JSON.stringify(Object.fromEntries(rules)));
  if (name !== null) return name;
  if (Array.isArray(type) && rules.length === 0) return type.map((each) => compact({ type: each }));
  if ('const' in rest) return oneOf([rest['const']]);
  if ('enum' in rest) return oneOf(rest['enum'] as unknown[]);
  if (type === 'integer' && rules.length === 2) return `${rest['minimum']}..${rest['maximum']}`;
  if (Array.isArray(anyOf)) {
    const options = anyOf.map(compact);
    return options.length === 2 && options[1] === 'null' && typeof options[0] === 'string' ? `${options[0]}?` : options;
  }
  if (rules.length === 0 && type === 'array') return [compact(items)];
  if (rules.length === 0 && type === 'object' && additionalProperties) return ['{', '*', compact(additionalProperties)];
  if (rules.length > 0 || type !== 'object' || !Array.isArray(required)) {
    throw new Error(`check-shape cannot express ${JSON.stringify(schema)}`);
  }
  const named = Object.entries((properties ?? {}) as object).flatMap(([key, value]): [string, unknown] => {
    const shape = compact(value);
    if (key === '*' || key.endsWith('?')) throw new Error(`check-shape cannot express a property ${key}`);
    return [required.includes(key) ? key : `${key}?`, shape];
  });
  return ['{', ...named];
}

function oneOf(values: readonly unknown[]): string {
  const [only] = values;
  if (values.length === 1 && Number.isInteger(only)) return `${only}..${only}`;
  if (values.length === 1 && only === true) return 'true';
  if (values.every((value) => typeof value === 'string' && !/[|?]/.test(value))) return `=${values.join('|')}`;
  throw new Error(`check-shape cannot express one of ${JSON.stringify(values)}`);
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
