import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { readRegularFile } from '../../state/files/regular-file.ts';
import { RalphError } from '../../text/message.ts';
import { excerpt, oneLine, shellWord } from '../../text/quote.ts';
import { type Fields, fieldsOf, listOf, parseFields, stringsOf, textOf } from '../fields.ts';
import { type HookGroup, type HookPlace, hookCommand, SESSION_HOOKS, type UserHooks } from '../host.ts';
import { NO_TERMINAL, TERMINAL } from './hook-output.ts';
import { codexHome } from './rollout.ts';

const { PreToolUse, PostToolUse } = SESSION_HOOKS;
const TOOL_HOOKS = { PreToolUse, PostToolUse };

type Place = Pick<HookPlace, 'node' | 'hookPath'>;

/** Returns Codex's options that register these hooks for one run. */
function hookOptions(hooks: Readonly<Record<string, string>>, { node, hookPath }: Place): string[] {
  return Object.entries(hooks).flatMap(([event, file]) => {
    const hook = handler(event, `${shellWord(node)} --v8-pool-size=0 ${shellWord(hookPath(file))}`);
    const fields = Object.entries(hook).map(
      ([key, value]) => `${key}=${typeof value === 'string' ? toml(value) : value}`,
    );
    return ['-c', `hooks.${event}=[{${event in TOOL_HOOKS ? 'matcher="*",' : ''}hooks=[{${fields.join(',')}}]}]`];
  });
}

/** Begins the commands of registered hooks, which do nothing in a session without a loop or if a run passes its own hooks. */
const REGISTERED = '[ "$RALPH_ACTIVE$RALPH_HOOKS" = 1 ] || exit 0; ';

function handler(event: string, program: string) {
  const { command, seconds } = hookCommand(event, program, 'codex');
  const context = event !== 'Stop' && { additionalContextLimit: 0 };
  return { type: 'command', command, timeout: seconds, ...context } as const;
}

/** Returns the hooks of sessions by event. They are the same in every version: Codex trusts a definition by its hash. */
function registered(node: string, path: (file: string) => string): Readonly<Record<string, readonly HookGroup[]>> {
  return Object.fromEntries(
    Object.entries(SESSION_HOOKS).map(([event, file]) => {
      const { command, ...rest } = handler(event, `"\${RALPH_NODE:-${node}}" --v8-pool-size=0 ${path(file)}`);
      const hooks = [{ ...rest, command: `${REGISTERED}${command}` }];
      return [event, [event in TOOL_HOOKS ? { matcher: '*', hooks } : { hooks }]];
    }),
  );
}

/** Returns the hooks of the plugin. Codex hashes the whole plugin with them: they lose their trust at each update. */
export function codexPluginHooks(): Readonly<Record<string, readonly HookGroup[]>> {
  return registered('node', (file) => `"$CLAUDE_PLUGIN_ROOT/hooks/${file}"`);
}

