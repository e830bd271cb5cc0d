import { endProcesses, leftProcesses } from '../../state/process/left-processes.ts';
import { redact } from '../../text/redact/redact.ts';

/** Names what the agent of a loop has started and still runs, with the command that ends it; null if there is nothing. */
export function leftRunningText(loopId: string): string | null {
  const left = leftProcesses(loopId);
  if (left.length === 0) return null;
  return `Still running, started by the agent: ${listed(left)}. End with: kill ${left.map(({ pid }) => pid).join(' ')}`;
}

/** Ends what the agent of an ended loop has left running, and names it; null if there was nothing. */
export async function endLeftRunning(loopId: string): Promise<string | null> {
  const left = leftProcesses(loopId);
  if (left.length === 0) return null;
  await endProcesses(left);
  return `Ended what the agent had left running: ${listed(left)}.`;
}

const MOST_NAMED = 5;
const MOST_COMMAND = 80;

function listed(left: ReturnType<typeof leftProcesses>): string {
  // Masked before it is cut: half a secret has no form.
  const named = left
    .slice(0, MOST_NAMED)
    .map(({ pid, command }) => `${redact(command).slice(0, MOST_COMMAND)} (process ${pid})`);
  return [...named, ...(left.length > MOST_NAMED ? [`${left.length - MOST_NAMED} more`] : [])].join(', ');
}
