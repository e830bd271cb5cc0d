import { sep } from 'node:path';
import shapes from '../../../.build/contract-shapes.json' with { type: 'json' };
import type { Contract, Guardrails, StoredContract } from '../../engine/schema/contract.ts';
import { FOLDS_CASE } from '../../guard/comparable-path.ts';
import type { GuardRules, TaskScope } from '../../guard/guard.ts';
import { HOOK_HOSTS } from '../../hosts/hook-hosts.ts';
import { clientFolders } from '../../hosts/hook-io/hook-host.ts';
import { checkShape } from '../../state/check-shape.ts';
import { homeFolder, managedDir } from '../../state/home-folder.ts';
import { type LoopFiles, outsideRoot } from '../../state/loop-files.ts';
import { runningBundle } from '../../state/process/program.ts';
import { MADE_BY_TOOLS } from '../../task/left-out.ts';
import { MAIN_BRANCHES } from '../../task/settings/main-branches.ts';
import {
  configFiles,
  DECISIONS,
  GUARDRAILS,
  hasTaskFolder,
  LEARNINGS,
  LOOP_CONFIG,
  LOOP_DIRECTORIES,
  mainProjectOf,
  ownFilesOfTask,
  PROJECT_CONFIG,
  progressPath,
  RUN_CONFIG,
} from '../../task/task-file.ts';
import { advise, RalphError } from '../../text/message.ts';
import { rulesApply } from '../control/ownership.ts';
import type { OpenTask } from '../records/open-task-file.ts';

/** Command for the host of a router loop. Its subagents share its session, so a report from them would count. */
const HOSTS = 'router';

/** Commands that agents may call; all others are reserved to the user. */
const AGENT_COMMANDS = [
  ...[HOSTS, 'tdd', 'status', 'explain', 'check', 'plan', 'logs', 'signs', 'list', 'draft', 'scaffold'],
  ...['help', '--help', '-h', '--version'],
];

const PROGRAMS = ['main.cjs', 'ralph-main.cjs'];

/** Places in a project, relative to it, of its loops and of the settings that decide about them. */
const RUNTIME = '.claude/context/runtime';
const SETTINGS = ['.claude/settings.json', '.claude/settings.local.json', PROJECT_CONFIG, RUN_CONFIG];

/** Variables shared with the agent's shell, so that `$XDG_STATE_HOME/…` cannot hide a path. */
const SHARED_VARIABLES = [
  'XDG_STATE_HOME',
  'RALPH_STATE_HOME',
  'CLAUDE_CONFIG_DIR',
  'CLAUDE_PROJECT_DIR',
  'LOCALAPPDATA',
  'XDG_CONFIG_HOME',
  'TMPDIR',
  ...HOOK_HOSTS.flatMap(({ settings }) => settings?.variable ?? []),
];

/** Files that every prompt asks the agent to maintain. They are in no commit of a task and never count as its changes. */
const MEMORY = [LEARNINGS, DECISIONS, GUARDRAILS];

/** Joins names below a folder without normalising: node's join normalises character by character. */
const join = (...parts: readonly string[]): string => parts.join(sep);

/**
 * Returns the rules for a tool call: the loop's own files and the user's guardrails. `openTask`: the open task of a loop with a
 * plan. The settings for all users of the machine are among these files, because they can turn off every hook.
 */
