import type { Walk } from './walk.ts';
import { NO_INPUT } from './walk.ts';
import type { World } from './world.ts';

/** A function that nothing called may still run (a trap, a later command of the same shell): its body is read once. */
export function walkUncalledFunctions(worlds: readonly World[], walk: Walk): void {
  for (const world of worlds) {
    for (const body of world.functions.values()) {
      if (body.kind !== 'function' || walk.facts.called.has(body.node)) continue;
      walk.facts.called.add(body.node);
      walk.node(body.node, [{ ...world, positional: null }], NO_INPUT, { ...walk, source: body.source });
    }
  }
}
