import type { Call } from './call.ts';
import { fileKey } from './file-key.ts';
import type { PathUse } from './shell-reading.ts';
import { UNKNOWN } from './shell-reading.ts';
import type { World } from './world.ts';

/**
 * The world after a command that leaves content in files which the same command line may run: what it loads from the
 * network is known only at run time, what `tee` gets may be known.
 */
export function withWrittenFiles(call: Call, name: string, writes: readonly PathUse[]): World {
  const { world } = call;
  if (name !== 'curl' && name !== 'wget' && name !== 'tee') return world;
  const content = name === 'tee' && call.stdin.kind !== 'none' ? call.stdin.text : UNKNOWN;
  const files = new Map(world.files);
  for (const { target } of writes) if (target !== null) files.set(fileKey(target, world), content);
  return { ...world, files };
}
