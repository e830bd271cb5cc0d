import { spawnSync } from 'node:child_process';
import { existsSync, realpathSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import {
  clientSandboxProblem,
  failOpenText,
  OLDEST_CLIENT,
  tooOld,
  UPDATE_CLIENT,
} from '../../hosts/claude/claude-code.ts';
import { readObject } from '../../hosts/claude/permission-rules.ts';
import { ifOutOfReach, removeIfThere, uniqueToken } from '../../state/files/regular-file.ts';
import { homeFolder } from '../../state/home-folder.ts';
import { loopFiles, outsideRoot } from '../../state/loop-files.ts';
import { firstLine } from '../../text/quote.ts';
import { atLeast } from '../../text/version.ts';
import { type Check, error, type Outcome, ok, warning } from './finding.ts';

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

const BLOCK_CAP = 'CLAUDE_CODE_STOP_HOOK_BLOCK_CAP';

/** Checks the variable without which the client overrides the ninth consecutive block without a tool call. */
export const blockCap: Check = ({ env, sources }) => {
  const set = sources.flatMap(({ value, path }) => {
    const cap = (value['env'] as Record<string, unknown> | undefined)?.[BLOCK_CAP];
    return cap === undefined ? [] : [{ path, cap: String(cap) }];
  });
  const capped = set.filter(({ cap }) => cap !== '0');
  if (capped.length > 0) {
    const message = (path: string, cap: string): string =>
      `${path} sets ${BLOCK_CAP} to ${cap}: a loop started by hand ends at that many blocks without a tool call.`;
    const fix = 'remove it, or start loops with the launcher.';
    return capped.map(({ path, cap }) => warning(message(path, cap), fix));
  }
  if (env[BLOCK_CAP] === '0' || set.length > 0) return [ok(`${BLOCK_CAP} is 0.`)];
  const byHand = `export ${BLOCK_CAP}=0`;
  if (env['RALPH_ACTIVE'] === '1' || env[BLOCK_CAP] !== undefined) {
    const message = `${BLOCK_CAP} is ${env[BLOCK_CAP] ?? 'not set'} here: a loop started by hand ends at the ninth iteration in a row without a tool call.`;
    return [warning(message, byHand)];
  }
  return [ok(`the launcher sets ${BLOCK_CAP}. For a start by hand: ${byHand}`)];
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

export const runtimeDir: Check = ({ projectDir, env }) => [
  writable(loopFiles(projectDir, null, env).runtimeDir, 'the state of loops', 'make it writable for you.'),
];

export const stateHome: Check = ({ env }) => {
  return [
    writable(outsideRoot(env), 'contracts and logs', 'make it writable, or set XDG_STATE_HOME to another folder.'),
  ];
};

function writable(dir: string, what: string, fix: string): Outcome {
  const file = join(nearestExisting(dir), `.ralph-probe-${uniqueToken()}`);
  try {
    writeFileSync(file, '', { flag: 'wx' });
    removeIfThere(file);
    return ok(`${dir} can be written.`);
  } catch (problem) {
    return error(`${what} cannot be written to ${dir}: ${(problem as Error).message}`, fix);
  }
}

export const sandbox: Check = ({ env, platform, projectDir }) => {
  const problem = clientSandboxProblem(env, [projectDir], platform);
  return [problem === null ? ok('the sandbox works (--sandbox).') : warning(problem.text, problem.fix)];
};

function nearestExisting(dir: string): string {
  for (let at = dir; ; at = dirname(at)) {
    // A path that is out of reach is returned: writing to it reports the problem.
    if (dirname(at) === at || ifOutOfReach(() => statSync(at, { throwIfNoEntry: false }), at)) return at;
  }
}
