import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeLoop, liveLoop, loopNames } from '../../drive/status/loop-report.ts';
import { loopFiles } from '../../state/loop-files.ts';
import { hookPath, inProject, show } from '../../state/process/program.ts';
import { checkTaskFile } from '../../task/check/check-task-file.ts';
import { DEFAULT_TASK } from '../../task/task-file.ts';
import { jsonOrNull } from '../../text/json.ts';
import { about, advise } from '../../text/message.ts';
import { HOOKS_HOME } from '../files/planned-files.ts';
import { initProject } from '../init-project.ts';
import { BUNDLE_HOME, readManifest, readText } from '../project-files.ts';
import { fullRegistration } from '../settings/registration.ts';
import { isPluginEnabled } from '../settings/settings-sources.ts';
import { hooksIn, isOurHook, type RegisteredHook } from '../settings/stop-hooks.ts';
import * as environment from './environment.ts';
import { type Check, type Examined, error, isSetUp, type Outcome, ok, orFine, warning } from './finding.ts';
import * as hooks from './hooks.ts';

const taskFile: Check = (examined) => {
  const text = readText(join(examined.projectDir, DEFAULT_TASK));
  if (text === null && !isSetUp(examined)) return [];
  if (text === null || text.trim() === '') {
    const message = `${DEFAULT_TASK} is ${text === null ? 'missing' : 'empty'}.`;
    return [error(message, advise('write your task into it.', 'Create one to fill in', 'init'))];
  }
  const problems = checkTaskFile(DEFAULT_TASK, text).problems.map(({ line, message, severity, rule }): Outcome => {
    if (rule === 'unfilled') return warning(`${DEFAULT_TASK} is still the template.`, 'write your task into it.');
    const place = `${DEFAULT_TASK}${line === null ? '' : `:${line}`}`;
    const fix = show(advise('fix it there.', 'Show all problems', 'check'));
    return { level: severity, message: `${place}: ${message}`, fix };
  });
  return orFine(problems, `${DEFAULT_TASK} has no problems.`);
};

/** Checks settings outside the task file; `task-file` reports those in it. */
const loopSettings: Check = (examined) => {
  const { settingsProblem } = examined;
  if (settingsProblem === null || taskFile(examined).some(({ level }) => level === 'error')) return [];
  return [error(settingsProblem, 'correct it in that place.')];
};

const stateFiles: Check = ({ projectDir, env }) =>
  loopNames(projectDir, env).flatMap((name) => {
    const files = loopFiles(projectDir, name, env);
    const { found } = describeLoop(files, env);
    if (found.kind === 'newer') return [error(`${files.state} was written by a newer ralph-loop.`, 'update this one.')];
    if (found.kind !== 'corrupt') return [];
    const message = `${files.state} cannot be used: ${found.problem}.`;
    const fix = about(advise('it can be archived.', 'Run', 'reset'), { name, mode: 'hook' });
    return [warning(message, fix)];
  });

const TIME_LIMIT_MS = 30_000;
const STOP = 'ralph-stop-hook.cjs';

/** Runs the Stop command as the client does, on a sample loop: it must block, and be silent without RALPH_ACTIVE. */
const selfTest: Check = (examined) => {
  const { sources, projectDir, platform, bundle } = examined;
  const registered = sources
    .filter(({ name }) => name === 'project')
    .flatMap(({ value, path }) => hooksIn(value, path))
    .find(({ event, entry }) => event === 'Stop' && isOurHook(entry));
  const [passed] = hooksIn({ hooks: { Stop: fullRegistration(bundle, platform).Stop } }, '');
  const entry = (registered ?? passed)?.entry;
  const missing = registered === undefined ? hookPath(bundle, STOP) : join(projectDir, inProject(STOP));
  if (entry === undefined || !existsSync(missing))
    return [failed(`there is no Stop hook to test: ${missing} is missing.`)];
  const temp = mkdtempSync(join(tmpdir(), 'ralph-doctor-'));
  try {
    prepare(temp, registered === undefined ? null : projectDir, examined.now);
    const run = (active: boolean) => fire(temp, entry, testEnvironment(examined.env, temp, active), platform);
    const silent = run(false);
    if (silent.stdout !== '' || silent.status !== 0)
      return [failed(`without RALPH_ACTIVE=1 the Stop hook should be silent, but ${told(silent)}`)];
    const blocked = run(true);
    return (jsonOrNull(blocked.stdout) as { decision?: unknown } | null)?.decision === 'block'
      ? [ok('the Stop hook sends the task back, and is silent in other sessions.')]
      : [failed(`the Stop hook should send the task back, but ${told(blocked)}`)];
  } finally {
    rmSync(temp, { recursive: true, force: true });
  }
};

