import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { VERSION } from '../../../src/cli/help.ts';
import { initProject } from '../../../src/install/init-project.ts';
import { BUNDLE_HOME } from '../../../src/install/project-files.ts';
import { type LauncherSettings, launcherSettings } from '../../../src/install/settings/session-settings.ts';
import { type LoopFiles, loopFiles, outsideRoot } from '../../../src/state/loop-files.ts';
import { shareCodeOfCopy } from '../code-cache.ts';
import { callsOf, decisionsOf, recordsOf } from '../journal.ts';
import { type Script, type ScriptedModel, startScriptedModel, type Usage } from '../model/scripted-model.ts';
import { inPerson } from '../terminal/in-person.ts';
import { TEST_TIMEOUT_MS } from '../until.ts';
import type { ClientRun, PermissionMode } from './client.ts';
import { clientEnvironment, type Environment, type EnvironmentChanges } from './client-environment.ts';
import { killTree, signalQuietly } from './process-tree.ts';
import { createWorkspace, type JsonObject, type Workspace } from './workspace.ts';

/** The built bundle. */
export const bundle = join(dirname(fileURLToPath(import.meta.url)), '../../../dist/plugin');
export const mainPath = join(bundle, 'scripts', 'main.cjs');
export const promptFile = '.claude/ralph/PROMPT.md';
export const launcherFile = '.claude/ralph/ralph-audit.sh';
const clientDefaults = ['--output-format', 'stream-json', '--verbose'];

export type LoopProjectOptions = {
  /** YAML of PROMPT.md, without the dashes. */
  readonly frontmatter?: string;
  readonly body?: string;
  /** Further files of the project by relative path, there before `init`. */
  readonly files?: Readonly<Record<string, string>>;
  readonly git?: boolean;
  /** false leaves the project without ralph-loop. */
  readonly init?: boolean;
  /** The stand-in is the client of the launcher and of the runner: for what the loop does, where the client adds nothing. */
  readonly standIn?: boolean;
  readonly usage?: Partial<Usage>;
  /** The loop that `files`, `state` and the journals are of; default the project's default loop. */
  readonly loop?: string;
};

export type LauncherOptions = {
  /** Default bypassPermissions; null gives no mode. */
  readonly permissionMode?: PermissionMode | null;
  /** Options of `start`: ['--resume'], ['--max-iterations', '3'] ... */
  readonly args?: readonly string[];
  /** A whole command of main.cjs that launches, in the place of the launcher with its mode and `args`. */
  readonly command?: readonly string[];
  /** Options of the client, behind `--`. */
  readonly clientArgs?: readonly string[];
  readonly env?: EnvironmentChanges;
  /** Default TEST_TIMEOUT_MS; then the whole tree is killed and `timedOut` is true. */
  readonly timeLimitMs?: number;
};

export type LauncherRun = ClientRun & {
  /** What the loop said to the user: `ralph-loop: ...` lines of the launcher, and the hooks' messages in the client's stream. */
  readonly said: string;
};

export type RunningLauncher = {
  readonly pid: number;
  readonly done: Promise<LauncherRun>;
  readonly signal: (name: NodeJS.Signals) => void;
  /** The client's stream so far. */
  readonly soFar: () => string;
};

export type CommandRun = { readonly code: number | null; readonly stdout: string; readonly stderr: string };
export type Archived = { readonly name: string; readonly text: string; readonly state: JsonObject };

export type LoopProject = {
  readonly workspace: Workspace;
  readonly model: ScriptedModel;
  readonly files: LoopFiles;
  /** The environment of the user's terminal. */
  readonly environment: (changes?: EnvironmentChanges) => Environment;
  /** main.cjs, called as the user would in another terminal. */
  readonly main: (args: readonly string[], env?: EnvironmentChanges) => CommandRun;
  /** The same, with a terminal of the user's at which they type yes. */
  readonly inPerson: (args: readonly string[]) => CommandRun;
  /** Starts ralph-audit.sh --headless; `done` resolves when it has ended. */
  readonly start: (options?: LauncherOptions) => RunningLauncher;
  /** The same, run to its end. */
  readonly run: (options?: LauncherOptions) => Promise<LauncherRun>;
  /** The settings that the launcher would pass to the client, for a client that a test starts by itself. */
  readonly settings: (loopId: string) => LauncherSettings & JsonObject;
  /** The state file as it stands, or null when there is none. */
  readonly state: () => JsonObject | null;
  readonly events: (type?: string) => JsonObject[];
  readonly iterations: () => JsonObject[];
  readonly calls: () => JsonObject[];
  /** Oldest first. */
  readonly archive: () => Archived[];
  /** The one archived loop's `ended`; throws when there is none or more than one. */
  readonly ended: () => {
    readonly as: string;
    readonly message: string;
    readonly text?: string;
    readonly verified: boolean;
  };
};

/** Lines of the client's stream in which a hook speaks to the user, `Stop says: ralph: ...`. */
const hookMessages = (messages: readonly JsonObject[]): string[] =>
  messages.flatMap((line) => {
    if (line['type'] !== 'system') return [];
    const text = line['subtype'] === 'hook_response' ? line['output'] : line['content'];
    return typeof text === 'string' ? [text] : [];
  });

const parseMessages = (stdout: string): JsonObject[] =>
  stdout.split('\n').flatMap((line) => {
    try {
      return line.startsWith('{') ? [JSON.parse(line) as JsonObject] : [];
    } catch {
      return [];
    }
  });

