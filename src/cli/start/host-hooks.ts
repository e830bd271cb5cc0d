import type { HostName } from '../../hosts/host.ts';
import { type clientFinder, hostOf } from '../../hosts/hosts.ts';
import { bundleDir } from '../../install/places.ts';
import { hookPath } from '../../install/settings/registration.ts';
import { userHooksPlace, userHooksProblem } from '../../install/settings/user-hooks.ts';
import { advise, RalphError } from '../../text/message.ts';
import type { CommandContext } from '../command.ts';

type Place = Pick<CommandContext, 'env' | 'projectDir'>;

/** Returns the options with which the client of this host runs our hooks. Throws RalphError `refused` if it would not. */
export async function hostHooks(
  { env, projectDir }: Place,
  host: HostName | undefined,
  client: ReturnType<typeof clientFinder>,
  kind: 'iteration' | 'session',
): Promise<readonly string[]> {
  const place = {
    cwd: projectDir,
    env,
    node: process.execPath,
    hookPath: (file: string) => hookPath(bundleDir(), file),
  };
  return hostOf(host).hookArgs(() => client(host).path, place, kind);
}

/** Throws RalphError `refused` if a session that the user begins by hand would run without our hooks. */
export async function requireUserHooks({ env, projectDir }: Place, name: HostName | undefined): Promise<void> {
  const host = hostOf(name);
  const { title, userHooks } = host;
  if (userHooks === undefined) return;
  const place = userHooksPlace(userHooks, env);
  if (place === null) {
    const text = `${title} has no hooks of ralph-loop, so the loop could neither guard nor continue. Add --launch, which passes them.`;
    throw new RalphError('refused', advise(text, 'Or write them', `init --${name}`));
  }
  const problem = await userHooksProblem(host, projectDir, env);
  if (problem !== null)
    throw new RalphError('refused', `the hooks in ${place}: ${problem}. To repair it, ${userHooks.repair}`);
}
