import { randomBytes } from 'node:crypto';
import { readFileSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { fitName } from '../drive/start/find-task.ts';
import { prepareContract } from '../drive/start/prepare-contract.ts';
import type { ContractRequest, PreparedContract } from '../drive/start/stages.ts';
import { type RiskySetting, rememberAgreed, unagreedSettings } from '../drive/start/terms/agreed-settings.ts';
import { type ConsentTerms, consentDigest } from '../drive/start/terms/consent-terms.ts';
import { portableTerms } from '../drive/start/terms/portable-terms.ts';
import { realPathOf } from '../state/files/regular-file.ts';
import { sha256 } from '../state/hash-contract.ts';
import { readPlan } from '../task/plan/read-plan.ts';
import { isWithin } from '../task/project-file.ts';
import { readPins } from '../task/settings/build-contract.ts';
import { hasFolder, taskKind } from '../task/task-file.ts';
import { RalphError } from '../text/message.ts';
import { git } from './git/git.ts';
import { fetchMirror } from './git/mirror.ts';
import { type FleetPlace, plainUrl } from './git/place.ts';
import { closeWorkspace, openWorkspace, type Workspace } from './git/workspace.ts';
import { checkSubmission, repositoryId, type Submission } from './job.ts';
import { FLEET_TEXTS } from './messages.ts';

interface FleetTask extends Pick<Submission['contract'], 'flags' | 'args'> {
  readonly projectDir: string;
  readonly name: string;
  /** Path relative to the project. */
  readonly task: string;
}

/** Variables with settings of a loop. In the fleet, settings come from the repository and the submission. */
const SETTINGS = ['RALPH_MAX_ITERATIONS', 'RALPH_COMPLETION_SIGNAL', 'RALPH_CIRCUIT_BREAKER_THRESHOLD', 'RALPH_LOOP'];

/** Returns the environment of a loop, without the settings of this machine, which other machines lack. */
export function loopEnvironment({ dir }: FleetPlace, env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const kept = Object.entries(env).filter(([name]) => !SETTINGS.includes(name));
  return { ...Object.fromEntries(kept), RALPH_USER_CONFIG: join(dir, 'no-user-config.json') };
}

export interface FleetTerms {
  readonly terms: ConsentTerms;
  readonly digest: string;
  /** Contract with which a run of the loop starts. */
  readonly fixed: PreparedContract;
  /** Settings of the repository that start programs or widen permissions, not agreed to on this machine. */
  readonly risky: readonly RiskySetting[];
}

/** Reads the task and returns its terms, identical on every machine. Throws RalphError with every problem. */
export function fleetTerms(task: FleetTask, env: NodeJS.ProcessEnv, at: string): FleetTerms {
  const way = { consented: true, headless: true, launched: true, mode: 'runner' } as const;
  const request: ContractRequest = { ...task, env, at, ...way };
  const found = prepareContract(request);
  const fixed = { ...found, terms: { ...found.terms, pins: readPins(found.terms) } };
  const terms = portableTerms(fixed);
  return { terms, digest: consentDigest(terms), fixed, risky: unagreedSettings(request, fixed.resolved) };
}

/** Records consent on this machine to settings that the signed submission covers. */
export function agreeTo({ risky }: FleetTerms, env: NodeJS.ProcessEnv): void {
  if (risky.length > 0) rememberAgreed(env, risky);
}

/** Terms shared by all tasks that are submitted together. */
interface SubmitRequest
  extends Pick<Submission, 'needs' | 'after' | 'account' | 'publish' | 'submittedBy' | 'submittedAt'> {
  readonly url: string;
  /** Branch, tag or commit of the repository. */
  readonly base: string;
  /** Task files or folders, relative to the repository's root. */
  readonly tasks: readonly string[];
  readonly flags: Readonly<Record<string, string>>;
  readonly args: Readonly<Record<string, string>>;
  readonly maxTakeOvers: number;
  /** Asks for consent to settings of the repository that start programs or widen permissions. */
  readonly agrees: (risky: readonly RiskySetting[]) => boolean;
}

const ID_DIGITS = 10;

/** Reads the tasks at the base commit and returns their terms. Throws RalphError with the problems of all. */
export async function prepareSubmissions(
  place: FleetPlace,
  env: NodeJS.ProcessEnv,
  request: SubmitRequest,
): Promise<Submission[]> {
  if (/^(?:https?:\/\/[^/@]+|[a-z]+:\/\/[^/@]*:[^/@]*)@/i.test(request.url))
    throw new RalphError('usage', FLEET_TEXTS.credentialsInUrl);
  const url = plainUrl(request.url);
  const repository = { id: repositoryId(url), url };
  const own = loopEnvironment(place, env);
  const here: FleetPlace = { ...place, env: own };
  const mirror = await fetchMirror(here, repository);
  const base = { ref: request.base, sha: await commitOf(mirror, request.base, url, own) };
  const loopId = freeId('submission');
  const ws = await openWorkspace(here, { repository, loopId, branch: `ralph/${loopId}`, base, checkpoint: null });
  try {
    const problems: string[] = [];
    const submissions = request.tasks.flatMap((task) => {
      try {
        return [submissionOf(ws, { ...request, repository, base, task }, own)];
      } catch (error) {
        if (!(error instanceof RalphError) || error.code === 'mode-missing') throw error;
        problems.push(error.message);
        return [];
      }
    });
    if (problems.length > 0) throw new RalphError('task-invalid', problems.join('\n'));
    return submissions;
  } finally {
    await closeWorkspace(ws);
  }
}

type OneTask = Omit<SubmitRequest, 'base'> & Pick<Submission, 'repository' | 'base'> & { readonly task: string };

function submissionOf(ws: Workspace, request: OneTask, env: NodeJS.ProcessEnv): Submission {
  const { task, flags, args, repository, base, needs, after, account, publish, submittedBy, submittedAt } = request;
  const name = nameOf(task);
  const named = resolve(ws.dir, task);
  if (!isWithin(ws.dir, named)) throw new RalphError('usage', FLEET_TEXTS.outside(task));
  const file = realPathOf(named);
  if (file === null) throw new RalphError('usage', FLEET_TEXTS.noTaskAt(task, repository.url, base.ref));
  if (!isWithin(realpathSync(ws.dir), file)) throw new RalphError('usage', FLEET_TEXTS.outside(task));
  const planned = statSync(file).isFile() ? readPlan(readFileSync(file, 'utf8')).tasks : [];
  if (planned.length > 1 || planned.some(({ acceptance }) => acceptance.length > 0))
    throw new RalphError('usage', FLEET_TEXTS.plan(task));
  const found = fleetTerms({ projectDir: ws.dir, name, task, flags, args }, env, submittedAt);
  if (found.risky.length > 0 && !request.agrees(found.risky))
    throw new RalphError('refused', FLEET_TEXTS.needsAgreement(found.risky.map(({ line }) => line)));
  const { terms, digest, fixed } = found;
  const { taskPath } = fixed.terms;
  const loopId = freeId(name);
  const submission: Submission = {
    v: 1,
    loopId,
    generation: 1,
    name,
    repository,
    base,
    branch: `ralph/${loopId}`,
    checkpointRef: `refs/ralph/${loopId}`,
    task: { path: taskPath, digest: sha256(readFileSync(join(ws.dir, taskPath))) },
    contract: { digest, terms: terms.map(([key, value]) => [key, value]), flags: { ...flags }, args: { ...args } },
    limits: {
      iterationTimeoutMs: fixed.resolved.policy.pace.iterationTimeoutMs ?? 0,
      maxTakeOvers: request.maxTakeOvers,
    },
    needs,
    after,
    account,
    publish,
    submittedBy,
    submittedAt,
  };
  checkSubmission(submission);
  return submission;
}

/** Returns the loop's name: that of the task's folder, or of a file without one. */
function nameOf(task: string): string {
  const isFile = /\.[a-z]+$/i.test(task);
  const words = isFile && hasFolder(taskKind(task)) ? basename(dirname(task)) : basename(task).replace(/\.[^.]*$/, '');
  return fitName(words).replace(/\.{2,}/g, '.') || 'task';
}

function freeId(name: string): string {
  const digits = [...randomBytes(ID_DIGITS)].map((byte) => (byte % 36).toString(36)).join('');
  return `${name.slice(0, 50).replace(/\.(?:lock)?$/, '')}-${digits}`;
}

/** Returns the commit of a name. Throws RalphError `usage` for a name that the repository does not have. */
async function commitOf(mirror: string, ref: string, url: string, env: NodeJS.ProcessEnv): Promise<string> {
  const isWhole = /^(?:[0-9a-f]{7,64}|refs\/(?:heads|tags)\/.+)$/.test(ref);
  for (const name of [`refs/heads/${ref}`, `refs/tags/${ref}`, ...(isWhole ? [ref] : [])]) {
    const words = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`];
    const { ok, output } = await git(words, { env, gitDir: mirror });
    if (ok) return output.toString('utf8').trim();
  }
  throw new RalphError('usage', FLEET_TEXTS.noBase(ref, url));
}
