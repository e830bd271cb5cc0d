import '../support/starts-processes.ts';
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
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
import { type RecordedTree, recordTree, refOf, repositoryAround } from '../../src/task/git/record-tree.ts';
import { applyUndo, planUndo, type UndoFacts, undoBack } from '../../src/task/undo/undo.ts';
import { commitFolder, GIT_ENV } from '../support/git.ts';
import { IS_LONG } from '../support/short-form.ts';

/** Number of random sequences of what a user and an agent do around a loop; each takes half a second of processor time. */
const RUNS = Number(process.env['UNDO_RUNS'] ?? (IS_LONG ? 500 : 20));
const SEED = Number(process.env['UNDO_SEED'] ?? 20261126);
/** Much longer than the tick of the clock that stamps files, which lags behind on a busy machine. */
const APART_MS = 30;
/** Memory where there is some: a sequence is little but files. */
const SCRATCH = join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'undo-');

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

/** Folder of the project in its repository. */
type Folder = '' | 'app';

const templates = new Map<Folder, string>();
process.once('exit', () => {
  for (const made of templates.values()) rmSync(made, { recursive: true, force: true });
});

/** A repository with files, a link, an ignored folder, another project's folder and a submodule, all committed. */
function template(folder: Folder): string {
  const known = templates.get(folder);
  if (known !== undefined) return known;
  const top = mkdtempSync(SCRATCH);
  templates.set(folder, top);
  const at = (path: string): string => join(top, folder, path);
  for (const path of ['src/deep', 'ignored', 'vendor']) mkdirSync(at(path), { recursive: true });
  mkdirSync(join(top, 'beside'));
  writeFileSync(at('vendor/v.txt'), 'v\n');
  commitFolder(at('vendor'));
  writeFileSync(join(top, 'beside/o.txt'), 'o\n');
  for (const path of ['a.txt', 'src/b.txt', 'ignored/x.txt']) writeFileSync(at(path), `${path}\n`);
  writeFileSync(at('src/deep/c.sh'), '#!/bin/sh\n');
  writeFileSync(at('.gitignore'), 'ignored/\n');
  chmodSync(at('src/deep/c.sh'), 0o755);
  symlinkSync('a.txt', at('link'));
  commitFolder(top);
  appendFileSync(join(top, '.git/config'), '[maintenance]\n\tauto = false\n[core]\n\tfsync = none\n');
  rmSync(join(top, '.git/hooks'), { recursive: true });
  return top;
}

class World {
  readonly top = mkdtempSync(SCRATCH);
  readonly project: string;
  readonly spans: [number, number][] = [];
  /** Paths whose last change is the agent's, and those that the user changed since the start. */
  readonly agents = new Set<string>();
  readonly users = new Set<string>();
  /** Paths that the undo names as ignored at the start, and leaves. */
  readonly named = new Set<string>();
  private last: 'agent' | 'user' = 'user';
  private count: number;

  readonly random: Random;
  readonly folder: Folder;

  /** `from` is a template, or a world that stays as it is. */
  constructor(random: Random, folder: Folder, from: World | string) {
    this.random = random;
    this.folder = folder;
    this.project = join(this.top, folder);
    this.count = from instanceof World ? from.count : 0;
    cpSync(from instanceof World ? from.top : from, this.top, { recursive: true, verbatimSymlinks: true });
  }

  git(...words: string[]): string {
    // Nobody else commits in the seconds of the loop's calls.
    const env = this.last === 'user' ? { ...GIT_ENV, GIT_COMMITTER_DATE: '@2000000000 +0000' } : GIT_ENV;
    return spawnSync('git', words, { cwd: this.project, env, encoding: 'utf8' }).stdout;
  }

  put(path: string, text: string): void {
    const at = join(this.project, path);
    mkdirSync(dirname(at), { recursive: true });
    rmSync(at, { force: true });
    writeFileSync(at, text);
  }

  /** A file of the project that is there, without those of the other side. */
  private pick(not: ReadonlySet<string>): string | null {
    const all = [...look(this.project).keys()].filter(
      (path) => !not.has(join(this.folder, path)) && !/^(?:ignored|vendor|nested\d*)\//.test(path),
    );
    return all[this.random(all.length)] ?? null;
  }

