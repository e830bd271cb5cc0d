import { isAbsolute, resolve } from 'node:path';
import type { LoopState } from '../../engine/schema/state.ts';
import { classOf } from '../../guard/client-tools.ts';
import { realPath } from '../../guard/comparable-path.ts';
import type { HookToolCall } from '../../hosts/hook-io/hook-input.ts';
import { MOST_SUBJECT, toolSubject } from '../../hosts/tool-subject.ts';
import { readBackwards } from '../../state/event-stream.ts';
import type { LoopFiles } from '../../state/loop-files.ts';

const TAIL_BYTES = 4 * 1024 * 1024;

/** Tools that keep running after their call returns. */
const IN_BACKGROUND = ['Monitor'];

/**
 * Returns a test for files that the agent may have changed since the last examination: by a call of this turn that has not
 * returned or has moved to the background, or by a background task that the loop no longer waits for. A call denied by the
 * client counts as running until the turn ends, because no event reports the denial. A tool that only reads or talks changes
 * no file, and an editing tool only the file that it names.
 */
export function mayHaveChanged(
  files: LoopFiles,
  state: Pick<LoopState, 'loopId' | 'lastDecision' | 'startedAt' | 'waitedOut'>,
): (path: string) => boolean {
  const any = (): boolean => true;
  if (state.waitedOut.length > 0) return any;
  const since = state.lastDecision?.at ?? state.startedAt;
  const ended = new Set<unknown>();
  const edited = new Set<string>();
  let mayBeAny = false;
  readBackwards(files, state.loopId, TAIL_BYTES, ['tool.'], (call) => {
    // A runner's own events about calls have no call id and add nothing to those of the hooks.
    if (call['callId'] === undefined) return false;
    if (String(call['at']) < since) return true;
    if (call['background'] === true) mayBeAny = true;
    else if (call['type'] !== 'tool.asked') ended.add(call['callId']);
    else if (!ended.has(call['callId'])) {
      const file = fileOf(String(call['tool']), call['about'], files.projectDir);
      if (file === 'any') mayBeAny = true;
      else if (file !== null) for (const form of [file, realPath(file)]) edited.add(form);
    }
    return mayBeAny;
  });
  return mayBeAny ? any : (path) => edited.has(path);
}

/** Returns a test for files that a call that has just returned may have changed, or another call that still runs. */
export function mayHaveChangedBy(
  call: HookToolCall,
  files: LoopFiles,
  state: Parameters<typeof mayHaveChanged>[1],
): (path: string) => boolean {
  const file = fileOf(call.name, toolSubject(call.input, files.projectDir), files.projectDir);
  if (file === 'any') return () => true;
  const forms = file === null ? [] : [file, realPath(file)];
  const others = mayHaveChanged(files, state);
  return (path) => forms.includes(path) || others(path);
}

/** Tools for people and models that also run commands of a skill, or hooks of git. */
const RUNS_COMMANDS = ['Skill', 'EnterWorktree', 'ExitWorktree'];

/** Returns the only file that a call may change; null if it changes none. */
function fileOf(tool: string, about: unknown, projectDir: string): string | 'any' | null {
  const kind = classOf(tool);
  if (kind === 'reads' || (kind === 'talks' && !RUNS_COMMANDS.includes(tool))) return null;
  const isWhole = typeof about === 'string' && about !== '' && about.length <= MOST_SUBJECT;
  if (kind !== 'changes' || !isWhole) return 'any';
  return isAbsolute(about) ? about : resolve(projectDir, about);
}

/** Returns whether a returned call may still run in the background, judging by its input and the client's response. */
export function mayStayInBackground(
  tool: string,
  input: Readonly<Record<string, unknown>>,
  response: unknown,
): boolean {
  if (IN_BACKGROUND.includes(tool) || input['run_in_background'] === true) return true;
  const answered = typeof response === 'object' && response !== null ? (response as Record<string, unknown>) : {};
  return typeof answered['backgroundTaskId'] === 'string';
}
