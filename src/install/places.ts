import { realpathSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { isFolder, realPathOf } from '../state/files/regular-file.ts';
import { clientConfigDir } from '../state/home-folder.ts';
import { advise, RalphError } from '../text/message.ts';

export const BUNDLE_HOME = '.claude/skills/ralph-loop';

/** Program in the words of a skill: in a project's copy, and in the plugin. */
const IN_PROJECT = `node ${BUNDLE_HOME}/scripts/main.cjs`;
const IN_PLUGIN = 'node "${CLAUDE_PLUGIN_ROOT}/scripts/main.cjs"';

/** Where a skill says how its program is called. */
const CALLED = '` in its place.';
/** Only Claude Code replaces the variable in a skill, and puts the program on the PATH. */
const IN_CODEX =
  ' In Codex, CLAUDE_PLUGIN_ROOT has no value: write the path of the folder two above that of SKILL.md for it, also in commands for the user, and add `--agent codex` to `run`, and to `start` with `--launch`.';

/** Returns the text of a skill as the plugin has it. */
export const textInPlugin = (text: string): string =>
  text.replaceAll(`${IN_PROJECT}${CALLED}`, `${IN_PROJECT}${CALLED}${IN_CODEX}`).replaceAll(IN_PROJECT, IN_PLUGIN);

/** Returns the text of a project's file without what git and installers of skills change in ours. */
export const plainText = (text: string): string =>
  text.replaceAll('\r\n', '\n').replaceAll(IN_CODEX, '').replaceAll(IN_PLUGIN, IN_PROJECT);

interface ProjectQuestion {
  readonly given: string | null;
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  /** True to search for a project with a loop above the current directory. */
  readonly search: boolean;
}

/** Files that exist only in a project after `init`. */
const MARKS = [join('.claude', 'ralph'), join('.claude', 'context', 'runtime')];

/** Returns the project of a command: `--project`, CLAUDE_PROJECT_DIR, the nearest set-up directory above, the current one. */
export function projectDirOf({ given, env, cwd, search }: ProjectQuestion): string {
  if (given !== null) {
    const dir = resolve(cwd, given);
    if (isFolder(dir)) return dir;
    throw new RalphError('usage', `--project ${given}: no such directory exists.`);
  }
  if (env['CLAUDE_PROJECT_DIR'] && isFolder(env['CLAUDE_PROJECT_DIR'])) return resolve(env['CLAUDE_PROJECT_DIR']);
  return (search ? markedDir(cwd) : null) ?? cwd;
}

function markedDir(from: string): string | null {
  for (let dir = from; ; dir = dirname(dir)) {
    if (MARKS.some((mark) => isFolder(join(dir, mark)))) return dir;
    if (dirname(dir) === dir) return null;
  }
}

declare const __filename: string | undefined;

/** Returns the bundle of this program (scripts/, hooks/, templates/); for the sources, dist/plugin. */
export function bundleDir(): string {
  if (typeof __filename === 'string') return dirname(dirname(realpathSync(__filename)));
  return join(process.cwd(), 'dist', 'plugin');
}

/** Throws `refused` if the project's .claude is the client's own directory, whose settings.json applies to every project. */
export function refuseClientDir(projectDir: string, env: NodeJS.ProcessEnv): void {
  const claude = realPathOf(join(projectDir, '.claude'));
  if (claude === null || claude !== realPathOf(clientConfigDir(env))) return;
  const message = `${claude} contains your own Claude Code settings for all projects. Change to the directory of a project.`;
  throw new RalphError('refused', advise(message, 'Or name it', 'init', { project: 'DIR' }));
}
