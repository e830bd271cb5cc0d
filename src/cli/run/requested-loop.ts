import { START_TEXTS } from '../../drive/turn/messages.ts';
import { type LoopFiles, loopFiles, readContract } from '../../state/loop-files.ts';
import { advise, RalphError } from '../../text/message.ts';
import { liveLoops, onePath, onlyOf } from '../choose-loop.ts';
import { type CommandContext, valuesOf } from '../command.ts';
import { startFlags } from '../start/start-request.ts';

/** Finds the loop of `run --consent [NAME]`; the agent's settings apply unless the user gives others. */
export function requestedLoop(context: CommandContext): CommandContext {
  const { values } = context;
  const stray = ['task', 'path', 'resume', 'fresh', 'worktree', 'arg', 'tdd'].find((key) => values[key] !== undefined);
  if (stray !== undefined) {
    throw new RalphError('usage', `--consent starts a loop as it was requested: it takes no --${stray}.`);
  }
  const files = loopAwaitingRun(context);
  const stored = readContract(files);
  if (stored === null) throw new RalphError('contract-missing', START_TEXTS.noContract);
  const { contract } = stored;
  const flags = startFlags(context);
  const former = Object.entries(contract.flags).filter(([key]) => flags[key] === undefined);
  const set = [...former.map(([key, value]) => `${key}=${value}`), ...valuesOf(context, 'set')];
  const own = { set, resume: true, loop: files.name ?? undefined, tdd: contract.tdd !== undefined || undefined };
  return { ...context, files, positionals: [], values: { ...values, ...own } };
}

/** Returns the loop that awaits a run. A router's loop stays with its session, and `start --consent` approves it. */
function loopAwaitingRun(context: CommandContext): LoopFiles {
  const { positionals, values, projectDir, env } = context;
  const word = onePath('run --consent', positionals);
  if (word !== null && values['loop'] !== undefined) throw new RalphError('usage', 'name the loop once.');
  const name = word ?? context.files.name;
  const ownDir = loopFiles(projectDir, null, env).projectDir;
  const waiting = liveLoops(context).filter(
    ({ found, files, status }) =>
      files.projectDir === ownDir &&
      status === 'awaiting-consent' &&
      (found.kind !== 'loop' || found.state.mode !== 'router') &&
      (name === null || files.name === name),
  );
  const only = onlyOf(waiting, 'loops await your consent', 'run --consent NAME');
  if (only !== undefined) return only.files;
  const which = name === null ? 'no loop here awaits' : `there is no loop ${name} here that awaits`;
  throw new RalphError('no-loop', advise(`${which} your consent.`, 'List the loops', 'list'));
}
