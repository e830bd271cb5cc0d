import { parse } from 'yaml';
import { RalphError } from '../../core/ralph-error.ts';
import { readLists } from '../../core/read-lists.ts';
import type { TddState } from '../../core/schema/tdd-state.ts';

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
 * such a list as `scenarios`), or Markdown (by the name it is shown by, or because it is nothing else), whose unchecked task items count, or all list items where none is a task. An
 * item of Markdown may end with its command: `: ` and then inline code. Throws RalphError `task-invalid` with every problem.
 */
export function readScenarios(text: string, shown: string): WantedScenario[] {
  const value = /\.(?:md|markdown)$/i.test(shown) ? null : structured(text);
  const found = value === null ? { scenarios: fromMarkdown(text), problems: [] } : fromList(value);
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

/** A list, or a mapping that has one; null for a text that is Markdown. */
function structured(text: string): unknown[] | null {
  let value: unknown;
  try {
    value = parse(text, { logLevel: 'silent', maxAliasCount: 100 });
  } catch {
    return null; // a text with colons and backticks is no YAML
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    const inner = (value as { scenarios?: unknown }).scenarios;
    return Array.isArray(inner) ? inner : null;
  }
  // "- [ ] text" is YAML too: a list that holds an empty list and a text, or a mapping.
  return Array.isArray(value) && !/^\s*[-*+] \[[ xX]?\]/m.test(text) ? value : null;
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
  const tasks: string[] = [];
  const items: string[] = [];
  let isTaskList = false;
  readLists(text, {
    inCode: false,
    item: ({ checked, text: said }) => {
      items.push(said);
      if (checked !== null) isTaskList = true;
      if (checked === false) tasks.push(said);
    },
  });
  return (isTaskList ? tasks : items).map(ofItem);
}

/** `blocks a Write: \`node --test tests/guard.test.js\`` */
function ofItem(text: string): WantedScenario {
  const [, described, , run] = /^(.*\S)\s*:\s*(`+)(.+)\2$/.exec(text) ?? [];
  return { id: null, description: described ?? text, run: run?.trim() ?? null, timeoutSeconds: null };
}
