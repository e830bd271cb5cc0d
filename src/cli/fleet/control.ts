import { controlLoop, type FleetControl } from '../../fleet/control.ts';
import { FLEET_TEXTS } from '../../fleet/messages.ts';
import { RalphError } from '../../text/ralph-error.ts';
import type { FleetContext } from './fleet-context.ts';
import { idOf } from './fleet-options.ts';

/** Asks a loop for something. The words after the id are the message of `steer`. */
export async function askLoop(context: FleetContext, kind: FleetControl): Promise<number> {
  const { positionals } = context;
  const text = kind === 'steer' ? positionals.slice(1).join(' ').trim() : '';
  if (kind === 'steer' && text === '') throw new RalphError('usage', FLEET_TEXTS.needsText);
  const loop = idOf({ ...context, positionals: kind === 'steer' ? positionals.slice(0, 1) : positionals });
  const done = await controlLoop(context, loop, kind, text);
  context.answer({ success: true, ...done, loop }, () => done.message);
  return 0;
}
