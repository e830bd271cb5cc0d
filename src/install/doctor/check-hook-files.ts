import { accessSync, chmodSync, constants, existsSync } from 'node:fs';
import { join } from 'node:path';
import { RalphError } from '../../core/ralph-error.ts';
import { fileDigest } from '../file-digest.ts';
import { readManifest } from '../install-manifest.ts';
import { HOOKS_HOME, plannedFiles } from '../planned-files.ts';
import { readText } from '../read-text.ts';
import { safePath } from '../safe-path.ts';
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
