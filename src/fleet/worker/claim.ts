import { diffTerms } from '../../drive/start/terms/consent-terms.ts';
import { isVerified } from '../../drive/status/ended-loop.ts';
import { describeLoop } from '../../drive/status/loop-report.ts';
import { loopFiles } from '../../state/loop-files.ts';
import { RalphError } from '../../text/message.ts';
import { type CheckpointMeta, type Meta, readCheckpoint } from '../git/checkpoint.ts';
import { fetchMirror, readRef } from '../git/mirror.ts';
import { ownBranch, publish, unlikeAtEnd } from '../git/publish.ts';
import { closeWorkspace, openWorkspace, type Workspace } from '../git/workspace.ts';
import { secretMask } from '../mask-secrets.ts';
import { GIT_TEXTS, PUBLISH_TEXTS, WORKER_TEXTS } from '../messages.ts';
import { Reservations } from '../queue/budget.ts';
import type { LoopProgress, LoopResult } from '../queue/loop-index.ts';
import { EventSink } from '../queue/loop-streams.ts';
import { agreeTo, type FleetTerms, fleetTerms } from '../submission-terms.ts';
import { LoopHolder } from './hold-loop.ts';
import { CheckpointLine, type Claim, type HeldEnd, LoopCommands, LostLoop, PutBack } from './holding.ts';

/** Works on a loop until it ends. Throws `PutBack` if it has to wait, `LostLoop` if another worker has it. */
export async function workOn(claim: Claim): Promise<LoopResult> {
  const { submission, place, env, told } = claim;
  const { repository, checkpointRef, loopId, branch, base } = submission;
  const mirror = await fetchMirror(place, repository);
  const last = await readRef(mirror, checkpointRef, env);
  if (last !== null) await fetchMirror(place, repository, [checkpointRef]);
  const former = last === null ? null : await readCheckpoint(mirror, last, env).catch(onlyInvalid);
  const known = former?.loopId === loopId ? { iteration: former.iteration, ...former.spent } : told;
  const isGone = last === null && (typeof told?.sha === 'string' || submission.generation > 1);
  if (isGone || (last !== null && former?.loopId !== loopId))
    return withoutWork('checkpoint-lost', WORKER_TEXTS.lost, known, last);
  if (former !== null && former.generation > submission.generation)
    return withoutWork('replayed', WORKER_TEXTS.replayed, known, last);
  let terms = '' as FleetTerms | string;
  // The submitted terms count: changes by an agent neither apply nor stop the loop.
  const atBase = (dir: string): void => {
    terms = termsIn(claim, dir);
  };
  const ws = await openWorkspace(place, { repository, loopId, branch, base, checkpoint: last, atBase });
  try {
    return await inWorkspace(claim, ws, former, last, terms);
  } finally {
    await closeWorkspace(ws);
  }
}

function onlyInvalid(error: unknown): null {
  if (error instanceof RalphError && error.code === 'state-corrupt') return null;
  throw error;
}

async function inWorkspace(
  claim: Claim,
  ws: Workspace,
  former: CheckpointMeta | null,
  last: string | null,
  terms: FleetTerms | string,
): Promise<LoopResult> {
  const { submission } = claim;
  const isOver = former !== null && former.generation === submission.generation && former.outcome !== null;
  // Its worker ended between the last checkpoint and the end of the job.
  if (isOver) return finish(claim, ws, new CheckpointLine(ws, claim, last, former), null);
  const line = new CheckpointLine(ws, claim, last, nextMeta(claim, former));
  const { takeOvers } = line.meta;
  if (takeOvers > submission.limits.maxTakeOvers) {
    await line.push({ signedOff: true, outcome: 'take-overs', reason: WORKER_TEXTS.takeOvers(takeOvers) });
    return finish(claim, ws, line, null);
  }
  // From here on, no former holder can publish anything.
  await line.push({});
  if (typeof terms === 'string') {
    await line.push({ signedOff: true, outcome: 'contract-changed', reason: terms }, () => undefined);
    return finish(claim, ws, line, null);
  }
  agreeTo(terms, claim.env);
  return hold(claim, ws, line, terms);
}

async function hold(claim: Claim, ws: Workspace, line: CheckpointLine, terms: FleetTerms): Promise<LoopResult> {
  const { submission, server, key, env, limits } = claim;
  const { loopId } = submission;
  const { attempt, iteration, spent } = line.meta;
  const average = { costUsd: (spent.costUsd ?? 0) / (iteration || 1), tokens: spent.tokens / (iteration || 1) };
  const files = loopFiles(ws.dir, submission.name, env);
  const events = new EventSink(server, loopId, attempt, env);
  await events.skipKnown(files.events);
  const commands = new LoopCommands({ server, key, submission, files, env }, line.meta.lastCommand);
  const { iterationTimeoutMs } = submission.limits;
  const budget = new Reservations(server, limits, `${loopId}:${attempt}`, iterationTimeoutMs, average);
  const holder = new LoopHolder({ ...claim, terms, ws, files, line, commands, budget, events });
  await holder.tell(null);
  let end: HeldEnd;
  try {
    end = masked(await holder.run(), env);
    await holder.signOff(end.kind === 'ended' ? end.outcome : null, end.kind === 'ended' ? end.reason : '');
  } finally {
    events.follow(files.events);
    await events.flush().catch(() => undefined);
  }
  if (end.kind === 'ended') return finish(claim, ws, line, end);
  await holder.tell(end.why === '' ? null : end.why);
  throw new PutBack(end.until, end.why);
}

