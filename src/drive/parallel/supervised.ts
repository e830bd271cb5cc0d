import { RalphError } from '../../text/ralph-error.ts';
import type { AskPermit, Permit } from '../runner/runner.ts';

/** Names the process that supervises this one; agents and checks never see it. */
export const SUPERVISOR = 'RALPH_SUPERVISOR';

/** What a supervised run asks its supervisor, over the channel between the two. */
export interface PermitRequest {
  readonly type: 'permit';
  readonly id: number;
  readonly spent: Parameters<AskPermit>[0];
}

export interface PermitAnswer {
  readonly type: 'permit';
  readonly id: number;
  readonly permit: Permit;
}

/**
 * Returns what asks the supervisor before each agent run; null where no supervisor started this process. A supervisor
 * that exits ends this process as SIGTERM does: the loop stays as it is, to be resumed.
 */
export function supervisorOf(env: NodeJS.ProcessEnv): AskPermit | null {
  const named = env[SUPERVISOR];
  delete env[SUPERVISOR];
  if (named === undefined || named !== String(process.ppid) || process.send === undefined) return null;
  const waiting = new Map<number, (permit: Permit) => void>();
  let next = 0;
  process.on('message', (answer: PermitAnswer) => {
    waiting.get(answer.id)?.(answer.permit);
    waiting.delete(answer.id);
    if (waiting.size === 0) process.channel?.unref();
  });
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  process.channel?.unref();
  return (spent) =>
    new Promise((resolve, reject) => {
      if (!process.connected) {
        reject(new RalphError('refused', 'the process that runs these loops side by side has ended.'));
        return;
      }
      const id = next++;
      waiting.set(id, resolve);
      process.channel?.ref();
      process.send?.({ type: 'permit', id, spent } satisfies PermitRequest);
    });
}
