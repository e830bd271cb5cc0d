import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { FleetServer, loadPackages } from '../../../src/fleet/queue/connect.ts';
import { type FleetLoop, loopNamed, loopStatus } from '../../../src/fleet/queue/loop-index.ts';
import { shareCodeCache } from '../code-cache.ts';
import { COMMAND_PATH } from '../command-path.ts';
import { emptyFolder } from '../folder.ts';
import { type Answer, DIST } from '../project.ts';
import { TEST_TIMEOUT_MS, until } from '../until.ts';
import { type RedisServer, redisServer } from './redis-server.ts';

const MAIN = join(DIST, 'scripts', 'main.cjs');
const root = join(import.meta.dirname, '..', '..', '..');
export const FLEET_KEY = '0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef';

const GIT_ENV = {
  ...{ GIT_AUTHOR_NAME: 'A', GIT_AUTHOR_EMAIL: 'a@b.c', GIT_COMMITTER_NAME: 'A', GIT_COMMITTER_EMAIL: 'a@b.c' },
};

/** A worker of the fleet: a process with a home of its own, as on a machine of its own. */
export interface FleetMachine {
  readonly name: string;
  readonly env: NodeJS.ProcessEnv;
  readonly child: ChildProcess;
  readonly said: () => string;
  readonly over: Promise<number | null>;
}

/** Environment of a worker that a test kills or freezes: others take its loop over soon. */
export const SOON = { RALPH_FLEET_LOCK: '5s' };

/** A fleet of a test: a server, a repository and a folder in which agents leave notes. */
export interface Fleet {
  readonly base: string;
  readonly redis: RedisServer;
  /** The bare repository that every machine fetches from. */
  readonly remote: string;
  readonly notes: string;
  readonly env: NodeJS.ProcessEnv;
  /** Runs `ralph-loop fleet …` on the machine of its user. */
  ask(words: readonly string[], env?: NodeJS.ProcessEnv): Answer;
  /** Queues a task and returns its id. */
  add(task: string, words?: readonly string[]): string;
  worker(name: string, words?: readonly string[], env?: NodeJS.ProcessEnv): FleetMachine;
  git(words: string): string;
  status(id: string): FleetLoopStatus;
  /** Waits until the server says that of the loop, and returns the loop. */
  reaches(id: string, what: string, condition: (loop: FleetLoop) => boolean, ms?: number): Promise<FleetLoop>;
  /** Waits until the loop has ended, and returns its result. */
  ended(id: string): Promise<NonNullable<FleetLoop['result']>>;
}

export interface FleetLoopStatus {
  readonly state: string;
  readonly generation: number;
  readonly failure: string | null;
  readonly progress: { readonly attempt: number; readonly iteration: number; readonly waits: string | null } | null;
  readonly result: {
    readonly outcome: string;
    readonly verified: boolean;
    readonly iterations: number;
    readonly costUsd: number | null;
    readonly branch: string | null;
    readonly reason: string;
    readonly sha: string | null;
  } | null;
}

export interface FleetTaskFile {
  readonly name: string;
  readonly keys?: string;
  readonly body?: string;
}

/** The frontmatter of a loop that its agent ends by a promise. */
const KEYS = 'max_iterations: 10\ncompletion_promise: DONE\ncompletion_gate: disabled';

/** What the repository of a fleet holds: task folders in `jobs/`, the agent as `agent.sh`, and any other files. */
export interface FleetFiles {
  readonly tasks: readonly FleetTaskFile[];
  readonly agent: string;
  readonly files?: Readonly<Record<string, string>>;
}

