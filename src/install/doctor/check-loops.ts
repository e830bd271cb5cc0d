import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { loopNames } from '../../drive/status/project-loops.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { quarantine } from '../../state/archive.ts';
import { withLock } from '../../state/lock/lock.ts';
import { ownerLives, readOwner } from '../../state/lock/owner.ts';
import { type LoopFiles, loopFiles } from '../../state/loop-files.ts';
import { isAlive } from '../../state/process/identity.ts';
import { readState } from '../../state/read-state.ts';
import { withState } from '../../state/with-state.ts';
import { checkTaskFile } from '../../task/frontmatter/check-task-file.ts';
import { DEFAULT_TASK } from '../../task/task-file.ts';
import { forLoop } from '../../term/for-loop.ts';
import { readText } from '../files/project-files.ts';
import { type Examined, type Finding, fine } from './finding.ts';

/** No change of a state takes nearly so long: a lock of this age that nobody can ask about was left behind. */
const LOCK_AGE_MS = 60_000;

/** What loops of this project have left lying: the state of a client that is gone, a lock, a state nobody can read. */
export function checkLoops({ projectDir, env, now }: Examined): Finding[] {
  const findings = loopNames(projectDir, env).flatMap((name) => {
    const files = loopFiles(projectDir, name, env);
    return [...leftState(files, now), ...leftLock(files)];
  });
  return findings.length > 0 ? findings : [fine('left-behind', 'no loop has left anything behind.')];
}

function leftState(files: LoopFiles, now: string): Finding[] {
  const found = readState(files.state);
  const which = files.name === null ? '' : ` --loop ${files.name}`;
  switch (found.kind) {
    case 'absent':
    case 'four-keys':
      return [];
    case 'newer': {
      const message = `${files.state} was written by a newer ralph-loop.`;
      return [{ check: 'state-file', level: 'error', message, mend: 'update this one.' }];
    }
    case 'corrupt': {
      const fix = (): void =>
        withState(files, { waitMs: 2_000 }, (current) => {
          if (current.kind === 'corrupt') quarantine(files, now, 'corrupt');
          return { next: 'keep', result: undefined };
        });
      const message = `${files.state} cannot be used: ${found.problem}.`;
      return [
        {
          check: 'state-file',
          level: 'warning',
          message,
          mend: `main.cjs reset${which} puts it into the archive.`,
          fix,
        },
      ];
    }
    case 'loop':
      if (!isOrphan(found.state)) return [];
      return [
        {
          check: 'stale-state',
          level: 'warning',
          message: `${files.state} is of a loop whose ${found.state.mode === 'runner' ? 'runner' : 'client'} (process ${found.state.clientPid}) is gone (iteration ${found.state.iteration}).`,
          mend: forLoop('go on with it: main.cjs start --resume; or begin anew: main.cjs start --fresh.', found.state),
        },
      ];
    default:
      return found satisfies never;
  }
}

function isOrphan(state: LoopState): boolean {
  if (state.status === 'ended' || state.clientPid === null) return false;
  return !isAlive({ pid: state.clientPid, startedAt: state.clientStartedAt });
}

function leftLock(files: LoopFiles): Finding[] {
  if (!existsSync(files.lock)) return [];
  const owner = readOwner(files.lock);
  if (owner === 'gone' || owner === 'unreadable' || ownerLives(owner, files.lock)) {
    const age = Date.now() - (statSync(files.lock, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
    if (owner === 'gone' || age < LOCK_AGE_MS) return [];
    const message = `${files.lock} has been held for ${Math.round(age / 1000)} s by a process that may be alive.`;
    return [
      { check: 'left-lock', level: 'warning', message, mend: 'if no process works on this loop, delete that file.' },
    ];
  }
  // Whoever comes next takes it over in the same way.
  const fix = (): void => withLock(files.lock, { waitMs: 2_000 }, () => undefined);
  const message = `${files.lock} was left by a process that is gone; the next one takes it over.`;
  return [{ check: 'left-lock', level: 'warning', message, mend: 'main.cjs doctor --fix.', fix }];
}

const CHECK = 'task-file';

/** The task file: there, filled in, and without problems. */
export function checkTask({ projectDir, bundle, settingsProblem }: Examined): Finding[] {
  const text = readText(join(projectDir, DEFAULT_TASK));
  if (text === null || text.trim() === '') {
    const message = `${DEFAULT_TASK} is ${text === null ? 'missing' : 'empty'}.`;
    return [
      { check: CHECK, level: 'error', message, mend: `write your task into it; main.cjs init makes one to fill in.` },
    ];
  }
  const { problems } = checkTaskFile(DEFAULT_TASK, text);
  const findings = problems.map(
    ({ line, message, severity }): Finding => ({
      check: CHECK,
      level: severity,
      message: `${DEFAULT_TASK}${line === null ? '' : `:${line}`}: ${message}`,
      mend: 'mend it there; main.cjs check shows all problems.',
    }),
  );
  if (settingsProblem !== null && !findings.some(({ level }) => level === 'error')) {
    findings.push({
      check: 'loop-settings',
      level: 'error',
      message: settingsProblem,
      mend: 'mend it where it stands.',
    });
  }
  if (text === template(bundle)) {
    const message = `${DEFAULT_TASK} is still the template.`;
    findings.push({ check: CHECK, level: 'warning', message, mend: 'write your task into it.' });
  }
  return findings.length > 0 ? findings : [fine(CHECK, `${DEFAULT_TASK} has no problems.`)];
}

function template(bundle: string): string | null {
  try {
    return readFileSync(join(bundle, 'templates', 'PROMPT.md'), 'utf8');
  } catch {
    return null;
  }
}
