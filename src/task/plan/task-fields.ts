import { withoutEnds } from '../../text/characters.ts';
import type { ItemLine } from './task-lines.ts';

type Field = 'scope' | 'depends' | 'acceptance' | 'notes' | 'other';

interface Entry {
  readonly field: Field;
  text: string;
}

const KEY =
  /^(\*\*|__|\*|_|`|)(scope|depends[ -]?on|dependencies|depends|acceptance(?:[ -]criteria)?|notes?)(?:\1)[ \t]*:[ \t]*(.*)$/i;
/** Pattern for keys such as `**Scope:** path`. */
const KEY_WITH_COLON =
  /^(\*\*|__|\*|_|`)(scope|depends[ -]?on|dependencies|depends|acceptance(?:[ -]criteria)?|notes?)[ \t]*:[ \t]*\1[ \t]*(.*)$/i;
export function isField(text: string): boolean {
  return KEY.test(text) || KEY_WITH_COLON.test(text);
}

const QUOTES = '"\'“”';
const BOX = /^\[[ \txX]\][ \t]+/;
/** Pattern for a line with one HTML tag, which says nothing. */
const LONE_TAG = /^<\/?[a-z][\w-]*(?:\s[^<>]*)?\/?>$/i;

/** Reads the fields below a task's first line. `prose` is description and notes, one line per paragraph and item. */
export function readFields(lines: readonly ItemLine[]) {
  const entries: Entry[] = [];
  let field: Field = 'other';
  let keyDepth = 0;
  for (const { text, depth, first } of lines) {
    if (!first && LONE_TAG.test(text)) continue;
    // Deeper lines belong to the current field.
    const [, , key, value = ''] = (depth <= 1 ? (KEY.exec(text) ?? KEY_WITH_COLON.exec(text)) : null) ?? [];
    if (key !== undefined) {
      field = fieldOf(key);
      keyDepth = depth;
      entries.push({ field, text: value });
      continue;
    }
    if (first && depth <= keyDepth) field = 'other';
    const shown = text.replace(BOX, '');
    const last = entries.at(-1);
    if (first || last === undefined || last.field !== field || last.text === '') entries.push({ field, text: shown });
    else last.text += ` ${shown}`;
  }
  const of = (wanted: Field): string[] =>
    entries.filter((entry) => entry.field === wanted && entry.text.trim() !== '').map(({ text }) => text);
  return {
    scope: [...new Set(of('scope').flatMap(scopesIn))],
    dependsOn: [...new Set(of('depends').flatMap(idsIn))],
    acceptance: of('acceptance'),
    notes: of('notes'),
    prose: [...of('other'), ...of('notes')].join('\n'),
  };
}

function fieldOf(key: string): Field {
  const [begin = ''] = /^[a-z]+/i.exec(key) ?? [];
  const name = begin.toLowerCase();
  if (name === 'scope' || name === 'acceptance') return name;
  return name.startsWith('note') ? 'notes' : 'depends';
}

/** Returns text in backticks and adjacent paths; without backticks, comma-separated text. */
function scopesIn(text: string): string[] {
  const quoted = [...text.matchAll(/`([^`]+)`/g)].map(([, path = '']) => path.trim());
  const beside = text
    .replace(/`[^`]+`/g, ',')
    .split(',')
    .map(plainPath);
  const joined = beside.map((path) => path.replace(/^(?:and|or|plus|&|\+)(?:\s+|$)/i, ''));
  const named = quoted.length > 0 ? [...quoted, ...joined.filter((path) => !/\s|^\(/.test(path))] : beside;
  return named.filter((path) => path !== '' && !/^(?:none|n\/a|-)$/i.test(unmarked(path)));
}

/** Removes a pair of marks around a path; keeps its other stars and underscores (`*.md`, `__tests__`). */
function plainPath(text: string): string {
  return withoutEnds(text.trim().replace(/([^./])\.$/, '$1'), QUOTES)
    .replace(/^(\*{1,2})([^*/](?:.*[^*/])?)\1$/, '$2')
    .trim();
}

function idsIn(text: string): string[] {
  return text
    .split(/[,;&]|\band\b/i)
    .map((each) => unmarked(withoutRemark(each)).replace(/^tasks?\s+(?=\S)/i, 'Task '))
    .filter((id) => id !== '' && !/^(?:none|nothing|n\/a|[-–—])$/i.test(id));
}

function withoutRemark(text: string): string {
  const plain = text.trimEnd();
  const at = plain.endsWith(')') ? plain.indexOf('(', plain.lastIndexOf(')', plain.length - 2) + 1) : -1;
  return at === -1 ? text : plain.slice(0, at);
}

function unmarked(text: string): string {
  return withoutEnds(text.trim(), `*_\`${QUOTES}`, `*_\`${QUOTES}.`).trim();
}