export async function fleet(t: TestContext, { tasks, agent, files = {} }: FleetFiles): Promise<Fleet> {
  const machines: FleetMachine[] = [];
  // Before the folders and the server, on which the machines work.
  t.after(async () => {
    for (const { child } of machines) child.kill('SIGKILL');
    await Promise.all(machines.map(({ over }) => over));
  });
  const base = emptyFolder(t);
  const redis = await redisServer(t);
  const notes = join(base, 'notes');
  mkdirSync(notes);
  const env: NodeJS.ProcessEnv = {
    ...GIT_ENV,
    PATH: COMMAND_PATH,
    NOTES: notes,
    RALPH_FLEET_URL: redis.url,
    RALPH_FLEET_KEY: FLEET_KEY,
    // Long enough that a busy machine loses no lock. No multiple of three: its parts are whole milliseconds all the same.
    RALPH_FLEET_LOCK: '20s',
  };
  const remote = join(base, 'remote.git');
  makeRepository(join(base, 'first'), remote, { tasks, agent, files }, env);
  const homeOf = (name: string): NodeJS.ProcessEnv => {
    const home = join(base, name);
    if (!existsSync(home)) shareCodeCache(join(home, 'state'));
    return { ...env, HOME: home, XDG_STATE_HOME: join(home, 'state'), XDG_CONFIG_HOME: join(home, 'config') };
  };
  const ask = (words: readonly string[], more: NodeJS.ProcessEnv = {}): Answer => {
    const project = words.includes('--project') ? [] : ['--project', root];
    const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, 'fleet', ...words, ...project], {
      cwd: base,
      env: { ...homeOf('user'), ...more },
      encoding: 'utf8',
      timeout: TEST_TIMEOUT_MS,
    });
    return {
      code: status,
      stdout,
      stderr,
      get json() {
        return JSON.parse(stdout) as Record<string, unknown>;
      },
    };
  };
  const made: Fleet = {
    ...{ base, redis, remote, notes, env, ask },
    add(task, words = []) {
      const answer = ask(['add', task, '--repo', remote, '--agent', './agent.sh', ...words]);
      assert.equal(answer.code, 0, answer.stdout + answer.stderr);
      return answer.stdout.trim();
    },
    worker(name, words = [], more = {}) {
      const own = { ...homeOf(name), ...more };
      const child = spawn(process.execPath, [MAIN, 'fleet', 'worker', '--project', root, ...words], {
        cwd: base,
        env: own,
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      let said = '';
      for (const stream of [child.stdout, child.stderr]) {
        stream.on('data', (chunk) => {
          said += chunk;
        });
      }
      const over = new Promise<number | null>((resolve) => child.once('close', resolve));
      const machine = { name, env: own, child, over, said: () => said };
      machines.push(machine);
      return machine;
    },
    git(words) {
      const { status, stdout, stderr } = spawnSync('/bin/sh', ['-c', `git --git-dir "$REMOTE" ${words}`], {
        env: { ...env, REMOTE: remote },
        encoding: 'utf8',
      });
      assert.equal(status, 0, `${words}: ${stderr}`);
      return stdout.trim();
    },
    status(id) {
      const answer = ask(['status', id, '--json']);
      assert.equal(answer.code, 0, answer.stderr);
      return answer.json as unknown as FleetLoopStatus;
    },
    async reaches(id, what, condition, ms) {
      // By the server itself: a program that asks costs a start, and is asked once the answer is known.
      const server = await FleetServer.connect(loadPackages(root, root), redis.url, 'wait');
      // A test that has timed out leaves a request behind that would wait for its server for ever.
      t.after(() => server.redis.disconnect());
      try {
        const look = async (): Promise<FleetLoop | null> => {
          const loop = await loopStatus(server, await loopNamed(server, id));
          return condition(loop) ? loop : null;
        };
        return await until(`${id}: ${what}`, look, ms);
      } finally {
        await server.close();
      }
    },
    async ended(id) {
      const { result } = await made.reaches(id, 'has ended', ({ failure, result }) => {
        assert.equal(failure, null, failure ?? '');
        return result !== null;
      });
      assert.ok(result);
      return result;
    },
  };
  return made;
}

function makeRepository(
  dir: string,
  remote: string,
  { tasks, agent, files = {} }: FleetFiles,
  env: NodeJS.ProcessEnv,
): void {
  const write = (path: string, text: string, mode = 0o644): void => {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), text, { mode });
  };
  for (const { name, keys = KEYS, body = `Do ${name}.` } of tasks) {
    write(`jobs/${name}/RALPH.md`, `---\n${keys}\n---\n${body}\n`);
  }
  for (const [path, text] of Object.entries(files)) write(path, text);
  write('agent.sh', agent, 0o755);
  const command = 'git init -q -b main && git add -A && git commit -qm first && git clone -q --bare . "$REMOTE"';
  const { status, stderr } = spawnSync('/bin/sh', ['-c', command], {
    cwd: dir,
    env: { ...env, REMOTE: remote },
    encoding: 'utf8',
  });
  assert.equal(status, 0, stderr);
}
