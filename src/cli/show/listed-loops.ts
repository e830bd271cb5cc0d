import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { loopNames } from '../../drive/status/project-loops.ts';
import { worktreePlaces } from '../../drive/worktree/worktree-place.ts';
import { findContract } from '../../state/contract-store.ts';
import { type LoopFiles, loopFiles } from '../../state/loop-files.ts';
import { readState } from '../../state/read-state.ts';
import {
  LOOP_DIRECTORIES,
  loopDirectoryName,
  loopDirectoryTask,
  type TaskKind,
  taskKind,
} from '../../task/task-file.ts';
import type { CommandContext } from '../command.ts';
import { type EndedLoop, lastEnded } from './last-ended.ts';
import { type Status, statusOf } from './status-of.ts';
import { heartbeatOf } from './task-status.ts';

export interface ListedLoop {
  readonly name: string | null;
  readonly kind: TaskKind;
  /**
   * Of the live loop, or else of the one that ended last. `not-started`: a loop directory that no loop has worked on.
   * `unreadable`: a state file lies there that says nothing.
   */
  readonly status: string;
  readonly mode: 'hook' | 'router' | 'runner' | null;
  readonly iteration: number;
  /** Its task file, relative to the project that it lies in; null where nothing says it. */
  readonly path: string | null;
  /** When it began; null for one that has not. */
  readonly startedAt: string | null;
  /** US dollars; null where nobody told. */
  readonly costUsd: number | null;
  /** The client, session host or runner that has the loop; null while none has. */
  readonly holder: { readonly pid: number; readonly alive: boolean } | null;
  /** null for a loop of the project itself. */
  readonly worktree: { readonly dir: string; readonly branch: string } | null;
  /** When the loop of a task folder gave its last sign of life there; null for others, and for one without any. */
  readonly heartbeat: string | null;
  readonly live: Extract<Status, { active: true }> | null;
  readonly lastLoop: EndedLoop | null;
}

type Where = Pick<CommandContext, 'projectDir' | 'env' | 'now'>;

/** Every loop of a project, live, over, or not begun yet, and after them those of its worktrees. */
export function listedLoops(where: Where): ListedLoop[] {
  const worktrees = worktreePlaces(where.projectDir).flatMap(({ projectDir, dir, branch }) =>
    loopsIn({ ...where, projectDir }).map((loop) => ({ ...loop, worktree: { dir, branch } })),
  );
  const own = loopsIn(where);
  const paths = new Set([...own, ...worktrees].map(({ path }) => path));
  return [...own, ...notStarted(where.projectDir).filter(({ path }) => !paths.has(path)), ...worktrees];
}

function loopsIn({ projectDir, env, now }: Where): ListedLoop[] {
  return loopNames(projectDir, env).flatMap((name): ListedLoop[] => {
    const files = loopFiles(projectDir, name, env);
    const found = statusOf({ files, env, projectDir });
    const lastLoop = lastEnded(files);
    const live = found.active ? found : null;
    const shown = live ?? lastLoop;
    const { kind } = readState(files.state);
    if (live === null && (kind === 'corrupt' || kind === 'newer')) {
      const path = lastLoop?.taskPath ?? null;
      return [{ ...NOTHING, name, kind: taskKind(path ?? ''), status: 'unreadable', path, lastLoop }];
    }
    if (shown === null) return [];
    const { status, iteration, taskPath: path, mode, startedAt } = shown;
    return [
      {
        ...{
          name,
          kind: live === null ? taskKind(path) : kindOf(files, path),
          status,
          mode,
          iteration,
          path,
          startedAt,
          live,
          lastLoop,
          worktree: null,
        },
        costUsd: live === null ? (lastLoop?.costUsd ?? null) : (live.usage?.costUsd ?? null),
        holder: live === null ? null : holderOf(live),
        heartbeat: live && heartbeatOf(projectDir, path, live.loopId, now()),
      },
    ];
  });
}

/** Whether a file is a plan, or a prompt of a TDD loop, the loop alone knows. */
function kindOf(files: LoopFiles, path: string): TaskKind {
  const found = findContract(files);
  if (typeof found === 'string') return taskKind(path);
  const { policy, tdd } = found.contract;
  if (policy.plan) return 'plan';
  return tdd === undefined ? taskKind(path) : 'tdd';
}

const NOTHING = {
  ...{ mode: null, iteration: 0, startedAt: null, costUsd: null, holder: null, worktree: null, heartbeat: null },
  ...{ live: null, lastLoop: null },
} as const;

function holderOf({ clientPid, clientAlive }: Extract<Status, { active: true }>): ListedLoop['holder'] {
  return clientPid === null ? null : { pid: clientPid, alive: clientAlive === true };
}

/** Loop directories with a task, whether a loop has worked on it or not. */
function notStarted(projectDir: string): ListedLoop[] {
  let names: string[];
  try {
    names = readdirSync(join(projectDir, LOOP_DIRECTORIES));
  } catch {
    return []; // there are none, or none that can be read
  }
  return names
    .map((name) => ({ name, path: loopDirectoryTask(name) }))
    .filter(({ path }) => loopDirectoryName(path) !== null && existsSync(join(projectDir, path)))
    .map(({ name, path }) => ({ ...NOTHING, name, kind: taskKind(path), status: 'not-started', path }));
}
