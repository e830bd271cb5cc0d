import { existsSync, mkdirSync, realpathSync } from 'node:fs';
import { basename, isAbsolute, join, resolve, sep } from 'node:path';
import { digest } from '../text/digest.ts';
import { writeAtomically } from './files/write-atomically.ts';

/** Where everything of one loop lies. All paths are absolute. */
export interface LoopFiles {
  readonly projectDir: string;
  readonly name: string | null;
  /** `.claude/context/runtime` of the project. */
  readonly runtimeDir: string;
  readonly state: string;
  readonly lock: string;
  readonly archiveDir: string;
  readonly events: string;
  readonly iterations: string;
  /** The last prompt of a task without a folder, for an agent that is sent to read it. */
  readonly prompt: string;
  /** Tool calls and denials, written by the tool hooks. */
  readonly calls: string;
  /** What the status line last heard from the client: its cost figure. */
  readonly cost: string;
  /** Left by `cancel` for the next tool call and the next Stop. */
  readonly cancellation: string;
  /** The folder outside the project that an agent confined to the project cannot reach. */
  readonly outsideDir: string;
  readonly contract: string;
  readonly log: string;
}

export const LOOP_NAME = /^[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}$/;

/**
 * The files of the project's default loop (`name` null) or of a named one: two loops never share a file that either
 * writes. `name` must match LOOP_NAME.
 */
export function loopFiles(projectDir: string, name: string | null, env: NodeJS.ProcessEnv): LoopFiles {
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
    runtimeDir,
    state,
    lock: `${state}.lock`,
    archiveDir: of('archive', ''),
    events: of('events', '.jsonl'),
    iterations: of('iterations', '.jsonl'),
    prompt: of('prompt', '.md'),
    calls: of('calls', '.jsonl'),
    cost: of('cost', '.json'),
    cancellation: outside(`cancelled${own}.json`),
    outsideDir,
    contract: outside(`contract${own}.json`),
    log: outside('hook.log'),
  };
}

/**
 * `$XDG_STATE_HOME/ralph-loop` or what stands for it on this system. A relative XDG_STATE_HOME counts as none, as its
 * specification says: it would name another folder in every working directory.
 */
export function outsideRoot(env: NodeJS.ProcessEnv): string {
  const { XDG_STATE_HOME: stateHome, LOCALAPPDATA: appData } = env;
  if (stateHome && isAbsolute(stateHome)) return join(stateHome, 'ralph-loop');
  if (process.platform === 'win32' && appData && isAbsolute(appData)) return join(appData, 'ralph-loop');
  return join(home(env), '.local', 'state', 'ralph-loop');
}

function projectOutsideDir(projectDir: string, env: NodeJS.ProcessEnv): string {
  let real = projectDir;
  try {
    // The native one gives a path its true case where case does not count, so that one project has one folder.
    real = realpathSync.native(projectDir);
  } catch {
    // A project that cannot be resolved keeps the name it was given; reading it will say what is wrong.
  }
  const label = basename(real).replace(/[^a-zA-Z0-9._-]/g, '_') || 'root';
  return join(outsideRoot(env), `${label}-${digest(real)}`);
}

/** node:os is asked only where the environment does not say: loading it costs every hook half a millisecond. */
function home({ HOME: unix, USERPROFILE: windows }: NodeJS.ProcessEnv): string {
  return unix || windows || (process.getBuiltinModule?.('node:os').homedir() ?? '/');
}

type RuntimeDir = Pick<LoopFiles, 'runtimeDir'>;

/**
 * Makes the folder of the runtime files where it is not there yet, with a `.gitignore` that keeps them out of version
 * control, as `init` does. What lies there already is left as it is.
 */
export function makeRuntimeDir(files: RuntimeDir): void {
  if (!existsSync(files.runtimeDir)) hideRuntimeDir(files);
}

/** The same for a work tree that has to be clean: the `.gitignore` also where the folder lies there without one. */
export function hideRuntimeDir({ runtimeDir }: RuntimeDir): void {
  mkdirSync(runtimeDir, { recursive: true });
  const ignore = join(runtimeDir, '.gitignore');
  if (!existsSync(ignore)) writeAtomically(ignore, '*\n');
}
