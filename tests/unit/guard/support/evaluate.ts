import { judgeToolCall as judge } from '../../../../src/guard/evaluate-tool-call.ts';
import type { GuardRules, ToolCall, Verdict } from '../../../../src/guard/guard-rules.ts';
import type { Parts } from '../../../../src/guard/parts.ts';

/** From the sources. */
export const PARTS: Parts = {
  shell: () => import('../../../../src/guard/shell-judges.ts'),
  files: () => import('../../../../src/guard/file-judges.ts'),
  globs: () => import('../../../../src/guard/files/picomatch-glob.ts'),
};

/** As the hook calls it. */
export const judgeToolCall = (call: ToolCall, rules: GuardRules): Promise<Verdict> => judge(call, rules, PARTS);
