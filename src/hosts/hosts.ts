import { RalphError } from '../text/message.ts';
import { CLAUDE_CODE } from './claude/claude-code.ts';
import { CODEX } from './codex/codex.ts';
import { GEMINI } from './gemini/gemini.ts';
import type { FoundClient, Host, UserHooks, Wanted } from './host.ts';

/**
 * Clients that work on loops, the reference host first. A new one is added here and in hook-hosts.ts: names, options of
 * commands, help and docs/hosts.md are derived from this list.
 */
export const HOSTS: readonly Host[] = [CLAUDE_CODE, CODEX, GEMINI];

/** Hosts with a name for `--agent`: all but the reference host. */
export const NAMED_HOSTS = HOSTS.slice(1);

/** Hosts whose session hooks are in a file of the user. */
export const USER_HOOK_HOSTS = HOSTS.filter((host): host is HostWithUserHooks => host.userHooks !== undefined);
export type HostWithUserHooks = Host & { readonly userHooks: UserHooks };

/** Returns the host of a loop by the name in its contract; an absent name is the reference host. Throws RalphError. */
export function hostOf(name: string | undefined): Host {
  const host = name === undefined ? CLAUDE_CODE : HOSTS.find((each) => each.name === name);
  if (host !== undefined) return host;
  throw new RalphError('client-missing', `This version of ralph-loop does not know the client ${name} of the loop.`);
}

/** Returns the name of the host named by the value of `agent`; null for a command. */
export function hostNamed(agent: string | null): string | null {
  return NAMED_HOSTS.find(({ name }) => name === agent)?.name ?? null;
}

/** Returns a function that finds the client of a host, each only once: asking for its version takes a moment. */
export function clientFinder(env: NodeJS.ProcessEnv): (name: string | undefined) => FoundClient {
  const found = new Map<string | undefined, FoundClient>();
  return (name) => {
    const client = found.get(name) ?? hostOf(name).requireClient(env);
    found.set(name, client);
    return client;
  };
}

/** Throws RalphError `task-invalid` with every setting of a loop that its host cannot honour. */
export function refuseUnsupported({ name, title, iterations, cannot }: Host, wanted: Wanted): void {
  const refused = cannot.filter(({ isWanted }) => isWanted(wanted));
  const lines = refused.map(({ setting, because }) => `${setting}: ${title} ${because}`);
  if (wanted.iterations && iterations === null) lines.unshift(`agent: ${title} ${SESSIONS_ONLY(name)}`);
  if (lines.length > 0) throw new RalphError('task-invalid', lines.join('\n'));
}

const SESSIONS_ONLY = (name: string): string =>
  `works in sessions only. Use start --launch --agent ${name}, or a command, without a guard: --agent "COMMAND".`;
