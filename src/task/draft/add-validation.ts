import { isMap, isScalar, isSeq, type Node, parseDocument, stringify } from 'yaml';
import { type Line, lines } from '../../text/markdown/lines.ts';
import { RalphError } from '../../text/message.ts';
import { hasParseErrors, parseShell } from '../../text/shell/parse-shell.ts';
import { readYaml } from '../frontmatter/read-yaml.ts';
import { type SplitText, splitFrontmatter } from '../frontmatter/split-frontmatter.ts';

/** Adds new commands to the frontmatter and leaves every other key. Throws `task-invalid` if it cannot be extended. */
export function addValidation(text: string, commands: readonly string[]): string {
  const split = splitFrontmatter(text);
  if (split.problem === 'unclosed') throw cannot('it is never closed');
  const ending = /\r?\n/.exec(text)?.[0] ?? '\n';
  if (split.frontmatterLine === null) {
    if (commands.length === 0) return text;
    const mark = text.startsWith('\ufeff') ? '\ufeff' : '';
    const created = `${mark}---${ending}${blockList(commands, '', ending)}---${ending}${text.slice(mark.length)}`;
    return proven(split, created, commands);
  }
  const { mapping, problems } = readYaml(split.frontmatter);
  if (mapping === null) throw cannot(problems[0]?.message ?? 'it is not valid YAML');
  const known = listed(mapping).flatMap((entry) => [entry, runOf(entry)]);
  const missing = commands.filter((command) => !known.includes(command));
  if (missing.length === 0) return text;
  const start = text.length - split.body.length - closingMarker(text, split.body.length) - split.frontmatter.length;
  const edited = edit(split.frontmatter, missing, ending);
  return proven(split, text.slice(0, start) + edited + text.slice(start + split.frontmatter.length), commands);
}

/** Returns the length of the closing marker's line, including its line end. */
function closingMarker(text: string, bodyLength: number): number {
  const end = text.length - bodyLength;
  const before = text[end - 1] === '\n' ? end - 1 : end;
  return end - (text.lastIndexOf('\n', before - 1) + 1);
}

/** Writes the commands as a new key or into an existing list. Refuses a list with comments, which would be lost. */
function edit(source: string, commands: readonly string[], ending: string): string {
  const { contents } = parseDocument(source, { logLevel: 'error' });
  const map = isMap<Node>(contents) ? contents : null;
  if (map?.flow) throw cannot('it is written in braces');
  const column = map?.items[0] === undefined ? '' : indentation(source, offsetOf(map.items[0].key));
  const pair = map?.items.find(({ key }) => String(key) === 'validation');
  if (pair === undefined) return `${endWithLine(source, ending)}${blockList(commands, column, ending)}`;
  const { value } = pair;
  if (value !== null && !isSeq(value) && (!isScalar(value) || value.value !== null))
    throw cannot('its validation is not a list');
  const start = source.lastIndexOf('\n', offsetOf(pair.key)) + 1;
  const end = value?.range?.[2] ?? source.length;
  if (source.slice(start, end).includes('#')) throw cannot('its validation has a comment or a "#"');
  const entries = [...(isSeq(value) ? (value.toJSON() as unknown[]) : []), ...commands];
  return `${source.slice(0, start)}${blockList(entries, column, ending)}${source.slice(end).replace(/^\r?\n/, '')}`;
}

/** Returns the result. Throws unless it has the same content plus the commands. */
function proven(before: SplitText, result: string, commands: readonly string[]): string {
  const after = splitFrontmatter(result);
  const [old, now] = [before, after].map(({ frontmatter }) => readYaml(frontmatter).mapping ?? {});
  const { validation: _had, ...rest } = old ?? {};
  const { validation: _has, ...same } = now ?? {};
  const [first, all] = [listed(old), listed(now)];
  const kept = shownWhole([rest, first]) === shownWhole([same, all.slice(0, first.length)]);
  const there = commands.every((command) => all.some((entry) => entry === command || runOf(entry) === command));
  if (!kept || !there || after.body !== before.body) throw cannot('it is written in a form that cannot be added to');
  return result;
}

function listed(mapping: Readonly<Record<string, unknown>> | undefined): unknown[] {
  const list = mapping?.['validation'];
  return Array.isArray(list) ? list : [];
}

/** Serialises a value. Throws for a self-referencing anchor, which cannot be compared. */
function shownWhole(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch {
    throw cannot('it refers to itself');
  }
}

function runOf(entry: unknown): unknown {
  return (entry as { run?: unknown } | null)?.run;
}

function offsetOf(node: unknown): number {
  return (node as { range?: readonly number[] } | null)?.range?.[0] ?? 0;
}

