import { hostSession } from '../../src/claude/host-session.ts';
import { RalphError } from '../../src/core/ralph-error.ts';
import { holdOf } from '../../src/drive/router/hold.ts';
import type { LoopFiles } from '../../src/state/loop-files.ts';
import type { CommandContext } from './command.ts';
import { briefly, liveLoops, loopTable } from './live-loops.ts';

/**
 * The loop that a router's call is about: the one that --loop or RALPH_LOOP names, else the only live router loop, or the
 * only one that this session drives; the default one where none is. Throws `usage` where several could be meant. What
 * starts a loop says by its task which one.
 */
export function routerLoop(context: CommandContext, action: string): LoopFiles {
  if (context.files.name !== null || action === 'start') return context.files;
  const live = liveLoops(context).filter(({ found }) => found.kind === 'loop' && found.state.mode === 'router');
  const host = hostSession(context.env);
  const mine = live.filter(({ found }) => found.kind === 'loop' && holdOf(found.state, host) === 'mine');
  const meant = mine.length > 0 ? mine : live;
  if (meant.length <= 1) return meant[0]?.files ?? context.files;
  throw new RalphError(
    'usage',
    `${meant.length} router loops are live here. Say which one: main.cjs router ${action} --loop NAME.\n${loopTable(meant.map(briefly))}`,
  );
}
