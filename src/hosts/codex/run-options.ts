import type { AgentTerms, SessionTerms } from '../host.ts';
import { toml } from './hooks.ts';

type SandboxMode = 'read-only' | 'workspace-write' | 'danger-full-access';

/** Sandbox of Codex that allows what a permission mode does. With `exec` it never asks, so a mode that asks may only read. */
const SANDBOXES: Readonly<Record<string, SandboxMode>> = {
  acceptEdits: 'workspace-write',
  auto: 'workspace-write',
  dontAsk: 'workspace-write',
  bypassPermissions: 'danger-full-access',
};

export function sandboxFor(permissionMode: string | null): SandboxMode {
  return SANDBOXES[permissionMode ?? ''] ?? 'read-only';
}

type Options = Pick<AgentTerms, 'permissionMode' | 'model' | 'effort' | 'hooks' | 'own'>;

/** Returns the words of one run of Codex, which reads its prompt from standard input. */
export function runOptions(terms: Options): string[] {
  return ['exec', '--json', '--skip-git-repo-check', ...shared(terms), '-'];
}

/** Returns the words with which Codex begins or resumes a session. At a terminal, the user's own approvals apply. */
export function sessionOptions({ prompt, headless, session, ...terms }: SessionTerms): string[] {
  const resumed = session === null ? [] : ['resume', session];
  return [...(headless ? ['exec', '--skip-git-repo-check'] : []), ...shared(terms), ...resumed, prompt];
}

function shared({ permissionMode, model, effort, hooks, own }: Options): string[] {
  return [
    ...['--sandbox', sandboxFor(permissionMode)],
    ...(model === null ? [] : ['--model', model]),
    ...(effort === null ? [] : ['-c', `model_reasoning_effort=${toml(effort)}`]),
    ...own,
    ...hooks,
    // For the agent's shell: clients that are started there take no part in the loop.
    ...['-c', 'shell_environment_policy.set.RALPH_ACTIVE="0"'],
  ];
}

/** Says at a start what the agent may do. */
export function sandboxText(permissionMode: string | null): string {
  const mode = sandboxFor(permissionMode);
  return `Codex runs with its sandbox ${mode} (permission mode ${permissionMode ?? 'default'}) and asks nothing; ${MEANING[mode]}.`;
}

const MEANING: Readonly<Record<SandboxMode, string>> = {
  'read-only': 'the agent can change no file',
  'workspace-write': 'the agent can write in the project and in temporary folders, but not in .git, and has no network',
  'danger-full-access': 'the agent can do everything that you can',
};
