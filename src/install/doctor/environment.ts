import { spawnSync } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import {
  clientSandboxProblem,
  failOpenText,
  OLDEST_CLIENT,
  tooOld,
  UPDATE_CLIENT,
} from '../../hosts/claude/claude-code.ts';
import { readObject } from '../../hosts/claude/permission-rules.ts';
import { homeFolder } from '../../state/home-folder.ts';
import { firstLine } from '../../text/quote.ts';
import { atLeast } from '../../text/version.ts';
import { type Check, error, ok, warning } from './finding.ts';

const OLDEST_NODE = '20.12.0';
const TESTED = '2.1.332';
const TIME_LIMIT_MS = 10_000;

/** Finds node as the hooks do: on the PATH of a non-login shell, in this environment. */
export const nodeOnPath: Check = ({ env, platform, node }) => {
  const own = env['RALPH_NODE'];
  const program = own || 'node';
  const options = { env, encoding: 'utf8', timeout: TIME_LIMIT_MS } as const;
  const asked =
    platform === 'win32'
      ? spawnSync('where', [program], options)
      : spawnSync('/bin/sh', ['-c', 'command -v "$1"', 'sh', program], options);
  const found = asked.status === 0 ? firstLine(asked.stdout).trim() : '';
  if (found === '') {
    const message = own
      ? `RALPH_NODE is ${own}, which does not exist.`
      : 'the hooks find no node: a non-login shell has none on its PATH (version managers often set it up only for login shells).';
    const fix = `put node on the PATH of the shell that starts claude, or: export RALPH_NODE=${node.path}`;
    return [error(message, fix)];
  }
  const version = /\d+\.\d+\.\d+/.exec(spawnSync(found, ['--version'], options).stdout ?? '')?.[0];
  if (version === undefined) {
    const fix = `make it run, or: export RALPH_NODE=${node.path}`;
    return [error(`the hooks would run ${found}, which does not start.`, fix)];
  }
  if (atLeast(version, OLDEST_NODE)) return [ok(`the hooks run ${found} (${version}).`)];
  const message = `${found} is node ${version}; ralph-loop needs ${OLDEST_NODE} or newer.`;
  return [error(message, 'install a newer node, or point RALPH_NODE to one.')];
};

export const client: Check = ({ client: found }) => {
  if (found === null) {
    const fix = 'install Claude Code (npm install -g @anthropic-ai/claude-code), or set RALPH_CLAUDE to its path.';
    return [error('claude was not found on PATH.', fix)];
  }
  const { path, version } = found;
  if (version === null)
    return [warning(`${path} does not report its version.`, 'check whether it starts: claude --version.')];
  if (!atLeast(version, OLDEST_CLIENT)) return [error(tooOld(path, version), UPDATE_CLIENT)];
  const failsOpen = failOpenText(version);
  if (failsOpen !== null) return [warning(failsOpen, 'update it: claude update.')];
  return [ok(`claude ${version} (tested with ${TESTED}).`)];
};

/** Checks that the user trusts the project: the client runs no hooks of a project that was not trusted in its dialog. */
export const workspaceTrust: Check = ({ projectDir, env }) => {
  const trusted = trustedDirs(env);
  for (let dir = realpathSync(projectDir); ; dir = dirname(dir)) {
    if (trusted.has(dir)) return [ok(`${dir} is trusted.`)];
    // Trust of a directory above counts only within one repository.
    if (dirname(dir) === dir || existsSync(join(dir, '.git'))) break;
  }
  const message = 'Claude Code does not trust this project yet; until it does, hooks may not run.';
  return [warning(message, 'start claude here once and answer its question.')];
};

function trustedDirs(env: NodeJS.ProcessEnv): Set<string> {
  const path = join(env['CLAUDE_CONFIG_DIR'] || homeFolder(env), '.claude.json');
  // Without this file, no client has run for this user yet.
  const { projects } = readObject(path) as { projects?: Record<string, { hasTrustDialogAccepted?: unknown } | null> };
  const entries = Object.entries(projects ?? {});
  return new Set(entries.flatMap(([dir, project]) => (project?.hasTrustDialogAccepted === true ? [dir] : [])));
}

export const sandbox: Check = ({ env, platform }) => {
  const problem = clientSandboxProblem(env, platform);
  return [problem === null ? ok('the sandbox works (--sandbox).') : warning(problem.text, problem.fix)];
};
