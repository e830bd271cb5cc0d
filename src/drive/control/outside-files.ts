import { join } from 'node:path';
import { realPaths } from '../../guard/comparable-path.ts';
import { clientConfigDir, configFolder, homeFolder } from '../../state/home-folder.ts';
import type { LoopFiles } from '../../state/loop-files.ts';

/** Names of the client's settings files, in its folder and in a project's .claude. */
export const CLIENT_SETTINGS: readonly string[] = ['settings.json', 'settings.local.json'];

/** Files of a home folder that decide what shells, git, ssh and package managers run or reach. */
const IN_HOME = `
.profile .bash_profile .bash_login .bashrc .bash_aliases .bash_logout .zshenv .zprofile .zshrc .zlogin .inputrc .pam_environment
.gitconfig .ssh/config .ssh/authorized_keys .ssh/rc .netrc .curlrc .wgetrc .vimrc .tmux.conf
.npmrc .yarnrc .yarnrc.yml .bunfig.toml .pypirc .condarc .gemrc .cargo/config.toml .gradle/init.gradle .m2/settings.xml .docker/config.json`
  .trim()
  .split(/\s+/);
/** The same below the folder of the user's configuration. */
const IN_CONFIG = ['git/config', 'fish/config.fish', 'pip/pip.conf', 'pnpm/rc', 'nushell/config.nu'];

/** Returns the real paths of the start files of the user's shells and tools, which a loop watches, whether or not they exist. */
export function startFiles(env: NodeJS.ProcessEnv): string[] {
  const home = homeFolder(env);
  const config = configFolder(env);
  return [...IN_HOME.map((name) => join(home, name)), ...IN_CONFIG.map((name) => join(config, name))].map(realPaths());
}

/**
 * Returns a test for files that a loop never writes, moves or deletes: everything outside the project and its repository
 * `gitDir`, and the user's settings of the client, which are in the project where that is the home folder.
 */
export function outsideOf(
  { projectDir }: LoopFiles,
  gitDir: string,
  env: NodeJS.ProcessEnv,
): (path: string) => boolean {
  const real = realPaths();
  const both = (path: string): string[] => [path, real(path)];
  const users = CLIENT_SETTINGS.flatMap((name) => both(join(clientConfigDir(env), name)));
  const ours = [projectDir, gitDir].flatMap(both);
  return (path) => users.includes(path) || !ours.some((folder) => path.startsWith(`${folder}/`));
}
