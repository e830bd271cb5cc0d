import { basename } from 'node:path';
import { describeLoop, type LoopReport } from '../../drive/status/loop-report.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { listArchive } from '../../state/archive.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import type { ShownLoop } from '../../web/model/collect-report.ts';
import { explained } from '../show/explain.ts';

/** Returns the live loop of these files, or the one that ended last there; null if there has been none. */
export function shownLoop(files: LoopFiles, env: NodeJS.ProcessEnv): ShownLoop | null {
  const report = describeLoop(files, env);
  const { found, live, lastState } = report;
  if (found.kind === 'loop' && live !== null) return shown(found.state, report);
  return lastState === null ? null : shown(lastState, { files, live: null });
}

/** Returns an archived loop by the name of its file in the archive, or by its id; null if there is none. */
export function archivedLoop(files: LoopFiles, wanted: string): ShownLoop | null {
  for (const { path, content } of listArchive(files).reverse()) {
    if (content.kind !== 'loop') continue;
    if (basename(path) === wanted || content.state.loopId === wanted)
      return shown(content.state, { files, live: null });
  }
  return null;
}

function shown(state: LoopState, loop: Pick<LoopReport, 'files' | 'live'>): ShownLoop {
  const { why, next, notices, status } = explained(state, loop);
  return {
    ...{ files: loop.files, state, why, next, notices },
    status: loop.live?.status ?? status ?? state.status,
    live: loop.live !== null,
  };
}
