import { existsSync, mkdirSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type HostWithUserHooks, USER_HOOK_HOSTS } from '../../hosts/hosts.ts';
import { bundledText, plannedFiles } from '../../install/files/planned-files.ts';
import { findOldInstallation, type InitReport, initProject, type OldInstallation } from '../../install/init-project.ts';
import { bundleDir, readManifest, refuseClientDir, safePath } from '../../install/project-files.ts';
import { isPluginEnabled, settingsSources } from '../../install/settings/settings-sources.ts';
import type { UserHooksChange } from '../../install/settings/user-hooks.ts';
import {
  userHooksProblem,
  withoutUserHooks,
  withUserHooks,
  writeUserHooks,
} from '../../install/settings/user-hooks.ts';
import { uninitProject } from '../../install/uninit-project.ts';
import { writeAtomically } from '../../state/files/regular-file.ts';
import { prefixInRepository } from '../../task/project-file.ts';
import { counted } from '../../text/figures.ts';
import { advise, RalphError } from '../../text/message.ts';
import { agrees } from '../ask.ts';
import { type Command, type CommandContext, options } from '../command.ts';
import { VERSION } from '../help.ts';

/** Usage of the options that name a client: `--codex`. */
const HOST_USAGE = USER_HOOK_HOSTS.map(({ name }) => `--${name}`).join(' | ');

export const INIT_COMMAND: Command = {
  name: 'init',
  usage: `[--project DIR] [--yes | --ci github | ${HOST_USAGE}]`,
  help: 'Installs ralph-loop into the current directory for a team that keeps it in the repository: program and skills in .claude/skills, hooks in .claude/hooks and .claude/settings.json, PROMPT.md and launchers in .claude/ralph. Your own changes are never overwritten; programs of an older loop are moved to .claude/ralph/replaced-DATE if you agree. Run it again after an update, while no loop is live; uninit removes the set-up.',
  example: 'ralph-loop init',
  options: {
    ...options({ yes: 'Move the programs of an older loop aside without asking.' }),
    ...hostOptions((title, file) => `Write only the hooks of ${title} sessions, into your own ${file}.`),
    ...options({ 'ci PROVIDER': 'Write only a workflow that verifies the proofs of pull requests (github).' }),
  },
  control: true,
  async run(context) {
    const { projectDir, env, answer } = context;
    refuseClientDir(projectDir, env);
    if (context.values['ci'] !== undefined) return writeWorkflow(context);
    const host = hostInOptions(context);
    if (host !== undefined) return initHost(context, host);
    const sources = settingsSources(projectDir, env, process.platform);
    const pluginEnabled = isPluginEnabled(sources);
    const bundle = bundleDir();
    const old = findOldInstallation(
      projectDir,
      plannedFiles(bundle, projectDir),
      readManifest(projectDir),
      sources,
      env,
    );
    await agreeToMove(context, old);
    const now = context.now();
    const report = initProject({ projectDir, env, bundle, version: VERSION, pluginEnabled, old, now });
    const notes = [...notesOn(report), ...(pluginEnabled ? [PLUGIN_NOTE] : [])];
    answer({ success: true, projectDir, ...report, notes }, () => forReading(projectDir, report, notes, pluginEnabled));
    return 0;
  },
};

function writeWorkflow({ values, projectDir, answer }: CommandContext): number {
  const { ci } = values;
  if (ci !== 'github') throw new RalphError('usage', `--ci ${ci}: github is the only provider.`);
  // GitHub runs workflows only from the top of a repository.
  const path = writeGithubWorkflow(projectDir, prefixInRepository(projectDir) ?? '', VERSION);
  answer(
    { success: true, created: [path] },
    () => `Wrote ${path}. Add a step that installs what your checks need, and commit it.`,
  );
  return 0;
}

