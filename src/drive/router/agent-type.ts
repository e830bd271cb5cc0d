import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Contract } from '../../core/schema/contract.ts';
import { readRegularFile } from '../../state/read-regular-file.ts';
import { splitFrontmatter } from '../../task/split-frontmatter.ts';
import { taskKind } from '../../task/task-kind.ts';

/** Serves where the project has no agent of ours. */
export const ANY_AGENT = 'general-purpose';

/** The hook by which an agent of ours is held to the rules of a loop. */
const OUR_HOOK = /ralph-router-tool-use\.cjs/;
const MAX_BYTES = 1024 * 1024;

/**
 * The subagent for a task: one that audits for a prompt file, one that develops for everything else; the client's own
 * where the project and the user have no such agent.
 */
export function agentType({ projectDir, taskPath, tdd, policy }: Contract, env: NodeJS.ProcessEnv): string {
  const audits = taskKind(taskPath) === 'prompt' && tdd === undefined && !policy.plan;
  const wanted = audits ? 'ralph-qa' : 'ralph-developer';
  return agentFile(wanted, projectDir, env) === null ? ANY_AGENT : wanted;
}

/** Where the file of an agent lies that has not the hooks of ours: somebody's own under the same name; null where it has them. */
export function foreignAgent(type: string, { projectDir }: Contract, env: NodeJS.ProcessEnv): string | null {
  const file = agentFile(type, projectDir, env);
  if (file === null) return null;
  return OUR_HOOK.test(splitFrontmatter(readRegularFile(file, MAX_BYTES) ?? '').frontmatter) ? null : file;
}

/** The file of an agent that the client takes: the project's before the user's; null where neither has one. */
function agentFile(type: string, projectDir: string, env: NodeJS.ProcessEnv): string | null {
  const users = env['CLAUDE_CONFIG_DIR'] || join(env['HOME'] || homedir(), '.claude');
  const files = [join(projectDir, '.claude'), users].map((folder) => join(folder, 'agents', `${type}.md`));
  return files.find((file) => existsSync(file)) ?? null;
}
