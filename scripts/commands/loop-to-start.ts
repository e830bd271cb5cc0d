import { driverLives } from '../../src/drive/driver-lives.ts';
import { loopNames } from '../../src/install/loop-names.ts';
import { type LoopFiles, loopFiles } from '../../src/state/loop-files.ts';
import type { CommandContext } from './command.ts';
import { type EndedLoop, lastEnded } from './last-ended.ts';
import { briefly, liveLoops, onlyOf } from './live-loops.ts';

/**
 * The loop that a start without a task or a name goes on with: the only one that lies here and nobody works on; where
 * none does, the default one if it has ended, else the only one that has ended and is not complete. Throws `usage` with
 * a list where several could be meant.
 */
export function loopToResume(context: CommandContext, command: string): LoopFiles {
  const left = liveLoops(context).filter(
    ({ files, found }) => found.kind !== 'loop' || driverLives(files, found.state) !== true,
  );
  const chosen = onlyOf(left.map(briefly), `${command} --resume --task`, 'loops lie here');
  if (chosen !== undefined) return filesOf(context, chosen.name);
  const ended = endedLoops(context);
  if (ended.some(({ name }) => name === null)) return context.files;
  const over = ended.filter(({ status }) => status !== 'complete');
  return filesOf(context, onlyOf(over, `${command} --resume --task`, 'loops have ended here')?.name ?? null);
}

/** The loop that the user agrees to: the only one that awaits it. Throws `usage` with a list where there are several. */
export function loopToAgreeTo(context: CommandContext): LoopFiles {
  const asked = liveLoops(context)
    .map(briefly)
    .filter(({ status }) => status === 'awaiting-consent');
  const chosen = onlyOf(asked, 'start --consent --task', 'loops await consent');
  return chosen === undefined ? context.files : filesOf(context, chosen.name);
}

function endedLoops({ projectDir, env }: CommandContext): (EndedLoop & { readonly name: string | null })[] {
  return loopNames(projectDir, env).flatMap((name) => {
    const ended = lastEnded(loopFiles(projectDir, name, env));
    return ended === null ? [] : [{ ...ended, name }];
  });
}

function filesOf({ projectDir, env }: CommandContext, name: string | null): LoopFiles {
  return loopFiles(projectDir, name, env);
}
