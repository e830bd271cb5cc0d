import type { Call } from './call.ts';
import { UNKNOWN } from './shell-reading.ts';
import type { Outcome, Walk } from './walk.ts';
import { SILENT } from './walk.ts';

/** Follows `cd`, `pushd` and `popd`; where the directory does not exist, both ways stay open. */
export function changeDirectory(call: Call, _args: readonly string[], walk: Walk): Outcome {
  const { world } = call;
  const stacked = call.words[0]?.template === 'pushd';
  if (call.words[0]?.template === 'popd') {
    const [top = UNKNOWN, ...stack] = world.stack;
    return { worlds: [{ ...world, cwd: top, previous: world.cwd, stack }], output: SILENT };
  }
  const word = call.words.slice(1).find((each) => !/^-[PLe@]+$|^--$/.test(each.template));
  const target = word?.glob === true ? word.template.replace(/\[[^\]]*\]|[*?]/g, UNKNOWN) : (word?.template ?? '~');
  const cwd = target === '~' ? walk.options.home : target === '-' ? world.previous : joinPath(world.cwd, target);
  const there = { ...world, cwd, previous: world.cwd, stack: stacked ? [world.cwd, ...world.stack] : world.stack };
  const exists = cwd.includes(UNKNOWN) || walk.options.directoryExists?.(cwd) !== false;
  return { worlds: [there], failed: exists ? [] : [world], output: SILENT };
}

function joinPath(cwd: string, target: string): string {
  if (target.startsWith('/')) return target;
  return `${cwd.replace(/\/+$/, '')}/${target}`;
}
