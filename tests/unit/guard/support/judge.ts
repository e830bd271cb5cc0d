import type { GuardRules, ToolCall, Verdict } from '../../../../src/guard/guard-rules.ts';
import { judgeToolCall as judge } from '../../../../src/guard/judge-tool-call.ts';

/** As the hook calls it, with the shell half from the sources. */
export const judgeToolCall = (call: ToolCall, rules: GuardRules): Promise<Verdict> =>
  judge(call, rules, () => import('../../../../src/guard/shell-judges.ts'));
