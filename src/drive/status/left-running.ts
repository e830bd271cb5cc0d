import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { HOOK_HOSTS } from '../../hosts/hook-hosts.ts';
import { environmentOf } from '../../state/process/ancestors.ts';
import {
  identityOf,
  ifProcHides,
  isAlive,
  type ProcessIdentity,
  procIsOurs,
  signalTo,
} from '../../state/process/identity.ts';
import { oneLine } from '../../text/quote.ts';
import { redact } from '../../text/redact/redact.ts';

/** Names the programs that the agent of a loop has left running, and the command that ends them; null without any. */
export function leftRunningText(loopId: string): string | null {
  const left = leftProcesses(loopId);
  if (left.length === 0) return null;
  return `Still running, started by the agent: ${listed(left)}. End with: kill ${left.map(({ pid }) => pid).join(' ')}`;
}

/** Ends the programs that the agent of an ended loop has left running, and names them; null if there were none. */
export async function endLeftRunning(loopId: string): Promise<string | null> {
  const left = leftProcesses(loopId);
  if (left.length === 0) return null;
  await endProcesses(left);
  return `Ended what the agent had left running: ${listed(left)}.`;
}

const MOST_NAMED = 5;
const MOST_COMMAND = 80;

function listed(left: ReturnType<typeof leftProcesses>): string {
  // Masked before it is cut: half a secret has no recognisable form.
  const named = left
    .slice(0, MOST_NAMED)
    .map(({ pid, command }) => `${redact(command).slice(0, MOST_COMMAND)} (process ${pid})`);
  return [...named, ...(left.length > MOST_NAMED ? [`${left.length - MOST_NAMED} more`] : [])].join(', ');
}

/**
 * Lists running programs started by the agent of a loop, even in a group or session of their own, with their words, which may
 * contain secrets. Linux only; else empty.
 */
function leftProcesses(loopId: string) {
  if (!procIsOurs()) return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => pid !== process.pid && isAgents(environmentOf(pid), loopId))
    .map((pid) => {
      const words = ifProcHides(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8'), '');
      return { ...identityOf(pid), command: oneLine(words.replaceAll('\0', ' ')) };
    });
}

const SHELLS = [['RALPH_ACTIVE=0'], ...HOOK_HOSTS.flatMap(({ shellMarks }) => (shellMarks ? [shellMarks] : []))];

/** Returns whether a process has the variables of an agent's shell: client, servers and hooks have others. */
export function isAgents(variables: readonly string[], loopId: string): boolean {
  const has = (variable: string): boolean => variables.includes(variable);
  return has(`RALPH_LOOP_ID=${loopId}`) && SHELLS.some((marks) => marks.every(has));
}

const GRACE_MS = 2_000;
const POLL_MS = 50;

/** Ends these processes: by SIGTERM and, after two seconds, by SIGKILL. */
async function endProcesses(left: readonly ProcessIdentity[]): Promise<void> {
  for (const { pid } of left.filter(isAlive)) signalTo(pid, 'SIGTERM');
  for (const until = Date.now() + GRACE_MS; Date.now() < until && left.some(isAlive); ) await setTimeout(POLL_MS);
  for (const { pid } of left.filter(isAlive)) signalTo(pid, 'SIGKILL');
}
