import { accessOf, guardsFiles, toolPaths } from './files/tool-paths.ts';
import { type Guard, prepareGuard } from './guard.ts';
import { deny, type GuardRules, type ToolCall, type Verdict } from './guard-rules.ts';
import { ownFileDenied } from './messages.ts';
import { shownPath } from './own-files/file-access-hit.ts';
import { hitByRemoval, hitByWrite } from './own-files/own-files.ts';

/** Evaluates a tool call by the loop's own rules and the user's. The caller denies the call if this throws. */
export async function evaluateToolCall(call: ToolCall, rules: GuardRules): Promise<Verdict> {
  const guard = prepareGuard(rules);
  const command = commandOf(call);
  if (command !== undefined) {
    const evaluate =
      call.tool === 'PowerShell'
        ? (await import('./evaluate-powershell.ts')).evaluatePowerShell
        : (await import('./evaluate-shell-command.ts')).evaluateShellCommand;
    const verdict = await evaluate(command, call.cwd, guard);
    if (verdict.decision === 'deny' || !call.tool.startsWith('mcp__')) return verdict;
  }
  const verdict = evaluateFileTool(call, guard);
  if (verdict.decision === 'deny') return verdict;
  const { guardrails, scope } = rules;
  const access = accessOf(call.tool);
  if (scope && access === 'changes') {
    const outside = await (await import('./scope/evaluate-scope.ts')).evaluateToolScope(call, guard, scope);
    if (outside !== null) return outside;
  }
  if (!guardrails || !guardsFiles(guardrails, access)) return verdict;
  return (await import('./files/evaluate-files.ts')).evaluateToolFiles(call, guard, guardrails);
}

/** The command of a shell tool; a tool of an MCP server that takes one is a shell too. */
function commandOf(call: ToolCall): string | undefined {
  if (call.tool !== 'Bash' && call.tool !== 'PowerShell' && !call.tool.startsWith('mcp__')) return undefined;
  if (typeof call.input !== 'object' || call.input === null || !('command' in call.input)) return undefined;
  return typeof call.input.command === 'string' ? call.input.command : undefined;
}

/** Evaluates a tool that takes paths: the client's file tools, and MCP tools other than readers. */
export function evaluateFileTool(call: ToolCall, guard: Guard): Verdict {
  const { paths, access, removes } = toolPaths(call, guard);
  if (access !== 'changes') return { decision: 'allow', recorded: [] };
  for (const path of paths) {
    const hit = hitByWrite(path, call.cwd, guard) ?? (removes ? hitByRemoval(path, call.cwd, true, guard) : undefined);
    if (hit !== undefined) return deny('own-files', ownFileDenied(shownPath(hit, guard), call.tool));
  }
  return { decision: 'allow', recorded: [] };
}