/** Asks whether the programs of an older loop may be moved. Throws `refused` without a yes. */
async function agreeToMove({ mayAsk, values, err }: CommandContext, old: OldInstallation): Promise<void> {
  if (old.files.length + old.entries === 0 || values['yes'] === true) return;
  const entries = old.entries === 0 ? '' : ` ${count(old.entries)} of the settings would be removed.`;
  const what = `Programs of another loop, or of an older version, are where ours belong: ${old.files.join(', ') || 'none'}.${entries}`;
  if (mayAsk) {
    err(what);
    if (await agrees('Move them to .claude/ralph/replaced-DATE?')) return;
  }
  const text = `${what} Nothing was written.`;
  throw new RalphError('refused', advise(text, 'Move them to .claude/ralph/replaced-DATE', 'init --yes'));
}

const count = (entries: number): string => (entries === 1 ? '1 entry' : `${entries} entries`);

const PLUGIN_NOTE =
  'The plugin ralph-loop is enabled here and registers the hooks; init registered none in .claude/settings.json.';

function notesOn({ kept, created, moved, replaced, entries }: InitReport): string[] {
  const hooks = kept.filter((path) => path.startsWith('.claude/hooks/') || path.startsWith('.claude/skills/'));
  const away = replaced === null ? 'nothing was moved' : `moved to ${replaced}: ${moved.join(', ')}`;
  return [
    ...(moved.length + entries === 0
      ? []
      : [`Programs of another loop: ${away}; ${count(entries)} of the settings removed.`]),
    ...(hooks.length === 0
      ? []
      : [
          `init left your changed ${hooks.join(', ')} alone, and loops may not work with ${hooks.length === 1 ? 'it' : 'them'}. Move away what you do not need, then run init again.`,
        ]),
    ...(created.includes('.claude/context/runtime/.gitignore')
      ? ['.claude/context/runtime has a .gitignore that keeps the state of loops out of version control.']
      : []),
  ];
}

const SETTINGS_WORDS = {
  created: 'created',
  changed: 'hooks added',
  unchanged: 'nothing to change',
  removed: 'removed, because it contained only our hooks',
} as const;

function forReading(projectDir: string, report: InitReport, notes: readonly string[], byPlugin: boolean): string {
  const { created, updated, removed, kept, settings } = report;
  const done = created.length + updated.length === 0 ? `${projectDir} is already set up.` : `${projectDir} is set up.`;
  return [
    ...titled('Created', chunksTogether(created)),
    ...titled('Updated', chunksTogether(updated)),
    ...titled('Removed, no longer needed', chunksTogether(removed)),
    ...titled('Kept as you have them', kept),
    `.claude/settings.json: ${byPlugin && settings === 'changed' ? 'hooks removed' : SETTINGS_WORDS[settings]}.`,
    ...notes,
    '',
    `${done} Next: write your task and its checks into .claude/ralph/PROMPT.md, then run .claude/ralph/ralph-audit.sh (ralph-audit.bat on Windows).`,
  ].join('\n');
}

/** Names the parts of the program, about 20, in one line. */
function chunksTogether(paths: readonly string[]): readonly string[] {
  const [first, ...more] = paths.filter((path) => CHUNK.test(path));
  if (first === undefined || more.length === 0) return paths;
  return [...paths.filter((path) => !CHUNK.test(path)), `${dirname(first)}/ralph-*.cjs (${more.length + 1} files)`];
}

const CHUNK = /\/scripts\/ralph-[^/]*\.cjs$/;

function titled(title: string, paths: readonly string[]): string[] {
  return paths.length === 0 ? [] : [`${title}:`, ...paths.map((path) => `  ${path}`)];
}

export const UNINIT_COMMAND: Command = {
  name: 'uninit',
  usage: `[--project DIR] [${HOST_USAGE}]`,
  help: 'Removes what init created and restores .claude/settings.json. Files that you changed stay, and so do the archive and the journals. It refuses while a loop is live.',
  example: 'ralph-loop uninit',
  options: hostOptions((title, file) => `Remove only the hooks of ${title} sessions from your own ${file}.`),
  control: true,
  run(context) {
    const host = hostInOptions(context);
    if (host !== undefined) return uninitHost(context, host);
    const { projectDir, env, answer } = context;
    const { removed, kept, settings } = uninitProject(projectDir, env);
    const word = {
      removed: 'removed',
      restored: 'hooks removed',
      unchanged: 'unchanged, because it has none of our hooks',
    }[settings];
    answer({ success: true, projectDir, removed, kept, settings }, () =>
      [
        `${counted(removed.length, 'file')} removed. .claude/settings.json: ${word}.`,
        ...titled('Kept, because you changed them or loops left data in them', kept),
      ].join('\n'),
    );
    return 0;
  },
};

