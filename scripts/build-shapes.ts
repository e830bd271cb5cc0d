import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { streamEvent } from '../src/engine/runner-event.ts';
import { batch, run } from '../src/engine/schema/batch.ts';
import { guardrails, policy, storedContract } from '../src/engine/schema/contract.ts';
import { planCheck, planStatus } from '../src/engine/schema/plan.ts';
import { proofRecord } from '../src/engine/schema/proof.ts';
import {
  contractView,
  countersView,
  loopIteration,
  lostIterationView,
  promptedTurnView,
  runStatus,
  runStatusView,
  seen,
  spawnView,
  taskIterationRecord,
  taskIterationView,
} from '../src/engine/schema/records.ts';
import { skillInput, skillOutput } from '../src/engine/schema/skill-contract.ts';
import { commonPart, counters, fourKeyState, statusPart } from '../src/engine/schema/state.ts';
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

const OPTIONS = { target: 'draft-7', io: 'input', unrepresentable: 'throw' } as const;

export function writeSchemas(folder: string): void {
  mkdirSync(folder, { recursive: true });
  const all = Object.entries(SCHEMAS).map(([name, definition]) => [name, jsonSchema(definition)] as const);
  for (const [name, schema] of [['state', stateSchema()] as const, ...all]) {
    writeFileSync(join(folder, `${name}.schema.json`), `${JSON.stringify(schema, null, 2)}\n`);
  }
}

function jsonSchema(definition: z.ZodType): Record<string, unknown> {
  return z.toJSONSchema(definition, OPTIONS);
}

/** Combines common and status part; zod would expand the intersection into six whole objects. */
function stateSchema(): Record<string, unknown> {
  const parts = [commonPart, statusPart].map((part) => {
    const { $schema: _, ...schema } = jsonSchema(part);
    return schema;
  });
  return { $schema: 'http://json-schema.org/draft-07/schema#', allOf: parts };
}

/** Writes the schemas with which src/state/check-shape.ts checks the program's files. */
export function writeShapes(folder: string): void {
  const groups: Record<string, Record<string, z.ZodType>> = {
    // Readers of `plan` check it (src/engine/plan/attempt.ts), so that the Stop of other loops need not load its shape.
    state: { commonPart: commonPart.omit({ plan: true }), statusPart, fourKeyState, counters },
    contract: { contract: contractView, guardrails },
    record: RECORD_VIEWS,
    batch: { batch },
    tdd: { state: tddState, record: tddRecord },
  };
  for (const [name, group] of Object.entries(groups)) {
    const schemas = Object.entries(group).map(([key, definition]) => [key, shapeOf(definition)]);
    writeFileSync(join(folder, `${name}-shapes.json`), JSON.stringify(Object.fromEntries(schemas)));
  }
}

const CHECKED = new Set([
  ...['type', 'const', 'enum', 'anyOf', 'oneOf', 'minLength', 'pattern', 'minimum', 'exclusiveMinimum', 'maximum'],
  ...['properties', 'required', 'additionalProperties', 'items', 'minItems'],
]);

/** Drops what JSON itself guarantees. Throws for a rule that check-shape does not support, so that none is lost. */
function shapeOf(definition: z.ZodType): object {
  const override = ({ jsonSchema }: { readonly jsonSchema: z.core.JSONSchema.BaseSchema }): void => {
    if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
    if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
    delete jsonSchema.propertyNames;
    const unknown = Object.keys(jsonSchema).find((key) => !CHECKED.has(key));
    if (unknown !== undefined) throw new Error(`check-shape does not support the JSON Schema keyword ${unknown}`);
    const { pattern = INSTANT.source } = jsonSchema;
    if (pattern !== INSTANT.source) throw new Error(`check-shape does not support the pattern ${pattern}`);
  };
  const { $schema: _, ...shape } = z.toJSONSchema(definition, { ...OPTIONS, override });
  return shape;
}
