import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { operate } from '../../drive/control/operate.ts';
import { isDriverAlive } from '../../drive/control/ownership.ts';
import { restoreMidTurn } from '../../drive/control/restore-protected.ts';
import { memberFiles, projectRuns } from '../../drive/parallel/batch.ts';
import { loopNames } from '../../drive/status/loop-report.ts';
import { worktreePlaces } from '../../drive/worktree/worktree-place.ts';
import { steering } from '../../engine/events.ts';
import { appendEvent } from '../../state/event-stream.ts';
import { namesIn, readRecord, writeAtomically } from '../../state/files/regular-file.ts';
import { type LoopFiles, loopFiles, outsideRoot, PROJECT_FILE } from '../../state/loop-files.ts';
import { show } from '../../state/process/program.ts';
import { advise, RalphError } from '../../text/message.ts';
import { workOf } from '../../web/model/collect-report.ts';
import type { ControlRequest, LoopSource, NewsFeed, WatchedRun } from '../../web/server/news-feed.ts';
import { LoopFeed, noControl } from '../../web/server/news-feed.ts';
import { serveDashboard } from '../../web/server/serve.ts';
import { type CommandContext, wholeOf } from '../command.ts';
import { OPERATIONS, type Operation, steerAnswer } from '../control/operator-commands.ts';
import { openInBrowser } from './open-in-browser.ts';
import { presentLoop } from './shown-loop.ts';

/** Serves the dashboard over the loops of this machine until a signal ends it. Returns the exit code. */
export function serveUntilSignal(context: CommandContext): Promise<number> {
  const { values, env, now, projectDir } = context;
  const projects = (): string[] => (values['all'] === true ? knownProjects(projectDir, env) : [projectDir]);
  const runs = (): WatchedRun[] => projects().flatMap((project) => watchedRuns(project, env, now()));
  const source: LoopSource = {
    // Files kept of a removed worktree are shown with its run.
    places: () => [
      ...projects()
        .flatMap((project) => [project, ...worktreePlaces(project).map(({ projectDir }) => projectDir)])
        .flatMap((dir) => loopNames(dir, env).map((name) => loopFiles(dir, name, env))),
      ...runs().flatMap(({ loops }) => loops.map(([, files]) => files)),
    ],
    runs,
    loopOf: presentLoop,
    workOf: (loop, iterations, options) => workOf(loop, iterations, options, context),
    failed: (message) => context.err(`ralph-loop: ${message}`),
    control: (files, request) => control(files, request, env, now()),
  };
  return serveFeed(context, new LoopFeed(source, now));
}

function watchedRuns(projectDir: string, env: NodeJS.ProcessEnv, at: string): WatchedRun[] {
  return projectRuns({ projectDir, env, at }, [])
    .filter(({ loop }) => loop === null)
    .map(({ run }) => ({
      projectDir,
      run,
      loops: run.tasks.flatMap((task) => {
        const files = memberFiles(projectDir, task, env);
        return files === null ? [] : [[task.id, files] as const];
      }),
    }));
}

/** Carries out a request of the page, and records its origin. */
function control(files: LoopFiles, request: ControlRequest, env: NodeJS.ProcessEnv, at: string): string {
  const { command, answer } = operationOf(request);
  const done = operate(
    files,
    env,
    at,
    (state) => {
      if (request.kind !== 'resume' || isDriverAlive(files, state) !== false) return command(NO_WORDS, state);
      throw new RalphError('refused', show(advise(DRIVER_ENDED, 'Resume there', 'resume'), state));
    },
    { restore: restoreMidTurn },
  );
  const { loopId, iteration } = done.before;
  appendEvent(files, { type: 'operator.request', at, loopId, iteration, request: request.kind, from: 'dashboard' });
  return answer(done);
}

const DRIVER_ENDED = 'The process that drove the loop has ended, so the loop continues in a terminal.';
const NO_WORDS = { values: {}, positionals: [] };

function operationOf(request: ControlRequest): Operation {
  const { kind } = request;
  if (kind === 'steer') return { command: () => steering(randomUUID(), request.text, 'now'), answer: steerAnswer };
  if (kind === 'retry') throw new RalphError('refused', noControl(kind));
  return OPERATIONS[kind];
}

/** Returns the given project and all other existing projects of this user in which a loop was started. */
function knownProjects(projectDir: string, env: NodeJS.ProcessEnv): string[] {
  const root = outsideRoot(env);
  const others = namesIn(root).flatMap((name) => projectNamedIn(join(root, name)));
  return [...new Set([projectDir, ...others.filter((path) => existsSync(path)).sort()])];
}

function projectNamedIn(folder: string): string[] {
  const path = readRecord<{ readonly projectDir: string }>(join(folder, PROJECT_FILE))?.projectDir;
  return typeof path === 'string' && isAbsolute(path) ? [path] : [];
}

/** Serves the dashboard over these loops until a signal ends it. Returns the exit code. */
export async function serveFeed(context: CommandContext, feed: NewsFeed): Promise<number> {
  const { values } = context;
  // 0 asks for any free one.
  const port = values['port'] === '0' ? 0 : wholeOf(context, 'port', 0, 65_535);
  const isReadOnly = values['read-only'] === true;
  const server = await serveDashboard(feed, port, isReadOnly).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EADDRINUSE') throw error;
    throw new RalphError('usage', `port ${port} is in use. Leave --port out to use any free one.`, error);
  });
  const { url } = server;
  const ended = new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => resolve());
  });
  if (context.forPeople) context.out(`The dashboard is at ${url}\nPress Ctrl+C to end it.`);
  else context.json({ url, port: server.port, pid: process.pid });
  const left = values['open'] === true ? openPage(context, url) : null;
  await ended;
  if (left !== null) rmSync(left, { force: true });
  await server.close();
  return 0;
}

/** Time for the browser to read the file with the address. */
const OPENING_MS = 30_000;

/** Opens the page through a file that only this user can read: others can see the arguments of a started program. */
function openPage(context: CommandContext, url: string): string {
  const folder = outsideRoot(context.env);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, `dashboard-${process.pid}.html`);
  writeAtomically(
    path,
    `<!doctype html><meta charset="utf-8"><title>ralph-loop</title><meta http-equiv="refresh" content="0;url=${url}">\n`,
    0o600,
  );
  openInBrowser(path, context);
  setTimeout(() => rmSync(path, { force: true }), OPENING_MS).unref();
  return path;
}
