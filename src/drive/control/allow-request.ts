import { AGENT_SHELLS } from '../../hosts/hook-hosts.ts';
import { readRecord, removeIfThere, writeRecord } from '../../state/files/regular-file.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { ancestors, insideLoopsClient, terminalOf } from '../../state/process/ancestors.ts';
import { commandOf, identityOf, isAlive, type ProcessIdentity } from '../../state/process/identity.ts';
import { digest } from '../../text/digest.ts';

/** Names the process that asks a runner to allow a denied call. The call itself is in that process's title. */
interface AllowRequest extends ProcessIdentity {
  readonly call: string;
}

/** Request by a user in another terminal, or why the process that makes it is not trusted. */
type Asked = { readonly call: string; readonly terminal: string } | { readonly refused: string };

/**
 * Asks the runner of a loop to allow a denied call. Anyone with the user's rights can write the request, but only the process
 * itself can write its title, which the runner compares.
 */
export function requestAllowance(files: LoopFiles, call: string): void {
  process.title = titleFor(call);
  const request: AllowRequest = { ...identityOf(process.pid), call };
  writeRecord(files.allowRequest, request);
}

/** Short, because a title cannot be longer than the command that started the process. */
function titleFor(call: string): string {
  return `allow ${digest(call)}`;
}

/**
 * Takes a request to allow a call; null if there is none. It counts if its process runs in a terminal, makes the request
 * itself, and is not below the agent. Only Linux shows all of this.
 */
export function takeAllowRequest(files: LoopFiles, agentPid: number | null): Asked | null {
  const request = readRecord<AllowRequest>(files.allowRequest);
  if (request === null) return null;
  removeIfThere(files.allowRequest);
  const { pid, startedAt, call } = request;
  if (typeof pid !== 'number' || typeof startedAt !== 'string' || typeof call !== 'string')
    return { refused: 'who asks is unknown' };
  if (!isAlive({ pid, startedAt })) return { refused: 'that process is not running' };
  if (commandOf(pid)[0] !== titleFor(call)) return { refused: `process ${pid} did not ask` };
  const line = [pid, ...ancestors(pid)];
  if ((agentPid !== null && line.includes(agentPid)) || insideLoopsClient(AGENT_SHELLS, line))
    return { refused: `process ${pid} belongs to the agent` };
  const terminal = terminalOf(pid);
  return terminal === null ? { refused: `process ${pid} has no terminal` } : { call, terminal };
}
