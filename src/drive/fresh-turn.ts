import type { Effect } from '../core/effects.ts';
import type { LoopFiles } from '../state/loop-files.ts';
import type { DriverContext } from './turn/context.ts';
import { feed, type Turn } from './turn/turn.ts';

/** What a hook would be told at the end of a turn, for a driver that heard the agent itself: the same code decides. */
export function heardContext(
  files: LoopFiles,
  env: NodeJS.ProcessEnv,
  sessionId: string,
  lastMessage: string,
): DriverContext {
  return {
    input: {
      event: 'Stop',
      sessionId,
      transcriptPath: null,
      cwd: files.projectDir,
      promptId: null,
      lastMessage,
      backgroundTasks: [],
      source: null,
      prompt: null,
      raw: {},
    },
    env,
    files,
    now: () => new Date().toISOString(),
  };
}

/** A prompt for a context that knows nothing: what an earlier one was told and could not answer is told again. */
export function beginAnew(turn: Turn): readonly Effect[] {
  feed(turn, { type: 'prompt-made', at: turn.context.now(), outcome: 'given-up' });
  const effects = feed(turn, { type: 'first-prompt', at: turn.context.now() });
  const told = turn.loaded.state.handedOver;
  return effects.length > 0 || told === null ? effects : [{ type: 'prompt', ...told }];
}
