import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Script } from 'node:vm';
import { filesIn } from '../support/faults/a-state.ts';
import { bundleProgram, scratch } from '../support/faults/bundle-state.ts';
import { type Fault, refuse, refuseAfterwards, withFaults, writeOnly } from '../support/faults/faulty-fs.ts';
import type * as operations from '../support/faults/operations.ts';
import { IS_LONG } from '../support/short-form.ts';
import { CONTROLS, SITUATIONS, type Situation, SLEEP, SLEEP_CONTROL } from './support/whole.ts';

const { directory, remove } = scratch('memory');
const require = createRequire(import.meta.url);
let bundle: Script;
let crasher: string;
let runs = 0;

before(async () => {
  const [file, other] = await Promise.all([
    bundleProgram('operations', directory),
    bundleProgram('crash-at', directory),
  ]);
  crasher = other;
  const code = readFileSync(file, 'utf8');
  bundle = new Script(`(function (exports, require, module, __filename) {${code}\n})`, { filename: file });
});
after(remove);

/**
 * The operation in a copy of the state layer that knows nothing of what others did: another process, as far as it can
 * tell. There are thousands of copies, which are compiled once.
 */
function loadOperation(name: string): (directory: string) => void {
  const module = { exports: {} as typeof operations };
  bundle.runInThisContext()(module.exports, require, module, join(directory, 'operations.cjs'));
  const operation = module.exports.OPERATIONS[name];
  assert.ok(operation);
  return operation;
}

function freshProject(situation: Situation): string {
  runs += 1;
  const project = join(directory, `run-${runs}`);
  mkdirSync(project);
  situation.prepare(project);
  return project;
}

interface Hit {
  readonly name: string;
  /** What the call was about: a path, mostly. */
  readonly about: string;
  readonly error: NodeJS.ErrnoException | null;
}

/** Which calls fail: from the `first`, every `step`th, of all or of those with this name; alone, or with all later ones. */
interface Calls {
  readonly first?: number;
  readonly step?: number;
  readonly of?: string;
  readonly lasting?: boolean;
}

/**
 * Does the operation with `fault` in place of its N-th call, or of that and all later ones, and holds the disk against
 * the situation's checks; then does it again in the same process, and in another, with everything in order. Null when
 * the operation has fewer calls.
 */
function failAt(situation: Situation, fault: Fault, n: number, { lasting = false, of = '' }: Calls): Hit | null {
  const project = freshProject(situation);
  const operate = loadOperation(situation.operation);
  let calls = 0;
  let hit: { name: string; about: string } | null = null;
  let error: NodeJS.ErrnoException | null = null;
  try {
    const faultAtN: Fault = (name, real, parameters) => {
      if (of !== '' && name !== of) return real();
      calls += 1;
      if (calls < n || (calls > n && !lasting)) return real();
      hit ??= { name, about: String(parameters[0]) };
      return fault(name, real, parameters);
    };
    withFaults(faultAtN, () => operate(project));
  } catch (thrown) {
    error = thrown as NodeJS.ErrnoException;
  }
  if (hit === null) return null;
  const acknowledged = error === null ? 1 : 0;
  situation.check(project, acknowledged, 1);
  operate(project);
  situation.check(project, acknowledged + 1, 2);
  loadOperation(situation.operation)(project);
  situation.check(project, acknowledged + 2, 3);
  assert.ok(!existsSync(filesIn(project).lock) || situation.operation === 'sweep', 'a lock was left behind');
  return { ...(hit as { name: string; about: string }), error };
}

/**
 * Lets calls fail in turn, each one if nothing else is said, until a run passes. Each failure names the call it was injected
 * into.
 */
function failEverywhere(situation: Situation, fault: Fault, calls: Calls = {}): Hit[] {
  const { first = 1, step = 1 } = calls;
  const hits: Hit[] = [];
  for (let n = first; ; n += step) {
    let hit: Hit | null;
    try {
      hit = failAt(situation, fault, n, calls);
    } catch (error) {
      (error as Error).message += ` (call ${n})`;
      throw error;
    }
    if (hit === null) return hits;
    hits.push(hit);
  }
}

/** Calls that cannot fail without the caller hearing of it. */
const MUST_SURFACE = new Set(['writeSync', 'fsyncSync', 'renameSync', 'mkdirSync', 'openSync', 'closeSync']);

