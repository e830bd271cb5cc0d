import { jsonOrNull } from '../text/json.ts';
import { readLists } from '../text/markdown/lists.ts';
import { redact } from '../text/redact/redact.ts';
import { splitFrontmatter } from './frontmatter/split-frontmatter.ts';

/** Maximum length of a title. */
const MOST = 80;

/** Returns the words from which a task file was drafted; null for any other file. */
export function draftedWords(text: string): string | null {
  const [, json] = /^\s*<!-- ralph-loop: (\{.*\}) -->/.exec(splitFrontmatter(text).body) ?? [];
  const task = json === undefined ? null : (jsonOrNull(json) as { readonly task?: unknown } | null)?.task;
  return typeof task === 'string' ? task : null;
}

/** A line that an iteration fills in, such as `{{ ralph.name }}`, is not a title. */
const isFilledIn = (text: string): boolean => text.includes('{{');

const COMMENT = /<!--[\s\S]*?-->/g;

/**
 * Returns a title for a task file: what it was drafted from, its first heading, or its first line; '' for a file without any,
 * such as a bare checklist. If there are other headings of the same level, such as "Goals" and "Checklist", each names only a
 * part, so the first line of text counts. Secrets are masked.
 */
export function taskTitle(text: string): string {
  const { body } = splitFrontmatter(text);
  const headings: { readonly title: string; readonly level: number }[] = [];
  readLists(body, { item: () => undefined, heading: (title, level) => headings.push({ title, level }) });
  const [heading] = headings.filter(({ title }) => !isFilledIn(title));
  const isPart = headings.filter(({ level }) => heading !== undefined && level <= heading.level).length > 1;
  const lines = body
    .replace(COMMENT, '')
    .split('\n')
    .map((line) => line.trim());
  // The first item of a list does not describe the whole list.
  const [first = ''] = lines.filter((line) => line !== '' && !isFilledIn(line) && !(isPart && line.startsWith('#')));
  const line = /^(?:[-*+]|\d{1,9}[.)]) \[.?\]/.test(first) ? '' : first;
  const named = isPart ? line || heading?.title : (heading?.title ?? line);
  // Masked before it is cut: half a secret has no recognisable form.
  const title = redact(draftedWords(text)?.replace(/\s+/g, ' ') || named || '');
  return title.length <= MOST ? title : `${title.slice(0, MOST - 1).trimEnd()}…`;
}
