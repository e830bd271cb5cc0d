import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Operated } from '../../drive/control/operate.ts';
import { clientAlive } from '../../drive/turn/ownership.ts';
import { quoted } from '../../text/quote.ts';
import { RalphError } from '../../text/ralph-error.ts';
import type { Command, CommandContext } from '../command.ts';
import { chosenLoop, type LiveLoop, liveLoopsOn } from '../live-loops.ts';
import { START_COMMAND } from '../start/start.ts';
import { onePath, taskPlace } from '../task-place.ts';
import { operateOn } from './operator-commands.ts';

/** What a new run is started with is what `start` takes; what is about an old one is not. */
const {
  task: _task,
  path: _path,
  resume: _resume,
  fresh: _fresh,
  consent: _consent,
  ...RUN_OPTIONS
} = START_COMMAND.options;

export const RESUME_COMMAND: Command = {
  name: 'resume',
  summary: 'Go on with a paused loop, or run a task folder once more.',
  usage: '[PATH] [--loop NAME] [--launch] [-- CLIENT OPTIONS]',
  help: 'A paused loop goes on at the next stop of its session: send any message there. The breaker is closed. A loop whose client is gone goes on with: main.cjs start --resume. With the PATH of a task folder or its RALPH.md on which no loop is active, it starts a new run, with the options of start, and with --launch its exit codes. Without PATH and --loop the only loop that is live is meant.',
  options: RUN_OPTIONS,
  control: true,
  run(context) {
    const path = onePath('resume', context.positionals);
    if (path === null) {
      const stray = Object.keys(RUN_OPTIONS).find((name) => context.values[name] !== undefined);
      if (stray === undefined) return goOn(context, chosenLoop(context, 'resume'));
      throw new RalphError('usage', `--${stray} is for a new run: main.cjs resume PATH --${stray}.`);
    }
    const live = liveLoopsOn(context, path);
    const paused = live.find(({ found }) => found.kind === 'loop' && found.state.status === 'paused');
    if (paused !== undefined) return goOn(context, chosenLoop(context, 'resume'));
    if (live[0] !== undefined) throw active(path, live[0]);
    return newRun(context, path);
  },
};

function goOn(context: CommandContext, files: LiveLoop['files']): number {
  return operateOn(files, { command: () => ({ kind: 'resume' }), answer }, context);
}

function answer({ before, after }: Operated): string {
  return before.status === 'paused'
    ? 'The loop is resumed. Send any message in its session, and it goes on when that is answered.'
    : `The loop was not paused; it is ${after.status}.`;
}

function active(path: string, { found, files }: LiveLoop): RalphError {
  const named = files.name === null ? '' : ` --loop ${files.name}`;
  if (found.kind !== 'loop') {
    return new RalphError(
      'refused',
      `the state file ${files.state} cannot be used (${found.kind}). main.cjs reset${named} puts it away.`,
    );
  }
  const gone = found.state.clientPid !== null && !clientAlive(found.state);
  return new RalphError(
    'refused',
    gone
      ? `a loop on ${path} lies here, and its client is gone. Go on with it: main.cjs start${named} --task ${quoted(path)} --resume. Put it away: main.cjs cancel ${quoted(path)}.`
      : `a loop on ${path} is active (${found.state.status}). End it first: main.cjs stop ${quoted(path)}, or main.cjs cancel ${quoted(path)}.`,
  );
}

function newRun(context: CommandContext, path: string): Promise<number> | number {
  const { dir, taskPath } = taskPlace(context.projectDir, path);
  if (!existsSync(join(dir, 'RALPH.md'))) {
    throw new RalphError('usage', `${taskPath} is gone. Write it again, or make another: main.cjs scaffold NAME.`);
  }
  const task = join(context.projectDir, taskPath);
  return START_COMMAND.run({ ...context, values: { ...context.values, task }, positionals: [] });
}
