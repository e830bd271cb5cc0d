import type { Guardrails } from '../core/schema/contract.ts';
import { judgeCommandRules, openRules } from './commands/judge-command-rules.ts';
import type { FileJudgement } from './files/judge-files.ts';
import type { Guard } from './guard.ts';
import { guardsFiles } from './guards-files.ts';
import { judgeUndecided } from './judge-undecided.ts';
import type { Parts } from './parts.ts';
import type { ShellReading } from './shell/shell-reading.ts';

export const NOTHING: FileJudgement = { denial: null, open: [] };

/**
 * Judges a shell command by the user's rules: the allowlist, blocked commands, guarded files, and at last what could not
 * be decided. The judge of files is loaded only where a rule is about files and the command names some.
 */
export async function judgeByGuardrails(
  source: string,
  reading: ShellReading,
  guard: Guard,
  rules: Guardrails,
  parts: Parts,
): Promise<FileJudgement> {
  const { caseInsensitive } = guard.rules;
  const blocked = judgeCommandRules(source, reading, rules, caseInsensitive);
  if (blocked !== null) return { denial: blocked, open: [] };
  const names = guardsFiles(rules) && reading.writes.length + reading.reads.length > 0;
  const files = names ? await (await parts.files()).judgeShellFiles(reading, guard, rules, parts.globs) : NOTHING;
  if (files.denial !== null) return files;
  const open = [
    ...files.open,
    ...openRules(reading, rules, caseInsensitive).map((rule) => ({ kind: 'open-argument', text: rule })),
  ];
  return { denial: judgeUndecided([...reading.undecidable, ...open], rules), open };
}
