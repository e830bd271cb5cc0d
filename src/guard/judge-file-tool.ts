import type { Guard } from './guard.ts';
import type { ToolCall, Verdict } from './guard-rules.ts';
import { ownFileDenied } from './messages.ts';
import { hitByRemoval, hitByWrite } from './own-files.ts';
import { shownPath } from './path-use-hit.ts';
import { toolPaths } from './tool-paths.ts';

/** Judges a tool that is given paths: the client's file tools, and tools of MCP servers that are no plain readers. */
export function judgeFileTool(call: ToolCall, guard: Guard): Verdict {
  const { paths, access, removes } = toolPaths(call, guard);
  if (access !== 'changes') return { decision: 'allow', recorded: [] };
  for (const path of paths) {
    const hit = hitByWrite(path, call.cwd, guard) ?? (removes ? hitByRemoval(path, call.cwd, true, guard) : undefined);
    if (hit !== undefined)
      return { decision: 'deny', rule: 'own-files', message: ownFileDenied(shownPath(hit, guard), call.tool) };
  }
  return { decision: 'allow', recorded: [] };
}
