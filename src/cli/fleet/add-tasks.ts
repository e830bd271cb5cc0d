import { lstatSync, readFileSync } from 'node:fs';
import { hostname, userInfo } from 'node:os';
import { join } from 'node:path';
import type { Submission } from '../../fleet/job.ts';
import { FLEET_TEXTS, noWorkerText } from '../../fleet/messages.ts';
import { addLoop, loopNamed } from '../../fleet/queue/loop-index.ts';
import { prepareSubmissions } from '../../fleet/submission-terms.ts';
import { sha256 } from '../../state/hash-contract.ts';
import { withPrefix } from '../../state/process/program.ts';
import { readArguments } from '../../task/settings/build-contract.ts';
import { RalphError } from '../../text/message.ts';
import { valuesOf, wholeOf } from '../command.ts';
import { startFlags } from '../start/start-request.ts';
import { accountOf, type FleetContext, placeOfFleet, wordsOfOption } from './fleet-options.ts';

/** Consecutive take-overs after which a loop ends, because it may be killing its workers. */
const TAKE_OVERS = 5;

/** Queues tasks as of a commit of their repository, and prints one id for each. */
export async function addTasks(context: FleetContext): Promise<number> {
  const { positionals, values, env, server, key, err, projectDir } = context;
  const [url, ...others] = valuesOf(context, 'repo');
  if (url === undefined || others.length > 0) throw new RalphError('usage', FLEET_TEXTS.needsRepo('add TASK'));
  if (positionals.length === 0) throw new RalphError('usage', FLEET_TEXTS.noTask);
  const args = readArguments(valuesOf(context, 'arg'));
  const after = valuesOf(context, 'after');
  for (const id of after) await loopNamed(server, id);
  const place = placeOfFleet(context);
  const submissions = await prepareSubmissions(place, env, {
    url,
    base: String(values['base'] ?? 'main'),
    tasks: positionals,
    flags: startFlags(context),
    args,
    after,
    account: accountOf(context),
    needs: { labels: wordsOfOption(context, 'label') },
    publish: publishOf(values['integrate']),
    maxTakeOvers: wholeOf(context, 'take-overs', TAKE_OVERS, 100),
    submittedBy: `${userInfo().username}@${hostname()}`,
    submittedAt: context.now(),
    // Without --yes, no setting that starts a program is agreed to; the refusal lists them.
    agrees: (risky) => values['yes'] === true || risky.length === 0,
  });
  const queued: { readonly id: string; readonly task: string; readonly branch: string }[] = [];
  for (const submission of submissions) {
    const id = await addLoop(server, key, submission);
    const { loopId, task, base: from } = submission;
    if (id !== loopId) err(withPrefix(FLEET_TEXTS.already(id)));
    const own = join(projectDir, task.path);
    const isHere = lstatSync(own, { throwIfNoEntry: false })?.isFile() === true;
    if (isHere && sha256(readFileSync(own)) !== task.digest) err(withPrefix(FLEET_TEXTS.differs(task.path, from.ref)));
    queued.push({ id, task: task.path, branch: `ralph/${id}` });
  }
  const account = accountOf(context);
  if (!(await server.hasWorker(account))) err(withPrefix(noWorkerText(account)));
  context.answer({ success: true, loops: queued }, () => queued.map(({ id }) => id).join('\n'));
  return 0;
}

function publishOf(value: unknown = 'branch'): Submission['publish'] {
  if (value === 'pr') return 'pull-request';
  if (value === 'branch' || value === 'none') return value;
  throw new RalphError('usage', FLEET_TEXTS.integrate(String(value)));
}
