import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'jsonc-parser/lib/esm/main.js';
import { STOP_TIMEOUT_SECONDS } from '../../engine/schema/constants.ts';
import { readRegularFile } from '../../state/files/regular-file.ts';
import { homeFolder } from '../../state/home-folder.ts';
import { shellWord } from '../../text/quote.ts';
import { type Fields, fieldsOf, listOf, textOf } from '../fields.ts';
import type { HookGroup, HookPlace, UserHooks } from '../host.ts';
import { EVENTS } from './payload.ts';

const FILES: Readonly<Record<string, string>> = {
  SessionStart: 'session-start.cjs',
  UserPromptSubmit: 'user-prompt-submit.cjs',
  PreToolUse: 'pre-tool-use.cjs',
  PostToolUse: 'post-tool-use.cjs',
  Stop: 'ralph-stop-hook.cjs',
};

/** Begins the commands of our hooks, which do nothing in a session without a loop. */
const REGISTERED = '[ "$RALPH_ACTIVE" = 1 ] || exit 0; ';
const HOST = '--host gemini';
/** Timeout in seconds. A hook that exceeds it lets the tool run (measured), so it is far beyond what the guard takes. */
const TIMEOUT_SECONDS = 600;

/** Hooks of sessions in the user's settings, which Gemini CLI runs without asking whether they are trusted (measured). */
export const USER_HOOKS: UserHooks = {
  file: settingsFile,
  fileName: '~/.gemini/settings.json',
  comments: true,
  hasPlugin: () => false,
  passedAtLaunch: false,
  groups,
  isOurs,
  problem: async (_, { cwd, env }) => {
    const user = settingsIn(settingsFile(env));
    const all = [user, settingsIn(join(cwd, '.gemini', 'settings.json'))];
    const configs = all.map((settings) => fieldsOf(settings['hooksConfig']));
    if (configs.some(({ enabled }) => enabled === false)) return 'hooksConfig.enabled switches all hooks off';
    const commands = Object.values(fieldsOf(user['hooks'])).flatMap((entries) =>
      listOf(entries).flatMap(({ hooks }) => listOf(hooks).filter(isOurs)),
    );
    const wanted = Object.keys(EVENTS).length;
    if (commands.length < wanted) return `only ${commands.length} of ${wanted} are there`;
    const off = configs.flatMap(({ disabled }) => (Array.isArray(disabled) ? disabled : []));
    if (off.some((each) => textOf(each).includes(HOST))) return 'hooksConfig.disabled names some of them';
    const gone = commands.map(({ command }) => programIn(textOf(command))).find((path) => !existsSync(path));
    if (gone !== undefined) return `their program ${gone} is gone`;
    const isStrict = Boolean(env['GITHUB_SHA']) || env['SURFACE'] === 'Github';
    return isStrict ? 'Gemini CLI withholds RALPH_ACTIVE from hooks while GITHUB_SHA or SURFACE is set' : null;
  },
  repair: 'remove hooksConfig.enabled and hooksConfig.disabled from its settings, and run init --gemini again.',
};

function settingsFile(env: NodeJS.ProcessEnv): string {
  return join(env['GEMINI_CLI_HOME'] || homeFolder(env), '.gemini', 'settings.json');
}

function settingsIn(path: string): Fields {
  return fieldsOf(parse(readRegularFile(path) ?? ''));
}

function groups({
  node,
  hookPath,
}: Pick<HookPlace, 'node' | 'hookPath'>): Readonly<Record<string, readonly HookGroup[]>> {
  return Object.fromEntries(
    Object.entries(EVENTS).map(([own, event]) => {
      const isStop = event === 'Stop';
      const seconds = isStop ? STOP_TIMEOUT_SECONDS : TIMEOUT_SECONDS;
      const program = `"\${RALPH_NODE:-${node}}" --v8-pool-size=0 ${shellWord(hookPath(FILES[event] ?? ''))}`;
      const call = `${program} ${HOST}${isStop ? ` --timeout ${seconds}` : ''}`;
      const command = `${REGISTERED}${event === 'PreToolUse' ? refusing(call) : `exec ${call}`}`;
      return [own, [{ hooks: [{ type: 'command', command, timeout: seconds * 1000 }] }]];
    }),
  );
}

/** Returns a command that denies the call if the guard ends without an answer: any exit code but 0 and 2 allows it (measured). */
function refusing(call: string): string {
  const lost = 'ralph-loop: the guard ended without an answer, so this call is denied.';
  return `${call} || { [ $? = 2 ] && exit 2; echo ${shellWord(lost)} >&2; exit 2; }`;
}

function isOurs(entry: unknown): boolean {
  const command = textOf(fieldsOf(entry)['command']);
  return command.startsWith(REGISTERED) && command.includes(` ${HOST}`);
}

/** Returns the file that a hook of ours runs. */
function programIn(command: string): string {
  return / '?(\/[^'"]+\.cjs)'? --host gemini/.exec(command)?.[1] ?? '';
}
