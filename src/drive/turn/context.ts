import type { HookInput } from '../../claude/hook-input.ts';
import { instantOf } from '../../core/clock.ts';
import { LOOP_NAME, type LoopFiles, loopFiles } from '../../state/loop-files.ts';

/** What a hook knows before it looks at the disk. */
export interface HookContext {
  readonly input: HookInput;
  readonly env: NodeJS.ProcessEnv;
  readonly files: LoopFiles;
  /** The wall clock, ISO-8601 UTC. */
  readonly now: () => string;
}

/** The loop that the environment names, in the project the client was started in. */
export function hookContext(input: HookInput, env: NodeJS.ProcessEnv): HookContext {
  const name = env['RALPH_LOOP'];
  const valid = name !== undefined && LOOP_NAME.test(name) ? name : null;
  return {
    input,
    env,
    files: loopFiles(env['CLAUDE_PROJECT_DIR'] || input.cwd, valid, env),
    now: () => instantOf(Date.now()),
  };
}
