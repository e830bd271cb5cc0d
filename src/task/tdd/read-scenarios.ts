import type { TddState } from '../../engine/schema/tdd.ts';
import { type ListItem, readLists } from '../../text/markdown/lists.ts';
import { RalphError } from '../../text/message.ts';
import { parseSeconds } from '../../text/time.ts';
import { readYaml } from '../frontmatter/read-yaml.ts';

/** Requested scenario; null fields get defaults. */
export interface WantedScenario {
  readonly id: string | null;
  readonly description: string;
  readonly run: string | null;
  readonly timeoutSeconds: number | null;
}

interface Found {
  readonly scenarios: WantedScenario[];
  readonly problems: readonly string[];
}

const KEYS = ['id', 'description', 'command', 'timeout'];

/**
 * Reads JSON or YAML (texts, `{id, description, command, timeout}`, or a mapping with `scenarios`), or Markdown: unchecked
 * task items, or all list items if none is a task; an item may end with `: ` and its command as inline code. Throws
 * RalphError `task-invalid` with all problems, such as a list of both kinds, or a checked or nested item.
 */
export function readScenarios(text: string, shown: string): WantedScenario[] {
  const found = isMarkdown(text, shown) ? fromMarkdown(text) : fromYaml(text);
  const problems = found.scenarios.length + found.problems.length === 0 ? ['it contains no scenario'] : found.problems;
  if (problems.length === 0) return found.scenarios;
  throw new RalphError('task-invalid', `${shown} cannot be used:\n${problems.map((one) => `  ${one}`).join('\n')}`);
}

/** Returns the scenarios of a foreign state file, complete ones with their evidence command. */
export function scenariosOf({ scenarios, completedScenarios }: TddState): WantedScenario[] {
  return scenarios.map(({ id, description }) => ({
    id,
    description,
    run: completedScenarios.find((one) => one.id === id)?.evidenceCommand ?? null,
    timeoutSeconds: null,
  }));
}

function fromList(list: readonly unknown[]): Found {
  const problems: string[] = [];
  const scenarios = list.flatMap((item, at): WantedScenario[] => {
    const path = `scenarios[${at}]`;
    if (typeof item === 'string') {
      if (item.trim() === '') problems.push(`${path} is empty`);
      return [{ id: null, description: item.trim(), run: null, timeoutSeconds: null }];
    }
    if (typeof item !== 'object' || item === null || Array.isArray(item)) {
      problems.push(`${path} must be a string or a mapping with description and command`);
      return [];
    }
    const entry = item as Record<string, unknown>;
    // State files also have a `status`.
    for (const key of Object.keys(entry)) {
      if (!KEYS.includes(key) && key !== 'status')
        problems.push(`${path}.${key} is not a scenario key (${KEYS.join(', ')})`);
    }
    const textOf = (key: string): string | null => {
      const value = entry[key];
      if (value === undefined || value === null) return null;
      if (typeof value === 'string' && value.trim() !== '') return value.trim();
      problems.push(`${path}.${key} must be a non-empty string`);
      return null;
    };
    const description = textOf('description');
    if (entry['description'] === undefined || entry['description'] === null)
      problems.push(`${path}.description is missing`);
    const { timeout } = entry;
    const timeoutSeconds = parseSeconds(timeout);
    if (timeout !== undefined && timeoutSeconds === null)
      problems.push(`${path}.timeout must be a duration, such as 90, 30s or 5m`);
    return [{ id: textOf('id'), description: description ?? '', run: textOf('command'), timeoutSeconds }];
  });
  return { scenarios, problems };
}

function fromMarkdown(text: string): Found {
  const items: ListItem[] = [];
  readLists(text, { item: (item) => (item.inCode ? 0 : items.push(item)) });
  const isTaskList = items.some(({ checked }) => checked !== null);
  const problems = items.flatMap((item) => {
    const why = item.nested ? NESTED : isTaskList && item.checked !== false ? (item.checked ? CHECKED : NO_BOX) : '';
    return why === '' ? [] : [`line ${item.line}: "${item.text.slice(0, 60)}" ${why}`];
  });
  return { scenarios: items.map(({ paragraph }) => ofItem(paragraph)), problems };
}

const NESTED = 'is nested in another item. A scenario is one item at the left margin: put its details on one line';
const CHECKED = 'is checked. A new list starts with nothing proved: uncheck the item or remove it';
const NO_BOX = 'has no box, but other items have one. Write "- [ ] " before each scenario';

/** Parses an item such as `blocks a Write: \`node --test tests/guard.test.js\``. */
function ofItem(text: string): WantedScenario {
  const [, described, , run] = /^(.*\S)\s*:\s*(`+)(.+)\2[.;]?$/.exec(text) ?? [];
  return { id: null, description: described ?? text, run: run?.trim() ?? null, timeoutSeconds: null };
}

const LOOKS_STRUCTURED = /^\uFEFF?\s*[[{]|^[ \t]*(?:-[ \t]+)?(?:scenarios|description)[ \t]*:/m;

/** Decides by the extension, else by the look of the text. Broken JSON or YAML is never read as Markdown. */
function isMarkdown(text: string, name: string): boolean {
  const [, ending] = /\.(json|ya?ml|md|markdown)$/i.exec(name) ?? [];
  return ending === undefined ? !LOOKS_STRUCTURED.test(text) : /^m/i.test(ending);
}

/** Reads YAML, which includes JSON. */
function fromYaml(text: string): Found {
  if (text.trim() === '') return { scenarios: [], problems: [] };
  const { value, problems } = readYaml(text);
  const errors = problems.filter(({ rule, severity }) => rule === 'yaml' && severity === 'error');
  if (errors.length > 0)
    return { scenarios: [], problems: errors.map(({ line, message }) => `line ${line}: ${message}`) };
  const inner = typeof value === 'object' && value !== null && 'scenarios' in value ? value.scenarios : value;
  if (Array.isArray(inner)) return fromList(inner);
  const what =
    inner === value ? 'it must be a list of scenarios, or have one as `scenarios`' : 'scenarios must be a list';
  return { scenarios: [], problems: [what] };
}
