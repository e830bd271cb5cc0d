import { type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser/lib/esm/main.js';
import { settingsFiles } from '../../hosts/claude/permission-rules.ts';
import { RalphError } from '../../text/message.ts';
import { readText } from '../project-files.ts';

export interface SettingsSource {
  readonly name: 'project' | 'local' | 'user' | 'managed';
  readonly path: string;
  /** Content; {} if the file is missing or unreadable. */
  readonly value: Readonly<Record<string, unknown>>;
  readonly exists: boolean;
  /** Reason why the client ignores the file, or null. */
  readonly problem: string | null;
}

export function settingsSources(
  projectDir: string,
  env: NodeJS.ProcessEnv,
  platform: NodeJS.Platform,
): SettingsSource[] {
  const files = settingsFiles(projectDir, env, platform);
  return (['project', 'local', 'user', 'managed'] as const).map((name) => source(name, files[name]));
}

/** Returns whether a name in `enabledPlugins`, which its marketplace follows, is that of our plugin. */
export const isOurPlugin = (name: string): boolean => name.startsWith('ralph-loop@');

/** Returns whether the client loads the plugin in this project, according to the most specific settings file that names it. */
export function isPluginEnabled(sources: readonly SettingsSource[]): boolean {
  const decided = (['managed', 'local', 'project', 'user'] as const).flatMap((name) =>
    Object.entries(sources.find((source) => source.name === name)?.value['enabledPlugins'] ?? {})
      .filter(([plugin]) => isOurPlugin(plugin))
      .map(([, enabled]) => enabled === true),
  );
  return decided[0] ?? false;
}

function source(name: SettingsSource['name'], path: string): SettingsSource {
  try {
    const text = readText(path)?.replace(/^\uFEFF/, '');
    if (text === undefined) return { name, path, value: {}, exists: false, problem: null };
    const { root, problem } = readSettings(text, path);
    return { name, path, value: root === null ? {} : JSON.parse(text), exists: true, problem };
  } catch (error) {
    if (!(error instanceof RalphError)) throw error;
    return { name, path, value: {}, exists: true, problem: error.message };
  }
}

/** Reads settings like Claude Code, which requires strict JSON with an object at the root and otherwise ignores the file. */
function readSettings(text: string, path: string, comments = false) {
  if (text.trim() === '') return { root: null, problem: null };
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { disallowComments: !comments, allowTrailingComma: false });
  const [first] = errors;
  if (first === undefined && root?.type === 'object') return { root, problem: null };
  const what = first === undefined ? 'no JSON object' : explained(printParseErrorCode(first.error));
  const before = text.slice(0, first?.offset ?? root?.offset ?? 0).split(/\r\n|\r|\n/);
  const place = `line ${before.length}, column ${(before.at(-1) ?? '').length + 1}`;
  return { root: null, problem: `${path} is not valid JSON: ${what}, at ${place}.` };
}

/**
 * Returns the syntax tree of a settings file's text; null for an empty text. Throws `refused` if it is broken, or has
 * comments that its client does not allow.
 */
export function parseSettings(text: string, path: string, comments = false): Node | null {
  const { root, problem } = readSettings(text, path, comments);
  if (problem !== null) throw unchanged(problem);
  return root;
}

/** Returns an error about a file that the user has to fix before anything is written. */
export function unchanged(problem: string): RalphError {
  return new RalphError('refused', `${problem} Fix it first; nothing was written.`);
}

/** Returns the value of a property, or null; if several have the name, the last one, as in JSON.parse. */
export function memberOf(object: Node, key: string): Node | null {
  const properties = (object.children ?? []).filter(({ children }) => children?.[0]?.value === key);
  return properties.at(-1)?.children?.[1] ?? null;
}

function explained(code: string): string {
  if (code === 'InvalidCommentToken') return 'a comment, which makes its client ignore the whole file';
  const words = code.replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase();
  return words.replace('property name expected', 'a property name is expected (or there is an extra comma before it)');
}

/** Computes the insertion of `value` at the end of an object (under `key`) or a list (`key` null), in the text's own style. */
export function insertIntoJson(text: string, container: Node, key: string | null, value: unknown) {
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  const unit = /^[ \t]+(?=\S)/m.exec(text)?.[0] ?? '  ';
  const end = container.offset + container.length - 1;
  const last = container.children?.at(-1);
  if (last === undefined) {
    const inside = text.slice(container.offset + 1, end);
    const own = lineIndent(text, container.offset);
    const item = `${eol}${own}${unit}${pretty(key, value, unit, own + unit, eol)}`;
    if (inside.includes('\n')) return { offset: container.offset + 1, text: item };
    return { offset: end, text: `${item}${eol}${own}` };
  }
  const offset = last.offset + last.length;
  if (!text.slice(container.offset, end).includes('\n'))
    return { offset, text: `${separator(text, container)}${inline(key, value, text)}` };
  const indent = startsLine(text, last.offset)
    ? lineIndent(text, last.offset)
    : lineIndent(text, container.offset) + unit;
  return { offset, text: `,${eol}${indent}${pretty(key, value, unit, indent, eol)}` };
}

function pretty(key: string | null, value: unknown, unit: string, indent: string, eol: string): string {
  const lines = JSON.stringify(value, null, unit.slice(0, 10)).split('\n').join(`${eol}${indent}`);
  return key === null ? lines : `${JSON.stringify(key)}: ${lines}`;
}

function inline(key: string | null, value: unknown, text: string): string {
  const tight = !/":\s/.test(text);
  if (tight) return `${key === null ? '' : `${JSON.stringify(key)}:`}${JSON.stringify(value)}`;
  const spaced = JSON.stringify(value, null, 1).replace(/\n\s*/g, ' ');
  return key === null ? spaced : `${JSON.stringify(key)}: ${spaced}`;
}

function separator(text: string, container: Node): string {
  const [first, second] = container.children ?? [];
  const between = first && second ? text.slice(first.offset + first.length, second.offset) : null;
  return between ?? (/":\s/.test(text) ? ', ' : ',');
}

function lineIndent(text: string, offset: number): string {
  const start = text.lastIndexOf('\n', offset - 1) + 1;
  return /^[ \t]*/.exec(text.slice(start, offset))?.[0] ?? '';
}

function startsLine(text: string, offset: number): boolean {
  const start = text.lastIndexOf('\n', offset - 1) + 1;
  return text.slice(start, offset).trim() === '';
}
