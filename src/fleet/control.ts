import { hostname, userInfo } from 'node:os';
import type { Job } from 'bullmq';
import { show } from '../state/process/program.ts';
import { advise, RalphError } from '../text/message.ts';
import { shellWord } from '../text/quote.ts';
import { DEFAULT_ACCOUNT, envelopeOf, type FleetKey, jobIdOf, type Submission } from './job.ts';
import { CONTROL_TEXTS, FLEET_TEXTS, noWorkerText } from './messages.ts';
import type { FleetServer } from './queue/connect.ts';
import { addLoop, type FleetLoop, isPaused, type LoopProgress, loopNamed, loopStatus } from './queue/loop-index.ts';
import { type CommandKind, MOST_TEXT, sendCommand } from './queue/loop-streams.ts';

/** Key with which a member of the fleet signs, and the server that receives its requests. */
export interface FleetMember {
  readonly server: FleetServer;
  readonly key: FleetKey;
}

export type FleetControl = CommandKind | 'resume' | 'retry';

interface Controlled {
  readonly message: string;
  readonly generation: number;
}

export function controlsOf(loop: Pick<FleetLoop, 'state' | 'result' | 'progress'>): FleetControl[] {
  const { state, result } = loop;
  if (state === 'forgotten' || result?.outcome === 'complete') return [];
  if (state !== 'ended' && state !== 'failed') return ['steer', 'pause', 'cancel'];
  if (usedUp(loop) !== null) return [];
  return isPaused(result) ? ['resume'] : ['retry'];
}

/** Returns the command that continues an ended loop; null if it is complete. */
export async function wayOn(server: FleetServer, loop: FleetLoop): Promise<string | null> {
  const { loopId, result } = loop;
  if (result?.outcome === 'complete') return null;
  return usedUp(loop) !== null
    ? inAnotherLoop(server, loop)
    : `fleet ${isPaused(result) ? 'resume' : 'retry'} ${loopId}`;
}

/** Returns the command for a loop that continues from what this one published, with the options of this one. */
async function inAnotherLoop(server: FleetServer, loop: FleetLoop): Promise<string> {
  const { task, repository, result, account } = loop;
  const isOut = usedUp(loop) === ITERATIONS;
  const job = await server.job(account, loop.loopId, loop.generation);
  const { contract, needs, publish = 'branch' } = (job && envelopeOf(job.data)?.submission) ?? {};
  const pairs = (values: Readonly<Record<string, string>> = {}): string[] =>
    Object.entries(values).flatMap(([key, value]) => (isOut && key === 'max_iterations' ? [] : [`${key}=${value}`]));
  const options: Readonly<Record<string, readonly string[]>> = {
    repo: [repository],
    base: result?.branch ? [result.branch] : [],
    set: pairs(contract?.flags),
    arg: pairs(contract?.args),
    label: needs?.labels ?? [],
    account: account === DEFAULT_ACCOUNT ? [] : [account],
    integrate: publish === 'branch' ? [] : [publish === 'none' ? 'none' : 'pr'],
  };
  const words = Object.entries(options).flatMap(([name, all]) => all.map((each) => ` --${name} ${shellWord(each)}`));
  return `fleet add ${shellWord(task)}${words.join('')}${isOut ? ' --max-iterations N' : ''}`;
}

const ITERATIONS = 'all iterations';

/** Returns what a loop has used up of its terms, which no command changes; null if it can continue. */
function usedUp({ result, progress }: Pick<FleetLoop, 'result' | 'progress'>): string | null {
  const most = progress?.maxIterations ?? 0;
  if (most > 0 && result !== null && result.iterations >= most) return ITERATIONS;
  return result?.usedUp ? 'the budget' : null;
}

