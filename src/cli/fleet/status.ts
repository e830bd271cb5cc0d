import { wayOn } from '../../fleet/control.ts';
import { FLEET_TEXTS, noWorkerText } from '../../fleet/messages.ts';
import { fleetSpent } from '../../fleet/queue/budget.ts';
import type { FleetServer } from '../../fleet/queue/connect.ts';
import { type FleetLoop, fleetStatus, loopNamed, loopStatus, OVER, refusedJobs } from '../../fleet/queue/loop-index.ts';
import { programName } from '../../state/process/program.ts';
import { printable, table } from '../../term/format.ts';
import { counted, countText, dollarText } from '../../text/figures.ts';
import { localTime } from '../../text/time.ts';
import { type FleetContext, idOf } from './fleet-options.ts';

/** Maximum number of loops in a list without --all, and of refused jobs. */
const MOST = 50;
const MOST_REFUSED = 10;

/** Shows the loops of the fleet, or one of them. The exit code says whether reading worked, not how the loops are. */
export async function showStatus(context: FleetContext): Promise<number> {
  const { positionals, server, answer } = context;
  if (positionals.length > 0) {
    const loop = await loopStatus(server, await loopNamed(server, idOf(context)));
    const way = await wayOn(server, loop);
    const alone = await unserved(server, [loop]);
    answer({ ...loop, hasWorker: alone.length === 0 }, () => [...oneLoop(loop, way), ...alone].join('\n'));
    return 0;
  }
  const isAll = context.values['all'] === true;
  const list = await fleetStatus(server, isAll || !context.forPeople ? Number.POSITIVE_INFINITY : MOST);
  const { loops, total } = list;
  const [spent, refused] = [await fleetSpent(server), await refusedJobs(server)];
  const alone = await unserved(server, loops);
  const counts = list.counts ?? countsOf(loops);
  answer({ counts, spent, refused, loops }, () => {
    const wanted = loops.filter(({ state }) => isAll || (state !== 'ended' && state !== 'forgotten'));
    const shown = isAll || wanted.length === 0 ? loops : wanted;
    const hidden = total - shown.length;
    const sums = Object.entries(counts).map(([state, count]) => `${count} ${state}`);
    return [
      sums.length === 0 ? 'The fleet has no loops.' : `Loops: ${sums.join(', ')}.`,
      `Spent: ${dollarText(spent.costUsd)}, ${countText(spent.tokens)} tokens; reserved for running iterations: ${dollarText(spent.reserved.costUsd)}.`,
      ...Object.entries(refused)
        .slice(0, MOST_REFUSED)
        .map(([id, count]) => `Refused ${counted(count, 'time')}, not signed by this fleet: ${printable(id)}`),
      ...(shown.length === 0 ? [] : ['', table(shown.map(rowOf))]),
      ...(hidden > 0 ? [FLEET_TEXTS.hidden(hidden)] : []),
      ...alone,
    ].join('\n');
  });
  return 0;
}

/** Names each account of these loops that has loops to work on, but no worker. */
async function unserved(server: FleetServer, loops: readonly FleetLoop[]): Promise<string[]> {
  const accounts = new Set(loops.flatMap(({ state, account }) => (OVER.has(state) ? [] : [account])));
  const said = [...accounts].map(async (account) => ((await server.hasWorker(account)) ? [] : [noWorkerText(account)]));
  return (await Promise.all(said)).flat();
}

function countsOf(loops: readonly FleetLoop[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const loop of loops) {
    const state = stateText(loop);
    counts[state] = (counts[state] ?? 0) + 1;
  }
  return counts;
}

/** Returns the state in one word: for an ended loop, its outcome. */
function stateText({ state, result }: FleetLoop): string {
  return state === 'ended' && result !== null ? result.outcome : state;
}

/** Returns the state, and what the loop waits for: in the queue, or for the push of its last iteration. */
function standText(loop: FleetLoop): string {
  const { state, progress } = loop;
  const mayWait = state === 'waiting' || state === 'working';
  return `${stateText(loop)}${mayWait && progress?.waits ? ` (${progress.waits})` : ''}`;
}

function rowOf(loop: FleetLoop): string[] {
  const { loopId, progress, result, task } = loop;
  const iterations = result?.iterations ?? progress?.iteration ?? 0;
  const cost = costOf(loop);
  const most = progress === null || progress.maxIterations === 0 ? '' : `/${progress.maxIterations}`;
  const cells = [loopId, standText(loop), `${iterations}${most}`, cost === null ? '' : dollarText(cost), task];
  return cells.map(printable);
}

/** Returns the loop's cost, which is 0 before a worker has claimed it; null if unknown, as when its agent does not tell it. */
export function costOf({ progress, result }: FleetLoop): number | null {
  if ((progress?.attempt ?? 0) === 0) return 0;
  const { costUsd, tokens } = result ?? progress ?? { costUsd: null, tokens: 0 };
  return costUsd === 0 && tokens === 0 ? null : costUsd;
}

function oneLoop(loop: FleetLoop, way: string | null): string[] {
  const { loopId, task, repository, by, at, generation, progress, result, failure, until } = loop;
  const cost = costOf(loop);
  const iterations = result?.iterations ?? progress?.iteration ?? 0;
  const rows: (readonly [string, string])[] = [
    ['loop', loopId],
    ['state', standText(loop)],
    ['task', `${task} in ${repository}`],
    ['submitted', `${localTime(at)} by ${by}${generation > 1 ? `, submission ${generation}` : ''}`],
    ...(until === null ? [] : [['again at', localTime(new Date(until).toISOString())] as const]),
    ...(progress === null
      ? []
      : ([
          ['iteration', `${iterations}${progress.maxIterations === 0 ? '' : ` of ${progress.maxIterations}`}`],
          ...(progress.worker === '' ? [] : [['worker', `${progress.worker}, attempt ${progress.attempt}`] as const]),
          ['checkpoint', progress.sha ?? 'none'],
        ] as const)),
    ...(result === null
      ? []
      : ([
          ['reason', result.reason],
          ['verified', result.verified ? 'yes' : 'no'],
          ...(result.proof === undefined ? [] : [['proof', result.proof] as const]),
          ['branch', result.branch ?? 'none'],
          ['cost', cost === null ? 'unknown' : dollarText(cost)],
          ...(way === null ? [] : [['continue', `${programName()} ${way}`] as const]),
        ] as const)),
    ...(failure === null ? [] : [['failure', failure] as const]),
  ];
  return [table(rows.map(([name, value]) => [name, printable(value)]))];
}