function prepare(temp: string, installedIn: string | null, now: string): void {
  if (installedIn !== null) {
    for (const folder of [HOOKS_HOME, join(BUNDLE_HOME, 'scripts')]) {
      const from = join(installedIn, folder);
      for (const name of existsSync(from) ? readdirSync(from).filter((each) => /^ralph-.*\.cjs$/.test(each)) : [])
        cpSync(join(from, name), join(temp, folder, name));
    }
  }
  const runtime = join(temp, '.claude', 'context', 'runtime');
  mkdirSync(runtime, { recursive: true });
  mkdirSync(join(temp, '.claude', 'ralph'), { recursive: true });
  writeFileSync(join(temp, '.claude', 'ralph', 'PROMPT.md'), '# Self-test\n\nThis task is made up.\n');
  const state = { iteration: 0, startedAt: now, lastRunAt: now, lastFindingsCount: null };
  writeFileSync(join(runtime, 'ralph-state.json'), JSON.stringify(state));
}

/** Returns the user's environment without the variables of a running loop or session. */
function testEnvironment(env: NodeJS.ProcessEnv, temp: string, active: boolean): NodeJS.ProcessEnv {
  const kept = Object.entries(env).filter(([name]) => name === 'RALPH_NODE' || !/^(RALPH_|CLAUDE)/.test(name));
  return {
    ...Object.fromEntries(kept),
    CLAUDE_PROJECT_DIR: temp,
    XDG_STATE_HOME: join(temp, 'state'),
    ...(active ? { RALPH_ACTIVE: '1' } : {}),
  };
}

function fire(temp: string, entry: RegisteredHook['entry'], env: NodeJS.ProcessEnv, platform: NodeJS.Platform) {
  const input = JSON.stringify({
    session_id: 'ralph-doctor',
    transcript_path: join(temp, 'transcript.jsonl'),
    cwd: temp,
    hook_event_name: 'Stop',
    stop_hook_active: false,
    last_assistant_message: 'This message is made up.',
    background_tasks: [],
  });
  const options = { cwd: temp, env, input, encoding: 'utf8' as const, timeout: TIME_LIMIT_MS };
  const { command, args } = entry as { command: string; args?: readonly string[] };
  const words = args?.map((word) => word.replaceAll(`\${CLAUDE_PROJECT_DIR}`, temp));
  const shell = platform === 'win32' ? 'sh' : '/bin/sh';
  const ran = words ? spawnSync(command, words, options) : spawnSync(shell, ['-c', command], options);
  return { stdout: ran.stdout ?? '', stderr: ran.stderr || (ran.error?.message ?? ''), status: ran.status };
}

function told({ stdout, stderr, status }: ReturnType<typeof fire>): string {
  const said = [stdout.trim() || 'it printed nothing', `exit code ${status}`, stderr.trim()];
  const parts = said.filter((part) => part !== '');
  return parts.map((part) => part.slice(0, 300)).join('; ');
}

function failed(message: string): Outcome {
  return error(message, advise('fix the other findings.', 'Then', 'init'));
}

export interface Finding extends Omit<Outcome, 'repair' | 'isInit'> {
  readonly check: string;
  readonly repair?: (() => void) | undefined;
}

/** Checks by stable name, in the order in which a person would examine them. */
const CHECKS: Readonly<Record<string, Check>> = {
  'node-on-path': environment.nodeOnPath,
  client: environment.client,
  'settings-readable': hooks.settingsReadable,
  'hooks-enabled': hooks.hooksEnabled,
  'managed-settings': hooks.managedSettings,
  registration: hooks.registration,
  'stop-timeout': hooks.stopTimeout,
  'hook-files': hooks.hookFiles,
  'host-hooks': hooks.hostHooks,
  'other-stop-hooks': hooks.otherHooks,
  'block-cap': environment.blockCap,
  'workspace-trust': environment.workspaceTrust,
  'runtime-dir': environment.runtimeDir,
  'state-home': environment.stateHome,
  sandbox: environment.sandbox,
  'task-file': taskFile,
  'loop-settings': loopSettings,
  'state-file': stateFiles,
  'self-test': selfTest,
};

/** Finds everything that can prevent a loop in this project. Changes nothing; a finding's `repair` does. */
export function examine(examined: Examined): Finding[] {
  // Only if init has run before: setting up a project is the user's decision. A live loop would revert the change.
  const pluginEnabled = isPluginEnabled(examined.sources);
  const init = (): void => void initProject({ ...examined, pluginEnabled });
  const isAgain = readManifest(examined.projectDir) !== null;
  const live = liveLoop(examined.projectDir, examined.env, !isAgain);
  const initAgain = isAgain && live === null ? init : undefined;
  const refusal = live && show(about(advise('init refuses while a loop is live.', 'To end it first', 'cancel'), live));
  return Object.entries(CHECKS).flatMap(([check, run]) =>
    run(examined).map(({ isInit = false, fix, ...outcome }) => ({
      check,
      ...outcome,
      fix: isInit && refusal !== null ? `${fix} ${refusal}` : fix,
      repair: outcome.repair === 'init' ? initAgain : outcome.repair,
    })),
  );
}