/** Signs a request to a loop and sends it; `text` is the message of `steer`. Throws RalphError if the loop does not accept it. */
export async function controlLoop(member: FleetMember, id: string, kind: FleetControl, text = ''): Promise<Controlled> {
  if (text.length > MOST_TEXT) throw new RalphError('usage', FLEET_TEXTS.longText(text.length, MOST_TEXT));
  const loop = await loopStatus(member.server, await loopNamed(member.server, id));
  const { state, result } = loop;
  if (state === 'forgotten') throw new RalphError('no-loop', FLEET_TEXTS.forgotten(id));
  if (kind === 'resume') {
    if (isPaused(result)) return nextGeneration(member, loop);
    throw new RalphError('refused', FLEET_TEXTS.notPaused(id, result?.outcome ?? state));
  }
  if (kind === 'retry') {
    if (result?.outcome === 'complete') throw new RalphError('refused', FLEET_TEXTS.ended(id, 'complete'));
    if (state !== 'ended' && state !== 'failed') throw new RalphError('refused', FLEET_TEXTS.notEnded(id, state));
    const what = usedUp(loop);
    if (what === null) return nextGeneration(member, loop);
    const way = await inAnotherLoop(member.server, loop);
    throw new RalphError('refused', advise(FLEET_TEXTS.usedUp(id, what), 'Continue in another loop', way));
  }
  return command(member, loop, kind, text);
}

/** Sends a command. A waiting loop is claimed at once, so that the command reaches it. */
async function command(member: FleetMember, loop: FleetLoop, kind: CommandKind, text: string): Promise<Controlled> {
  const { server, key } = member;
  const { loopId, generation, state, result, account } = loop;
  if (!controlsOf(loop).includes(kind)) {
    const said = FLEET_TEXTS.ended(loopId, result?.outcome ?? state);
    const way = await wayOn(server, loop);
    throw new RalphError('refused', way === null ? said : show(advise(said, 'Queue it again', way)));
  }
  await sendCommand(server, key, { kind, text, loop: loopId, generation, by: `${userInfo().username}@${hostname()}` });
  if (state === 'waiting') await promote(await server.job(account, loopId, generation));
  const said = state === 'working' || kind === 'steer' ? CONTROL_TEXTS[kind] : CONTROL_TEXTS[`${kind}Later` as const];
  return { message: (await server.hasWorker(account)) ? said : `${said} ${noWorkerText(account)}`, generation };
}

/** Ends the delay of a job. One that a worker has just taken has no delay, and its holder reads the command. */
async function promote(job: Job | undefined): Promise<void> {
  if (job === undefined || !(await job.isDelayed())) return;
  await job.promote().catch(() => undefined);
}

/** Returns the progress of an ended loop. A result without a checkpoint, such as a blocked loop's, lacks it. */
function lastProgress({ progress, result }: FleetLoop): LoopProgress | null {
  if (progress === null) return null;
  const { iterations: iteration, ...used } = result?.sha ? result : { ...progress, iterations: progress.iteration };
  const { costUsd, tokens, sha } = used;
  return { ...progress, iteration, costUsd, tokens, sha, worker: '', waits: null };
}

/** Queues a loop again from its last checkpoint. */
async function nextGeneration({ server, key }: FleetMember, loop: FleetLoop): Promise<Controlled> {
  const { account, loopId, generation } = loop;
  const job = await server.job(account, loopId, generation);
  if (job === undefined) throw new RalphError('no-loop', FLEET_TEXTS.forgotten(loopId));
  const envelope = envelopeOf(job.data);
  const isOurs = envelope !== null && key.hasSealed(envelope) && jobIdOf(envelope.submission) === job.id;
  // A submission that is not signed yet must not be signed now.
  if (envelope === null || !isOurs) throw new RalphError('refused', FLEET_TEXTS.unsigned(loopId));
  const next: Submission = { ...envelope.submission, generation: generation + 1 };
  await addLoop(server, key, next, lastProgress(loop));
  return { message: CONTROL_TEXTS.again, generation: next.generation };
}
