import { settingsFiles } from '../../hosts/claude/permission-rules.ts';
import { RalphError } from '../../text/message.ts';
import { readText } from '../project-files.ts';
import { readSettings } from './settings-json.ts';

export interface SettingsSource {
  readonly name: 'project' | 'local' | 'user' | 'managed';
  readonly path: string;
  /** Content; {} if the file is missing or unreadable. */
  readonly value: Readonly<Record<string, unknown>>;
  readonly exists: boolean;
  /** Reason why the client ignores the file, or null. */
  readonly problem: string | null;
}

export function settingsSources(
  projectDir: string,
  env: NodeJS.ProcessEnv,
  platform: NodeJS.Platform,
): SettingsSource[] {
  const files = settingsFiles(projectDir, env, platform);
  return (['project', 'local', 'user', 'managed'] as const).map((name) => source(name, files[name]));
}

/** Returns whether a name in `enabledPlugins`, followed by its marketplace, is that of our plugin. */
export const isOurPlugin = (name: string): boolean => name.startsWith('ralph-loop@');

/** Returns whether the client loads the plugin in this project, according to the most specific settings file that names it. */
export function isPluginEnabled(sources: readonly SettingsSource[]): boolean {
  const decided = (['managed', 'local', 'project', 'user'] as const).flatMap((name) =>
    Object.entries(sources.find((source) => source.name === name)?.value['enabledPlugins'] ?? {})
      .filter(([plugin]) => isOurPlugin(plugin))
      .map(([, enabled]) => enabled === true),
  );
  return decided[0] ?? false;
}

function source(name: SettingsSource['name'], path: string): SettingsSource {
  try {
    const text = readText(path)?.replace(/^\uFEFF/, '');
    if (text === undefined) return { name, path, value: {}, exists: false, problem: null };
    const { root, problem } = readSettings(text, path);
    return { name, path, value: root === null ? {} : JSON.parse(text), exists: true, problem };
  } catch (error) {
    if (!(error instanceof RalphError)) throw error;
    return { name, path, value: {}, exists: true, problem: error.message };
  }
}
