import { LineCounter, parseDocument } from 'yaml';

export type ReadList =
  | { readonly kind: 'list'; readonly list: readonly unknown[] }
  /** It is neither JSON nor YAML, and nobody says that it is. */
  | { readonly kind: 'markdown' }
  | { readonly kind: 'broken'; readonly problems: readonly string[] };

/** How JSON begins, and what a list of scenarios in YAML has in it. */
const LOOKS_STRUCTURED = /^\uFEFF?\s*[[{]|^[ \t]*(?:-[ \t]+)?(?:scenarios|description)[ \t]*:/m;
const MOST_ERRORS = 20;

/**
 * The list that a text holds: itself, or as `scenarios`. The ending of its name says what it is (.json, .yaml, .yml, .md,
 * .markdown), or else its look. What is JSON or YAML and cannot be read is never taken for something else. Never throws.
 */
export function readList(text: string, name: string): ReadList {
  const [, ending = ''] = /\.(json|ya?ml|md|markdown)$/i.exec(name) ?? [];
  const kind = ending.toLowerCase();
  if (kind.startsWith('m')) return { kind: 'markdown' };
  if (text.trim() === '') return { kind: 'list', list: [] };
  const json = fromJson(text);
  if ('value' in json) return listIn(json.value);
  if (kind === 'json') return { kind: 'broken', problems: [json.problem] };
  return kind !== '' || LOOKS_STRUCTURED.test(text) ? fromYaml(text) : { kind: 'markdown' };
}

function fromJson(text: string): { readonly value: unknown } | { readonly problem: string } {
  try {
    return { value: JSON.parse(text.replace(/^\uFEFF/, '')) };
  } catch (error) {
    return { problem: `it is no JSON: ${(error as Error).message}` };
  }
}

function fromYaml(text: string): ReadList {
  const lines = new LineCounter();
  try {
    const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, logLevel: 'error' });
    const problems = document.errors
      .slice(0, MOST_ERRORS)
      .map(({ message, pos }) => `line ${lines.linePos(pos[0]).line}: ${message}`);
    return problems.length > 0 ? { kind: 'broken', problems } : listIn(document.toJS({ maxAliasCount: 100 }));
  } catch (error) {
    // The parser is recursive: a text that is nested some thousand levels deep runs out of stack.
    const why = error instanceof RangeError ? 'it is nested too deeply' : (error as Error).message;
    return { kind: 'broken', problems: [why] };
  }
}

function listIn(value: unknown): ReadList {
  const inner = typeof value === 'object' && value !== null && 'scenarios' in value ? value.scenarios : value;
  if (Array.isArray(inner)) return { kind: 'list', list: inner };
  const what =
    inner === value ? 'it must be a list of scenarios, or have one as `scenarios`' : 'scenarios must be a list';
  return { kind: 'broken', problems: [what] };
}
