import { runSetUp } from '../../task/commands/run-command.ts';
import { WORKER_TEXTS } from '../messages.ts';
import { endedAs, type HeldEnd, type Holding, stopped } from './holding.ts';
import { LostLoop } from './lock-keeper.ts';

const COMMANDS_MS = 1_000;

/**
 * Runs the set-up command of the agreed terms in a new work tree. Returns null, or why no iteration starts: it failed, its
 * user cancelled the loop, or the worker is stopping, which ends the command. Throws `LostLoop` if the lock is lost
 * meanwhile.
 */
export async function setUp({ terms, ws, env, commands, events, lost, leaving }: Holding): Promise<HeldEnd | null> {
  const { setUp: command, sandbox } = terms;
  if (command === null) return null;
  events.tell({ type: 'notice', message: WORKER_TEXTS.settingUp(command) });
  const unwanted = new AbortController();
  const signal = AbortSignal.any([lost, leaving, unwanted.signal]);
  const look = async (): Promise<void> => {
    await commands.apply(false);
    if (commands.wanted !== null) unwanted.abort();
  };
  // The server is unreachable: read again in a second.
  const timer = setInterval(() => void look().catch(() => undefined), COMMANDS_MS);
  try {
    const failed = await runSetUp(command, ws.dir, { sandbox, env, signal });
    return failed && endedAs('set-up-failed', WORKER_TEXTS.setUpFailed(command, failed.how, failed.output));
  } catch (error) {
    if (!signal.aborted) throw error;
    if (lost.aborted) throw new LostLoop(WORKER_TEXTS.lockLost);
    if (commands.wanted !== null) return stopped(commands.wanted === 'cancel' ? 'cancelled' : 'paused');
    return { kind: 'waits', until: 0, why: '' };
  } finally {
    clearInterval(timer);
  }
}
