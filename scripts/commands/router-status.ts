import { hostSession } from '../../src/claude/host-session.ts';
import { holdOf } from '../../src/drive/router/hold.ts';
import { lastSpawn, spawnInHand } from '../../src/drive/router/spawn-record.ts';
import { over } from '../../src/drive/router/stops.ts';
import { said } from '../../src/drive/texts.ts';
import type { LoopFiles } from '../../src/state/loop-files.ts';
import { readState } from '../../src/state/read-state.ts';
import type { CommandContext } from './command.ts';

/** How a router loop stands, who drives it and what they have in hand. Changes nothing. */
export function routerStatus(context: CommandContext, files: LoopFiles): number {
  const status = statusOf(context, files);
  context.out(context.forPeople ? said(status.message) : JSON.stringify(status, null, 2));
  return 0;
}

function statusOf({ env }: CommandContext, files: LoopFiles) {
  const current = readState(files.state);
  if (current.kind !== 'loop' || current.state.status === 'ended') {
    const { status, message, verified, loopId } = over(files, { program: 'main.cjs' });
    const ended = current.kind === 'loop' && current.state.status === 'ended' ? current.state.ended : null;
    return {
      active: false,
      loop: files.name,
      loopId,
      status: ended?.as ?? status,
      message: ended?.message ?? message,
      verified,
    };
  }
  const { state } = current;
  const { status, mode, loopId, iteration, maxIterations, idleIterations, taskPath, sessionId, clientPid } = state;
  const inHand = mode === 'router' ? spawnInHand(files, state) : null;
  const hold = mode === 'router' ? holdOf(state, hostSession(env)) : 'theirs';
  return {
    active: true,
    loop: files.name,
    loopId,
    mode,
    status,
    iteration,
    maxIterations,
    idleIterations,
    taskPath,
    holder: { sessionId, pid: clientPid, hold },
    spawn:
      inHand === null
        ? null
        : { spawn: inHand.answer.spawn, iteration: inHand.answer.iteration, agentType: inHand.answer.agentType },
    handedOut: lastSpawn(files, state),
    message: `${status}, ${iteration} of ${maxIterations} iterations done, on ${taskPath}.`,
  };
}
