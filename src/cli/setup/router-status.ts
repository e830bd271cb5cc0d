import { hostSession } from '../../claude/host-session.ts';
import { holdOf } from '../../drive/router/holder.ts';
import type { RouterAnswer } from '../../drive/router/router.ts';
import { assignedSpawn, lastSpawn } from '../../drive/router/spawn-record.ts';
import { over } from '../../drive/router/status-answers.ts';
import { withPrefix } from '../../drive/turn/messages.ts';
import { withStatus } from '../../engine/messages.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { programName } from '../../state/process/program.ts';
import { readState } from '../../state/read-state.ts';
import { printable } from '../../term/paint.ts';
import type { CommandContext } from '../command.ts';

/** How a router loop stands, who drives it and what they have in hand. Changes nothing. */
export function routerStatus(context: CommandContext, files: LoopFiles): number {
  const status = statusOf(context, files);
  context.out(context.forPeople ? withPrefix(status.message) : JSON.stringify(status, null, 2));
  return 0;
}

function statusOf({ env }: CommandContext, files: LoopFiles) {
  const current = readState(files.state);
  if (current.kind !== 'loop' || current.state.status === 'ended') {
    const { status, message, verified, loopId } = over(files, { program: programName() });
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
  const inHand = mode === 'router' ? assignedSpawn(files, state) : null;
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

/** An answer of the router for people. */
export function routerText(answer: RouterAnswer): string {
  const notes = answer.notes.map((note) => withPrefix(printable(note)));
  switch (answer.action) {
    case 'spawn': {
      const { iteration, maxIterations, agentType, spawn, prompt } = answer;
      const head = `spawn ${spawn}: iteration ${iteration} of ${maxIterations}, for a subagent of type ${agentType}.`;
      return [...notes, withPrefix(head), printable(answer.next), '', printable(prompt)].join('\n');
    }
    case 'wait':
      return [
        ...notes,
        withPrefix(`wait (${answer.why}): ${printable(answer.message)}`),
        ...(answer.commands ?? []).map((run) => `  ${printable(run)}`),
      ].join('\n');
    case 'stop':
      return [...notes, withPrefix(withStatus(answer.status, printable(answer.message)))].join('\n');
    default:
      return answer satisfies never;
  }
}
