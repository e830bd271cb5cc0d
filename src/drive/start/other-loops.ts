import type { Contract } from '../../engine/schema/contract.ts';
import { type LoopFiles, loopFiles, readContract, readState } from '../../state/loop-files.ts';
import { isDriverAlive } from '../control/ownership.ts';
import { loopNames } from '../status/project-loops.ts';
import { START_TEXTS } from '../turn/messages.ts';

/** Returns a warning if another live loop here protects other files, and so restores them after any change; or null. */
export function otherLoopWarning(files: LoopFiles, contract: Contract, env: NodeJS.ProcessEnv): string | null {
  const { projectDir } = files;
  const ours = contract.guardrails.protectedFiles;
  for (const name of loopNames(projectDir, env)) {
    if (name === files.name) continue;
    const other = loopFiles(projectDir, name, env);
    if (!isLive(other)) continue;
    const theirs = readContract(other)?.contract.guardrails.protectedFiles ?? [];
    const apart = [...ours, ...theirs].filter((pattern) => !(ours.includes(pattern) && theirs.includes(pattern)));
    if (apart.length > 0) return START_TEXTS.otherLoop(name, apart);
  }
  return null;
}

function isLive(files: LoopFiles): boolean {
  const current = readState(files.state);
  if (current.kind !== 'loop' || ['ended', 'awaiting-consent'].includes(current.state.status)) return false;
  return isDriverAlive(files, current.state) !== false;
}
