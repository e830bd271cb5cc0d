import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { type Examined, type Finding, fine } from './finding.ts';

const CHECK = 'workspace-trust';

/** The client runs no hooks of a project that the user has not trusted in its dialog. */
export function checkTrust({ projectDir, env }: Examined): Finding[] {
  const trusted = trustedDirs(env);
  for (let dir = realpathSync(projectDir); ; dir = dirname(dir)) {
    if (trusted.has(dir)) return [fine(CHECK, `${dir} is trusted.`)];
    // Trust of a directory above counts within one repository only.
    if (dirname(dir) === dir || existsSync(join(dir, '.git'))) break;
  }
  return [
    {
      check: CHECK,
      level: 'warning',
      message: 'Claude Code has not been told yet that this project can be trusted; until then its hooks may not run.',
      mend: 'start claude here once, and answer its question.',
    },
  ];
}

function trustedDirs(env: NodeJS.ProcessEnv): Set<string> {
  const path = join(env['CLAUDE_CONFIG_DIR'] || env['HOME'] || homedir(), '.claude.json');
  try {
    const { projects } = JSON.parse(readFileSync(path, 'utf8')) as {
      projects?: Record<string, { hasTrustDialogAccepted?: unknown }>;
    };
    return new Set(
      Object.entries(projects ?? {})
        .filter(([, project]) => project?.hasTrustDialogAccepted === true)
        .map(([dir]) => dir),
    );
  } catch {
    return new Set(); // no client has run for this user yet
  }
}
