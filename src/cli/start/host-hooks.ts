import { type clientFinder, hostOf, NAMED_HOSTS } from '../../hosts/hosts.ts';
import { hookPlace, userHooksPlace, userHooksProblem } from '../../install/settings/user-hooks.ts';
import { suggestion } from '../../task/frontmatter/canonical-keys.ts';
import { advise, type Message, RalphError } from '../../text/message.ts';
import { quoted } from '../../text/quote.ts';
import type { CommandContext } from '../command.ts';

type Place = Pick<CommandContext, 'env' | 'projectDir'>;

/** Returns the options with which the client of this host runs our hooks. Throws RalphError `refused` if it would not. */
export async function hostHooks(
  { env, projectDir }: Place,
  host: string | undefined,
  client: ReturnType<typeof clientFinder>,
  kind: 'iteration' | 'session',
): Promise<readonly string[]> {
  return hostOf(host).hookArgs(() => client(host).path, hookPlace(projectDir, env), kind);
}

/** Throws RalphError `refused` if a session would run without our hooks because they are not in the user's file. */
export async function requireUserHooks(
  { env, projectDir }: Place,
  name: string | undefined,
  launched: boolean,
): Promise<void> {
  const host = hostOf(name);
  const { title, userHooks } = host;
  if (userHooks === undefined || (launched && userHooks.passedAtLaunch)) return;
  const place = userHooksPlace(userHooks, env);
  if (place === null) {
    const text = `${title} has no hooks of ralph-loop, so the loop could neither guard nor continue.`;
    const [passing, write] = userHooks.passedAtLaunch
      ? [' Add --launch, which passes them.', 'Or write them']
      : ['', 'Write them'];
    throw new RalphError('refused', advise(`${text}${passing}`, write, `init --${name}`));
  }
  const problem = await userHooksProblem(host, projectDir, env);
  if (problem === null) return;
  const { text, repair } = problem;
  throw new RalphError(
    'refused',
    `the hooks in ${place}: ${text}.${repair === null ? '' : ` To repair it, ${repair}`}`,
  );
}

/** Returns the message about an agent that cannot run loops in sessions. */
export function noSession(agent: string): Message {
  const names = NAMED_HOSTS.map(({ name }) => name);
  const text = `--agent ${agent}: a session works with ${names.join(' or ')}, and without --agent with Claude Code.${suggestion(agent, names)}`;
  return advise(text, 'Any other program runs with', `run TASK --agent ${quoted(agent)}`);
}