const startLauncher = (workspace: Workspace, env: Environment, options: LauncherOptions): RunningLauncher => {
  const { permissionMode = 'bypassPermissions', args = [], clientArgs = [] } = options;
  const mode = permissionMode === null ? [] : ['--permission-mode', permissionMode];
  const [program, words] =
    options.command === undefined
      ? [workspace.path(launcherFile), ['--headless', ...mode, ...args]]
      : [process.execPath, [mainPath, ...options.command]];
  // `run` itself reads what the client prints.
  const ofClient = [...(options.command?.[0] === 'run' ? [] : clientDefaults), ...clientArgs];
  const child = spawn(program, [...words, ...(ofClient.length === 0 ? [] : ['--', ...ofClient])], {
    cwd: workspace.project,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  let stdout = '';
  let stderr = '';
  let timedOut = false;
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (stdout += chunk));
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk));
  const pid = child.pid ?? 0;
  const timer = setTimeout(() => {
    timedOut = true;
    if (pid !== 0) killTree(pid);
  }, options.timeLimitMs ?? TEST_TIMEOUT_MS);
  const done = new Promise<LauncherRun>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      clearTimeout(timer);
      const messages = parseMessages(stdout);
      const result = messages.findLast((line) => line['type'] === 'result');
      const said = [...hookMessages(messages), stderr].join('\n');
      resolve({ code, signal, timedOut, stdout, stderr, messages, result, said });
    });
  });
  return { pid, done, signal: (name) => signalQuietly(pid, name), soFar: () => stdout };
};

const readArchive = (directory: string): Archived[] => {
  if (!existsSync(directory)) return [];
  return readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name)
    .sort()
    .map((name) => {
      const text = readFileSync(join(directory, name), 'utf8');
      let state: JsonObject = {};
      try {
        state = JSON.parse(text) as JsonObject;
      } catch {
        // A state that was moved aside because it is no JSON.
      }
      return { name, text, state };
    });
};

export const taskText = (frontmatter: string | undefined, body: string): string =>
  frontmatter === undefined ? body : `---\n${frontmatter.trim()}\n---\n\n${body}`;

const loopProject = (
  workspace: Workspace,
  model: ScriptedModel,
  launched: Set<RunningLauncher>,
  loop: string | null,
): LoopProject => {
  const environment = (changes: EnvironmentChanges = {}): Environment =>
    clientEnvironment(workspace, model.url, changes);
  const files = loopFiles(workspace.project, loop, { XDG_STATE_HOME: workspace.stateHome });
  const start = (options: LauncherOptions = {}): RunningLauncher => {
    const running = startLauncher(workspace, environment(options.env), options);
    launched.add(running);
    const forget = (): void => void launched.delete(running);
    running.done.then(forget, forget);
    return running;
  };
  const archive = (): Archived[] => readArchive(files.archiveDir);
  return {
    workspace,
    model,
    files,
    environment,
    main: (args, env = {}) => {
      const { status, stdout, stderr } = spawnSync(process.execPath, [mainPath, ...args], {
        cwd: workspace.project,
        env: environment(env),
        encoding: 'utf8',
      });
      return { code: status, stdout, stderr };
    },
    inPerson: (args) => inPerson({ dir: workspace.project, env: environment() }, args),
    start,
    run: (options) => start(options).done,
    settings: (loopId) => ({
      ...launcherSettings({
        ...{ loopId, name: null, node: process.execPath, mainPath, userStatusLine: null },
        outsideRoot: outsideRoot(environment()),
      }),
    }),
    state: () => (existsSync(files.state) ? workspace.json(files.state) : null),
    events: (type) => {
      const entries = workspace.jsonLines(files.events);
      return type === undefined ? [...decisionsOf(entries)] : entries.filter((entry) => entry['type'] === type);
    },
    iterations: () => recordsOf(workspace.jsonLines(files.events)),
    calls: () => callsOf(workspace.jsonLines(files.events)),
    archive,
    ended: () => {
      const loops = archive().filter(({ state }) => state['ended'] !== undefined);
      const [only] = loops;
      if (only === undefined || loops.length > 1) {
        throw new Error(`expected one ended loop, found: ${archive().map(({ name }) => name) || 'none'}`);
      }
      return only.state['ended'] as ReturnType<LoopProject['ended']>;
    },
  };
};

/** Does what `ralph-loop init` does, without a process. Gives what keeps the code that the project's copy compiles. */
const setUp = ({ project: projectDir }: Workspace): (() => void) => {
  const now = new Date().toISOString();
  initProject({ projectDir, env: process.env, bundle, version: VERSION, pluginEnabled: false, now });
  return shareCodeOfCopy(join(projectDir, BUNDLE_HOME, 'scripts'), join(bundle, 'scripts'));
};

/** A project with ralph-loop in it and a scripted model, taken away when the body is done. */
export const inLoopProject = async (
  options: LoopProjectOptions,
  script: Script | ((workspace: Workspace) => Script),
  body: (project: LoopProject) => Promise<void>,
): Promise<void> => {
  const workspace = createWorkspace({ git: options.git ?? false, standIn: options.standIn ?? false });
  const model = await startScriptedModel(
    typeof script === 'function' ? script(workspace) : script,
    options.usage === undefined ? {} : { usage: options.usage },
  );
  const launched = new Set<RunningLauncher>();
  let keepCode = (): void => undefined;
  try {
    workspace.write(promptFile, taskText(options.frontmatter, options.body ?? '# Mission\n\nDo the work.\n'));
    for (const [path, content] of Object.entries(options.files ?? {})) workspace.write(path, content);
    const project = loopProject(workspace, model, launched, options.loop ?? null);
    if (options.init !== false) keepCode = setUp(workspace);
    await body(project);
  } finally {
    for (const { pid } of launched) killTree(pid);
    keepCode();
    await model.close();
    workspace.cleanup();
  }
};
