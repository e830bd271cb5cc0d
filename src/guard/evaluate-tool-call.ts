import { namedCommands, type RunText, runTexts } from './client-tools.ts';
import { comparableForms } from './comparable-path.ts';
import { accessOf, guardsFiles, MAX_PATHS, toolPaths } from './files/tool-paths.ts';
import { deny, type Guard, type GuardRules, prepareGuard, type ToolCall, type Verdict } from './guard.ts';
import { outsideDenied, ownFileDenied, TOO_MANY_PATHS } from './messages.ts';
import { absolutePath, hitByRemoval, hitByTreeBelow, hitByWrite, shownPath } from './own-files/own-files.ts';

/** Evaluates a tool call by the loop's own rules and the user's. The caller denies the call if this throws. */
export async function evaluateToolCall(call: ToolCall, rules: GuardRules): Promise<Verdict> {
  const guard = prepareGuard(rules);
  const recorded: string[] = [];
  for (const run of runTexts(call)) {
    const verdict = await evaluateRun(run, guard);
    if (verdict.decision === 'deny') return verdict;
    recorded.push(...verdict.recorded);
  }
  const named = rules.guardrails || rules.scope ? namedCommands(call) : '';
  const command = named && (await (await import('./evaluate-shell-command.ts')).evaluateName(named, call.cwd, guard));
  if (command) return command;
  const verdict = evaluateFileTool(call, guard);
  if (verdict.decision === 'deny') return verdict;
  const { guardrails, scope } = rules;
  const access = accessOf(call.tool);
  if (scope && access === 'changes') {
    const outside = await (await import('./evaluate-scope.ts')).evaluateToolScope(call, guard, scope);
    if (outside !== null) return outside;
  }
  if (!guardrails || !guardsFiles(guardrails, access)) return { decision: 'allow', recorded };
  const files = await (await import('./files/evaluate-files.ts')).evaluateToolFiles(call, guard, guardrails);
  return files.decision === 'deny' ? files : { decision: 'allow', recorded: [...recorded, ...files.recorded] };
}

async function evaluateRun({ kind, text, cwd }: RunText, guard: Guard): Promise<Verdict> {
  if (kind === 'powershell') return (await import('./evaluate-powershell.ts')).evaluatePowerShell(text, cwd, guard);
  const shell = await import('./evaluate-shell-command.ts');
  return kind === 'code' ? shell.evaluateCode(text, cwd, guard) : shell.evaluateShellCommand(text, cwd, guard);
}

/** Evaluates the paths of a call of the client's file tools or of an unknown tool. */
function evaluateFileTool(call: ToolCall, guard: Guard): Verdict {
  const { paths, access, removes, unknown } = toolPaths(call, guard);
  if (access !== 'changes') return { decision: 'allow', recorded: [] };
  if (paths.length > MAX_PATHS) return deny('own-files', TOO_MANY_PATHS);
  for (const path of paths) {
    const hit =
      hitByWrite(path, call.cwd, guard) ??
      (removes ? hitByRemoval(path, call.cwd, true, guard) : undefined) ??
      (unknown ? hitByTreeBelow(path, call.cwd, guard) : undefined);
    if (hit !== undefined) return deny('own-files', ownFileDenied(shownPath(hit, guard), call.tool));
    if (!unknown && leavesSandbox(path, call.cwd, guard)) return deny('sandbox', outsideDenied(path, call.tool));
  }
  return { decision: 'allow', recorded: [] };
}

/** Returns whether a file tool would write outside the sandbox, or to settings and hooks of git (measured). */
function leavesSandbox(path: string, cwd: string, { real, rules: { writable, caseInsensitive } }: Guard): boolean {
  if (writable === undefined) return false;
  const folders = writable.flatMap((folder) => comparableForms(folder, caseInsensitive, real));
  const isOpen = (form: string): boolean => folders.some((folder) => form === folder || form.startsWith(`${folder}/`));
  const forms = comparableForms(absolutePath(path, cwd), caseInsensitive, real);
  return !forms.every(isOpen) || forms.some((form) => /\/\.git(?:\/|$)/i.test(form));
}
