import type { Guardrails } from '../../engine/schema/contract.ts';
import { classOf, isRemoval, PROSE_KEY, patchTargets } from '../client-tools.ts';
import type { Guard, ToolCall } from '../guard.ts';

const PATH_KEY =
  /^(file_?path|notebook_?path|path|paths|file|files|file_?name|target_?file|target|uri|url|source|destination|dest|(old|new|from|to|src|dst|source|target|absolute|relative|directory|dir|folder)_?(path|file)|directory|dir)$/i;
const MAX_LENGTH = 4096;
/** Maximum number of paths examined in one call; a call with more is denied. */
export const MAX_PATHS = 1000;

interface ToolPaths {
  readonly paths: readonly string[];
  readonly access: 'changes' | 'reads' | 'none';
  /** True if the paths themselves are removed, with everything below them. */
  readonly removes: boolean;
  /** True if the tool is unknown: naming a folder then counts as naming its content. */
  readonly unknown: boolean;
}

/** Returns the paths in a call of a file tool or an unknown tool; texts that are run are evaluated elsewhere. */
export function toolPaths(call: ToolCall, guard: Guard, sureOnly = false): ToolPaths {
  const access = accessOf(call.tool);
  const unknown = classOf(call.tool) === 'unknown';
  if (access === 'none') return { paths: [], access, removes: false, unknown };
  const found: string[] = [];
  const isSure = unknown || call.tool.startsWith('mcp__') || call.tool === 'apply_patch';
  const wanted = unknown && !sureOnly ? 'all' : isSure ? 'sure' : 'keys';
  collect('', call.input, wanted, found);
  return {
    paths: [...new Set(found)].map((path) => asPath(path, guard)),
    access,
    removes: access === 'changes' && isRemoval(call.tool),
    unknown,
  };
}

export function accessOf(tool: string): ToolPaths['access'] {
  const kind = classOf(tool);
  if (kind === 'reads' || kind === 'changes') return kind;
  return kind === 'unknown' ? 'changes' : 'none';
}

/** keys: texts under a key for paths. sure: absolute paths and the like as well. all: every single word as well. */
type Wanted = 'keys' | 'sure' | 'all';

function collect(key: string, value: unknown, wanted: Wanted, found: string[]): void {
  if (found.length > MAX_PATHS) return;
  if (typeof value === 'string') {
    const isWord = wanted === 'all' && !PROSE_KEY.test(key) && isOneWord(value);
    if (wanted !== 'keys') found.push(...patchTargets(value));
    if ((PATH_KEY.test(key) && !isAddress(value)) || isWord || (wanted !== 'keys' && isPlainPath(value)))
      found.push(value);
  } else if (Array.isArray(value)) for (const each of value) collect(key, each, wanted, found);
  else if (typeof value === 'object' && value !== null) {
    for (const [name, each] of Object.entries(value)) {
      if (wanted === 'all' && name.includes('/') && isOneWord(name)) found.push(name);
      collect(name, each, wanted, found);
    }
  }
}

/** Returns whether a text is absolute, relative to here or home, or a file URL. */
function isPlainPath(text: string): boolean {
  return text.length < MAX_LENGTH && /^(\/|\.{1,2}\/|~\/|[a-zA-Z]:[\\/]|file:)[^\n]*$/.test(text);
}

function isOneWord(text: string): boolean {
  return text.length < MAX_LENGTH && text !== '' && !/[\s\0]/.test(text) && !isAddress(text);
}

function isAddress(text: string): boolean {
  return /^(?!file:)[a-z][a-z\d+.-]+:\/\//i.test(text);
}

function asPath(given: string, guard: Guard): string {
  if (/^file:/i.test(given)) {
    try {
      // file:///C:/x is C:/x on Windows.
      return decodeURIComponent(new URL(given).pathname).replace(/^\/(?=[a-zA-Z]:)/, '');
    } catch {
      return given.slice('file://'.length);
    }
  }
  if (given === '~' || given.startsWith('~/')) return guard.rules.home + given.slice(1);
  return given;
}

/** Returns whether the user's rules cover this kind of access to files. */
export function guardsFiles(rules: Guardrails, access: ToolPaths['access'] = 'changes'): boolean {
  if (access === 'none') return false;
  return rules.privateFiles.length > 0 || (access === 'changes' && rules.protectedFiles.length > 0);
}