function indentation(source: string, at: number): string {
  const line = source.slice(source.lastIndexOf('\n', at - 1) + 1, at);
  return /^[ \t]*/.exec(line)?.[0] ?? '';
}

function endWithLine(source: string, ending: string): string {
  return source === '' || source.endsWith('\n') ? source : source + ending;
}

function blockList(entries: readonly unknown[], column: string, ending: string): string {
  const lines = stringify({ validation: entries }, { lineWidth: 0 }).trimEnd().split('\n');
  return [...lines.map((line) => `${column}${line}`), ''].join(ending);
}

function cannot(why: string): RalphError {
  return new RalphError(
    'task-invalid',
    `the validation commands cannot be written into the frontmatter: ${why}. Add them under "validation:" by hand.`,
  );
}

/** Returns the section "Validation Commands", up to the next heading of its level; null if there is none. */
export function validationSection(body: string): { readonly line: number; readonly lines: readonly Line[] } | null {
  const all = [...lines(body)];
  let found: { line: number; level: number } | null = null;
  for (const { heading, number } of all) {
    if (heading === null || heading.isUnderline) continue;
    if (found !== null && heading.level <= found.level)
      return { line: found.line, lines: all.slice(found.line, number - 1) };
    if (found === null && isTitle(heading.title)) found = { line: number, level: heading.level };
  }
  return found && { line: found.line, lines: all.slice(found.line) };
}

function isTitle(text: string): boolean {
  const words = text
    .replace(/[*_`#:]/g, ' ')
    .trim()
    .split(/\s+/)
    .join(' ')
    .toLowerCase();
  return /^(?:\d+[.)] ?)?validation commands?$/.test(words);
}

const SHELL_FENCE = /^(?:bash|sh|shell|zsh|console|shell-session|terminal)?$/i;
/** Commands that prepare for a later one; a block that contains one stays one command. */
const SETS_UP = /^(?:cd|pushd|export|set|source|\.|alias|unset)$/;
/** Pattern for a list item that reads as a command, not as a sentence. */
const COMMAND_LIKE = /^(?:\.{0,2}\/)?[a-z][\w./-]*(?: .*[^.:!?])?$/;

/** Returns commands in shell fences and inline code of list items, else items that read as commands. */
export function extractValidationCommands(body: string): string[] {
  const section = validationSection(body);
  if (section === null) return [];
  const { fences, items } = blocks(section.lines);
  const inline = items.flatMap(inlineCode);
  const found = [...fences.flatMap(fenceCommands), ...inline];
  if (found.length > 0) return [...new Set(found)];
  return [...new Set(items.map((item) => item.trim()).filter((item) => COMMAND_LIKE.test(item)))];
}

function blocks(section: readonly Line[]): { fences: string[]; items: string[] } {
  const fences: string[] = [];
  const items: string[] = [];
  let open: { column: number; isShell: boolean; lines: string[] } | null = null;
  for (const { raw, column, fence, content, itemsBegun } of section) {
    if (fence === 'opens') {
      const [language = ''] = content.replace(/^[`~]+\s*/, '').split(/[\s{]/, 1);
      open = { column, isShell: SHELL_FENCE.test(language), lines: [] };
    } else if (fence === 'inside')
      open?.lines.push(raw.slice(Math.min(open.column, raw.length - raw.trimStart().length)));
    else if (fence === 'closes' && open?.isShell) fences.push(open.lines.join('\n'));
    else if (itemsBegun > 0) items.push(content.replace(/^\[[ xX]\]\s+/, ''));
  }
  return { fences, items };
}

function inlineCode(item: string): string[] {
  return [...item.matchAll(/(`+)(?!`)(.+?)(?<!`)\1(?!`)/g)]
    .map(([, , code = '']) => code.trim())
    .filter((code) => code !== '');
}

/** Returns one command per statement, unless a statement prepares for the next. */
function fenceCommands(block: string): string[] {
  const transcript = block.split('\n').filter((line) => /^\s*\$ /.test(line));
  const source = transcript.length > 0 ? transcript.map((line) => line.trim().slice(2)).join('\n') : block;
  const script = parseShell(source);
  if (/<<-?\s*['"\w]/.test(source) || hasParseErrors(script)) return whole(source);
  const statements = script.commands.map(({ command, pos, end }) => ({
    text: source.slice(pos, end).trim(),
    setsUp: command.type === 'Command' && (command.name === undefined || SETS_UP.test(command.name.value)),
  }));
  const texts = statements.map(({ text }) => text).filter((text) => text !== '');
  return statements.some(({ setsUp }) => setsUp) ? whole(texts.join(' && ')) : texts;
}

function whole(text: string): string[] {
  return text.trim() === '' ? [] : [text.trim()];
}
