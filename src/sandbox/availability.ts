import { spawnSync } from 'node:child_process';
import { onPath } from '../state/process/find-program.ts';
import { PACKAGES, SANDBOX_PROBLEMS, type SandboxProblem } from './messages.ts';

type Environment = Readonly<Record<string, string | undefined>>;

const TIME_LIMIT_MS = 10_000;

/** Returns why agent and checks cannot run in a sandbox here, with the command that helps; null if they can. */
export function sandboxProblem(env: Environment, platform: NodeJS.Platform = process.platform): SandboxProblem | null {
  if (platform !== 'linux') return SANDBOX_PROBLEMS.otherSystem(platform);
  const missing = (['bwrap', 'socat'] as const).filter((program) => onPath(program, env) === null);
  if (missing.length > 0) return SANDBOX_PROBLEMS.missing(missing.map((program) => PACKAGES[program]));
  const words = ['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc', '--tmpfs', '/tmp'];
  const { status, stderr, error } = spawnSync(
    onPath('bwrap', env) ?? 'bwrap',
    [...words, '--unshare-net', '--unshare-pid', '--unshare-ipc', '--die-with-parent', '--', '/bin/sh', '-c', 'exit 0'],
    { env: { ...env }, encoding: 'utf8', timeout: TIME_LIMIT_MS },
  );
  if (status === 0) return null;
  return SANDBOX_PROBLEMS.refused(error?.message ?? (stderr.trim().split('\n')[0] || `exit code ${status}`));
}
