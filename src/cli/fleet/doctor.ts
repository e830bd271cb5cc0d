import { readCheckpoint } from '../../fleet/git/checkpoint.ts';
import { askGit } from '../../fleet/git/git.ts';
import { fetchMirror } from '../../fleet/git/mirror.ts';
import { type FleetPlace, plainUrl } from '../../fleet/git/place.ts';
import { envelopeOf, FleetKey, repositoryId } from '../../fleet/job.ts';
import { FLEET_TEXTS } from '../../fleet/messages.ts';
import { type FleetServer, KEYS } from '../../fleet/queue/connect.ts';
import { addLoop, loopsNamed } from '../../fleet/queue/loop-index.ts';
import { loopEnvironment } from '../../fleet/submission-terms.ts';
import { findClient } from '../../hosts/claude/claude-code.ts';
import { onPath } from '../../state/process/find-program.ts';
import { fleetVariables } from '../../state/process/fleet-variables.ts';
import { nullIfRefused, RalphError } from '../../text/message.ts';
import { type CommandContext, valuesOf } from '../command.ts';
import { connectFleet, type FleetContext, placeOfFleet } from './fleet-options.ts';

interface FleetFinding {
  readonly level: 'ok' | 'warning' | 'error';
  readonly name: string;
  readonly message: string;
}

/** Checks the requirements for the fleet's server: its data survives a restart, and it never drops a job. */
async function serverFindings({ redis }: FleetServer, key: FleetKey | null): Promise<FleetFinding[]> {
  const info = await redis.info();
  const value = (name: string): string => new RegExp(`^${name}:(.*?)\r?$`, 'm').exec(info)?.[1] ?? '';
  const isKept = value('aof_enabled') === '1';
  const policy = value('maxmemory_policy');
  const refusal = await redis.set(KEYS.probe, '', 'PX', 1_000).then(
    () => null,
    ({ message }: Error) => message,
  );
  const known = await redis.get(KEYS.keyCheck);
  const isSame = key === null || known === null || known === key.fingerprint;
  const isSound = policy === 'noeviction';
  const row = (isOk: boolean, name: string, message: string): FleetFinding => {
    return { level: isOk ? 'ok' : 'error', name, message };
  };
  return [
    row(true, 'server', `Redis ${value('redis_version')}`),
    row(refusal === null, 'writes', refusal === null ? 'accepted' : FLEET_TEXTS.noWrites(refusal)),
    row(isKept, 'append-only file', isKept ? 'on' : FLEET_TEXTS.noAppendOnly),
    row(isSound, 'maxmemory-policy', isSound ? policy : FLEET_TEXTS.evicts(policy)),
    ...(isSame ? [] : [row(false, 'key of the fleet', FLEET_TEXTS.otherKey)]),
  ];
}

/** Checks the requirements of a worker. The exit code is 1 if there is an error. */
export async function fleetDoctor(context: CommandContext): Promise<number> {
  const newKey = (): FleetKey => new FleetKey(fleetVariables()['RALPH_FLEET_KEY']);
  const key = nullIfRefused(newKey); // has a row of its own
  const git = onPath('git', context.env);
  const client = nullIfRefused(() => findClient(context.env));
  const findings: readonly FleetFinding[] = [
    ...(await found('packages and server', async () => {
      const server = await connectFleet(context, 'fail');
      return serverFindings(server, key).finally(() => server.close());
    })),
    ...(await found('key', async () => {
      newKey();
      return [{ level: 'ok', name: 'key', message: FLEET_TEXTS.keyThere }];
    })),
    { level: git === null ? 'error' : 'ok', name: 'git', message: git ?? FLEET_TEXTS.noGit },
    { level: client === null ? 'warning' : 'ok', name: 'client', message: client?.path ?? FLEET_TEXTS.noClient },
  ];
  const ok = findings.every(({ level }) => level !== 'error');
  const marks = { ok: '✓', warning: '!', error: '✗' } as const;
  context.answer({ ok, findings }, () =>
    findings.map(({ level, name, message }) => `${marks[level]} ${name}: ${message}`).join('\n'),
  );
  return ok ? 0 : 1;
}