  private act(not: ReadonlySet<string>, mayCommit: boolean): void {
    const { random } = this;
    this.count += 1;
    const path = this.pick(not);
    const fresh = `${['new', 'src/new', 'src/deep/new', 'odd ü "name', '-n', 'two\nlines', ':(top)*'][random(7)]}${this.count}.txt`;
    const acts: (() => void)[] = [
      () => this.put(fresh, `new ${this.count}\n`),
      () =>
        path && !lstatSync(this.at(path)).isSymbolicLink() && appendFileSync(this.at(path), `changed ${this.count}\n`),
      () => path && this.put(path, `replaced ${this.count}\n`),
      () => path && rmSync(this.at(path)),
      () => path && this.move(path, fresh),
      () =>
        path &&
        !lstatSync(this.at(path)).isSymbolicLink() &&
        chmodSync(this.at(path), [0o644, 0o755][random(2)] ?? 0o644),
      () => this.put('ignored/x.txt', `ignored ${this.count}\n`),
      () =>
        !not.has(join(this.folder, '.gitignore')) &&
        this.put('.gitignore', `ignored/\n${path ?? 'new*'}\n# ${this.count}\n`),
      () => writeFileSync(join(this.top, 'beside/o.txt'), `beside ${this.count}\n`),
      () => symlinkSync(`target${this.count}`, join(this.project, `link${this.count}`)),
      () => this.put('vendor/v.txt', `vendor ${this.count}\n`),
      () => void this.git('add', '--all', '.'),
      ...(mayCommit ? [() => this.commit(), () => this.rarely(not)] : []),
    ];
    acts[random(acts.length)]?.();
  }

  private rarely(not: ReadonlySet<string>): void {
    const acts: (() => void)[] = [
      () => void this.git('stash', '--quiet'),
      () => void this.git('checkout', '--quiet', '-b', `branch${this.count}`),
      () => void this.git('checkout', '--quiet', '--detach'),
      () => void this.git('-C', 'vendor', 'commit', '--quiet', '--all', '--allow-empty', '--message', 'in vendor'),
      () =>
        cpSync(join(template(this.folder), this.folder, 'vendor'), this.at(`nested${this.count}`), { recursive: true }),
      () =>
        existsSync(this.at('src')) &&
        ![...not].some((path) => path.startsWith(join(this.folder, 'src/'))) &&
        renameSync(this.at('src'), this.at(`src${this.count}`)),
    ];
    acts[this.random(acts.length)]?.();
  }

  private at(path: string): string {
    return join(this.project, path);
  }

  private move(from: string, to: string): void {
    mkdirSync(dirname(this.at(to)), { recursive: true });
    renameSync(this.at(from), this.at(to));
  }

  commit(): void {
    this.git('add', '--all', '.');
    this.git('commit', '--quiet', '--message', `commit ${this.count}`);
  }

  hidden(): string[] {
    return this.git('ls-files', '--others', '--ignored', '--exclude-standard', '-z').split('\0');
  }

  private changedBy(work: () => void): string[] {
    const before = look(this.top);
    work();
    const after = look(this.top);
    return [...new Set([...before.keys(), ...after.keys()])].filter((path) => before.get(path) !== after.get(path));
  }

  /** Leaves time between the two, since a file's time is all that tells their changes apart. */
  private turn(who: 'agent' | 'user'): void {
    if (this.last !== who) sleep(APART_MS);
    this.last = who;
  }

  agent(): void {
    this.turn('agent');
    const from = Date.now() - APART_MS / 2;
    for (const path of this.changedBy(() => this.act(this.users, true))) {
      this.agents.add(path);
      this.users.delete(path);
    }
    this.spans.push([from, Date.now() + 1]);
  }

  /** `during`: the user removes nothing, because a missing file has no time. */
  user(mayCommit: boolean): void {
    this.turn('user');
    const known = look(this.top);
    for (const path of this.changedBy(() => this.act(this.agents, mayCommit))) {
      this.users.add(path);
      if (!look(this.top).has(path) && known.has(path)) this.users.delete(path);
    }
  }

