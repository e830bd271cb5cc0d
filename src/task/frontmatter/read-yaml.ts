import type { Alias, Document, ErrorCode, Node } from 'yaml';
import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument, visit } from 'yaml';
import { camelCase } from './canonical-keys.ts';

interface Place {
  readonly line: number;
  readonly column: number;
}

export interface ReadYaml {
  /** Parsed value; undefined if the text is invalid. */
  readonly value?: unknown;
  readonly mapping: Record<string, unknown> | null;
  readonly problems: readonly (Place & {
    readonly rule: 'yaml' | 'not-a-mapping';
    readonly message: string;
    readonly severity: 'error' | 'warning';
  })[];
  /** Returns the place of a key path or its nearest parent. Also finds snake_case keys written as aliases. */
  readonly placeOf: (keys: readonly (string | number)[], part: 'key' | 'value') => Place;
}

/** Plain texts for parser errors that do not say what to do. */
const PLAIN: Readonly<Partial<Record<ErrorCode, string>>> = {
  DUPLICATE_KEY: 'this key is given twice. Keep one of them.',
  TAB_AS_INDENT: 'a tab cannot indent a line. Use spaces.',
};

/** Parses a frontmatter. Lines and columns count from 1. Never throws. */
export function readYaml(text: string): ReadYaml {
  const lines = new LineCounter();
  const place = (offset: number): Place => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  try {
    const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, logLevel: 'error' });
    return read(document, place);
  } catch (error) {
    // The recursive parser exhausts the stack at several thousand levels.
    const why = error instanceof RangeError ? 'it is nested too deeply' : (error as Error).message;
    const problem = { line: 1, column: 1, rule: 'yaml', message: why, severity: 'error' } as const;
    return { mapping: null, problems: [problem], placeOf: () => ({ line: 1, column: 1 }) };
  }
}

function read(document: Document.Parsed, place: (offset: number) => Place): ReadYaml {
  const warnings = document.warnings.map(
    ({ message, pos }) => ({ ...place(pos[0]), rule: 'yaml', message, severity: 'warning' }) as const,
  );
  const errors = [
    ...document.errors
      .slice(0, 50)
      .map(({ code, message, pos }) => ({ ...place(pos[0]), message: PLAIN[code] ?? message })),
    ...brokenAliases(document).map((node) => ({
      ...place(node.range?.[0] ?? 0),
      message: `the anchor &${node.source} does not exist`,
    })),
  ].map((error) => ({ ...error, rule: 'yaml', severity: 'error' }) as const);
  const placeOf: ReadYaml['placeOf'] = (keys, part) => place(offsetOf(document, keys, part));
  if (errors.length > 0) return { mapping: null, problems: [...errors, ...warnings], placeOf };
  const { contents } = document;
  if (contents === null || (isScalar(contents) && contents.value === null))
    return { mapping: {}, problems: warnings, placeOf };
  const value: unknown = document.toJS({ maxAliasCount: 100 });
  if (isMap(contents)) return { value, mapping: value as Record<string, unknown>, problems: warnings, placeOf };
  const message = `the frontmatter must be a mapping (lines of "key: value"), but is ${isSeq(contents) ? 'a list' : 'a single value'}`;
  const problem = { ...place(contents.range?.[0] ?? 0), rule: 'not-a-mapping', message, severity: 'error' } as const;
  return { value, mapping: null, problems: [problem, ...warnings], placeOf };
}

function brokenAliases(document: Document.Parsed): Alias[] {
  const broken: Alias[] = [];
  visit(document, {
    Alias: (_, node) => {
      if (node.resolve(document) === undefined) broken.push(node);
    },
  });
  return broken;
}

function offsetOf(document: Document, keys: readonly (string | number)[], part: 'key' | 'value'): number {
  let node: unknown = document.contents;
  let offset = (document.contents as Node | null)?.range?.[0] ?? 0;
  for (const [depth, key] of keys.entries()) {
    const inner = isAlias(node) ? node.resolve(document) : node;
    if (isSeq(inner) && typeof key === 'number') {
      node = inner.items[key];
      offset = (node as Node | undefined)?.range?.[0] ?? offset;
      continue;
    }
    if (!isMap(inner)) return offset;
    const named = (name: string) => inner.items.find(({ key: own }) => isScalar(own) && String(own.value) === name);
    const pair = named(String(key)) ?? named(camelCase(String(key)));
    if (pair === undefined) return offset;
    const last = depth === keys.length - 1;
    const keyOffset = (pair.key as Node).range?.[0] ?? offset;
    offset = last && part === 'key' ? keyOffset : ((pair.value as Node | null)?.range?.[0] ?? keyOffset);
    node = pair.value;
  }
  return offset;
}
