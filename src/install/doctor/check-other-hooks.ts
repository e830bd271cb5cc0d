import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { clientConfigDir } from '../client-config-dir.ts';
import { hooksIn, type RegisteredHook } from '../hooks-in.ts';
import { isOurHook } from '../is-our-hook.ts';
import { type Examined, type Finding, fine } from './finding.ts';

const CHECK = 'other-stop-hooks';

/** Stop hooks of others: they answer every Stop too, and one that blocks goes on after our loop has ended. */
export function checkOtherHooks({ sources, env }: Examined): Finding[] {
  const registered = [...sources.flatMap(({ value, path }) => hooksIn(value, path)), ...pluginHooks(sources, env)];
  const others = registered.filter(
    ({ event, entry, command }) => event === 'Stop' && !isOurHook(entry) && !command.includes('ralph-stop-hook.cjs'),
  );
  if (others.length === 0) return [fine(CHECK, 'no other Stop hook is registered.')];
  return others.map(({ source, command }) => ({
    check: CHECK,
    level: 'warning' as const,
    message: `another Stop hook is registered in ${source}: ${shortened(command)}. It answers every Stop too; if it blocks, the session goes on when the loop is over.`,
    mend: 'see that it lets a session end, or take it out while loops run.',
  }));
}

function pluginHooks(sources: Examined['sources'], env: NodeJS.ProcessEnv): RegisteredHook[] {
  const enabled = new Set(
    sources.flatMap(({ value }) => {
      const plugins = value['enabledPlugins'];
      const entries = typeof plugins === 'object' && plugins !== null ? Object.entries(plugins) : [];
      return entries.filter(([, on]) => on === true).map(([name]) => name);
    }),
  );
  if (enabled.size === 0) return [];
  const installed = readObject(join(clientConfigDir(env), 'plugins', 'installed_plugins.json'))['plugins'];
  const places = typeof installed === 'object' && installed !== null ? Object.entries(installed) : [];
  return places
    .filter(([name]) => enabled.has(name))
    .flatMap(([name, installations]) =>
      [installations].flat().flatMap((installation) => {
        const dir = (installation as { installPath?: unknown } | null)?.installPath;
        return typeof dir === 'string'
          ? hooksIn(readObject(join(dir, 'hooks', 'hooks.json')), `the plugin ${name}`)
          : [];
      }),
    );
}

function readObject(path: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {}; // not there, or in a form of another client: then nobody can see those hooks
  }
}

/** Enough to recognise it; what follows may be a secret. */
function shortened(command: string): string {
  return command.length > 60 ? `${command.slice(0, 60)}…` : command;
}
