import { existsSync } from 'node:fs';
import { basename, dirname, join, relative, sep } from 'node:path';
import { parse } from 'jsonc-parser/lib/esm/main.js';
import { readRegularFile, realPathOf } from '../../state/files/regular-file.ts';
import { homeFolder } from '../../state/home-folder.ts';
import { RalphError } from '../../text/message.ts';
import { shellWord } from '../../text/quote.ts';
import { type Fields, fieldsOf, listOf, textOf } from '../fields.ts';
import type { HookGroup, HookPlace, Host, SessionTerms, UserHooks } from '../host.ts';
import { hookCommand, namedClient, onlyInClaudeCode, SESSION_HOOKS } from '../host.ts';
import { EVENTS, MACHINE_FOLDER } from './payload.ts';

/** Oldest supported Gemini CLI: the first whose hooks were measured. */
const OLDEST = '0.61.0';

/** Begins the commands of our hooks, which do nothing in a session without a loop. */
const REGISTERED = '[ "$RALPH_ACTIVE" = 1 ] || exit 0; ';
const HOST = '--host gemini';
/** Gemini CLI shows it beside our messages, in place of the whole command. */
const NAME = 'ralph-loop';
/** Hooks of sessions in the user's settings, which Gemini CLI runs without asking whether they are trusted (measured). */
export const USER_HOOKS: UserHooks = {
  file: settingsFile,
  fileName: '~/.gemini/settings.json',
  comments: true,
  hasPlugin: () => false,
  passedAtLaunch: false,
  groups,
  isOurs,
  problem: async (_, place) => {
    const text = problemIn(place);
    return text === null ? null : { text, repair: 'correct what it names, then run init --gemini again.' };
  },
};

/** Google's Gemini CLI: loops in sessions, by hooks of the user's settings. */
export const GEMINI: Host = {
  name: 'gemini',
  title: 'Gemini CLI',
  oldest: OLDEST,
  requireClient: (env) =>
    namedClient(env, {
      title: 'Gemini CLI',
      program: 'gemini',
      variable: 'RALPH_GEMINI',
      oldest: OLDEST,
      install: 'npm install -g @google/gemini-cli',
    }),
  requireArgs,
  hookArgs: async () => [],
  iterations: null,
  sessionArgs,
  sessionEnv: () => ({}),
  // Without a terminal, its transcript has no errors; at one, its hook reads them.
  sessionError: () => null,
  endsTurns: true,
  printsMessages: () => true,
  byHand: ['RALPH_ACTIVE=1', 'gemini'],
  modeText: (permissionMode) =>
    `Gemini CLI runs with its approval mode ${approvalFor(permissionMode)} (permission mode ${permissionMode ?? 'default'}).`,
  readsClaudeSettings: false,
  confines: true,
  userHooks: USER_HOOKS,
  cannot: onlyInClaudeCode('-- --sandbox turns on. Set sandbox.mode to auto.'),
  topics: {
    'loop with a new client for each iteration': 'refused; as a command, `--agent "CMD"`, without a guard',
    'loop inside one session':
      '`start --task TASK --launch --agent gemini`, also headless, and by hand; both after `init --gemini`',
    guard:
      'shell commands, file tools, MCP tools and others; a crashed hook refuses the call, one that exceeds its 600 seconds lets it run; `GITHUB_SHA` or `SURFACE=Github` in a `.env` file of the project, of a folder above it or of your home switches the hooks off',
    'input to running commands': 'the client has no tool for it',
    steering: 'a message reaches the agent with the result of its next tool call',
    interruption: 'the next call ends the turn',
    'permission mode':
      'acceptEdits: auto_edit; bypassPermissions: yolo; plan: plan; others: default, which denies what it would ask about when headless; `may_run` does nothing',
    'dialogs left open': 'not recorded by the client; `status` says since when it is silent, which a long call is too',
    tokens: 'at each tool call and at the end of each turn, from the transcript',
    cost: 'unknown; `max_cost` is refused',
    'rate limits and API errors':
      'Gemini CLI retries by itself; at a terminal, a turn that then fails pauses the loop until you resume it; without one, it has no hook and leaves no record, so the session ends and you resume the loop',
    subagents: 'not measured',
    'background work': 'not awaited; ended with a headless loop, else named',
  },
};

const APPROVALS: Readonly<Record<string, string>> = {
  acceptEdits: 'auto_edit',
  bypassPermissions: 'yolo',
  plan: 'plan',
};

function approvalFor(permissionMode: string | null): string {
  return APPROVALS[permissionMode ?? ''] ?? 'default';
}

function sessionArgs({ permissionMode, model, own, headless, session, prompt }: SessionTerms): readonly string[] {
  return [
    `--approval-mode=${approvalFor(permissionMode)}`,
    ...(model === null ? [] : [`--model=${model}`]),
    ...own,
    ...(session === null ? [] : [`--resume=${session}`]),
    // Gemini CLI would read a file for an `@PATH` without calling a hook (measured).
    `${headless ? '--prompt' : '--prompt-interactive'}=${prompt.replace(/(?<!\\)@/g, '\\@')}`,
  ];
}

/** Options that the loop sets itself, or that would take the session out of it. */
const REFUSED =
  /^(?:-p|--prompt|-i|--prompt-interactive|-r|--resume|--session-(?:id|file)|-w|--worktree|-y|--yolo|--approval-mode|--acp|--experimental-acp|-l|--list-.*|--delete-session|-h|--help|-v|--version)(?:=|$)/;

function requireArgs(words: readonly string[]): void {
  const word = words.find((each) => REFUSED.test(each));
  if (word === undefined) return;
  throw new RalphError(
    'usage',
    `-- ${word}: the loop sets this option of Gemini CLI itself, or could not work with it.`,
  );
}