const WORKFLOW = '.github/workflows/ralph-loop.yml';

/**
 * Writes the workflow that verifies the proofs of a pull request to the top of the repository. Returns its path from the
 * project, which is in `prefix`. Throws `refused` if the file exists, and keeps it.
 */
function writeGithubWorkflow(projectDir: string, prefix: string, version: string): string {
  if (!/^[\w./-]*$/.test(prefix))
    throw new RalphError('refused', `The folder ${prefix} has characters that a workflow cannot name. Rename it.`);
  const up = prefix.replaceAll(/[^/]+/g, '..');
  const path = safePath(join(realpathSync(projectDir), up), WORKFLOW);
  const shown = `${up}${WORKFLOW}`;
  if (existsSync(path)) throw new RalphError('refused', `${shown} already exists and stays as it is.`);
  mkdirSync(dirname(path), { recursive: true });
  const workflow = bundledText('templates/github-action.yml').replace('{version}', version);
  writeAtomically(path, workflow.replaceAll('{prefix}', prefix));
  return shown;
}

/** Returns an option for each client whose hooks are in a file of the user; `does` says what happens to them. */
function hostOptions(does: (title: string, file: string) => string) {
  return options(
    Object.fromEntries(USER_HOOK_HOSTS.map(({ name, title, userHooks }) => [name, does(title, userHooks.fileName)])),
  );
}

/** Returns the client that the options name; undefined for none. Throws RalphError `usage` for several. */
function hostInOptions({ values }: Pick<CommandContext, 'values'>): HostWithUserHooks | undefined {
  const [host, other] = USER_HOOK_HOSTS.filter(({ name }) => values[name] === true);
  if (host !== undefined && other !== undefined)
    throw new RalphError('usage', `--${host.name} and --${other.name}: name one client at a time.`);
  return host;
}

/** Registers the hooks of sessions in the user's configuration of a client, after showing them. Returns the exit code. */
async function initHost(context: CommandContext, host: HostWithUserHooks): Promise<number> {
  const { env, projectDir, answer } = context;
  const { name, title, userHooks } = host;
  if (process.platform === 'win32') throw new RalphError('usage', `--${name} needs a POSIX shell for the hooks.`);
  const change = withUserHooks(userHooks, env);
  const isChanged = change.after !== change.before;
  if (isChanged) await agreeToWrite(context, change, change.hooks, name);
  const copy = isChanged ? writeUserHooks(change) : null;
  const problem = await userHooksProblem(host, projectDir, env);
  const { text = null, repair: next = null } = problem ?? {};
  answer({ success: true, path: change.path, changed: isChanged, copy, problem: text, next }, () =>
    [
      `${change.path}: ${isChanged ? 'hooks added' : 'nothing to change'}.`,
      ...(copy === null ? [] : [`The file as it was: ${copy}.`]),
      text === null
        ? `${title} runs them. A session of a loop begins with: ${host.byHand.join(' ')}`
        : `${text[0]?.toUpperCase()}${text.slice(1)}.${next === null ? '' : ` Next: ${next}`}`,
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

/** Removes our hooks from the user's configuration of a client. Returns the exit code. */
function uninitHost({ env, answer }: CommandContext, { userHooks }: HostWithUserHooks): number {
  const change = withoutUserHooks(userHooks, env);
  const isChanged = change.after !== change.before;
  const copy = writeUserHooks(change);
  answer({ success: true, path: change.path, changed: isChanged, copy }, () => {
    const what = !isChanged ? 'has none of our hooks' : change.after === null ? 'removed' : 'hooks removed';
    return `${change.path}: ${what}.${copy === null ? '' : ` The file as it was before: ${copy}.`}`;
  });
  return 0;
}
