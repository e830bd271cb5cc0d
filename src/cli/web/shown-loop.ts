import { join } from 'node:path';
import { noLiveLoop } from '../../drive/control/operate.ts';
import { isDriverAlive } from '../../drive/control/ownership.ts';
import { presentState } from '../../drive/control/present-state.ts';
import { usageNow } from '../../drive/records/client-figures.ts';
import { liveStatus } from '../../drive/status/loop-report.ts';
import { runOfLoop } from '../../drive/status/plan-run.ts';
import { NOTICE_LABELS } from '../../engine/end-report.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { ifOutOfReach, readRegularFile } from '../../state/files/regular-file.ts';
import { type LoopFiles, noticesOf, readState } from '../../state/loop-files.ts';
import { stepsOf } from '../../state/process/program.ts';
import { archivedLoops, lastArchived } from '../../state/with-state.ts';
import { questionsOf } from '../../task/outputs/open-questions.ts';
import { taskTitle } from '../../task/task-title.ts';
import type { ShownLoop } from '../../web/model/collect-report.ts';
import { standingOf } from '../show/explain.ts';

/** Returns the live loop of these files, or the last one; null if none. The dashboard asks too often for a LoopReport. */
export function shownLoop(files: LoopFiles): ShownLoop | null {
  const found = presentState(files);
  if (found.kind === 'loop') return shown(files, found.state, found.state.status !== 'ended');
  const last = lastArchived(files);
  return last === null ? null : shown(files, last.state, false);
}

/** Like `shownLoop`. Throws RalphError for a state that cannot be read: an earlier loop must not pass for it. */
export function presentLoop(files: LoopFiles): ShownLoop | null {
  const { kind } = readState(files.state);
  if (kind !== 'loop' && kind !== 'absent') throw noLiveLoop(files, kind);
  return shownLoop(files);
}

/** Returns the live or an ended loop of these files by its id; null if there is none. */
export function loopById(files: LoopFiles, loopId: string): ShownLoop | null {
  const last = shownLoop(files);
  return last?.state.loopId === loopId ? last : archivedLoop(files, loopId);
}

/** Returns an archived loop by the name of its file in the archive, or by its id; null if there is none. */
export function archivedLoop(files: LoopFiles, wanted: string): ShownLoop | null {
  for (const { state, file } of archivedLoops(files)) {
    if (file === wanted || state.loopId === wanted) return shown(files, state, false);
  }
  return null;
}

function shown(files: LoopFiles, state: LoopState, live: boolean): ShownLoop {
  const driverAlive = live ? isDriverAlive(files, state) : null;
  const { why, next, status, at } = standingOf(files, state, live ? driverAlive : 'archived');
  const paused = state.status === 'paused' ? state.paused.resumesAt : null;
  const run = runOfLoop(files, state, live ? liveStatus(state, driverAlive) : null, new Date().toISOString());
  const text = ifOutOfReach(() => readRegularFile(join(files.projectDir, state.taskPath)), null);
  const ofTask = run?.tasks.length === 1 && run.tasks[0]?.title;
  const until = state.status === 'waiting' ? state.waiting.until : paused;
  return {
    files,
    why,
    next: typeof next === 'string' ? next : next.text,
    steps: typeof next === 'string' ? [] : stepsOf(next, state),
    live,
    at,
    title: taskTitle(text ?? '') || ofTask || (files.name ?? state.taskPath),
    run,
    state: live ? { ...state, usage: usageNow(files, state) } : state,
    status: live ? liveStatus(state, driverAlive) : status,
    until: live && driverAlive !== false ? until : null,
    notices: () =>
      noticesOf(files, state.loopId).map((each) => ({ ...each, text: `${NOTICE_LABELS[each.kind]}: ${each.text}` })),
    questions: () => (live ? questionsOf(files.projectDir, state.taskPath) : []),
  };
}
