import type { Guardrails } from '../../engine/schema/contract.ts';
import type { Guard } from '../guard.ts';
import type { ToolCall } from '../guard-rules.ts';

const FILE_TOOLS = new Set(['Write', 'Edit', 'MultiEdit', 'NotebookEdit']);
const FILE_READERS = new Set(['Read', 'NotebookRead', 'Grep', 'Glob']);
const PATH_KEY =
  /^(file_?path|notebook_?path|path|paths|file|files|file_?name|target_?file|target|uri|url|source|destination|dest|(old|new|from|to|src|dst|source|target|absolute|relative|directory|dir|folder)_?(path|file)|directory|dir)$/i;
const READS = /(^|_)(read|get|list|search|find|view|stat|tree|info|glob|grep|describe|fetch|query|open|show|lookup)/i;
const WRITES =
  /(write|edit|create|delete|move|remove|rename|copy|append|replace|insert|patch|update|save|put|apply|set|upload|download)/i;
const REMOVES = /(delete|move|remove|rename)/i;
const MAX_DEPTH = 4;

export interface ToolPaths {
  readonly paths: readonly string[];
  readonly access: 'changes' | 'reads' | 'none';
  /** The paths themselves go away, with all below them. */
  readonly removes: boolean;
}

/** Returns the paths of a call of a file tool or MCP tool; shell tools are evaluated elsewhere. */
export function toolPaths(call: ToolCall, guard: Guard): ToolPaths {
  const access = accessOf(call.tool);
  if (access === 'none') return { paths: [], access, removes: false };
  const removes = access === 'changes' && call.tool.startsWith('mcp__') && REMOVES.test(verbOf(call.tool));
  return { paths: pathsIn(call.input, 0).map((path) => asPath(path, guard)), access, removes };
}

export function accessOf(tool: string): ToolPaths['access'] {
  if (FILE_TOOLS.has(tool)) return 'changes';
  if (FILE_READERS.has(tool)) return 'reads';
  if (!tool.startsWith('mcp__')) return 'none';
  return isReader(tool) ? 'reads' : 'changes';
}

function isReader(tool: string): boolean {
  const verb = verbOf(tool);
  return READS.test(verb) && !WRITES.test(verb);
}

function verbOf(tool: string): string {
  return tool.slice(tool.lastIndexOf('__') + 2);
}

function pathsIn(input: unknown, depth: number): string[] {
  if (depth > MAX_DEPTH || typeof input !== 'object' || input === null) return [];
  if (Array.isArray(input)) return input.flatMap((each) => pathsIn(each, depth + 1));
  return Object.entries(input).flatMap(([key, value]) => {
    if (!PATH_KEY.test(key)) return pathsIn(value, depth + 1);
    if (typeof value === 'string') return [value];
    if (Array.isArray(value))
      return value.flatMap((each) => (typeof each === 'string' ? [each] : pathsIn(each, depth + 1)));
    return pathsIn(value, depth + 1);
  });
}

function asPath(given: string, guard: Guard): string {
  if (/^file:\/\//i.test(given)) {
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
