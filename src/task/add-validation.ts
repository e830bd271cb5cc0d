import { isMap, isSeq, type Pair, parseDocument, stringify, type YAMLMap } from 'yaml';
import { RalphError } from '../core/ralph-error.ts';
import { splitFrontmatter } from './split-frontmatter.ts';

/**
 * The task file with these commands under `validation` in its frontmatter, every other byte as it was; commands that
 * stand there already are left out. A file without frontmatter gets one. Throws `task-invalid` where the frontmatter
 * is broken or written in a form that cannot be added to.
 */
export function addValidation(text: string, commands: readonly string[]): string {
  const split = splitFrontmatter(text);
  if (split.problem === 'unclosed') throw cannot('it is never closed');
  const ending = /\r?\n/.exec(text)?.[0] ?? '\n';
  if (split.frontmatterLine === null) {
    if (commands.length === 0) return text;
    const mark = text.startsWith('\ufeff') ? '\ufeff' : '';
    return `${mark}---${ending}${blockList(commands, '', ending)}---${ending}${text.slice(mark.length)}`;
  }
  const document = parseDocument(split.frontmatter);
  if (document.errors.length > 0) throw cannot(document.errors[0]?.message ?? 'it is no YAML');
  const start = text.length - split.body.length - closingMarker(text, split.body.length) - split.frontmatter.length;
  const edited = edit(split.frontmatter, document.contents, commands, ending);
  const result = text.slice(0, start) + edited + text.slice(start + split.frontmatter.length);
  prove(split.frontmatter, edited, commands);
  return result;
}

/** Length of the closing marker's line, its terminator included. */
function closingMarker(text: string, bodyLength: number): number {
  const end = text.length - bodyLength;
  const before = text[end - 1] === '\n' ? end - 1 : end;
  return end - (text.lastIndexOf('\n', before - 1) + 1);
}

function edit(source: string, contents: unknown, commands: readonly string[], ending: string): string {
  if (contents !== null && contents !== undefined && !isMap(contents)) throw cannot('it is no mapping');
  const map = contents as YAMLMap | null | undefined;
  const pair = map?.items.find(({ key }) => String(key) === 'validation');
  const known = pair && isSeq(pair.value) ? (pair.value.toJSON() as unknown[]) : [];
  const missing = commands.filter(
    (command) => !known.includes(command) && !known.some((entry) => runOf(entry) === command),
  );
  if (missing.length === 0) return source;
  if (pair !== undefined) return extend(source, pair, missing, ending);
  if (map?.flow) throw cannot('it is written in braces');
  const column = map?.items[0] === undefined ? '' : indentation(source, offsetOf(map.items[0].key));
  return `${endWithLine(source, ending)}${blockList(missing, column, ending)}`;
}

function extend(source: string, pair: Pair, commands: readonly string[], ending: string): string {
  const { value } = pair;
  const flow = commands.map(flowScalar).join(', ');
  if (isSeq(value) && value.range) {
    const [start, end] = value.range;
    const first = value.items[0];
    if (!value.flow && first !== undefined) {
      const dash = source.lastIndexOf('-', offsetOf(first) - 1);
      const items = commands.map((command) => `${indentation(source, dash)}- ${scalar(command)}${ending}`).join('');
      return endWithLine(source.slice(0, end), ending) + items + source.slice(end);
    }
    const closing = source.lastIndexOf(']', end - 1);
    if (closing < start) throw cannot('its validation is written in a form that cannot be added to');
    const inner = source.slice(start + 1, closing).trimEnd();
    const comma = value.items.length === 0 || inner.endsWith(',') ? '' : ', ';
    return `${source.slice(0, start + 1)}${inner}${comma}${flow}${source.slice(closing)}`;
  }
  const colon = source.indexOf(':', offsetOf(pair.key)) + 1;
  const empty = (value as { value?: unknown } | null)?.value === null || value === null;
  if (!empty || !/^[ \t]*(?:#.*)?\r?(?:\n|$)/.test(source.slice(colon))) throw cannot('its validation is no list');
  return `${source.slice(0, colon)} [${flow}]${source.slice(colon)}`;
}

/** Whatever the source looked like, what comes out says what was meant, or nothing comes out. */
function prove(before: string, after: string, commands: readonly string[]): void {
  const [old, now] = [before, after].map((source) => (parseDocument(source).toJS() ?? {}) as Record<string, unknown>);
  const { validation: had, ...rest } = old ?? {};
  const { validation: has, ...same } = now ?? {};
  const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
  const kept =
    JSON.stringify(rest) === JSON.stringify(same) &&
    JSON.stringify(list(had)) === JSON.stringify(list(has).slice(0, list(had).length));
  const there = commands.every((command) => list(has).some((entry) => entry === command || runOf(entry) === command));
  if (!kept || !there) throw cannot('it is written in a form that cannot be added to');
}

function runOf(entry: unknown): unknown {
  return (entry as { run?: unknown } | null)?.run;
}

function offsetOf(node: unknown): number {
  return (node as { range?: readonly number[] } | null)?.range?.[0] ?? 0;
}

/** The white space before the place on its line. */
function indentation(source: string, at: number): string {
  const line = source.slice(source.lastIndexOf('\n', at - 1) + 1, at);
  return /^[ \t]*/.exec(line)?.[0] ?? '';
}

function endWithLine(source: string, ending: string): string {
  return source === '' || source.endsWith('\n') ? source : source + ending;
}

function blockList(commands: readonly string[], column: string, ending: string): string {
  return [`${column}validation:`, ...commands.map((command) => `${column}  - ${scalar(command)}`), ''].join(ending);
}

function scalar(command: string): string {
  return stringify(command, { lineWidth: 0, blockQuote: false }).trimEnd();
}

/** Quoted always: a comma or a bracket would end a plain one. */
function flowScalar(command: string): string {
  return stringify(command, { lineWidth: 0, defaultStringType: 'QUOTE_DOUBLE' }).trimEnd();
}

function cannot(why: string): RalphError {
  return new RalphError(
    'task-invalid',
    `the validation commands cannot be written into the frontmatter: ${why}. Add them under "validation:" by hand.`,
  );
}
