import type { StartRequest } from '../../src/drive/start-loop.ts';
import { bundleDir } from '../../src/install/bundle-dir.ts';
import type { CommandContext } from './command.ts';
import { keptFlags, startFlags } from './start-flags.ts';
import type { StartTarget } from './start-target.ts';

type Alike = Omit<StartRequest, 'plan' | 'clientVersion' | 'consented' | 'headless' | 'launched'>;

/** What `start`, `run` and `router start` read from their command line alike. */
export function wantedStart(
  context: CommandContext,
  { files, task, args, formerArgs, formerFlags }: StartTarget,
): Alike {
  const { values, env, projectDir } = context;
  return {
    projectDir,
    name: files.name,
    task,
    args,
    formerArgs,
    flags: keptFlags(formerFlags, startFlags(context)),
    env,
    at: context.now(),
    existing: wantedExisting(values),
    tdd: values['tdd'] === true,
    bundleDir: bundleDir(),
  };
}

/** What the command line wants done about a loop that lies here. */
export function wantedExisting(values: CommandContext['values']): StartRequest['existing'] {
  if (values['resume'] === true) return 'resume';
  return values['fresh'] === true ? 'fresh' : 'refuse';
}