  /** Whether the agent was at work at a time of a file, or in the whole second of a commit (its first or last millisecond). */
  isLoops(at: number): boolean {
    const second = (time: number): number => Math.floor(time / 1000);
    const wholeSecond = at % 1000 === 0 || at % 1000 === 999;
    return this.spans.some(([from, to]) =>
      wholeSecond ? second(at) >= second(from) && second(at) <= second(to) : at >= from && at <= to,
    );
  }

  times(): Pick<UndoFacts, 'isLoops' | 'lastWork'> {
    return { isLoops: (at) => this.isLoops(at), lastWork: this.spans.at(-1)?.[1] ?? null };
  }

  /** Branches, stashes and the checked-out branch or commit. */
  refs(): Map<string, string> {
    const found = new Map([['HEAD', readFileSync(join(this.top, '.git/HEAD'), 'utf8')]]);
    const folder = join(this.top, '.git/refs');
    for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
      if (name.startsWith('ralph-loop') || lstatSync(join(folder, name)).isDirectory()) continue;
      found.set(name, readFileSync(join(folder, name), 'utf8'));
    }
    return found;
  }
}

interface Outcome {
  readonly refused: boolean;
  readonly start: Map<string, string>;
  readonly startHead: string;
  readonly before: Map<string, string>;
  /** Untracked files that a .gitignore hides at the start, or when the undo begins. */
  readonly hidden: ReadonlySet<string>;
  readonly refsBefore: Map<string, string>;
  readonly after: Map<string, string>;
  readonly world: World;
  readonly facts: UndoFacts;
}

type Undo = (world: World, facts: UndoFacts) => Promise<boolean>;

