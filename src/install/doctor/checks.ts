import { statSync } from 'node:fs';
import { join } from 'node:path';
import { describeLoop } from '../../drive/status/loop-report.ts';
import { liveLoop, loopNames } from '../../drive/status/project-loops.ts';
import { ownerLives, readOwner } from '../../state/lock/owner.ts';
import { type LoopFiles, loopFiles } from '../../state/loop-files.ts';
import { show } from '../../state/process/program.ts';
import { quarantine, withState } from '../../state/with-state.ts';
import { checkTaskFile } from '../../task/check/check-task-file.ts';
import { DEFAULT_TASK } from '../../task/task-file.ts';
import { about, advise, offer } from '../../text/message.ts';
import { initProject } from '../init-project.ts';
import { readManifest, readText } from '../project-files.ts';
import { isPluginEnabled } from '../settings/settings-sources.ts';
import * as environment from './environment.ts';
import { type Check, type Examined, error, isSetUp, type Outcome, orFine, warning } from './finding.ts';
import * as hooks from './hooks.ts';
import { selfTest } from './self-test.ts';

/** Age from which a lock with an unknown owner counts as left behind: no state change takes nearly as long. */
const LOCK_AGE_MS = 60_000;

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
  return [error(settingsProblem, 'fix it where it stands.')];
};

const stateFiles: Check = (examined) =>
  loopsOf(examined).flatMap((files) => {
    const { found } = describeLoop(files, examined.env);
    if (found.kind === 'newer') return [error(`${files.state} was written by a newer ralph-loop.`, 'update this one.')];
    if (found.kind !== 'corrupt') return [];
    const message = `${files.state} cannot be used: ${found.problem}.`;
    const fix = about(advise('it can be archived.', 'Run', 'reset'), { name: files.name, mode: 'hook' });
    return [warning(message, fix, () => putAway(files, examined.now))];
  });

function putAway(files: LoopFiles, now: string): void {
  withState(
    files,
    (current) => {
      if (current.kind === 'corrupt') quarantine(files, now, 'corrupt');
      return { next: 'keep', result: undefined };
    },
    { waitMs: 2_000 },
  );
}

const staleStates: Check = (examined) =>
  loopsOf(examined).flatMap((files) => {
    const { live, found } = describeLoop(files, examined.env);
    if (found.kind !== 'loop' || live === null || live.clientPid === null || live.clientAlive !== false) return [];
    const advice = offer('Resume the loop or start over.', { Resume: 'resume', 'Start over': 'restart' });
    const driver = live.mode === 'runner' ? 'runner' : 'client';
    const message = `${files.state} belongs to a loop whose ${driver} (process ${live.clientPid}) has exited (iteration ${live.iteration}).`;
    return [warning(message, show(advice, live))];
  });

/** Finds locks held for longer than any change takes. The next process takes over that of an exited one. */
const heldLocks: Check = (examined) =>
  loopsOf(examined).flatMap(({ lock }) => {
    const held = statSync(lock, { throwIfNoEntry: false });
    const owner = held === undefined ? 'gone' : readOwner(lock);
    if (held === undefined || owner === 'gone') return [];
    const age = Date.now() - held.mtimeMs;
    if (age < LOCK_AGE_MS || (owner !== 'unreadable' && !ownerLives(owner, lock))) return [];
    const message = `${lock} has been held for ${Math.round(age / 1000)} s by a process that may be alive.`;
    return [warning(message, 'if no process is working on this loop, delete that file.')];
  });

function loopsOf({ projectDir, env }: Examined): LoopFiles[] {
  return loopNames(projectDir, env).map((name) => loopFiles(projectDir, name, env));
}

export interface Finding extends Omit<Outcome, 'repair' | 'isInit'> {
  readonly check: string;
  readonly repair?: (() => void) | undefined;
}

/** Checks by stable name, in the order in which a person would look. */
const CHECKS: Readonly<Record<string, Check>> = {
  'node-on-path': environment.nodeOnPath,
  'node-version': environment.nodeVersion,
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
  'stale-state': staleStates,
  'left-lock': heldLocks,
  'self-test': selfTest,
};

/** Finds everything that can prevent a loop in this project. Changes nothing; a finding's `repair` does. */
export function examine(examined: Examined): Finding[] {
  // Only if init has run before: setting up a project is the user's decision. A live loop would restore what changes.
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
