import type { Effect } from '../core/effects.ts';
import { appendLine } from '../state/append-line.ts';
import { archiveState } from '../state/archive.ts';
import { dropContract } from '../state/contract-store.ts';
import { log } from '../state/log.ts';
import type { LoopFiles } from '../state/loop-files.ts';
import { withState } from '../state/with-state.ts';

/**
 * Carries out what every driver does alike: journals, signs, the archive. What is left (prompt, wait, verify, look,
 * allow) is the driver's own way of doing it. A journal that cannot be written is logged and changes no decision: the
 * state already says what counts.
 */
export function carryOut(files: LoopFiles, at: string, effects: readonly Effect[]): void {
  for (const effect of effects) {
    switch (effect.type) {
      case 'record-iteration':
        journal(files, at, files.iterations, effect.record);
        break;
      case 'record-event':
        journal(files, at, files.events, effect.event);
        break;
      case 'add-sign':
        journal(files, at, files.events, { type: 'sign', at, ...effect.sign });
        break;
      case 'archive':
        archiveEnded(files, at);
        break;
      case 'prompt':
      case 'allow':
      case 'wait':
      case 'look':
      case 'verify':
      case 'notify':
      case 'ignore':
        break;
      default:
        effect satisfies never;
    }
  }
}

/**
 * Archives an ended loop and takes its state file and contract away, in this order: a crash at any point leaves an
 * ended state that the next comer archives under the same name.
 */
function archiveEnded(files: LoopFiles, at: string): void {
  withState(files, { waitMs: 10_000 }, (current) => {
    if (current.kind !== 'loop' || current.state.status !== 'ended') return { next: 'keep', result: undefined };
    const { ended } = current.state;
    archiveState(files, current.state, ended.at, ended.as);
    dropContract(files);
    return { next: 'remove', result: undefined };
  });
  log(files, at, 'archive', 'loop archived');
}

function journal(files: LoopFiles, at: string, path: string, entry: object): void {
  try {
    appendLine(path, entry);
  } catch (error) {
    log(files, at, 'journal', `${path}: ${(error as Error).message}`);
  }
}

