import { join, resolve } from 'node:path';
import type { Sandbox } from '../engine/schema/contract.ts';
import { homeFolder } from '../state/home-folder.ts';

/** Settings of a task file, with its key names. */
interface SandboxSettings {
  readonly mode: 'off' | 'auto' | 'on';
  readonly allow_write: readonly string[];
  readonly deny_write: readonly string[];
  readonly deny_read: readonly string[];
  readonly network: boolean | readonly string[];
}

/** Returns the sandbox of a contract. Its paths are absolute: the client ignores others in `--settings` (measured). */
export function sandboxTerms(settings: SandboxSettings, projectDir: string, env: NodeJS.ProcessEnv): Sandbox {
  const home = homeFolder(env);
  const absolute = (path: string): string =>
    path === '~' || path.startsWith('~/') ? join(home, path.slice(1)) : resolve(projectDir, path);
  const { allow_write, deny_write, deny_read, network } = settings;
  return {
    allowWrite: allow_write.map(absolute),
    denyWrite: deny_write.map(absolute),
    denyRead: deny_read.map(absolute),
    network: typeof network === 'boolean' ? network : [...network],
  };
}

/** Returns the names of secrets in an environment, except those that one of the user's commands names. */
export function secretNames(env: Readonly<Record<string, string | undefined>>, commands: readonly string[]): string[] {
  return Object.keys(env).filter((name) => {
    if (!/(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS)$/i.test(name) || !/^\w+$/.test(name)) return false;
    const used = new RegExp(`(?<!\\w)${name}(?!\\w)`);
    return !commands.some((command) => used.test(command));
  });
}
