import { RalphError } from '../text/message.ts';
import { CLAUDE_CODE } from './claude/claude-code.ts';
import { CODEX } from './codex/codex.ts';
import type { FoundClient, Host, HostName, Wanted } from './host.ts';

export const HOSTS: Readonly<Record<HostName, Host>> = { 'claude-code': CLAUDE_CODE, codex: CODEX };

/** Returns the host of a loop by the name in its contract; an absent name is the reference host. */
export function hostOf(name: HostName | undefined): Host {
  return HOSTS[name ?? 'claude-code'];
}

/** Returns the host that the value of `agent` names; null for a command. */
export function hostNamed(agent: string | null): Exclude<HostName, 'claude-code'> | null {
  return agent === 'codex' ? agent : null;
}

/** Returns a function that finds the client of a host, each one once: asking it for its version takes a moment. */
export function clientFinder(env: NodeJS.ProcessEnv): (name: HostName | undefined) => FoundClient {
  const found = new Map<HostName | undefined, FoundClient>();
  return (name) => {
    const client = found.get(name) ?? hostOf(name).requireClient(env);
    found.set(name, client);
    return client;
  };
}

/** Throws RalphError `task-invalid` with every setting of a loop that its host cannot honour. */
export function refuseUnsupported({ title, cannot }: Host, wanted: Wanted): void {
  const refused = cannot.filter(({ isWanted }) => isWanted(wanted));
  if (refused.length === 0) return;
  const lines = refused.map(({ setting, because }) => `${setting}: ${title} ${because}`);
  throw new RalphError('task-invalid', lines.join('\n'));
}
