import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiError } from '../../engine/events.ts';
import { apiFailure, lastApiError } from '../../hosts/claude/transcript/transcript.ts';
import type { DriverContext } from '../control/ownership.ts';
import { dispatchOwn, ownLoop } from './own-loop.ts';

/** Maximum age of the error's line in the transcript; an older line belongs to an earlier error. */
const YOUNG_MS = 10_000;
/** Timeout for that line. The client writes it while this hook starts (measured: 2 of 3 times too late), or later. */
const LINE_WAIT_MS = 10_000;

/** Records an API error that ended the turn without a Stop. Under `-p` the launcher records it (measured). */
export async function stopFailure(context: DriverContext): Promise<{ systemMessage: string } | null> {
  if (ownLoop(context) === null) return null; // nothing to record, so nothing to wait for
  const error = { ...(await failure(context)), ...(context.host && { login: context.host.login }) };
  const at = context.now();
  const notes = dispatchOwn(context, at, [{ type: 'api-error', at, error }]) ?? [];
  return notes.length === 0 ? null : { systemMessage: notes.join('\n') };
}

/** Waits for the transcript if the reset time of a usage limit is needed; the payload does not contain it. */
async function failure({ host, input: { raw, transcriptPath } }: DriverContext): Promise<ApiError> {
  const began = Date.now();
  // Gemini CLI tells no reset time.
  while (
    host?.settings === undefined &&
    apiFailure(raw, transcriptPath).kind === 'rate-limited' &&
    Date.now() < began + LINE_WAIT_MS
  ) {
    const line = lastApiError(transcriptPath);
    if (line?.at != null && Date.parse(line.at) > began - YOUNG_MS) break;
    await sleep(50);
  }
  return apiFailure(raw, transcriptPath);
}
