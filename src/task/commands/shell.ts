import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isExecutable, onPath } from '../../state/process/find-program.ts';

interface Shell {
  readonly program: string;
  readonly arguments: (run: string) => string[];
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Finds bash, else a POSIX sh; on Windows git's bash, else PowerShell; or null. */
export function findShell(env: Environment): Shell | null {
  if (process.platform === 'win32') return windowsShell(env);
  const program = onPath('bash', env) ?? onPath('sh', env) ?? (isExecutable('/bin/sh') ? '/bin/sh' : null);
  return program === null ? null : { program, arguments: (run) => ['-c', run] };
}

function windowsShell(env: Environment): Shell | null {
  const git = onPath('git', env);
  // git.exe is in cmd\, bin\ or mingw64\bin\ of its folder. The bash.exe of System32 is WSL's.
  const folders = git === null ? [] : [dirname(dirname(git)), dirname(dirname(dirname(git)))];
  const bash = folders.map((folder) => join(folder, 'bin', 'bash.exe')).find((path) => existsSync(path));
  if (bash !== undefined) return { program: bash, arguments: (run) => ['-c', run] };
  const program = onPath('pwsh', env) ?? onPath('powershell', env);
  const arguments_ = (run: string) => ['-NoProfile', '-NonInteractive', '-Command', `${run}\nexit $LASTEXITCODE`];
  return program === null ? null : { program, arguments: arguments_ };
}
