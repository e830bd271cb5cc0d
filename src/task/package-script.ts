import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { regularFile } from '../state/regular-file.ts';

const KEY = /^((?:.*\/)?package\.json)#scripts\.(.+)$/s;

/** The name under which the contract keeps one script of a package.json. */
export function packageScriptKey(packagePath: string, script: string): string {
  return `${packagePath}#scripts.${script}`;
}

/** The package.json and the script that such a name stands for; null for any other path. */
export function splitPackageScriptKey(key: string): { readonly packagePath: string; readonly script: string } | null {
  const [, packagePath, script] = KEY.exec(key) ?? [];
  return packagePath === undefined || script === undefined ? null : { packagePath, script };
}

/** The command that a package.json has under `scripts`; null where it has none. */
export function packageScript(projectDir: string, packagePath: string, script: string): string | null {
  try {
    const { scripts } = JSON.parse(readFileSync(regularFile(join(projectDir, packagePath)), 'utf8')) as {
      scripts?: unknown;
    };
    if (typeof scripts !== 'object' || scripts === null || !Object.hasOwn(scripts, script)) return null;
    const text = (scripts as Record<string, unknown>)[script];
    return typeof text === 'string' ? text : null;
  } catch {
    return null; // no such file, or no JSON: the command itself will say so
  }
}
