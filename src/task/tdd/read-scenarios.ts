import { LineCounter, parseDocument } from 'yaml';
import type { TddState } from '../../engine/schema/tdd.ts';
import { LINE_END } from '../../text/characters.ts';
import { type ListItem, readLists } from '../../text/markdown/lists.ts';
import { RalphError } from '../../text/ralph-error.ts';

/** A scenario as somebody asks for it; what is null the list's maker gives. */
export interface WantedScenario {
  readonly id: string | null;
  readonly description: string;
  readonly run: string | null;
  readonly timeoutSeconds: number | null;
}

const KEYS = ['id', 'description', 'command', 'timeout'];

/**
 * The scenarios of a text: JSON or YAML (a list of texts or of `{id, description, command, timeout}`, or a mapping with
 * such a list as `scenarios`), or Markdown, whose unchecked task items count, or all list items where none is a task. An
 * item of Markdown may end with its command: `: ` and then inline code. Which it is the name says that it is shown by, or
 * else the text. Throws RalphError `task-invalid` with every problem.
 */
export function readScenarios(text: string, shown: string): WantedScenario[] {
  const read = readList(text, shown);
  const found =
    read.kind === 'markdown'
      ? { scenarios: fromMarkdown(text), problems: [] }
      : read.kind === 'list'
        ? fromList(read.list)
        : { scenarios: [], problems: read.problems };
  const problems =
    found.scenarios.length + found.problems.length === 0 ? ['there is no scenario in it'] : found.problems;
  if (problems.length === 0) return found.scenarios;
  throw new RalphError('task-invalid', `${shown} cannot be used:\n${problems.map((one) => `  ${one}`).join('\n')}`);
}

/** The scenarios of a state that somebody else wrote, each with the command that proved it where it is complete. */
export function scenariosOf({ scenarios, completedScenarios }: TddState): WantedScenario[] {
  return scenarios.map(({ id, description }) => ({
    id,
    description,
    run: completedScenarios.find((one) => one.id === id)?.evidenceCommand ?? null,
    timeoutSeconds: null,
  }));
}

function fromList(list: readonly unknown[]): { scenarios: WantedScenario[]; problems: string[] } {
  const problems: string[] = [];
  const scenarios = list.flatMap((item, at): WantedScenario[] => {
    const path = `scenarios[${at}]`;
    if (typeof item === 'string') {
      if (item.trim() === '') problems.push(`${path} is empty`);
      return [{ id: null, description: item.trim(), run: null, timeoutSeconds: null }];
    }
    if (typeof item !== 'object' || item === null || Array.isArray(item)) {
      problems.push(`${path} must be a text or a mapping with description and command`);
      return [];
    }
    const entry = item as Record<string, unknown>;
    // `status` stands in a state file.
    for (const key of Object.keys(entry)) {
      if (!KEYS.includes(key) && key !== 'status')
        problems.push(`${path}.${key} is no key of a scenario (${KEYS.join(', ')})`);
    }
    const textOf = (key: string): string | null => {
      const value = entry[key];
      if (value === undefined || value === null) return null;
      if (typeof value === 'string' && value.trim() !== '') return value.trim();
      problems.push(`${path}.${key} must be a text that is not empty`);
      return null;
    };
    const description = textOf('description');
    if (entry['description'] === undefined || entry['description'] === null)
      problems.push(`${path}.description is missing`);
    const { timeout } = entry;
    if (timeout !== undefined && typeof timeout !== 'number')
      problems.push(`${path}.timeout must be a number of seconds`);
    return [
      {
        id: textOf('id'),
        description: description ?? '',
        run: textOf('command'),
        timeoutSeconds: typeof timeout === 'number' ? timeout : null,
      },
    ];
  });
  return { scenarios, problems };
}

function fromMarkdown(text: string): WantedScenario[] {
  const items: ListItem[] = [];
  readLists(text, { item: (item) => (item.inCode ? 0 : items.push(item)) });
  const isTaskList = items.some(({ checked }) => checked !== null);
  const lines = text.split(LINE_END);
  return items.flatMap((item, at) => {
    if (isTaskList && item.checked !== false) return [];
    return [ofItem(wholeText(item, lines.slice(item.line, (items[at + 1]?.line ?? lines.length + 1) - 1)))];
  });
}

/** What ends the paragraph of an item: nothing on a line, a heading, a quote, a fence, a table, a rule, a comment. */
const ENDS_ITEM = /^\s*(?:$|#{1,6}(?:\s|$)|[>|]|```|~~~|(?:[-*_]\s*){3,}$|<!--)/;

/** An item with the lines that its text was wrapped to. `after` are the lines behind its mark, up to the next item. */
function wholeText({ text }: ListItem, after: readonly string[]): string {
  // Behind a box that stands alone the text is on the next line.
  const own = after[0]?.trim() === text ? after.slice(1) : after;
  const end = own.findIndex((line) => ENDS_ITEM.test(line));
  return [text, ...own.slice(0, end === -1 ? own.length : end).map((line) => line.trim())].join(' ');
}

/** `blocks a Write: \`node --test tests/guard.test.js\`` */
function ofItem(text: string): WantedScenario {
  const [, described, , run] = /^(.*\S)\s*:\s*(`+)(.+)\2[.;]?$/.exec(text) ?? [];
  return { id: null, description: described ?? text, run: run?.trim() ?? null, timeoutSeconds: null };
}

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
