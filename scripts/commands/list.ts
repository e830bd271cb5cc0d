import { loopNames } from '../../src/install/loop-names.ts';
import { loopFiles } from '../../src/state/loop-files.ts';
import { type TaskKind, taskKind } from '../../src/task/task-kind.ts';
import { instantText } from '../../src/term/instant-text.ts';
import { painter } from '../../src/term/paint.ts';
import { printable } from '../../src/term/printable.ts';
import { table } from '../../src/term/table.ts';
import type { Command, CommandContext } from './command.ts';
import { type EndedLoop, lastEnded } from './last-ended.ts';
import { type Status, statusOf } from './status-of.ts';
import { heartbeatOf } from './task-status.ts';

interface ListedLoop {
  readonly name: string | null;
  readonly kind: TaskKind;
  /** Of the live loop, or else of the one that ended last. */
  readonly status: string;
  readonly iteration: number;
  /** Its task file, relative to the project. */
  readonly path: string;
  /** When the loop of a task folder gave its last sign of life there; null for others, and for one without any. */
  readonly heartbeat: string | null;
  readonly live: Extract<Status, { active: true }> | null;
  readonly lastLoop: EndedLoop | null;
}

export const LIST_COMMAND: Command = {
  name: 'list',
  summary: 'All loops of this project, live and last ended.',
  usage: '',
  help: 'Lists the default loop and the named ones, those of task folders among them: what each works on, how it stands, and how the one before it ended.',
  options: {},
  control: false,
  run(context) {
    const loops = listed(context);
    context.out(context.forPeople ? forReading(loops, context) : JSON.stringify({ loops }, null, 2));
    return 0;
  },
};

function listed({ projectDir, env, now }: CommandContext): ListedLoop[] {
  return loopNames(projectDir, env).flatMap((name): ListedLoop[] => {
    const files = loopFiles(projectDir, name, env);
    const found = statusOf({ files, env, projectDir });
    const lastLoop = lastEnded(files);
    const live = found.active ? found : null;
    const shown = live ?? lastLoop;
    if (shown === null) return [];
    const { status, iteration, taskPath: path } = shown;
    const heartbeat = live && heartbeatOf(projectDir, path, live.loopId, now());
    return [{ name, kind: taskKind(path), status, iteration, path, heartbeat, live, lastLoop }];
  });
}

function forReading(loops: readonly ListedLoop[], { now, env, forPeople }: CommandContext): string {
  if (loops.length === 0) return 'There has been no loop in this project. Start one: main.cjs start.';
  const paint = painter(forPeople, env);
  const at = now();
  const head = ['LOOP', 'TASK', 'NOW', 'ITERATIONS', 'LAST SEEN', 'LAST ENDED AS'].map((title) => paint('dim', title));
  const rows = loops.map(({ name, path, heartbeat, live, lastLoop }) => [
    name ?? '(default)',
    printable(path),
    live === null ? '-' : paint(live.clientAlive === false ? 'red' : 'green', stateOf(live)),
    live === null ? '-' : `${live.iteration}/${live.maxIterations}`,
    live === null ? '-' : instantText(lastSeen(live.lastRunAt, heartbeat), at),
    lastLoop === null ? '-' : `${lastLoop.status}, ${instantText(lastLoop.endedAt, at)}`,
  ]);
  return table([head, ...rows]);
}

/** The end of its last turn, or a sign of life since then. */
function lastSeen(lastRunAt: string, heartbeat: string | null): string {
  return heartbeat !== null && Date.parse(heartbeat) > Date.parse(lastRunAt) ? heartbeat : lastRunAt;
}

function stateOf(live: Extract<Status, { active: true }>): string {
  return live.clientAlive === false ? `${live.status}, client gone` : live.status;
}