/** Masks secrets in the report, which quotes the agent's last words. */
function masked(end: HeldEnd, env: NodeJS.ProcessEnv): HeldEnd {
  if (end.kind === 'waits') return end;
  const mask = secretMask(env);
  return { ...end, reason: mask(end.reason), report: mask(end.report) };
}

/** Publishes the branch of a loop whose last checkpoint is published. Can be repeated. */
async function finish(
  { submission, env }: Claim,
  ws: Workspace,
  line: CheckpointLine,
  end: Extract<HeldEnd, { kind: 'ended' }> | null,
): Promise<LoopResult> {
  const { meta, sha } = line;
  const outcome = meta.outcome ?? 'error';
  const { base } = submission;
  const isWanted = submission.publish !== 'none' && !UNPUBLISHED.has(outcome);
  const how = !isWanted ? 'none' : outcome === 'complete' ? submission.publish : 'branch';
  const report = `${meta.reason}\n\n${end?.report ?? ''}`.trim();
  const { branch, expected } = await ownBranch(ws, sha);
  // Checked after reading the branch: if another worker continues the loop, this one must not publish.
  if ((await readRef(ws.mirror, submission.checkpointRef, env)) !== sha) throw new LostLoop(WORKER_TEXTS.fenced);
  const { kind, message, sha: published } = await publish(ws, { branch, how, base: base.ref, report, expected });
  if (kind === 'unreachable') throw new RalphError('state-io', GIT_TEXTS.refused(message));
  const { lastState } = describeLoop(loopFiles(ws.dir, submission.name, env), env);
  const ended = lastState?.status === 'ended' ? lastState.ended : null;
  const isToCompare = outcome === 'complete' && published !== null && lastState !== null;
  const unlike = isToCompare ? await unlikeAtEnd(ws, lastState.loopId, published) : [];
  const isDelivered = (kind === 'none' || kind === 'pushed') && unlike?.length === 0;
  const differs = unlike === null ? PUBLISH_TEXTS.unknown(branch) : PUBLISH_TEXTS.unlike(branch, unlike);
  const isElsewhere = kind === 'pushed' && branch !== submission.branch;
  const notes = [
    isElsewhere ? PUBLISH_TEXTS.elsewhere(submission.branch, branch) : '',
    message,
    unlike?.length === 0 ? '' : differs,
  ];
  return {
    outcome,
    // Only what was verified is delivered.
    verified: outcome === 'complete' && isDelivered && isVerified(lastState),
    ...(ended?.proof && { proof: ended.proof }),
    // A larger limit, which the terms do not allow, is all that would continue it.
    ...(outcome === 'budget-exhausted' && ended?.next?.options && { usedUp: true }),
    iterations: meta.iteration,
    sha,
    costUsd: meta.spent.costUsd,
    tokens: meta.spent.tokens,
    report: end?.report ?? '',
    reason: [meta.reason, ...notes].filter((text) => text !== '').join(' '),
    branch: kind === 'pushed' ? branch : null,
  };
}

/** Outcomes without a result to publish. */
const UNPUBLISHED: ReadonlySet<string> = new Set([
  ...['cancelled', 'paused', 'fleet-budget', 'contract-changed', 'set-up-failed'],
]);

export function withoutWork(
  outcome: string,
  reason: string,
  known: Pick<LoopProgress, 'iteration' | 'costUsd' | 'tokens'> | null = null,
  sha: string | null = null,
): LoopResult {
  const { iteration: iterations, costUsd, tokens } = known ?? { iteration: 0, costUsd: null, tokens: 0 };
  return { outcome, verified: false, iterations, costUsd, tokens, sha, branch: null, reason, report: '' };
}

function nextMeta({ submission, key }: Pick<Claim, 'submission' | 'key'>, former: CheckpointMeta | null): Meta {
  const { loopId, generation, contract } = submission;
  const sealed = key.seal(submission);
  const fresh = { v: 1, loopId, generation, signedOff: false, outcome: null, reason: '', submission: sealed } as const;
  const at = new Date().toISOString();
  const contractDigest = contract.digest;
  if (former === null) {
    const spent = { costUsd: 0, tokens: 0 };
    return { ...fresh, contractDigest, attempt: 1, iteration: 0, takeOvers: 0, lastCommand: null, spent, at };
  }
  const { attempt, iteration, takeOvers, signedOff, lastCommand, spent } = former;
  const died = signedOff ? takeOvers : takeOvers + 1;
  return { ...fresh, contractDigest, attempt: attempt + 1, iteration, takeOvers: died, lastCommand, spent, at };
}

/** Returns the task's terms in this folder, or the problem with them. */
function termsIn({ submission, env }: Claim, projectDir: string): FleetTerms | string {
  const { contract, task, name } = submission;
  const { flags, args } = contract;
  try {
    const at = new Date().toISOString();
    const found = fleetTerms({ projectDir, name, task: task.path, flags, args }, env, at);
    if (found.digest === contract.digest) return found;
    return WORKER_TEXTS.terms(diffTerms(contract.terms, found.terms));
  } catch (error) {
    if (error instanceof RalphError) return error.advised.text;
    throw error;
  }
}
