import { setTimeout as sleep } from 'node:timers/promises';
import { begunBy } from '../../claude/transcript.ts';
import { transcriptSize } from '../../claude/transcript-size.ts';
import { readState } from '../../state/read-state.ts';
import type { DriverContext } from '../turn/context.ts';

/** The client writes what began a turn some time after it has called the Stop hook: now and then 0.2 s on a busy machine. */
const PATIENCE_MS = 500;
const LOOK_MS = 25;

/**
 * Whose words the turn that ended answers. A prompt that the loop does not know was announced to no hook: only the
 * transcript says whether it was a person's own command. Waits for the transcript to say it, and takes the prompt for
 * the loop's where it never does.
 */
export async function originOf({ input, files }: DriverContext, signal: AbortSignal): Promise<'user' | 'loop'> {
  const { promptId, transcriptPath } = input;
  const current = readState(files.state);
  const known = current.kind === 'loop' ? current.state.promptId : null;
  if (promptId === null || known === null || known === promptId) return 'loop';
  if (transcriptSize(transcriptPath) === null) return 'loop';
  for (let waited = 0; ; waited += LOOK_MS) {
    const by = begunBy(transcriptPath, promptId);
    if (by !== null) return by;
    if (waited >= PATIENCE_MS || signal.aborted) return 'loop';
    await sleep(LOOK_MS);
  }
}