function mustSurface({ name, about }: Hit, code: string): boolean {
  // A folder that may be written and not read cannot be synced: the one refusal that is no failure.
  if (code === 'EACCES') return false;
  // A lock that is a folder is moved away to be released, and tried again when that fails.
  return MUST_SURFACE.has(name) && !(name === 'renameSync' && about.endsWith('.lock'));
}
/** RALPH_STRESS_KILLS has the long form. */
const isLong = IS_LONG || process.env['RALPH_STRESS_KILLS'] !== undefined;
/** A process is killed in place of every so many calls; a call that fails once and for good is tried at each. */
const CRASH_STEP = isLong ? 1 : 4;
/** Beside a refusal of any one call, other faults are tried at every second one: those of a kind at odd calls, the others at even ones. */
const [ODD, EVEN] = isLong ? [{}, {}] : [{ step: 2 }, { first: 2, step: 2 }];
/** EIO and EROFS are treated as ENOSPC is; EACCES is played from some point on, too. */
const CODES = isLong ? ['ENOSPC', 'EIO', 'EROFS', 'EACCES'] : ['ENOSPC'];

for (const [name, situation] of Object.entries(SITUATIONS)) {
  for (const code of CODES) {
    test(`Any one system call of ${name} fails with ${code}: all stays whole, it is reported, the next run succeeds.`, () => {
      const hits = failEverywhere(situation, refuse(code));
      assert.ok(hits.length > 2, 'calls were seen');
      for (const hit of hits) {
        if (hit.error !== null) assert.equal(hit.error.code, code);
        else assert.ok(!mustSurface(hit, code), `${hit.name} failed and nobody heard of it`);
      }
    });
  }

  test(`System calls of ${name} fail from some point on: all stays whole, it is reported, the next run succeeds.`, () => {
    for (const code of isLong ? ['EIO', 'EACCES'] : ['EACCES']) {
      const hits = failEverywhere(situation, refuse(code), { ...ODD, lasting: true });
      for (const hit of hits) {
        if (hit.error !== null) assert.equal(hit.error.code, code);
        else assert.ok(!mustSurface(hit, code), `${hit.name} failed and nobody heard of it`);
      }
    }
  });

  test(`A call of ${name} succeeds but reports a failure: everything stays whole, and the next run succeeds.`, () => {
    failEverywhere(situation, refuseAfterwards('EIO'), EVEN);
  });

  test(`When the writes of ${name} are cut short, they are continued or reported.`, () => {
    const writes = { of: 'writeSync' };
    const few = writeOnly((length) => Math.min(length, 7));
    failEverywhere(situation, few, writes);
    const half = writeOnly((length) => length >> 1);
    if (isLong) failEverywhere(situation, half, { ...writes, lasting: true });
    const none = writeOnly(() => 0);
    for (const { error } of failEverywhere(situation, none, writes))
      assert.match(error?.message ?? '', /^only \d+ of \d+ bytes could be written to /);
  });

  test(`${name} is killed in place of any system call: everything stays whole, and the next run succeeds.`, () => {
    assert.ok(crashEverywhere(situation, CRASH_STEP) > 1, 'there were calls to be killed in');
  });
}

/** Kills the operation in place of its calls, one after the other or every `step`th, until it passes; gives back how often. */
function crashEverywhere(situation: Situation, step = 1): number {
  for (let n = 1, kills = 0; ; n += step, kills++) {
    const project = freshProject(situation);
    const crashed = spawnSync(process.execPath, [crasher, situation.operation, project, String(n)], {
      encoding: 'utf8',
    });
    const passed = crashed.stdout === 'passed\n';
    assert.ok(passed || crashed.signal === 'SIGKILL', crashed.stderr);
    situation.check(project, passed ? 1 : 0, 1);
    if (passed) return kills;
    loadOperation(situation.operation)(project);
    situation.check(project, 1, 2);
  }
}

for (const situation of CONTROLS) {
  test(`${situation.operation.replace('control', 'Control')} is detected by the same checks.`, () => {
    assert.throws(() => failEverywhere(situation, refuse('ENOSPC')), assert.AssertionError);
  });
}

test('Control: the same checks detect an update in place that is killed in a system call.', () => {
  const inPlace = CONTROLS.find(({ operation }) => operation.includes('in place'));
  assert.throws(() => inPlace && crashEverywhere(inPlace), assert.AssertionError);
});

test('A process killed in any system call leaves a sleep out of the loop’s time once, in every record.', () => {
  assert.ok(crashEverywhere(SLEEP) > 10, 'there were calls to be killed in');
});

test('Control: the same checks detect a sleep that is added again after a kill between counters and state.', () => {
  assert.throws(() => crashEverywhere(SLEEP_CONTROL), /left out: 57600000/);
});
