import { CODEX_HOOKS } from './codex/hook-output.ts';
import { GEMINI_HOOKS } from './gemini/payload.ts';
import type { HookHost } from './hook-io/hook-host.ts';

const CLAUDE_HOOKS: HookHost = {
  name: 'claude-code',
  login: '/login',
  agentVariable: 'CLAUDECODE',
  output: (_, answer) => ({ stdout: JSON.stringify(answer), stderr: '', code: 0 }),
  namesCallDir: false,
  hooksSteer: false,
};

/** The hosts of hosts.ts as hooks load them: with only what a hook needs. */
export const HOOK_HOSTS: readonly HookHost[] = [CLAUDE_HOOKS, CODEX_HOOKS, GEMINI_HOOKS];

/** Variables that are 1 in the shells of agents. */
export const AGENT_SHELLS = HOOK_HOSTS.map(({ agentVariable }) => agentVariable);

/** Returns the host that a hook's command names by `--host NAME`, by default Claude Code; null for an unknown one. */
export function hookHost(words: readonly string[]): HookHost | null {
  const at = words.indexOf('--host');
  if (at === -1) return CLAUDE_HOOKS;
  return HOOK_HOSTS.find(({ name }) => name === words[at + 1]) ?? null;
}
