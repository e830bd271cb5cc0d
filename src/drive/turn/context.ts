import type { HookInput } from '../../claude/hook-input.ts';
import { instantOf } from '../../core/clock.ts';
import { LOOP_NAME, type LoopFiles, loopFiles } from '../../state/loop-files.ts';

/** What a driver knows before it looks at the disk: a hook as the client told it, a runner and a router for each turn. */
export interface DriverContext {
  readonly input: HookInput;
  readonly env: NodeJS.ProcessEnv;
  readonly files: LoopFiles;
  /** The wall clock, ISO-8601 UTC. */
  readonly now: () => string;
}

/** The loop that the environment names, in the project the client was started in. */
export function driverContext(input: HookInput, env: NodeJS.ProcessEnv): DriverContext {
  const name = env['RALPH_LOOP'];
  const valid = name !== undefined && LOOP_NAME.test(name) ? name : null;
  return {
    input,
    env,
    files: loopFiles(env['CLAUDE_PROJECT_DIR'] || input.cwd, valid, env),
    now: () => instantOf(Date.now()),
  };
}
