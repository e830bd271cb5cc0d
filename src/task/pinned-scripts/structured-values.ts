import { parse as parseToml } from 'smol-toml';

/** Lines of an .npmrc that decide which program runs a script, and how; not registries, credentials or versions. */
const NPMRC =
  /^(?:script-shell|shell|shell-emulator|node-options|ignore-scripts|enable-pre-post-scripts|if-present|prefix|workspaces?|workspace-root|include-workspace-root|userconfig|globalconfig)(?:\[\])?\s*(?:=|$)/i;

/**
 * Returns what a part of a structured file says, as a text to compare: the value at a path of keys in JSON and TOML, the
 * lines of a section in an INI file, the settings of an .npmrc that steer scripts. null where the part is absent. A file
 * that cannot be parsed is compared whole.
 */
export function partOf(path: string, text: string, part: string): string | null {
  if (path.endsWith('.npmrc')) return lines(text, (line) => NPMRC.test(line));
  if (/\.(?:cfg|ini)$/.test(path)) return section(text, part);
  try {
    const parsed: unknown = path.endsWith('.toml') ? parseToml(text) : JSON.parse(text);
    const value = valueAt(parsed, part.split('.'));
    return value === undefined ? null : JSON.stringify(value, sortedKeys);
  } catch {
    return text;
  }
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
  return valueAt((value as Record<string, unknown>)[key], rest);
}

function sortedKeys(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || value instanceof Date) return value;
  return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)));
}

function section(text: string, name: string): string | null {
  let inside = false;
  return lines(text, (line) => {
    const header = /^\[([^\]]*)\]/.exec(line)?.[1];
    if (header !== undefined) inside = header.trim() === name;
    return inside && header === undefined;
  });
}

function lines(text: string, counts: (line: string) => boolean): string | null {
  const found = text.split(/\r?\n/).filter((line) => counts(line) && !/^\s*(?:[#;]|$)/.test(line));
  return found.length === 0 ? null : found.map((line) => line.trimEnd()).join('\n');
}