/** Hooks in the user's `hooks.json`, which keep their trust, or in the plugin. */
export const USER_HOOKS: UserHooks = {
  file: (env) => join(codexHome(env), 'hooks.json'),
  fileName: 'hooks.json',
  comments: false,
  hasPlugin,
  passedAtLaunch: true,
  groups: ({ node, hookPath }) => registered(node, (file) => shellWord(hookPath(file))),
  isOurs,
  problem: async (program, place) => {
    const isPlugged = hasPlugin(place.env);
    const { hooks, warnings } = await listHooks(program(), isPlugged ? [] : NO_PLUGINS, place);
    const ours = hooks.filter(isOurs);
    const wanted = Object.keys(SESSION_HOOKS).length;
    const unread = warnings.find((text) => text.includes(USER_HOOKS.file(place.env)));
    // A hook of `hooks.json` names the file that it runs, one of the plugin does not.
    const gone = ours
      .map(({ command }) => / '?(\/[^'"]+\.cjs)'? --host codex/.exec(textOf(command))?.[1])
      .find((path) => path !== undefined && !existsSync(path));
    const lost = ours.filter(({ trustStatus }) => trustStatus !== 'trusted' && trustStatus !== 'managed');
    const few = ours.length < wanted && `Codex reads ${ours.length} of them`;
    const off = 'Codex reads none of them, because its plugins, this one or all hooks are switched off';
    const twice = 'the plugin and hooks.json both have them, so each runs twice';
    const problems: readonly (readonly [text: string | false | undefined | null, repair: string | null])[] = [
      [few && unread && `${few}: ${excerpt(oneLine(unread), MOST_SAID)}`, CORRECT],
      [ours.length === 0 && isPlugged && off, ON],
      [ours.length > wanted && twice, 'remove those in hooks.json with uninit --codex.'],
      [few, ON],
      [gone && `their program ${gone} is gone, so write them again with init --codex`, null],
      [ours.some(({ enabled }) => enabled !== true) && 'they are switched off in Codex', SWITCH],
      [lost.length > 0 && `Codex does not trust ${lost.length} of them and skips those silently`, TRUST],
    ];
    const [text, repair = null] = problems.find(([each]) => each) ?? [];
    return text ? { text, repair } : null;
  },
};

/** Codex asks at its start, and again under /hooks. */
const TRUST = 'start codex in the project and choose "Trust all and continue", or type /hooks and press t.';
const SWITCH = 'start codex in the project and type /hooks.';
const CORRECT = 'correct what Codex names; until then it reads nothing of that file.';
const MOST_SAID = 400;
const ON =
  'set plugins and hooks to true under [features], and enabled under [plugins."ralph-loop@…"], in config.toml of Codex.';

function isOurs(entry: unknown): boolean {
  return textOf(fieldsOf(entry)['command']).startsWith(REGISTERED);
}

/** Returns whether the user's configuration names the plugin, switched on or off. */
function hasPlugin(env: NodeJS.ProcessEnv): boolean {
  const text = readRegularFile(join(codexHome(env), 'config.toml')) ?? '';
  return /^\s*\[plugins\."ralph-loop@/m.test(text);
}

/** Returns a TOML string, whose escapes are those of JSON. */
export function toml(text: string): string {
  return JSON.stringify(text).replaceAll('\x7f', '\\u007f');
}

const START_MS = 60_000;
/** Without plugins, Codex starts in a third of the time. */
const NO_PLUGINS = ['-c', 'features.plugins=false'];

/**
 * Returns Codex's options that register our hooks for one run and make Codex trust exactly these: it silently skips any other
 * hook of its command line. The hash of each comes from Codex itself. Throws RalphError `refused` if Codex would not run one, or
 * would let the agent type into a command.
 */
export async function trustedHooks(
  program: () => string,
  place: HookPlace,
  kind: 'iteration' | 'session',
): Promise<string[]> {
  const hooks = kind === 'session' ? SESSION_HOOKS : TOOL_HOOKS;
  const options = hookOptions(hooks, place);
  const listed = await listHooks(program(), [...NO_PLUGINS, ...options, ...NO_TERMINAL], place);
  const ours = listed.hooks.filter(({ source }) => source === 'sessionFlags');
  const isEnabled = ours.length === Object.keys(hooks).length && ours.every(({ enabled }) => enabled === true);
  if (!isEnabled) throw new RalphError('refused', NOT_RUN);
  // A Codex that no longer knows the feature would ignore its name.
  const isClosed = listed.features.some(({ name, enabled }) => name === TERMINAL && enabled === false);
  if (!isClosed) throw new RalphError('refused', OPEN_TERMINAL);
  const state = ours.map(
    ({ key, currentHash }) => `${toml(textOf(key))}={enabled=true,trusted_hash=${toml(textOf(currentHash))}}`,
  );
  // Each iteration reads the configuration again, which a program of the agent may have changed meanwhile.
  return [...options, '-c', 'features.hooks=true', '-c', `hooks.state={${state.join(',')}}`, ...NO_TERMINAL];
}

const NOT_RUN =
  "Codex would not run ralph-loop's hooks, so the guard could not hold. Allow hooks: remove features.hooks = false and managed rules about hooks from its configuration.";

const OPEN_TERMINAL =
  'Codex would let the agent type into running commands without asking a hook, so the guard could not hold. Remove managed rules about unified_exec_tty, or install a Codex that docs/clients.md lists.';

/** Asks Codex's app server for the hooks and features that a run with these options would have. Throws RalphError `refused`. */
async function listHooks(program: string, options: readonly string[], { cwd, env }: Pick<HookPlace, 'cwd' | 'env'>) {
  const child = spawn(program, ['app-server', ...options], { cwd, env, stdio: ['pipe', 'pipe', 'ignore'] });
  const answers = createInterface({ input: child.stdout });
  const timer = setTimeout(() => child.kill('SIGKILL'), START_MS);
  try {
    return await new Promise<Listed>((resolve, reject) => {
      const refuse = (why: string): void => reject(new RalphError('refused', `Codex did not list its hooks: ${why}.`));
      child.once('error', ({ message }) => refuse(message));
      child.once('close', (code, signal) => refuse(`it ended with ${signal ?? `exit code ${code}`}`));
      child.stdin.on('error', () => undefined);
      const told = new Map<unknown, Fields>();
      const dataOf = (id: number) => listOf(fieldsOf(told.get(id)?.['result'])['data']);
      answers.on('line', (line) => {
        const message = parseFields(line);
        if (message !== null) told.set(message['id'], message);
        if (!told.has(FEATURES) || !told.has(LIST)) return;
        const [place] = dataOf(LIST);
        const { hooks, warnings } = place ?? {};
        if (place === undefined)
          refuse(textOf(fieldsOf(told.get(LIST)?.['error'])['message']) || 'its answer is empty');
        else resolve({ hooks: listOf(hooks), warnings: stringsOf(warnings), features: dataOf(FEATURES) });
      });
      for (const request of requests(cwd)) child.stdin.write(`${JSON.stringify(request)}\n`);
    });
  } finally {
    clearTimeout(timer);
    child.removeAllListeners();
    child.kill('SIGKILL');
  }
}

const FEATURES = 2;
const LIST = 3;

interface Listed {
  readonly features: ReturnType<typeof listOf>;
  readonly hooks: ReturnType<typeof listOf>;
  readonly warnings: readonly string[];
}

function requests(cwd: string): readonly object[] {
  const clientInfo = { name: 'ralph-loop', title: 'ralph-loop', version: '1' };
  return [
    { id: 1, method: 'initialize', params: { clientInfo, capabilities: { experimentalApi: true } } },
    { method: 'initialized' },
    { id: FEATURES, method: 'experimentalFeature/list', params: { limit: 1000 } },
    { id: LIST, method: 'hooks/list', params: { cwds: [cwd] } },
  ];
}
