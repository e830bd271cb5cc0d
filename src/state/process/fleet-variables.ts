const PREFIX = 'RALPH_FLEET_';

const hidden: Record<string, string> = {};

/**
 * Removes the variables of the fleet from this process's environment, so that no agent, check or git that it starts ever sees
 * them. Called before anything else runs; later code reads them with `fleetVariables`.
 */
export function hideFleetVariables(env: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(env)) {
    if (!name.startsWith(PREFIX)) continue;
    const value = env[name];
    if (value !== undefined && value !== '') hidden[name] = value;
    delete env[name];
  }
}

export function fleetVariables(): Readonly<Record<string, string | undefined>> {
  return hidden;
}
