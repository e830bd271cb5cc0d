import { type HostWithUserHooks, USER_HOOK_HOSTS } from '../../hosts/hosts.ts';
import {
  type UserHooksChange,
  userHooksProblem,
  withoutUserHooks,
  withUserHooks,
  writeUserHooks,
} from '../../install/settings/user-hooks.ts';
import { advise, RalphError } from '../../text/message.ts';
import { agrees } from '../ask.ts';
import { type CommandContext, options } from '../command.ts';

/** Usage of the options that name a client: `--codex`. */
export const HOST_USAGE = USER_HOOK_HOSTS.map(({ name }) => `--${name}`).join(' | ');

/** Returns an option for each client whose hooks stand in a file of the user; `does` says what happens to them. */
export function hostOptions(does: (title: string, file: string) => string) {
  return options(
    Object.fromEntries(USER_HOOK_HOSTS.map(({ name, title, userHooks }) => [name, does(title, userHooks.fileName)])),
  );
}

/** Returns the client that the options name; undefined for none. Throws RalphError `usage` for several. */
export function hostInOptions({ values }: Pick<CommandContext, 'values'>): HostWithUserHooks | undefined {
  const [host, other] = USER_HOOK_HOSTS.filter(({ name }) => values[name] === true);
  if (host !== undefined && other !== undefined)
    throw new RalphError('usage', `--${host.name} and --${other.name}: name one client at a time.`);
  return host;
}

/** Registers the hooks of sessions in the user's configuration of a client, after it has shown them. Returns the exit code. */
export async function initHost(context: CommandContext, host: HostWithUserHooks): Promise<number> {
  const { env, projectDir, answer } = context;
  const { name, title, userHooks } = host;
  if (process.platform === 'win32') throw new RalphError('usage', `--${name} needs a POSIX shell for the hooks.`);
  const change = withUserHooks(userHooks, env);
  const isChanged = change.after !== change.before;
  if (isChanged) await agreeToWrite(context, change, change.hooks, name);
  const copy = isChanged ? writeUserHooks(change) : null;
  const problem = await userHooksProblem(host, projectDir, env);
  const next = problem === null ? null : userHooks.repair;
  answer({ success: true, path: change.path, changed: isChanged, copy, problem, next }, () =>
    [
      `${change.path}: ${isChanged ? 'hooks added' : 'nothing to change'}.`,
      ...(copy === null ? [] : [`The file as it was: ${copy}.`]),
      problem === null ? `${title} runs them.` : `${problem[0]?.toUpperCase()}${problem.slice(1)}. Next: ${next}`,
    ].join('\n'),
  );
  return 0;
}

async function agreeToWrite(
  { values, mayAsk, err }: CommandContext,
  { path }: UserHooksChange,
  hooks: object,
  name: string,
): Promise<void> {
  err(`These hooks come into ${path}:\n${JSON.stringify(hooks, null, 2)}`);
  if (values['yes'] === true || (mayAsk && (await agrees('Write them?')))) return;
  throw new RalphError('refused', advise('Nothing was written.', 'Write them', `init --${name} --yes`));
}

/** Takes our hooks out of the user's configuration of a client. Returns the exit code. */
export function uninitHost({ env, answer }: CommandContext, { userHooks }: HostWithUserHooks): number {
  const change = withoutUserHooks(userHooks, env);
  const isChanged = change.after !== change.before;
  const copy = writeUserHooks(change);
  answer({ success: true, path: change.path, changed: isChanged, copy }, () => {
    const what = !isChanged ? 'has none of our hooks' : change.after === null ? 'removed' : 'hooks removed';
    return `${change.path}: ${what}.${copy === null ? '' : ` The file as it was before: ${copy}.`}`;
  });
  return 0;
}
