import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Contract } from '../../core/schema/contract.ts';
import { taskKind } from '../../task/task-kind.ts';

/** Serves where the project has no agent of ours. */
export const ANY_AGENT = 'general-purpose';

/**
 * The subagent for a task: one that audits for a prompt file, one that develops for everything else; the client's own
 * where the project and the user have no such agent.
 */
export function agentType({ projectDir, taskPath, tdd, policy }: Contract, env: NodeJS.ProcessEnv): string {
  const audits = taskKind(taskPath) === 'prompt' && tdd === undefined && !policy.plan;
  const wanted = audits ? 'ralph-qa' : 'ralph-developer';
  const users = env['CLAUDE_CONFIG_DIR'] || join(env['HOME'] || homedir(), '.claude');
  const there = [join(projectDir, '.claude'), users].some((folder) =>
    existsSync(join(folder, 'agents', `${wanted}.md`)),
  );
  return there ? wanted : ANY_AGENT;
}
