import { lstatSync, readFileSync } from 'node:fs';
import { hostname, userInfo } from 'node:os';
import { join } from 'node:path';
import type { RiskySetting } from '../../drive/start/agreed-settings.ts';
import { withPrefix } from '../../drive/turn/messages.ts';
import type { Submission } from '../../fleet/job.ts';
import { FLEET_TEXTS } from '../../fleet/messages.ts';
import { addLoop, loopNamed } from '../../fleet/queue/loop-index.ts';
import { prepareSubmissions, sha256 } from '../../fleet/submit.ts';
import { readArguments } from '../../task/settings/task-settings.ts';
import { RalphError } from '../../text/message.ts';
import { valuesOf } from '../command.ts';
import { startFlags } from '../start/start-request.ts';
import { accountOf, type FleetContext, placeOfFleet, wholeOf, wordsOfOption } from './fleet-options.ts';

/** Take-overs in a row after which a loop ends: it may be what kills its workers. */
const TAKE_OVERS = 5;

/** Queues tasks as they stand at a commit of their repository, and prints one id for each. */
export async function addTasks(context: FleetContext): Promise<number> {
  const { positionals, values, env, server, key, err, projectDir } = context;
  const [url, ...others] = valuesOf(context, 'repo');
  if (url === undefined || others.length > 0) throw new RalphError('usage', FLEET_TEXTS.needsRepo('add TASK'));
  if (positionals.length === 0) throw new RalphError('usage', FLEET_TEXTS.noTask);
  const read = readArguments(valuesOf(context, 'arg'));
  if ('problem' in read) throw new RalphError('usage', read.problem);
  const after = valuesOf(context, 'after');
  for (const id of after) await loopNamed(server, id);
  const place = placeOfFleet(context);
  const submissions = await prepareSubmissions(place, env, {
    ...{ url, base: String(values['base'] ?? 'main'), tasks: positionals, flags: startFlags(context), args: read.args },
    ...{ after, account: accountOf(context), needs: { labels: wordsOfOption(context, 'label') } },
    publish: publishOf(values['integrate']),
    maxTakeOvers: wholeOf(context, 'take-overs', TAKE_OVERS, 100),
    submittedBy: `${userInfo().username}@${hostname()}`,
    submittedAt: context.now(),
    agrees: (risky) => values['yes'] === true || told(risky),
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
  context.answer({ success: true, loops: queued }, () => queued.map(({ id }) => id).join('\n'));
  return 0;
}

/** Without --yes nothing that starts a program is agreed to: the refusal lists it. */
function told(risky: readonly RiskySetting[]): boolean {
  return risky.length === 0;
}

function publishOf(value: unknown): Submission['publish'] {
  switch (value) {
    case undefined:
    case 'branch':
      return 'branch';
    case 'none':
      return 'none';
    case 'pr':
      return 'pull-request';
    default:
      throw new RalphError('usage', FLEET_TEXTS.integrate(String(value)));
  }
}
