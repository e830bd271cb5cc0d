import '../support/starts-processes.ts';
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';
import { recordTree, refOf, repositoryAround } from '../../src/task/git/record-tree.ts';
import { applyUndo, planUndo, type UndoFacts, undoBack } from '../../src/task/undo/undo.ts';
import { GIT_ENV } from '../support/git.ts';

/** Number of random sequences of what a user and an agent do around a loop. */
const RUNS = Number(process.env['UNDO_RUNS'] ?? 60);
const SEED = Number(process.env['UNDO_SEED'] ?? 20261126);
/** Longer than the tick of the clock that stamps files. */
const APART_MS = 40;

type Random = (below: number) => number;

/** Pseudo-random numbers (mulberry32), the same for the same seed. */
function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

const sleep = (ms: number): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

/** Content, mode and kind of every file below a folder. */
function look(root: string): Map<string, string> {
  const found = new Map<string, string>();
  const visit = (folder: string): void => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (entry.name === '.git') continue;
      if (entry.isDirectory()) visit(path);
      else if (entry.isSymbolicLink()) found.set(relative(root, path), `link ${readlinkSync(path)}`);
      else found.set(relative(root, path), `${lstatSync(path).mode & 0o111 ? 'x' : '-'} ${readFileSync(path, 'utf8')}`);
    }
  };
  visit(root);
  return found;
}

class World {
  readonly top = mkdtempSync(join(tmpdir(), 'undo-'));
  readonly project: string;
  readonly spans: [number, number][] = [];
  /** Paths whose last change is the agent's, and those that the user changed since the start. */
  readonly agents = new Set<string>();
  readonly users = new Set<string>();
  private count = 0;

  readonly random: Random;
  readonly folder: string;

  constructor(random: Random, folder: string) {
    this.random = random;
    this.folder = folder;
    this.project = join(this.top, folder);
    mkdirSync(this.project, { recursive: true });
    this.git('init', '--quiet', '--initial-branch=main');
    for (const key of ['user.name', 'user.email']) this.git('config', key, 'ada@example.com');
    this.put('a.txt', 'a\n');
    this.put('src/b.txt', 'b\n');
    this.put('src/deep/c.sh', '#!/bin/sh\n');
    this.put('.gitignore', 'ignored/\n');
    chmodSync(join(this.project, 'src/deep/c.sh'), 0o755);
    symlinkSync('a.txt', join(this.project, 'link'));
    mkdirSync(join(this.top, 'beside'), { recursive: true });
    writeFileSync(join(this.top, 'beside/o.txt'), 'o\n');
    this.git('add', '--all');
    this.git('commit', '--quiet', '--message', 'first');
  }

  git(...words: string[]): string {
    return spawnSync('git', words, { cwd: this.project, env: GIT_ENV, encoding: 'utf8' }).stdout;
  }

  put(path: string, text: string): void {
    const at = join(this.project, path);
    mkdirSync(dirname(at), { recursive: true });
    if (lstatSync(at, { throwIfNoEntry: false })?.isSymbolicLink()) rmSync(at);
    writeFileSync(at, text);
  }

  /** A file of the project that is there, without those of the other side. */
  private pick(not: ReadonlySet<string>): string | null {
    const all = [...look(this.project).keys()].filter(
      (path) => !not.has(join(this.folder, path)) && !path.startsWith('ignored/'),
    );
    return all[this.random(all.length)] ?? null;
  }

  private act(not: ReadonlySet<string>, mayCommit: boolean): void {
    const { random } = this;
    this.count += 1;
    const path = this.pick(not);
    const fresh = `${['new', 'src/new', 'src/deep/new', 'odd ü "name'][random(4)]}${this.count}.txt`;
    const acts: (() => void)[] = [
      () => this.put(fresh, `new ${this.count}\n`),
      () => path && this.put(path, `changed ${this.count}\n`),
      () => path && rmSync(join(this.project, path)),
      () => path && renameSync(join(this.project, path), join(this.project, fresh)),
      () =>
        path &&
        !lstatSync(join(this.project, path)).isSymbolicLink() &&
        chmodSync(join(this.project, path), [0o644, 0o755][random(2)] ?? 0o644),
      () => this.put('ignored/x.txt', `ignored ${this.count}\n`),
      () => writeFileSync(join(this.top, 'beside/o.txt'), `beside ${this.count}\n`),
      () => symlinkSync(`target${this.count}`, join(this.project, `link${this.count}`)),
      () => void this.git('add', '--all', '.'),
      ...(mayCommit ? [() => this.commit()] : []),
      ...(mayCommit && random(12) === 0 ? [() => void this.git('stash', '--quiet')] : []),
      ...(mayCommit && random(12) === 0
        ? [() => void this.git('checkout', '--quiet', '-b', `branch${this.count}`)]
        : []),
    ];
    acts[random(acts.length)]?.();
  }

  commit(): void {
    this.git('add', '--all', '.');
    this.git('commit', '--quiet', '--message', `commit ${this.count}`);
  }

