import type { LeafLine } from './task-lines.ts';
import { INLINE_COMMENT } from './task-lines.ts';

export interface TaskFields {
  readonly scope: readonly string[];
  readonly dependsOn: readonly string[];
  readonly acceptance: readonly string[];
  readonly notes: readonly string[];
  /** Description and notes, each paragraph and list item on a line. */
  readonly prose: string;
}

type Field = 'scope' | 'depends' | 'acceptance' | 'notes' | 'other';

/** One item or paragraph of a field, its lines joined. */
interface Entry {
  readonly field: Field;
  text: string;
}

const KEY =
  /^(\*\*|__|\*|_|`|)(scope|depends[ -]?on|dependencies|depends|acceptance(?:[ -]criteria)?|notes?)(?:\1)[ \t]*:[ \t]*(.*)$/i;
/** `**Scope:** path` */
const KEY_WITH_COLON =
  /^(\*\*|__|\*|_|`)(scope|depends[ -]?on|dependencies|depends|acceptance(?:[ -]criteria)?|notes?)[ \t]*:[ \t]*\1[ \t]*(.*)$/i;
/** Whether a line of a task names one of its fields. */
export function isField(text: string): boolean {
  return KEY.test(text) || KEY_WITH_COLON.test(text);
}

const BOX = /^\[[ \txX]\][ \t]+/;

/** Reads what stands below a task's first line: `Scope:`, `Depends on:`, `Acceptance:`, `Notes:`, as items or as lines. */
export function readFields(lines: readonly LeafLine[]): TaskFields {
  const entries: Entry[] = [];
  let field: Field = 'other';
  let keyDepth = 0;
  for (const { text: raw, depth, first } of lines) {
    const text = raw.replace(INLINE_COMMENT, '').trim();
    // What is nested deeper belongs to a field, whatever it says.
    const [, , key, value = ''] = (depth <= 1 ? (KEY.exec(text) ?? KEY_WITH_COLON.exec(text)) : null) ?? [];
    if (key !== undefined) {
      field = fieldOf(key);
      keyDepth = depth;
      entries.push({ field, text: value });
      continue;
    }
    // The next item beside a field's own is no part of it.
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
  switch (begin.toLowerCase()) {
    case 'scope':
      return 'scope';
    case 'acceptance':
      return 'acceptance';
    case 'note':
    case 'notes':
      return 'notes';
    default:
      return 'depends';
  }
}

/** What stands in backticks, and beside it what is no prose; where nothing does, what stands between commas. */
function scopesIn(text: string): string[] {
  const quoted = [...text.matchAll(/`([^`]+)`/g)].map(([, path = '']) => path.trim());
  const beside = text
    .replace(/`[^`]+`/g, ',')
    .split(',')
    .map(plainPath);
  const named =
    quoted.length > 0 ? [...quoted, ...beside.map(withoutAnd).filter((path) => !/\s|^\(/.test(path))] : beside;
  return named.filter((path) => path !== '' && !/^(?:none|n\/a|-)$/i.test(unmarked(path)));
}

/** `and test/api` behind another path. */
function withoutAnd(path: string): string {
  return path.replace(/^(?:and|or|plus|&|\+)(?:\s+|$)/i, '');
}

/** Stars and underscores belong to a path, as in `*.md` and `__tests__`, but for stars on both sides of a whole one. */
function plainPath(text: string): string {
  return text
    .trim()
    .replace(/([^./])\.$/, '$1')
    .replace(/^["'“”]+|["'“”]+$/g, '')
    .replace(/^(\*{1,2})([^*/](?:.*[^*/])?)\1$/, '$2')
    .trim();
}

function idsIn(text: string): string[] {
  return text
    .split(/[,;&]|\band\b/i)
    .map((each) => unmarked(each.replace(/\([^)]*\)\s*$/, '')).replace(/^tasks?\s+(?=\S)/i, 'Task '))
    .filter((id) => id !== '' && !/^(?:none|nothing|n\/a|[-–—])$/i.test(id));
}

function unmarked(text: string): string {
  return text
    .trim()
    .replace(/^[*_`"'“”]+|[*_`"'“”.]+$/g, '')
    .trim();
}