/**
 * Queues every unfinished loop of a repository that has no job, or the named loops. Refuses those whose checkpoint has
 * no submission signed by the fleet. Throws `state-io` if git fails.
 */
async function requeueLoops(context: FleetContext, place: FleetPlace, url: string) {
  const { server, key, env, positionals } = context;
  const plain = plainUrl(url);
  const own = loopEnvironment(place, env);
  const here = { ...place, env: own };
  const repository = { id: repositoryId(plain), url: plain };
  const mirror = await fetchMirror(here, repository);
  const call = { env: own, gitDir: mirror, network: true };
  const listed = await askGit(['ls-remote', '--refs', 'origin', 'refs/ralph/*'], call, 'the checkpoints were listed');
  const refs = listed.split('\n').flatMap((line) => (line === '' ? [] : [line.split('\t')]));
  const names = refs.map(([, ref = '']) => ref);
  await fetchMirror(here, repository, names);
  const queued: string[] = [];
  const refused: string[] = [];
  const ids = names.map((name) => name.slice('refs/ralph/'.length));
  const absent = positionals.find((id) => !ids.includes(id));
  if (absent !== undefined) throw new RalphError('no-loop', FLEET_TEXTS.noCheckpoint(absent, plain));
  for (const [index, [sha = '']] of refs.entries()) {
    const id = ids[index] ?? '';
    const isNamed = positionals.includes(id);
    if (positionals.length > 0 && !isNamed) continue;
    const meta = await readCheckpoint(mirror, sha, own).catch(() => null);
    const [known] = await loopsNamed(server, [id]);
    // A loop that was retried but not yet taken over has a later generation than its checkpoint.
    const last = Math.max(meta?.generation ?? 1, known?.generation ?? 1);
    const outcome = last === meta?.generation ? meta.outcome : null;
    if (isNamed && outcome === 'complete') throw new RalphError('refused', FLEET_TEXTS.ended(id, outcome));
    if (!isNamed && outcome !== null) continue;
    const generation = outcome === null ? last : last + 1;
    const envelope = envelopeOf(meta?.submission);
    if (meta === null || envelope === null || !key.hasSealed(envelope) || envelope.submission.loopId !== id) {
      refused.push(id);
      continue;
    }
    const { submission } = envelope;
    if ((await server.job(submission.account, id, generation)) !== undefined) continue;
    const { attempt, iteration, takeOvers, spent, at } = meta;
    const progress = { attempt, iteration, takeOvers, ...spent, sha, maxIterations: 0, worker: '', waits: null, at };
    await addLoop(server, key, { ...submission, generation }, progress);
    queued.push(id);
  }
  return { queued, refused };
}

/** Queues loops of a repository whose jobs the server has lost, from their last checkpoints. */
export async function requeue(context: FleetContext): Promise<number> {
  const [url, ...others] = valuesOf(context, 'repo');
  if (url === undefined || others.length > 0) throw new RalphError('usage', FLEET_TEXTS.needsRepo('doctor --requeue'));
  const { queued, refused } = await requeueLoops(context, placeOfFleet(context), url);
  context.answer({ ok: true, queued, refused }, () =>
    [
      ...queued.map((id) => FLEET_TEXTS.requeued(id)),
      ...refused.map((id) => FLEET_TEXTS.unsigned(id)),
      ...(queued.length + refused.length === 0 ? [FLEET_TEXTS.nothingLost] : []),
    ].join('\n'),
  );
  return refused.length === 0 ? 0 : 1;
}

async function found(name: string, look: () => Promise<readonly FleetFinding[]>): Promise<readonly FleetFinding[]> {
  try {
    return await look();
  } catch (error) {
    if (!(error instanceof RalphError)) throw error;
    return [{ level: 'error', name, message: error.message }];
  }
}
