import { exitCode } from '../../../engine/exit-code.ts';
import { readContract, readLoop } from '../../../state/loop-files.ts';
import { missingProgram, show } from '../../../state/process/program.ts';
import { hasUnverifiedCompletion, restoreState } from '../../../state/restore-state.ts';
import { withState } from '../../../state/with-state.ts';
import type { Message } from '../../../text/message.ts';
import { restoreMidTurn } from '../../control/restore-protected.ts';
import { applyEffects } from '../../records/apply-effects.ts';
import { exportTelemetry } from '../../records/export-telemetry.ts';
import { messageBeside, reportText } from '../../status/end-report.ts';
import { isVerified, standing, undeliveredText } from '../../status/ended-loop.ts';
import { endLeftRunning, leftRunningText } from '../../status/left-running.ts';
import { LAUNCH_TEXTS } from '../../turn/messages.ts';
import { dispatch, type Turn } from '../../turn/turn.ts';

/** Returns how the loop ended after its client exited. A loop that is still live was interrupted. */
export async function endLaunch(
  turn: Turn,
  { requiresProof, headless }: { readonly requiresProof: boolean; readonly headless: boolean },
): Promise<{ readonly code: number; readonly message: string }> {
  const { context, loaded } = turn;
  const { files } = context;
  const { loopId } = loaded.state;
  const gone = missingProgram(loaded.stored?.contract.bundleDir ?? null);
  distrust(turn);
  const at = context.now();
  const live = readLoop(files, loopId);
  const restored = live === null ? [] : restoreMidTurn(files, live, { env: context.env, at });
  applyEffects(files, at, dispatch(turn, { type: 'interrupted', at, by: 'client-exit' }).effects);
  const { status, state, message } = standing(files, loopId);
  const left = state?.status === 'ended' ? undeliveredText(state) : null;
  const shown = (told: Message | string): string => show(told, state ?? { name: files.name, mode: 'hook' });
  // The pause's own advice is for the session, which has ended.
  const text =
    status === 'paused' && state?.status === 'paused'
      ? `${state.paused.text ?? state.paused.message} ${shown(LAUNCH_TEXTS.stillThere)}`
      : shown(message ?? LAUNCH_TEXTS.stillThere);
  // A client at a terminal may have other work; its hook has named what the loop left.
  const running = state?.status !== 'ended' ? leftRunningText(loopId) : headless ? await endLeftRunning(loopId) : null;
  const report = await reportText(files, state, context.env);
  const unsent = state && (await exportTelemetry(files, state, context.env));
  const code = exitCode(status, requiresProof && !isVerified(state));
  const why = gone !== null && state?.status !== 'ended' ? LAUNCH_TEXTS.programGone(gone) : null;
  const parts = [why, messageBeside(report, state, text), ...restored.map(shown), left, running, unsent];
  const told = parts.filter((part) => part !== null).join(' ');
  return { code, message: `${told}${report}` };
}

/** Revokes a completion that was never verified, before it is archived. */
function distrust({ context: { files, now }, loaded }: Turn): void {
  const stored = readContract(files);
  if (stored === null || stored.contract.loopId !== loaded.state.loopId) return;
  withState(files, (current) => {
    if (current.kind !== 'loop' || !hasUnverifiedCompletion(current.state))
      return { next: 'keep' as const, result: undefined };
    const { sessionId, clientPid, clientStartedAt, epoch } = current.state;
    const client = { sessionId: sessionId ?? '', clientPid, clientStartedAt };
    return { next: restoreState(files, stored, client, now(), epoch), result: undefined };
  });
}