const ours: Undo = async ({ project, named }, facts) => {
  try {
    const plan = await planUndo(project, GIT_ENV, facts);
    for (const { path, why } of plan.left) if (why === 'was-ignored') named.add(path);
    await applyUndo(plan, { ...facts, loopId: LOOP.loopId }, true);
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

const LOOP = { loopId: 'loop-1', sandbox: undefined, freeBytes: () => Infinity };

async function record({ project }: World, name: string): Promise<RecordedTree> {
  const around = await repositoryAround(project, GIT_ENV);
  assert.ok(around !== null);
  return recordTree(around, refOf(LOOP.loopId, name), name);
}

function many(random: Random, most: number, act: () => void): void {
  for (let left = random(most + 1); left > 0; left -= 1) act();
}

interface Base {
  readonly seed: number;
  readonly world: World;
  readonly hidden: readonly string[];
  readonly start: RecordedTree;
}

let base: Base | null = null;

/** What the user did before the start, and the start: shared by the sequences of this many seeds. */
const SHARED = 4;

async function baseOf(seed: number): Promise<Base> {
  if (base?.seed === seed) return base;
  if (base !== null) rmSync(base.world.top, { recursive: true, force: true });
  const random = randomFrom(seed);
  const folder = random(3) === 0 ? 'app' : '';
  const world = new World(random, folder, template(folder));
  many(random, 3, () => world.user(true));
  base = { seed, world, hidden: world.hidden(), start: await record(world, 'start') };
  return base;
}
process.once('exit', () => base && rmSync(base.world.top, { recursive: true, force: true }));

async function play(seed: number, undo: Undo): Promise<Outcome> {
  const startedAt = Date.now();
  const { world: before, start, hidden: atFirst } = await baseOf(Math.floor(seed / SHARED) * SHARED);
  const random = randomFrom(seed * 2 + 1);
  const world = new World(random, before.folder, before);
  const atStart = look(world.top);
  many(random, 5, () => (random(4) === 0 ? world.user(random(20) === 0) : world.agent()));
  const end = await record(world, 'end');
  many(random, 3, () => world.user(random(8) === 0));
  const hidden = new Set([...atFirst, ...world.hidden()]);
  const now = look(world.top);
  const outcome = { start: atStart, startHead: start.head, before: now, hidden, refsBefore: world.refs() };
  const facts = { sandbox: undefined, start, end, ...world.times(), startedAt, freeBytes: () => Infinity };
  const refused = await undo(world, facts);
  return { ...outcome, refused, after: look(world.top), world, facts };
}

/** Returns what is wrong after an undo; null if nothing is. */
function problemOf({ refused, start, startHead, before, hidden, refsBefore, after, world }: Outcome): string | null {
  const own = (path: string): boolean => path.startsWith(world.folder) && !/(?:^|\/)(?:vendor|nested\d+)\//.test(path);
  for (const path of new Set([...start.keys(), ...before.keys(), ...after.keys()])) {
    const isAgents = !refused && own(path) && world.agents.has(path) && !world.users.has(path);
    const wanted = isAgents ? start.get(path) : before.get(path);
    // A file that the user removed is brought back: its time is unknown.
    if (!isAgents && !before.has(path) && start.has(path) && after.get(path) === start.get(path)) continue;
    // An ignored file is in no record: one that the agent made stays, and one that it took away stays away.
    if (
      isAgents &&
      (hidden.has(relative(world.folder, path)) || world.named.has(path)) &&
      after.get(path) === before.get(path)
    )
      continue;
    // What was ignored at the start is not in its record, and files keep their times when a folder above them moves.
    if (isAgents && /ignored\/|^(?:app\/)?src\d+\//.test(path) && after.get(path) === before.get(path)) continue;
    if (after.get(path) !== wanted) return `${path}: ${after.get(path)} instead of ${wanted}`;
  }
  const head = refsBefore.get('HEAD')?.trim().replace('ref: refs/', '') ?? '';
  for (const [name, id] of world.refs()) {
    const mayMove = !refused && (name === head || (name === 'HEAD' && !id.startsWith('ref:')));
    if (id !== refsBefore.get(name) && !(mayMove && id.trim() === startHead)) return `${name} is ${id}`;
  }
  return null;
}

/** Plays this many sequences in one test, so that a run under load is not silent for long. */
const TOGETHER = 20;

for (let first = 0; first < RUNS; first += TOGETHER) {
  test(`an undo takes back the agent’s changes, and loses nothing of the user’s (${first})`, async () => {
    let done = 0;
    for (let seed = SEED + first; seed < SEED + Math.min(first + TOGETHER, RUNS); seed += 1) {
      const outcome = await play(seed, ours);
      const { world, refused, before, refsBefore, after, facts } = outcome;
      try {
        assert.equal(problemOf(outcome), null, `seed ${seed}, refused ${refused}`);
        if (refused) continue;
        done += 1;
        const hadUndo = existsSync(join(world.top, '.git/refs/ralph-loop/loop-1/undone-1'));
        if (hadUndo) {
          // So late that nothing passes for a change of the agent.
          sleep(APART_MS);
          await undoBack(world.project, GIT_ENV, LOOP);
        }
        assert.deepEqual([...look(world.top)].sort(), [...before].sort(), `back, seed ${seed}`);
        assert.deepEqual(world.refs(), refsBefore, `back, seed ${seed}`);
        assert.equal(await ours(world, facts), false, `again, seed ${seed}`);
        assert.deepEqual([...look(world.top)].sort(), [...after].sort(), `again, seed ${seed}`);
      } finally {
        rmSync(world.top, { recursive: true, force: true });
      }
    }
    assert.ok(done > 0, 'control: some of them were undone');
  });
}

test('control: the command of former versions loses something of the user’s within 50 sequences', async () => {
  let lost = 0;
  for (let run = 0; run < 50 && lost === 0; run += 1) {
    const outcome = await play(SEED + run, former);
    if (problemOf(outcome) !== null) lost += 1;
    rmSync(outcome.world.top, { recursive: true, force: true });
  }
  assert.equal(lost, 1);
});

test('files that were moved with their folder are the loop’s, if the undo brings all that they hold back', async () => {
  const world = new World(randomFrom(1), '', template(''));
  try {
    world.put('src/same.txt', 'a.txt\n');
    // Git does not see it at the start, and a file of another name and the same content goes.
    world.put('hidden.txt', 'a.txt\n');
    writeFileSync(join(world.top, '.git/info/exclude'), 'hidden.txt\n');
    sleep(APART_MS);
    const startedAt = Date.now();
    const start = await record(world, 'start');
    sleep(APART_MS);
    const from = Date.now();
    renameSync(join(world.project, 'src'), join(world.project, 'lib'));
    rmSync(join(world.project, 'a.txt'));
    writeFileSync(join(world.top, '.git/info/exclude'), '');
    sleep(APART_MS);
    world.spans.push([from, Date.now()]);
    const end = await record(world, 'end');
    const facts = { sandbox: undefined, start, ...world.times(), startedAt, freeBytes: () => Infinity };
    const leftAt = async (at: number, known: RecordedTree | null): Promise<string[]> => {
      const { added, left } = await planUndo(world.project, GIT_ENV, { ...facts, startedAt: at, end: known });
      assert.equal(added.length + left.length, 4);
      return left.map(({ path, why }) => `${path} ${why}`);
    };
    assert.deepEqual(await leftAt(startedAt, end), ['hidden.txt users']);
    const kept = ['hidden.txt users', 'lib/b.txt users', 'lib/deep/c.sh users', 'lib/same.txt users'];
    assert.deepEqual(await leftAt(0, end), kept, 'control: files that are younger than the start');
    assert.deepEqual(await leftAt(startedAt, null), kept, 'control: the user may have moved them after the loop');
    const plan = await planUndo(world.project, GIT_ENV, { ...facts, end });
    await applyUndo(plan, { ...facts, loopId: LOOP.loopId }, true);
    assert.equal(existsSync(join(world.project, 'lib')), false);
    assert.ok(existsSync(join(world.project, 'hidden.txt')));
    assert.ok(existsSync(join(world.project, 'src/deep/c.sh')));
    await undoBack(world.project, GIT_ENV, LOOP);
    assert.ok(existsSync(join(world.project, 'lib/deep/c.sh')));
    assert.deepEqual(await leftAt(startedAt, end), ['hidden.txt users'], 'again');
  } finally {
    rmSync(world.top, { recursive: true, force: true });
  }
});

test('an old file that is only at its new place stays', async () => {
  const world = new World(randomFrom(1), '', template(''));
  try {
    sleep(APART_MS);
    const startedAt = Date.now();
    const start = await record(world, 'start');
    renameSync(join(world.project, 'src'), join(world.project, 'lib'));
    const end = await record(world, 'end');
    world.put('src', 'a file of the user in the way\n');
    const never = { isLoops: () => false, lastWork: null };
    const facts = { sandbox: undefined, start, end, ...never, startedAt, freeBytes: () => Infinity };
    const plan = await planUndo(world.project, GIT_ENV, facts);
    assert.deepEqual(plan.added, []);
    assert.deepEqual(plan.left.map(({ path }) => path).sort(), [
      'lib/b.txt',
      'lib/deep/c.sh',
      'src',
      'src/b.txt',
      'src/deep/c.sh',
    ]);
  } finally {
    rmSync(world.top, { recursive: true, force: true });
  }
});

test('an undo, or its way back, for which the disk has too little space changes nothing', async () => {
  const world = new World(randomFrom(1), '', template(''));
  try {
    world.put('a.txt', 'x'.repeat(100_000));
    const start = await record(world, 'start');
    world.put('a.txt', 'small\n');
    const facts = { sandbox: undefined, start, end: null, isLoops: () => true, lastWork: null, startedAt: 0 };
    const undo = async (bytes: number): Promise<void> => {
      const plan = await planUndo(world.project, GIT_ENV, { ...facts, freeBytes: () => bytes });
      await applyUndo(plan, { ...facts, freeBytes: () => bytes, loopId: LOOP.loopId }, true);
    };
    const before = [...look(world.top)];
    await assert.rejects(undo(50_000), /need 4\d KB more than the disk has free\. Nothing was changed\./);
    assert.deepEqual([...look(world.top)], before);
    await undo(200_000);
    const undone = [...look(world.top)];
    assert.notDeepEqual(undone, before, 'control: with enough space');
    world.put('new.txt', 'y'.repeat(100_000));
    await undo(0);
    assert.deepEqual([...look(world.top)], undone);
    const back = (bytes: number) => undoBack(world.project, GIT_ENV, { ...LOOP, freeBytes: () => bytes });
    await assert.rejects(back(50_000), /need 5\d KB more than the disk has free\. Nothing was changed\./);
    assert.deepEqual([...look(world.top)], undone);
    await back(200_000);
    assert.ok(look(world.top).has('new.txt'), 'control: with enough space');
  } finally {
    rmSync(world.top, { recursive: true, force: true });
  }
});
