import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageScript, splitPackageScriptKey } from './package-script.ts';
import { isProjectFile } from './project-file.ts';

/** SHA-256 of a script that `namedScripts` names, as it is now; null when it is gone. */
export function scriptHash(projectDir: string, key: string): string | null {
  const inPackage = splitPackageScriptKey(key);
  if (inPackage !== null) {
    const text = packageScript(projectDir, inPackage.packagePath, inPackage.script);
    return text === null ? null : sha256(text);
  }
  if (!isProjectFile(projectDir, key)) return null;
  try {
    return sha256(readFileSync(join(projectDir, key)));
  } catch {
    return null; // gone or closed to us since the look before
  }
}

function sha256(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}