export function guardRules(
  { projectDir, runtimeDir }: Pick<LoopFiles, 'projectDir' | 'runtimeDir'>,
  env: NodeJS.ProcessEnv,
  stored: StoredContract | null,
  openTask: OpenTask | null = null,
): GuardRules {
  const ours = stored !== null && rulesApply(stored.contract.loopId, env) ? stored.contract : null;
  const plan = ours?.policy.plan ? ours : null;
  const scope = plan && scopeOf(openTask, plan);
  // A worktree is inside its main project, whose loops are protected as well.
  const main = mainProjectOf(projectDir);
  const projects = main === null ? [projectDir] : [projectDir, main];
  const home = homeFolder(env);
  const claude = join(projectDir, '.claude');
  const user = env['CLAUDE_CONFIG_DIR'] || join(home, '.claude');
  const known = [join(claude, 'skills', 'ralph-loop'), stored?.contract.bundleDir, runningBundle()];
  const bundles = [...new Set(known.filter((path) => path != null))];
  const programs = bundles.flatMap((path) => PROGRAMS.map((name) => join(path, 'scripts', name)));
  const launchers = ['ralph-audit.sh', 'ralph-audit.bat'].map((name) => join(claude, 'ralph', name));
  const { settings } = HOOK_HOSTS.find(({ name }) => name === stored?.contract.host) ?? {};
  const clients = settings ? clientFolders(settings, home, projects, env) : [];
  return {
    projectDir,
    home,
    ownFiles: [
      outsideRoot(env),
      ...bundles,
      ...['settings.json', 'settings.local.json'].flatMap((name) => [join(claude, name), join(user, name)]),
      ...['remote-settings.json', '.claude.json'].map((name) => join(user, name)),
      join(home, '.claude.json'),
      managedDir(),
      ...(settings ? [settings.machine] : []),
      join(claude, 'ralph', '.install.json'),
      ...launchers,
      ...Object.values(configFiles(projectDir, env)),
      ...clients.flatMap((each) => (settings?.files ?? []).map((file) => join(each, file))),
      ...(stored && hasTaskFolder(stored.contract) ? ownFilesOfTask(projectDir, stored.contract.taskPath) : []),
      ...(main === null ? [] : SETTINGS.map((path) => join(main, path))),
      ...(plan === null ? [] : [plan.taskPath, progressPath(plan.taskPath)].map((path) => join(projectDir, path))),
    ],
    ownGlobs: [
      ...[runtimeDir, ...(main === null ? [] : [join(main, RUNTIME)])].flatMap((dir) =>
        ['ralph-', 'tdd-'].map((prefix) => ({ dir, prefix })),
      ),
      ...['hooks', 'agents'].map((name) => ({ dir: join(claude, name), prefix: 'ralph-' })),
    ],
    ownNames: projects.map((project) => ({ dir: join(project, LOOP_DIRECTORIES), name: LOOP_CONFIG })),
    controlProgram: [...programs, ...launchers],
    agentCommands: env['RALPH_DRIVER'] === 'router' ? AGENT_COMMANDS.filter((name) => name !== HOSTS) : AGENT_COMMANDS,
    caseInsensitive: FOLDS_CASE,
    variables: Object.fromEntries(SHARED_VARIABLES.flatMap((name) => (env[name] ? [[name, env[name]]] : []))),
    ...(ours?.sandbox && {
      writable: [projectDir, ...ours.sandbox.allowWrite, env['CLAUDE_CODE_TMPDIR'] ?? clientTemporary()],
    }),
    scope,
    guardrails: ours && withTddCalls(guardrailsOf(ours), ours, programs),
  };
}

/** Returns the folder for temporary files that the client gives its sandbox. */
const clientTemporary = (): string => `/tmp/claude-${process.getuid?.() ?? 0}`;

/** Returns the scope of a plan's task. The plan and its progress file belong to the loop while it runs. */
function scopeOf(task: OpenTask | null, { guardrails }: Contract): TaskScope {
  return {
    task: task?.id ?? 'the task',
    // Otherwise the verdict compares the files with git.
    entries: task?.scope.length ? [...task.scope, ...(task.strayed ?? []), ...MEMORY] : [],
    free: MADE_BY_TOOLS.filter((name) => name !== '.git'),
    noPushTo: guardrails.lifted?.includes('push-main') ? [] : MAIN_BRANCHES,
  };
}

/** Returns the user's rules. Throws RalphError `contract-changed` if the contract's guardrails are malformed. */
function guardrailsOf({ guardrails }: Contract): Guardrails {
  const problem = checkShape(guardrails, shapes.guardrails);
  if (problem === null) return guardrails;
  throw new RalphError(
    'contract-changed',
    advise(`the guardrails in the contract cannot be read (${problem}).`, 'The user has to start over', 'restart'),
  );
}

const STEPS = 'next|red|green|refactored|status';

/** Adds the steps of a TDD loop to an allowlist: the prompt asks for them and their commands are fixed. */
function withTddCalls(rules: Guardrails, { tdd }: Contract, programs: readonly string[]): Guardrails {
  if (tdd === undefined || rules.shellAllow === null) return rules;
  const literals = programs.map((program) => program.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  const calls = literals.map((path) => `node ${path} tdd(?: --loop [\\w.-]+)? (?:${STEPS})(?: [\\w.-]+)*`);
  return { ...rules, shellAllow: [...rules.shellAllow, ...calls] };
}
