/** Returns the names of secrets in an environment, except those named by the user's commands. */
export function secretNames(env: Readonly<Record<string, string | undefined>>, commands: readonly string[]): string[] {
  return Object.keys(env).filter((name) => {
    if (!/(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS)$/i.test(name) || !/^\w+$/.test(name)) return false;
    const used = new RegExp(`(?<!\\w)${name}(?!\\w)`);
    return !commands.some((command) => used.test(command));
  });
}
