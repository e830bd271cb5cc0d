/** Returns variables that add git settings to those already in an environment. */
export function gitSettings(
  env: NodeJS.ProcessEnv,
  settings: readonly (readonly [key: string, value: string])[],
): Record<string, string> {
  const first = countOf(env);
  const pairs = settings.flatMap(([key, value], at) => [
    [`GIT_CONFIG_KEY_${first + at}`, key],
    [`GIT_CONFIG_VALUE_${first + at}`, value],
  ]);
  return { ...Object.fromEntries(pairs), GIT_CONFIG_COUNT: String(first + settings.length) };
}

function countOf(env: NodeJS.ProcessEnv): number {
  const count = Number(env['GIT_CONFIG_COUNT'] ?? 0);
  return Number.isInteger(count) && count >= 0 ? count : 0;
}
