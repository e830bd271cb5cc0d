import { agentRegistration, type Registration } from './registration.ts';

export interface RunnersLoop {
  readonly loopId: string;
  /** null for the project's default loop. */
  readonly name: string | null;
  /** The node that runs the runner: the hooks run the same one. */
  readonly node: string;
  /** Absolute path of the bundle whose hooks are run. */
  readonly bundleDir: string;
}

export interface AgentSettings {
  readonly disableAllHooks: false;
  readonly env: Readonly<Record<string, string>>;
  readonly hooks: Registration;
}

/**
 * What the runner passes to its agent as `--settings`: the loop's tool hooks, and the variables by which they know that
 * the runner decides. So passed, both survive an agent that writes other ones into the project's settings files.
 */
export function agentSettings(loop: RunnersLoop): AgentSettings {
  return {
    disableAllHooks: false,
    env: {
      RALPH_ACTIVE: '1',
      RALPH_DRIVER: 'runner',
      RALPH_LOOP_ID: loop.loopId,
      RALPH_LOOP: loop.name ?? '',
      RALPH_NODE: loop.node,
    },
    hooks: agentRegistration(loop.bundleDir, process.platform),
  };
}
