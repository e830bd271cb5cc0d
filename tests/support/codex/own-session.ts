import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { NO_TERMINAL } from '../../../src/hosts/codex/hook-output.ts';
import type { Environment } from '../client/client-environment.ts';
import type { Workspace } from '../client/workspace.ts';
import { CODEX } from './codex-project.ts';

/** Runs a session that the user begins, and returns what it shows. */
export async function ownSession(prompt: string, { project }: Workspace, env: Environment): Promise<string> {
  const words = ['exec', '--sandbox', 'danger-full-access', '--skip-git-repo-check', ...NO_TERMINAL, prompt];
  const running = spawn(process.execPath, [CODEX, ...words], { cwd: project, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let shown = '';
  for (const stream of [running.stdout, running.stderr]) stream.on('data', (chunk) => (shown += chunk));
  await once(running, 'close');
  return shown;
}
