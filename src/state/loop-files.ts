import { existsSync, mkdirSync, realpathSync } from 'node:fs';
import { basename, isAbsolute, join, resolve, sep } from 'node:path';
import { digest } from '../text/digest.ts';
import { orElse } from '../text/or-else.ts';
import { namesIn, writeAtomically } from './files/regular-file.ts';

/** Paths of one loop's files, absolute. */
export type LoopFiles = Readonly<ReturnType<typeof loopFiles>>;

/** Names the project, in the folder that it has outside. */
export const PROJECT_FILE = 'project.json';

export const LOOP_NAME = /^[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}$/;

/** Returns the files of the default loop (`name` null) or of the loop `name` (a LOOP_NAME). No two loops share one. */
export function loopFiles(projectDir: string, name: string | null, env: NodeJS.ProcessEnv) {
  const root = resolve(projectDir);
  const runtimeDir = join(root, '.claude', 'context', 'runtime');
  const outsideDir = projectOutsideDir(root, env);
  const own = name === null ? '' : `.${name}`;
  const of = (stem: string, extension: string): string => `${runtimeDir}${sep}ralph-${stem}${own}${extension}`;
  const outside = (stem: string): string => `${outsideDir}${sep}${stem}`;
  const state = of('state', '.json');
  return {
    projectDir: root,
    name,
    /** `.claude/context/runtime` of the project. */
    runtimeDir,
    state,
    lock: `${state}.lock`,
    archiveDir: of('archive', ''),
    /** The event stream: what the loop decided, and what its agents, their tools and the checks did. */
    events: of('events', '.jsonl'),
    /** Iterations as former versions recorded them; read only. */
    iterations: of('iterations', '.jsonl'),
    /** Last prompt of a task without a folder, for an agent that is sent to read it. */
    prompt: of('prompt', '.md'),
    /** Last cost figure that the client passed to the status line. */
    cost: of('cost', '.json'),
    /** Left by `cancel` for the next tool call and the next Stop. */
    cancellation: outside(`cancelled${own}.json`),
    /** Folder outside the project, out of reach of an agent confined to the project. */
    outsideDir,
    contract: outside(`contract${own}.json`),
    /** Beginning of the names of the files that hold the snapshot of what is protected. */
    snapshot: outside(`snapshot${own}`),
    /** Folder of the clean copies on which checks run: a sandbox hides the state folder. */
    copies: join(cacheRoot(env), 'checks', `${basename(outsideDir)}${own}`),
    /** How the repository was at the start. */
    startPoint: outside(`contract${own}.json.start-point`),
    /** What the end of the loop reported. */
    report: outside(`contract${own}.json.report`),
    /** What the iteration is measured by, for the process that decides its end. */
    promptedTurn: outside(`turn${own}.json`),
    /** The router's last spawn. */
    spawn: outside(`router${own}.json`),
    /** Journal entries of a runner that the state may not count yet. */
    outbox: outside(`runner${own}.due.json`),
    /** A plan's commit in the making. */
    commitIntent: outside(`settling${own}.json`),
    /** How far the events were exported. */
    telemetry: outside(`telemetry${own}.json`),
    /** How the files that have to be unchanged were at the start. */
    unchanged: outside(`unchanged${own}.json`),
    /** Folder in which git sees the project with the settings of the start. */
    gitView: outside(`contract${own}.json.git`),
    /** Changes that reports of the loop name, one a line; the newest. */
    notices: outside(`notices${own}.jsonl`),
    log: outside('hook.log'),
  };
}

/** Returns the names of the loops that have a state or an archive in this folder; null is the default one. */
export function loopNamesIn(runtimeDir: string): (string | null)[] {
  const names = namesIn(runtimeDir).flatMap((entry) => {
    const found = /^ralph-(?:state(?:\.(.+))?\.json|archive(?:\.(.+))?)$/.exec(entry);
    const name = found?.[1] ?? found?.[2] ?? null;
    return found === null || (name !== null && !LOOP_NAME.test(name)) ? [] : [name];
  });
  return [...new Set(names)];
}

/** `$XDG_STATE_HOME/ralph-loop` or its equivalent on this system. A relative XDG_STATE_HOME is ignored, as specified. */
export function outsideRoot(env: NodeJS.ProcessEnv): string {
  const { XDG_STATE_HOME: stateHome, LOCALAPPDATA: appData, HOME: unix, USERPROFILE: windows } = env;
  if (stateHome && isAbsolute(stateHome)) return join(stateHome, 'ralph-loop');
  if (process.platform === 'win32' && appData && isAbsolute(appData)) return join(appData, 'ralph-loop');
  // An import of node:os costs every hook half a millisecond.
  const home = unix || windows || (process.getBuiltinModule?.('node:os').homedir() ?? '/');
  return join(home, '.local', 'state', 'ralph-loop');
}

function cacheRoot({ XDG_CACHE_HOME: cache, HOME: unix, USERPROFILE: windows }: NodeJS.ProcessEnv): string {
  return cache && isAbsolute(cache)
    ? join(cache, 'ralph-loop')
    : join(unix || windows || '/tmp', '.cache', 'ralph-loop');
}

function projectOutsideDir(projectDir: string, env: NodeJS.ProcessEnv): string {
  // The native function returns the true case on file systems that ignore it: one project has one folder. If it fails,
  // reading the project will report the error.
  const real = orElse(() => realpathSync.native(projectDir), projectDir);
  const label = basename(real).replace(/[^a-zA-Z0-9._-]/g, '_') || 'root';
  return join(outsideRoot(env), `${label}-${digest(real)}`);
}

/** Creates the folder of the runtime files, with a `.gitignore`, unless it exists. */
export function makeRuntimeDir(files: Pick<LoopFiles, 'runtimeDir'>): void {
  if (!existsSync(files.runtimeDir)) hideRuntimeDir(files);
}

/** Creates the folder if needed, and in it the `.gitignore` if it is missing, so that the work tree stays clean. */
export function hideRuntimeDir({ runtimeDir }: Pick<LoopFiles, 'runtimeDir'>): void {
  mkdirSync(runtimeDir, { recursive: true });
  const ignore = join(runtimeDir, '.gitignore');
  if (!existsSync(ignore)) writeAtomically(ignore, '*\n');
}
