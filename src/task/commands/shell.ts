import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { delimiter, dirname, isAbsolute, join } from 'node:path';

export interface Shell {
  readonly program: string;
  /** The arguments that make it run this text. */
  readonly arguments: (run: string) => string[];
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The shell that runs a loop's commands: bash, else a POSIX sh; on Windows git's bash, else PowerShell; or null. */
export function findShell(env: Environment): Shell | null {
  if (process.platform === 'win32') return windowsShell(env);
  const program = onPath('bash', env) ?? onPath('sh', env) ?? (isExecutable('/bin/sh') ? '/bin/sh' : null);
  return program === null ? null : { program, arguments: (run) => ['-c', run] };
}

function windowsShell(env: Environment): Shell | null {
  const git = onPath('git.exe', env);
  // git.exe lies in cmd\, bin\ or mingw64\bin\ of its folder. The bash.exe of System32 is another system's: WSL.
  const folders = git === null ? [] : [dirname(dirname(git)), dirname(dirname(dirname(git)))];
  const bash = folders.map((folder) => join(folder, 'bin', 'bash.exe')).find((path) => existsSync(path));
  if (bash !== undefined) return { program: bash, arguments: (run) => ['-c', run] };
  const program = onPath('pwsh.exe', env) ?? onPath('powershell.exe', env);
  const arguments_ = (run: string) => ['-NoProfile', '-NonInteractive', '-Command', `${run}\nexit $LASTEXITCODE`];
  return program === null ? null : { program, arguments: arguments_ };
}

/** The program of this name that PATH leads to, or null. A relative entry of PATH would let the project choose it. */
export function onPath(name: string, env: Readonly<Record<string, string | undefined>>): string | null {
  const path = env['PATH'] ?? env['Path'] ?? '';
  for (const folder of path.split(delimiter)) {
    if (!isAbsolute(folder)) continue;
    const candidate = join(folder, name);
    if (isExecutable(candidate)) return candidate;
  }
  return null;
}

/** true for a regular file that we may run. */
export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/**
 * The environment of a loop's commands: they are no part of the loop (RALPH_ACTIVE=0), and get back the certificates
 * that our hooks' registration takes from node to start faster.
 */
export function gateEnvironment(env: Readonly<Record<string, string | undefined>>): Record<string, string | undefined> {
  const { RALPH_NODE_EXTRA_CA_CERTS: certificates, ...own } = env;
  const given: Record<string, string | undefined> = { ...own, RALPH_ACTIVE: '0' };
  if (certificates) given['NODE_EXTRA_CA_CERTS'] = certificates;
  else if (given['NODE_EXTRA_CA_CERTS'] === '') delete given['NODE_EXTRA_CA_CERTS'];
  return given;
}
