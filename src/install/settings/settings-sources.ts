import { join } from 'node:path';
import { RalphError } from '../../text/ralph-error.ts';
import { readText } from '../files/project-files.ts';
import { clientConfigDir } from '../places.ts';
import { parseSettings } from './settings-json.ts';

export type SourceName = 'project' | 'local' | 'user' | 'managed';

/** One settings file that the client reads. */
export interface SettingsSource {
  readonly name: SourceName;
  readonly path: string;
  /** {} if the file is missing or unreadable. */
  readonly value: Readonly<Record<string, unknown>>;
  readonly exists: boolean;
  /** Reason why the client ignores the file, or null. */
  readonly problem: string | null;
}

/** Reads every settings file that the client would read in this project. */
export function settingsSources(
  projectDir: string,
  env: NodeJS.ProcessEnv,
  platform: NodeJS.Platform,
): SettingsSource[] {
  const claude = join(projectDir, '.claude');
  return [
    source('project', join(claude, 'settings.json')),
    source('local', join(claude, 'settings.local.json')),
    source('user', join(clientConfigDir(env), 'settings.json')),
    source('managed', join(managedDir(platform), 'managed-settings.json')),
  ];
}

function managedDir(platform: NodeJS.Platform): string {
  if (platform === 'darwin') return '/Library/Application Support/ClaudeCode';
  return platform === 'win32' ? 'C:\\Program Files\\ClaudeCode' : '/etc/claude-code';
}

function source(name: SourceName, path: string): SettingsSource {
  try {
    const text = readText(path);
    if (text === null) return { name, path, value: {}, exists: false, problem: null };
    parseSettings(text.replace(/^\uFEFF/, ''), path);
    const value = text.trim() === '' ? {} : (JSON.parse(text.replace(/^\uFEFF/, '')) as Record<string, unknown>);
    return { name, path, value, exists: true, problem: null };
  } catch (error) {
    if (!(error instanceof RalphError)) throw error;
    return { name, path, value: {}, exists: true, problem: error.message };
  }
}
