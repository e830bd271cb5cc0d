import { prepareGuard } from './guard.ts';
import type { GuardRules, ToolCall, Verdict } from './guard-rules.ts';
import { judgeFileTool } from './judge-file-tool.ts';

/** The heavy half, with the parser: `() => import('./shell-judges.ts')`, or a file of its own in the bundle. */
type ShellJudges = typeof import('./shell-judges.ts');

/**
 * Decides whether a tool call may go ahead under the loop's own rules. Whatever fails in here is for the caller to deny.
 * The parser is loaded only for a shell command: a decision about a file tool must not pay for it.
 */
export async function judgeToolCall(
  call: ToolCall,
  rules: GuardRules,
  loadShell: () => Promise<ShellJudges>,
): Promise<Verdict> {
  const guard = prepareGuard(rules);
  const command = commandOf(call);
  if (command === undefined) return judgeFileTool(call, guard);
  if (call.tool === 'PowerShell') {
    const { judgePowerShell } = await loadShell();
    return judgePowerShell(command, call.cwd, guard);
  }
  const { judgeShellCommand } = await loadShell();
  const verdict = judgeShellCommand(command, call.cwd, guard);
  return verdict.decision === 'deny' || !call.tool.startsWith('mcp__') ? verdict : judgeFileTool(call, guard);
}

/** The command of a shell tool; a tool of an MCP server that takes one is a shell too. */
function commandOf(call: ToolCall): string | undefined {
  if (call.tool !== 'Bash' && call.tool !== 'PowerShell' && !call.tool.startsWith('mcp__')) return undefined;
  if (typeof call.input !== 'object' || call.input === null || !('command' in call.input)) return undefined;
  return typeof call.input.command === 'string' ? call.input.command : undefined;
}
