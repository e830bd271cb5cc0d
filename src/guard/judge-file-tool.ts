import type { Guard } from './guard.ts';
import type { ToolCall, Verdict } from './guard-rules.ts';
import { ownFileDenied } from './messages.ts';
import { hitByRemoval, hitByWrite } from './own-files.ts';
import { shownPath } from './path-use-hit.ts';

const FILE_TOOLS = new Set(['Write', 'Edit', 'MultiEdit', 'NotebookEdit']);
const PATH_KEY =
  /^(file_?path|notebook_?path|path|paths|file|files|file_?name|target_?file|target|uri|url|source|destination|dest|(old|new|from|to|src|dst|source|target|absolute|relative|directory|dir|folder)_?(path|file)|directory|dir)$/i;
const READS = /(^|_)(read|get|list|search|find|view|stat|tree|info|glob|grep|describe|fetch|query|open|show|lookup)/i;
const WRITES =
  /(write|edit|create|delete|move|remove|rename|copy|append|replace|insert|patch|update|save|put|apply|set|upload|download)/i;
const REMOVES = /(delete|move|remove|rename)/i;
/** Depth of the input of an MCP tool in which paths are looked for. */
const MAX_DEPTH = 4;

/** Judges a tool that is given paths: the client's file tools, and tools of MCP servers that are no plain readers. */
export function judgeFileTool(call: ToolCall, guard: Guard): Verdict {
  const own = FILE_TOOLS.has(call.tool);
  if (!own && (!call.tool.startsWith('mcp__') || isReader(call.tool))) return { decision: 'allow', recorded: [] };
  const removes = !own && REMOVES.test(verbOf(call.tool));
  for (const given of pathsIn(call.input, 0)) {
    const path = asPath(given, guard);
    const hit = hitByWrite(path, call.cwd, guard) ?? (removes ? hitByRemoval(path, call.cwd, true, guard) : undefined);
    if (hit !== undefined)
      return { decision: 'deny', rule: 'own-files', message: ownFileDenied(shownPath(hit, guard), call.tool) };
  }
  return { decision: 'allow', recorded: [] };
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
