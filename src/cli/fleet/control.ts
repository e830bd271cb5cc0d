import { hostname, userInfo } from 'node:os';
import type { Job } from 'bullmq';
import { envelopeOf, jobIdOf, type Submission } from '../../fleet/job.ts';
import { CONTROL_TEXTS, FLEET_TEXTS } from '../../fleet/messages.ts';
import { type CommandKind, MOST_TEXT, sendCommand } from '../../fleet/queue/commands.ts';
import { type FleetLoop, loopStatus } from '../../fleet/queue/fleet-status.ts';
import { addLoop, loopNamed } from '../../fleet/queue/loop-index.ts';
import { advise } from '../../text/message.ts';
import { RalphError } from '../../text/ralph-error.ts';
import type { FleetContext } from './fleet-context.ts';
import { idOf } from './fleet-options.ts';

/** Sends a message to the agent of a loop, that is at work or will be. */
export async function steerLoop(context: FleetContext): Promise<number> {
  const [id, ...words] = context.positionals;
  const text = words.join(' ').trim();
  if (id === undefined || text === '') throw new RalphError('usage', FLEET_TEXTS.needsText);
  if (text.length > MOST_TEXT) throw new RalphError('usage', FLEET_TEXTS.longText(text.length, MOST_TEXT));
  return command({ ...context, positionals: [id] }, 'steer', text);
}

export function pauseLoop(context: FleetContext): Promise<number> {
  return command(context, 'pause', '');
}

export function cancelLoop(context: FleetContext): Promise<number> {
  return command(context, 'cancel', '');
}

/** Queues a paused loop again, from its last checkpoint. */
export async function resumeLoop(context: FleetContext): Promise<number> {
  const loop = await loopOf(context);
  const { outcome } = loop.result ?? {};
  if (outcome === 'paused' || outcome === 'fleet-budget') return nextGeneration(context, loop);
  throw new RalphError('refused', FLEET_TEXTS.notPaused(loop.loopId, outcome ?? loop.state));
}

/** Queues a loop again that ended without being complete, or that the machinery gave up. */
export async function retryLoop(context: FleetContext): Promise<number> {
  const loop = await loopOf(context);
  const { loopId, state, result } = loop;
  if (result?.outcome === 'complete') throw new RalphError('refused', FLEET_TEXTS.ended(loopId, 'complete'));
  if (state !== 'ended' && state !== 'failed') throw new RalphError('refused', FLEET_TEXTS.notEnded(loopId, state));
  return nextGeneration(context, loop);
}

async function loopOf(context: FleetContext): Promise<FleetLoop> {
  const { server } = context;
  return loopStatus(server, await loopNamed(server, idOf(context)));
}

/** Signs a command for the holder of the loop. One that waits is taken up at once, so that the command reaches it. */
async function command(context: FleetContext, kind: CommandKind, text: string): Promise<number> {
  const { server, key } = context;
  const { loopId, generation, state, result, account } = await loopOf(context);
  if (state === 'ended' || state === 'failed' || state === 'forgotten') {
    const said = FLEET_TEXTS.ended(loopId, result?.outcome ?? state);
    const way = result?.outcome === 'paused' ? 'resume' : 'retry';
    throw new RalphError('refused', advise(said, 'Queue it again', `fleet ${way} ${loopId}`));
  }
  await sendCommand(server, key, { kind, text, loop: loopId, generation, by: `${userInfo().username}@${hostname()}` });
  if (state === 'waiting') await promote(await server.job(account, loopId, generation));
  const message = CONTROL_TEXTS[kind];
  context.answer({ success: true, message, loop: loopId }, () => message);
  return 0;
}

/** A job that a worker has just taken is no longer delayed: its holder reads the command. */
async function promote(job: Job | undefined): Promise<void> {
  if (job === undefined || !(await job.isDelayed())) return;
  await job.promote().catch(() => undefined);
}

async function nextGeneration(context: FleetContext, loop: FleetLoop): Promise<number> {
  const { server, key } = context;
  const { account, loopId, generation } = loop;
  const job = await server.job(account, loopId, generation);
  if (job === undefined) throw new RalphError('no-loop', FLEET_TEXTS.forgotten(loopId));
  const envelope = envelopeOf(job.data);
  const isOurs = envelope !== null && key.hasSealed(envelope) && jobIdOf(envelope.submission) === job.id;
  // What was not signed is not signed now.
  if (envelope === null || !isOurs) throw new RalphError('refused', FLEET_TEXTS.unsigned(loopId));
  const next: Submission = { ...envelope.submission, generation: generation + 1 };
  await addLoop(server, key, next);
  const message = CONTROL_TEXTS.again;
  context.answer({ success: true, message, loop: loopId, generation: next.generation }, () => message);
  return 0;
}
