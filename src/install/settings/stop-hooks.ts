import { basename, isAbsolute, join } from 'node:path';
import { readObject } from '../../hosts/claude/permission-rules.ts';
import { type Fields, fieldsOf, isFields, listOf, textOf } from '../../hosts/fields.ts';
import { readRegularFile } from '../../state/files/regular-file.ts';
import { clientConfigDir, homeFolder } from '../../state/home-folder.ts';
import { inProject } from '../../state/process/program.ts';
import { advise, type Message, RalphError } from '../../text/message.ts';
import { HOOK_GUARD } from './registration.ts';
import { isOurPlugin, type SettingsSource, settingsSources } from './settings-sources.ts';

export interface RegisteredHook {
  readonly source: string;
  readonly event: string;
  /** Command with its arguments, separated by blanks. */
  readonly command: string;
  readonly entry: Fields;
}

export function hooksIn(value: Fields, source: string): RegisteredHook[] {
  return Object.entries(fieldsOf(value['hooks'])).flatMap(([event, groups]) =>
    listOf(groups).flatMap(({ hooks }) =>
      (Array.isArray(hooks) ? hooks : []).filter(isFields).map((entry) => {
        const words = [entry['command'], ...(Array.isArray(entry['args']) ? entry['args'] : [])];
        return { source, event, command: words.map(String).join(' '), entry };
      }),
    ),
  );
}

/** Returns whether any version of this program wrote a hook entry: our guard, followed by one of our files in the project. */
export function isOurHook(entry: unknown): boolean {
  const { command, args } = fieldsOf(entry);
  if (Array.isArray(args)) {
    const file = `\${CLAUDE_PROJECT_DIR}/.claude/hooks/ralph-`;
    return command === 'node' && args.some((word) => String(word).startsWith(file));
  }
  const text = textOf(command);
  return (
    /^\[ "\$RALPH_ACTIVE(?:\$RALPH_HOOKS)?" = 1 \] \|\| exit 0; /.test(text) &&
    text.includes(' "$CLAUDE_PROJECT_DIR/.claude/hooks/ralph-')
  );
}

interface OtherStopHook extends RegisteredHook {
  /** Script that it runs; null if it cannot be read. */
  readonly file: string | null;
  /** True if it is the hook of another loop: it has our hook's name, or changes our state file. */
  readonly isOfLoop: boolean;
}

const CHANGES = /\b(?:unlink|write|rename|truncate|rmSync)\w*\(|\b(?:rm|mv|tee)\s|>\s*["']?\$?[\w./{]|decision/;
const SCRIPT_BYTES = 1024 * 1024;

/** Returns the Stop hooks that are not ours, of the settings and the enabled plugins. */
export function otherStopHooks(
  projectDir: string,
  sources: readonly SettingsSource[],
  env: NodeJS.ProcessEnv,
): OtherStopHook[] {
  const own = sources.flatMap(({ value, path }) => hooksIn(value, path).map((hook) => ({ hook, plugin: null })));
  return [...own, ...pluginHooks(sources, env)].flatMap(({ hook, plugin }) => {
    if (hook.event !== 'Stop') return [];
    const scripts = scriptsIn(hook.command, projectDir, plugin, env);
    const found = scripts.find(({ text }) => text !== null);
    const { file = null, text = null } = found ?? {};
    if (text === null ? isOurHook(hook.entry) || plugin?.isOurs === true : text.includes(HOOK_GUARD)) return [];
    const isNamed = basename(file ?? '') === basename(inProject('ralph-stop-hook.cjs'));
    const content = text ?? hook.command;
    return [{ ...hook, file, isOfLoop: isNamed || (/ralph-state\.json/.test(content) && CHANGES.test(content)) }];
  });
}

/** Throws `refused` if the client would run the Stop hook of another loop beside ours. */
export function refuseOtherLoops(projectDir: string, env: NodeJS.ProcessEnv): void {
  const sources = settingsSources(projectDir, env, process.platform);
  const [hook] = otherStopHooks(projectDir, sources, env).filter(({ isOfLoop }) => isOfLoop);
  if (hook === undefined) return;
  throw new RalphError('refused', otherLoopText(hook, projectDir));
}

/** Says what another loop's Stop hook does, and how to remove it. */
export function otherLoopText({ source, file }: OtherStopHook, projectDir: string): Message {
  const shown = file?.replace(`${projectDir}/`, '') ?? 'a command';
  const text = `${source} registers the Stop hook of another loop (${shown}): it answers beside ours and changes our state file.`;
  if (!source.startsWith(projectDir)) return { text: `${text} Remove that entry.` };
  return advise(`${text} Remove that entry.`, 'Or let init move the old installation aside', 'init --yes');
}

interface Plugin {
  readonly dir: string;
  readonly isOurs: boolean;
}

/** Returns the files named by the words of a command, with their texts. */
function scriptsIn(command: string, projectDir: string, plugin: Plugin | null, env: NodeJS.ProcessEnv) {
  const variables: Record<string, string | undefined> = {
    CLAUDE_PROJECT_DIR: projectDir,
    CLAUDE_PLUGIN_ROOT: plugin?.dir,
    HOME: homeFolder(env),
  };
  const words = [...command.matchAll(/"([^"]+)"/g)].map(([, word = '']) => word);
  return [...command.replace(/["']/g, '').split(/[\s;|&]+/), ...words].flatMap((word) => {
    if (!/[./\\]/.test(word)) return [];
    const path = word
      .replace(/^~(?=[\\/])/, '$HOME')
      .replace(/\$\{?(\w+)\}?/g, (whole, name: string) => variables[name] ?? whole);
    const file = isAbsolute(path) ? path : join(projectDir, path);
    return [{ file, text: readRegularFile(file, SCRIPT_BYTES) }];
  });
}

function pluginHooks(sources: readonly SettingsSource[], env: NodeJS.ProcessEnv) {
  const enabled = new Set(
    sources.flatMap(({ value }) =>
      Object.entries(fieldsOf(value['enabledPlugins'])).flatMap(([name, on]) => (on === true ? [name] : [])),
    ),
  );
  if (enabled.size === 0) return [];
  // The file is in another client's format: its hooks stay unknown.
  const installed = readObject(join(clientConfigDir(env), 'plugins', 'installed_plugins.json'))['plugins'];
  return Object.entries(fieldsOf(installed))
    .filter(([name]) => enabled.has(name))
    .flatMap(([name, installations]) =>
      [installations].flat().flatMap((installation) => {
        const dir = textOf(fieldsOf(installation)['installPath']);
        if (dir === '') return [];
        const plugin: Plugin = { dir, isOurs: isOurPlugin(name) };
        const hooks = hooksIn(readObject(join(dir, 'hooks', 'hooks.json')), `the plugin ${name}`);
        return hooks.map((hook) => ({ hook, plugin }));
      }),
    );
}
