import { join } from 'node:path';
import { guardRules } from '../../drive/hook/guard-context.ts';
import { tddCommand } from '../../drive/prompt/extra-sections.ts';
import type { StartedLoop } from '../../drive/start/stages.ts';
import type { AgentSettings } from '../../install/settings/session-settings.ts';
import { clientSandbox, gitExcludes } from '../../sandbox/client-settings.ts';
import { guardPath } from '../../sandbox/environment.ts';
import { tddCalls } from '../../sandbox/messages.ts';
import { secretNames } from '../../sandbox/secret-names.ts';
import { checkCommands } from '../../state/tdd-store.ts';

/** Adds the sandbox of a started loop to the settings of its client; without a sandbox they stay unchanged. */
export function withSandbox<T extends AgentSettings>(
  settings: T,
  { files, stored }: Pick<StartedLoop, 'files' | 'stored'>,
  env: NodeJS.ProcessEnv,
): T {
  const { contract } = stored;
  const { sandbox: terms } = contract;
  if (terms === undefined) return settings;
  const { projectDir, contract: path } = files;
  const { ownFiles, ownGlobs = [] } = guardRules(files, env, stored);
  const closed = [...new Set([...ownFiles, ...ownGlobs.map(({ dir }) => dir), join(projectDir, '.mcp.json')])];
  const block = clientSandbox({
    terms,
    closed,
    excluded: contract.tdd === undefined ? [] : tddCalls(tddCommand(files, contract)),
    secrets: secretNames(env, checkCommands(files, contract)),
  });
  const shown = [...closed, ...terms.denyWrite];
  const wholePath = guardPath(env, [projectDir, ...terms.allowWrite]);
  const excludes = gitExcludes(files, shown, `${path}.git-excludes`, env);
  // The client runs the steps of a TDD loop outside the sandbox, by the `node` on the agent's PATH.
  const shellPath = contract.tdd === undefined ? wholePath : {};
  const { deny = [], ask = [] } = settings.permissions ?? {};
  const permissions = { ...block.permissions, ask, deny: [...deny, ...block.permissions.deny] };
  return { ...settings, ...block, permissions, env: { ...settings.env, ...excludes, ...shellPath } };
}
