import { accessSync, chmodSync, constants, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { RalphError } from '../../text/ralph-error.ts';
import { fileDigest, readManifest } from '../files/install-manifest.ts';
import { HOOKS_HOME, plannedFiles } from '../files/planned-files.ts';
import { readText, safePath } from '../files/project-files.ts';
import { clientConfigDir } from '../places.ts';
import { hooksIn, isOurHook, type RegisteredHook } from '../settings/our-hooks.ts';
import { type Examined, type Finding, fine } from './finding.ts';

const LAUNCHER = '.claude/ralph/ralph-audit.sh';

/** Whether the installed hooks are there and are those of this bundle. */
export function checkHookFiles(examined: Examined): Finding[] {
  return [...hookFiles(examined), ...launcher(examined)];
}

function hookFiles({ projectDir, bundle }: Examined): Finding[] {
  const check = 'hook-files';
  try {
    const digests = readManifest(projectDir)?.files ?? {};
    const wanted = plannedFiles(bundle, projectDir).filter(({ path }) => path.startsWith(`${HOOKS_HOME}/`));
    const missing: string[] = [];
    const findings = wanted.flatMap(({ path, content }): Finding[] => {
      const current = readText(safePath(projectDir, path));
      if (current?.replaceAll('\r\n', '\n') === content.replaceAll('\r\n', '\n')) return [];
      if (current === null) {
        missing.push(path);
        return [];
      }
      if (fileDigest(current) === digests[path]) {
        return [{ check, level: 'error', message: `${path} is of another version.`, mend: 'main.cjs init.' }];
      }
      const message = `${path} is not the one of this bundle, and init did not write it so: it was changed, or is somebody else's.`;
      return [{ check, level: 'error', message, mend: 'move it away, then main.cjs init.' }];
    });
    if (missing.length > 0) {
      findings.unshift({ check, level: 'error', message: `missing: ${missing.join(', ')}.`, mend: 'main.cjs init.' });
    }
    return findings.length > 0 ? findings : [fine(check, 'the installed hooks are those of this bundle.')];
  } catch (error) {
    if (!(error instanceof RalphError)) throw error;
    return [{ check, level: 'error', message: error.message, mend: 'main.cjs init, after that.' }];
  }
}

function launcher({ projectDir, platform }: Examined): Finding[] {
  const check = 'launcher';
  const path = join(projectDir, LAUNCHER);
  if (platform === 'win32' || !existsSync(path)) return [];
  try {
    accessSync(path, constants.X_OK);
    return [fine(check, `${LAUNCHER} can be run.`)];
  } catch {
    const fix = (): void => chmodSync(path, 0o755);
    return [{ check, level: 'warning', message: `${LAUNCHER} is not executable.`, mend: `chmod +x ${LAUNCHER}`, fix }];
  }
}

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
