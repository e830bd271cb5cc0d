import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { clientSandboxProblem } from '../../claude/sandbox-problem.ts';
import { prepareContract } from '../../drive/start/prepare-contract.ts';
import type { StartRequest } from '../../drive/start/read-settings.ts';
import { withPrefix } from '../../drive/turn/messages.ts';
import { readText } from '../../install/files/project-files.ts';
import { SANDBOX_TEXTS } from '../../sandbox/messages.ts';
import { writeAtomically } from '../../state/files/write-atomically.ts';
import { configFiles } from '../../task/task-file.ts';
import { ask } from '../ask.ts';
import type { CommandContext } from '../command.ts';

/** Asks once, at a terminal, whether an agent with bypassPermissions runs in the sandbox. The answer can be remembered. */
export async function askSandbox(context: CommandContext, request: StartRequest): Promise<StartRequest> {
  if (prepareContract(request).terms.unsandboxed !== 'not-set') return request;
  const mode = await askSandboxMode(context);
  return mode === null ? request : { ...request, flags: { ...request.flags, 'sandbox.mode': mode } };
}

/** Returns the mode that the user chooses; null where nobody can be asked, and for a plain no. */
export async function askSandboxMode(context: CommandContext): Promise<'on' | 'off' | null> {
  const { mayAsk, values, env, projectDir, err } = context;
  if (!mayAsk || values['yes'] === true || clientSandboxProblem(env) !== null) return null;
  err(withPrefix(SANDBOX_TEXTS.question));
  const answer = ((await ask('Sandbox [Y/n/always/never]: ')) ?? 'n').toLowerCase();
  const isOn = ['', 'y', 'yes', 'always'].includes(answer);
  if (answer === 'always' || answer === 'never') remember(configFiles(projectDir, env)['user config'], isOn);
  if (isOn) return 'on';
  return answer === 'never' ? 'off' : null;
}

function remember(path: string, isOn: boolean): void {
  const settings = JSON.parse(readText(path) ?? '{}') as { readonly sandbox?: object };
  const sandbox = { ...settings.sandbox, mode: isOn ? 'on' : 'off' };
  mkdirSync(dirname(path), { recursive: true });
  writeAtomically(path, `${JSON.stringify({ ...settings, sandbox }, null, 2)}\n`);
}