function problemIn({ cwd, env, node, hookPath }: HookPlace): string | null {
  const user = settingsIn(settingsFile(env));
  const system = settingsIn(env['GEMINI_CLI_SYSTEM_SETTINGS_PATH'] || join(MACHINE_FOLDER, 'settings.json'));
  const defaults = settingsIn(env['GEMINI_CLI_SYSTEM_DEFAULTS_PATH'] || join(MACHINE_FOLDER, 'system-defaults.json'));
  // A later file of these prevails; of all lists, only that of disabled hooks is joined.
  const all = [defaults, user, settingsIn(join(cwd, '.gemini', 'settings.json')), system];
  const configs = all.map((settings) => fieldsOf(settings['hooksConfig']));
  if (lastOf('enabled', configs) === false) return 'hooksConfig.enabled switches all hooks off';
  const off = configs.flatMap(({ disabled }) => (Array.isArray(disabled) ? disabled : []));
  if (off.some((each) => each === NAME || textOf(each).includes(HOST)))
    return 'hooksConfig.disabled names some of them';
  for (const [event, [wanted]] of Object.entries(groups({ node, hookPath }))) {
    const problem = problemOf(event, listOf(fieldsOf(user['hooks'])[event]), wanted?.hooks[0]);
    if (problem !== null) return problem;
  }
  const redactions = all.map(({ security }) => fieldsOf(fieldsOf(security)['environmentVariableRedaction']));
  const blocked = lastOf('blocked', redactions);
  if (lastOf('enabled', redactions) === true && [blocked].flat().some((each) => /^RALPH_/i.test(textOf(each))))
    return 'security.environmentVariableRedaction.blocked names variables of ralph-loop';
  if (!isTrusted(cwd, env, [defaults, user, system]))
    return 'this folder is not one that Gemini CLI trusts: start gemini in it and type /permissions trust';
  const isStrict = Boolean(env['GITHUB_SHA']) || env['SURFACE'] === 'Github';
  return isStrict
    ? 'Gemini CLI withholds RALPH_ACTIVE from hooks while GITHUB_SHA is set or SURFACE is Github: unset it'
    : null;
}

function lastOf(key: string, settings: readonly Fields[]): unknown {
  return settings.findLast((each) => each[key] !== undefined)?.[key];
}

/** Returns why the hook of an event is not ours as this or another version writes it; null if it is. */
function problemOf(event: string, found: readonly Fields[], wanted: HookGroup['hooks'][number] | undefined) {
  const group = found.find(({ hooks }) => listOf(hooks).some(isOurs));
  const hook = listOf(group?.['hooks']).find(isOurs);
  if (group === undefined || hook === undefined) return `${event} has none of them`;
  const command = textOf(hook['command']);
  const gone = [NODE, PROGRAM].map((part) => part.exec(command)?.[1] ?? '').find((path) => !existsSync(path));
  if (gone !== undefined) return `their program ${gone} is gone`;
  const isSame = placeless(command) === placeless(wanted?.command ?? '') && hook['timeout'] === wanted?.timeout;
  const isForAll = [undefined, '', '*'].includes(group['matcher'] as string | undefined);
  return isSame && isForAll ? null : `that of ${event} is not as init --gemini writes it`;
}

/** Returns whether Gemini CLI trusts a folder: elsewhere, it ignores the hooks of all settings. */
function isTrusted(cwd: string, env: NodeJS.ProcessEnv, settings: readonly Fields[]): boolean {
  const given = env['GEMINI_CLI_TRUST_WORKSPACE'];
  if (env['GEMINI_RESTRICTED_MODE'] === 'true' || given === 'false') return false;
  if (given === 'true') return true;
  const trusts = settings.map(({ security }) => fieldsOf(fieldsOf(security)['folderTrust']));
  if (lastOf('enabled', trusts) === false) return true;
  const path = env['GEMINI_CLI_TRUSTED_FOLDERS_PATH'] || join(dirname(settingsFile(env)), 'trustedFolders.json');
  const here = realPathOf(cwd) ?? cwd;
  let longest = -1;
  let isTrusting = false;
  for (const [folder, level] of Object.entries(settingsIn(path))) {
    const above = level === 'TRUST_PARENT' ? dirname(folder) : folder;
    const way = relative(realPathOf(above) ?? above, here);
    if (way === '..' || way.startsWith(`..${sep}`) || folder.length <= longest) continue;
    longest = folder.length;
    isTrusting = level === 'TRUST_FOLDER' || level === 'TRUST_PARENT';
  }
  return isTrusting;
}

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
      const program = `"\${RALPH_NODE:-${node}}" --v8-pool-size=0 ${shellWord(hookPath(SESSION_HOOKS[event]))}`;
      const { command, seconds } = hookCommand(event, program, 'gemini');
      return [
        own,
        [{ hooks: [{ name: NAME, type: 'command', command: REGISTERED + command, timeout: seconds * 1000 }] }],
      ];
    }),
  );
}

function isOurs(entry: unknown): boolean {
  const command = textOf(fieldsOf(entry)['command']);
  return command.startsWith(REGISTERED) && command.includes(` ${HOST}`);
}

const PROGRAM = / '?(\/[^'"]+\.cjs)'? --host gemini/;
const NODE = /\$\{RALPH_NODE:-([^}]*)\}/;

/** Returns a hook's command without the folders of its programs, which differ between versions. */
function placeless(command: string): string {
  return command.replace(NODE, '').replace(PROGRAM, (_, path: string) => ` ${basename(path)} ${HOST}`);
}
