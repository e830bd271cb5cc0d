import { realpathSync } from 'node:fs';
import { relative } from 'node:path';
import { AGENT_SHELLS } from '../hosts/hook-hosts.ts';
import { safePath } from '../install/project-files.ts';
import { insideLoopsClient } from '../state/process/ancestors.ts';
import { projectPath } from '../task/project-file.ts';
import { RalphError } from '../text/message.ts';

/** Folders of the client, of git and of loops, in which an agent creates nothing through a command. */
const NOT_FOR_AGENTS = /^(?:\.claude|\.git|\.ralph-runner.*)$/i;

/** Returns whether the caller may be an agent: in its shell, below its client, or below a runner's agent command. */
export function isAgent(env: NodeJS.ProcessEnv): boolean {
  const inShell = AGENT_SHELLS.some((name) => env[name] === '1');
  return inShell || env['RALPH_DRIVER'] === 'runner' || insideLoopsClient(AGENT_SHELLS);
}

/** Throws `refused` in an agent's shell: only the user controls a loop, from another terminal. */
export function refuseAgent(what: string, env: NodeJS.ProcessEnv): void {
  if (!isAgent(env)) return;
  throw new RalphError('refused', {
    text: `"${what}" is for the user at a terminal, and this is the shell of an agent.`,
    advice: [
      { verb: "The user can run it in another terminal, outside the agent's client", command: what },
      ...(what === 'run' ? [{ verb: 'An agent can request a loop', command: 'start --mode runner' }] : []),
    ],
  });
}

/** Returns the real location of a path (null outside the project), and the program that owns its folder, if any. */
export function placeForAgent(projectDir: string, path: string): { real: string | null; taken: string | undefined } {
  const root = realpathSync(projectDir);
  const inside = projectPath(root, root, path);
  const real = inside === null ? null : safePath(root, inside);
  return { real, taken: real === null ? undefined : foreignSegment(relative(root, real)) };
}

/** Returns the part of a path that is a folder of another program, if any. */
export function foreignSegment(path: string): string | undefined {
  return path.split(/[\\/]/).find((segment) => NOT_FOR_AGENTS.test(segment));
}