  private changedBy(work: () => void): string[] {
    const before = look(this.top);
    work();
    const after = look(this.top);
    return [...new Set([...before.keys(), ...after.keys()])].filter((path) => before.get(path) !== after.get(path));
  }

  agent(): void {
    sleep(APART_MS);
    const from = Date.now() - APART_MS / 2;
    for (const path of this.changedBy(() => this.act(this.users, true))) {
      this.agents.add(path);
      this.users.delete(path);
    }
    sleep(APART_MS / 2);
    this.spans.push([from, Date.now() + 1]);
    sleep(APART_MS);
  }

  /** `during`: the user removes nothing, because a missing file has no time. */
  user(mayCommit: boolean): void {
    const known = look(this.top);
    for (const path of this.changedBy(() => this.act(this.agents, mayCommit))) {
      this.users.add(path);
      if (!look(this.top).has(path) && known.has(path)) this.users.delete(path);
    }
  }
}

interface Outcome {
  readonly refused: boolean;
  readonly start: Map<string, string>;
  readonly before: Map<string, string>;
  readonly after: Map<string, string>;
  readonly world: World;
}

type Undo = (world: World, facts: UndoFacts) => Promise<boolean>;

const ours: Undo = async ({ project }, facts) => {
  try {
    const plan = await planUndo(project, GIT_ENV, facts);
    await applyUndo(plan, facts.loopId, true);
    return false;
  } catch (error) {
    if ((error as { code?: string }).code === 'refused') return true;
    throw error;
  }
};

/** The command that former versions printed. */
const former: Undo = async (world, { start }) => {
  world.git('reset', '--hard', '--quiet', start.head);
  return false;
};

async function play(seed: number, undo: Undo): Promise<Outcome> {
  const random = randomFrom(seed);
  const world = new World(random, random(3) === 0 ? 'app' : '');
  const many = (most: number, act: () => void): void => {
    for (let left = random(most + 1); left > 0; left -= 1) act();
  };
  const record = async (name: string) => {
    const around = await repositoryAround(world.project, GIT_ENV);
    assert.ok(around !== null);
    return recordTree(around, refOf('loop-1', name), name);
  };
  many(3, () => world.user(true));
  world.agents.clear();
  world.users.clear();
  const start = await record('start');
  const atStart = look(world.top);
  many(5, () => (random(4) === 0 ? world.user(random(20) === 0) : world.agent()));
  const end = await record('end');
  sleep(APART_MS);
  many(3, () => world.user(random(8) === 0));
  const before = look(world.top);
  const isLoops = (at: number): boolean => world.spans.some(([from, to]) => at >= from && at <= to);
  const facts = { loopId: 'loop-1', sandbox: undefined, start, end, isLoops };
  const refused = await undo(world, facts);
  return { refused, start: atStart, before, after: look(world.top), world };
}

/** Returns what is wrong after an undo; null if nothing is. */
function problemOf({ refused, start, before, after, world }: Outcome): string | null {
  const own = (path: string): boolean => path.startsWith(world.folder) && !path.includes('ignored/');
  for (const path of new Set([...start.keys(), ...before.keys(), ...after.keys()])) {
    const isAgents = !refused && own(path) && world.agents.has(path) && !world.users.has(path);
    const wanted = isAgents ? start.get(path) : before.get(path);
    // A file that the user removed is brought back: its time is unknown.
    if (!isAgents && !before.has(path) && start.has(path) && after.get(path) === start.get(path)) continue;
    if (after.get(path) !== wanted) return `${path}: ${after.get(path)} instead of ${wanted}`;
  }
  return null;
}

test('an undo takes back the agent’s changes, loses nothing of the user’s, and can be taken back', async () => {
  let done = 0;
  for (let run = 0; run < RUNS; run += 1) {
    const seed = SEED + run;
    const outcome = await play(seed, ours);
    const { world, refused, before } = outcome;
    try {
      assert.equal(problemOf(outcome), null, `seed ${seed}, refused ${refused}`);
      if (refused) continue;
      done += 1;
      const hadUndo = world.git('for-each-ref', 'refs/ralph-loop/loop-1/undone-1') !== '';
      if (hadUndo) await undoBack(world.project, GIT_ENV, { loopId: 'loop-1', sandbox: undefined });
      assert.deepEqual([...look(world.top)].sort(), [...before].sort(), `back, seed ${seed}`);
    } finally {
      rmSync(world.top, { recursive: true, force: true });
    }
  }
  assert.ok(done > RUNS / 3, `only ${done} of ${RUNS} were undone`);
});

test('control: the command of former versions loses something of the user’s within 50 sequences', async () => {
  let lost = 0;
  for (let run = 0; run < 50 && lost === 0; run += 1) {
    const outcome = await play(SEED + run, former);
    if (problemOf(outcome) !== null) lost += 1;
    rmSync(outcome.world.top, { recursive: true, force: true });
  }
  assert.equal(lost, 1);
});
