import { existsSync, linkSync, readFileSync, realpathSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { removeIfThere } from '../../state/files/read-regular-file.ts';
import { uniqueToken } from '../../state/files/write-atomically.ts';
import { loopFiles, outsideRoot } from '../../state/loop-files.ts';
import { type Examined, type Finding, fine } from './finding.ts';

/** Whether a loop can write where it has to, by writing there. */
export function checkPlaces({ projectDir, env }: Examined): Finding[] {
  const { runtimeDir } = loopFiles(projectDir, null, env);
  return [
    ...probe('runtime-dir', runtimeDir, 'the state of loops', 'make it writable for you.'),
    ...probe(
      'state-home',
      outsideRoot(env),
      'contracts and logs',
      'make it writable, or set XDG_STATE_HOME elsewhere.',
    ),
  ];
}

function probe(check: string, dir: string, what: string, mend: string): Finding[] {
  const file = join(nearestExisting(dir), `.ralph-probe-${uniqueToken()}`);
  try {
    writeFileSync(file, '', { flag: 'wx' });
  } catch (error) {
    const message = `${what} cannot be written to ${dir}: ${(error as Error).message}`;
    return [{ check, level: 'error', message, mend }];
  }
  try {
    return [fine(check, `${dir} can be written.`), ...(check === 'runtime-dir' ? hardLinks(file) : [])];
  } finally {
    removeIfThere(file);
  }
}

function hardLinks(file: string): Finding[] {
  const check = 'hard-links';
  try {
    linkSync(file, `${file}.2`);
    unlinkSync(`${file}.2`);
    return [fine(check, 'the file system has hard links.')];
  } catch {
    const message =
      'the file system of the project has no hard links: the lock on the state is slower to take over after a crash.';
    return [{ check, level: 'warning', message, mend: null }];
  }
}

function nearestExisting(dir: string): string {
  for (let at = dir; ; at = dirname(at)) {
    try {
      if (statSync(at, { throwIfNoEntry: false })) return at;
    } catch {
      // a file lies where a directory belongs: the one above tells, when it is written to
      return at;
    }
    if (dirname(at) === at) return at;
  }
}

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
