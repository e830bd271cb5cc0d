import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { cacheName, requireOf } from '../../src/state/files/code-cache.ts';
import { emptyFolder } from '../support/folder.ts';
import { longTest } from '../support/short-form.ts';

const DIST = fileURLToPath(new URL('../../dist/plugin', import.meta.url));
const STOP = 'ralph-stop-hook-ralph-base.cjs';
const HOUR_MS = 3_600_000;
/** Collects garbage at the end of a process until V8 drops the code of each function that does not run. */
const FORGET = `process.on('exit', () => {
  for (const flag of ['--expose-gc', '--stress-flush-code']) require('node:v8').setFlagsFromString(flag);
  const collect = require('node:vm').runInNewContext('gc');
  for (let times = 0; times < 20; times += 1) collect();
});`;

/** Hooks of their own in a folder of their own; `stop` asks one about a project in which no loop runs. */
function hooks(context: TestContext) {
  const folder = emptyFolder(context);
  for (const part of ['hooks', 'scripts']) cpSync(join(DIST, part), join(folder, part), { recursive: true });
  const cache = join(folder, 'outside', 'ralph-loop', 'code-cache');
  mkdirSync(dirname(cache), { recursive: true });
  const call = (
    hook: string,
    payload: object,
    more: NodeJS.ProcessEnv = {},
  ): { status: number | null; said: string } => {
    const { stdout, stderr, status } = spawnSync(process.execPath, [join(folder, 'hooks', `${hook}.cjs`)], {
      input: JSON.stringify({ session_id: 's', cwd: folder, ...payload }),
      env: {
        ...{ PATH: process.env['PATH'], HOME: folder, XDG_STATE_HOME: join(folder, 'outside'), RALPH_ACTIVE: '1' },
        ...more,
      },
      encoding: 'utf8',
    });
    return { status, said: stdout + stderr };
  };
  const stop = (more?: NodeJS.ProcessEnv): string => {
    const { status, said } = call('ralph-stop-hook', { hook_event_name: 'Stop', last_assistant_message: 'x' }, more);
    assert.equal(status, 0, said);
    return said;
  };
  const kept = (): string[] => readdirSync(cache).filter((name) => name.startsWith(STOP));
  /** Variables with which a process does this before anything else. */
  const after = (work: string): NodeJS.ProcessEnv => {
    writeFileSync(join(folder, 'work.cjs'), work);
    return { NODE_OPTIONS: `--require ${join(folder, 'work.cjs')}` };
  };
  return { folder, cache, call, stop, kept, after };
}

test('The first hook keeps the code that it compiled, and the next one uses it.', (context) => {
  const { cache, stop, kept } = hooks(context);
  assert.equal(stop(), '');
  const [name = ''] = kept();
  assert.equal(kept().length, 1);
  const before = readFileSync(join(cache, name));
  const later = new Date(Date.now() + HOUR_MS);
  utimesSync(join(cache, name), later, later);
  assert.equal(stop(), '');
  assert.deepEqual(readFileSync(join(cache, name)), before, 'it was taken as it is');
});

test('A cache is written again by the next run, more and more rarely after it, and every hour.', (context) => {
  const { cache, stop, kept } = hooks(context);
  stop();
  const path = join(cache, kept()[0] ?? '');
  const writes = (): number | undefined => readFileSync(path).at(-1);
  const aged = (milliseconds: number): number | undefined => {
    const then = new Date(Date.now() - milliseconds);
    utimesSync(path, then, then);
    stop();
    return writes();
  };
  assert.equal(writes(), 1);
  assert.equal(aged(1000), 2, 'by the next run');
  assert.equal(aged(-HOUR_MS), 2, 'not by the one after it');
  for (const [at, age] of [5_000, 20_000, 90_000, HOUR_MS / 2].entries())
    assert.equal(aged(age), at + 3, `after ${age} ms`);
  assert.equal(aged(HOUR_MS / 2), 6, 'not before an hour has passed');
  assert.equal(aged(2 * HOUR_MS), 7, 'after an hour');
});

test('A cache that V8 rejects is compiled again and replaced.', (context) => {
  const { cache, stop, kept } = hooks(context);
  stop();
  const path = join(cache, kept()[0] ?? '');
  const good = readFileSync(path);
  for (const bad of [Buffer.alloc(0), Buffer.from('nonsense'), good.subarray(0, good.length / 2)]) {
    writeFileSync(path, bad);
    assert.equal(stop(), '');
    assert.ok(readFileSync(path).length > 10_000, 'a whole cache lies there again');
  }
});

test('A cache that was damaged on the disk is compiled again and replaced: V8 itself would take it.', (context) => {
  const { cache, call, kept } = hooks(context);
  const stop = () => call('ralph-stop-hook', { hook_event_name: 'Stop', last_assistant_message: 'x' });
  for (let run = 0; run < 2; run += 1) stop();
  const path = join(cache, kept()[0] ?? '');
  const good = readFileSync(path);
  const half = (good.length - 1) / 2;
  const damaged = (...places: readonly number[]): Buffer => {
    const bytes = Buffer.from(good);
    for (const at of places) bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
    writeFileSync(path, bytes);
    const later = new Date(Date.now() + HOUR_MS);
    utimesSync(path, later, later);
    return bytes;
  };
  const middle = Math.floor(half / 2);
  for (const at of [middle, half + middle]) {
    const bytes = damaged(at);
    assert.deepEqual(stop(), { status: 0, said: '' });
    assert.notDeepEqual(readFileSync(path), bytes);
  }
  const both = damaged(middle, half + middle);
  stop();
  assert.deepEqual(readFileSync(path), both, 'control: whatever the hook did with it, V8 did not reject it');
});

test('Another build has a cache of its own; one that was unused for a week is removed.', (context) => {
  const { folder, cache, stop, kept } = hooks(context);
  stop();
  const [first = ''] = kept();
  const built = new Date(Date.now() - HOUR_MS);
  utimesSync(join(folder, 'scripts', 'ralph-base.cjs'), built, built);
  stop();
  assert.equal(kept().length, 2);
  const old = new Date(Date.now() - 8 * 24 * HOUR_MS);
  utimesSync(join(cache, first), old, old);
  for (const name of kept()) if (name !== first) rmSync(join(cache, name));
  stop();
  assert.deepEqual(kept().includes(first), false);
});

test('A hook in a project loads the copy of the skill, and nothing from a folder beside hooks.', (context) => {
  const { folder, call } = hooks(context);
  const claude = join(folder, '.claude');
  const skill = join(claude, 'skills', 'ralph-loop');
  cpSync(join(folder, 'hooks'), join(claude, 'hooks'), { recursive: true });
  cpSync(join(folder, 'scripts'), join(skill, 'scripts'), { recursive: true });
  const stop = () => call('../.claude/hooks/ralph-stop-hook', { hook_event_name: 'Stop', last_assistant_message: 'x' });
  const plant = (where: string): void => {
    mkdirSync(join(where, 'scripts'), { recursive: true });
    writeFileSync(join(where, 'scripts', 'ralph-base.cjs'), 'process.exit(7)');
  };
  plant(claude);
  assert.deepEqual(stop(), { status: 0, said: '' });
  rmSync(join(skill, 'scripts', 'ralph-base.cjs'));
  const { status, said } = stop();
  assert.equal(status, 1, 'a chunk that is missing is not taken from there either');
  assert.match(said, /ENOENT.*skills.ralph-loop.scripts.ralph-base\.cjs/);
  plant(skill);
  assert.equal(stop().status, 7, 'control: the same file in the skill is loaded');
});

test('A chunk that could not be loaded is loaded once it is there.', (context) => {
  const folder = emptyFolder(context);
  const load = requireOf('test', join(folder, 'hooks'), () => assert.fail());
  assert.throws(() => load('./ralph-a.cjs'), /ENOENT/);
  mkdirSync(join(folder, 'scripts'));
  writeFileSync(join(folder, 'scripts', 'ralph-a.cjs'), '(function (exports) { exports.a = {}; })');
  const loaded = load('./ralph-a.cjs');
  assert.deepEqual({ ...(loaded as object) }, { a: {} });
  assert.equal(load('./ralph-a.cjs'), loaded, 'and once only');
});

test('A file that changed within its size and time of modification has a cache of its own.', () => {
  const stamp = { size: 1, mtimeMs: 1, ctimeMs: 1 };
  const name = (of: typeof stamp): string => cacheName('stop', '/a/ralph-a.cjs', of, []);
  assert.equal(name(stamp), name({ ...stamp }));
  assert.notEqual(name(stamp), name({ ...stamp, ctimeMs: 2 }));
});

longTest('A cache of an hour is written again, with the functions that were compiled since.', (context) => {
  const { cache, stop, kept } = hooks(context);
  stop();
  const path = join(cache, kept()[0] ?? '');
  const old = new Date(Date.now() - 2 * HOUR_MS);
  utimesSync(path, old, old);
  stop();
  assert.equal(kept().length, 1);
  assert.ok(Date.now() - statSync(path).mtimeMs < HOUR_MS);
});

test('A chunk of the program that only a later call needs has a cache of its own.', (context) => {
  const { cache, call } = hooks(context);
  const chunks = (): string[] => readdirSync(cache).map((name) => name.split('-').at(-2) ?? '');
  const use = (tool_name: string, tool_input: object): unknown =>
    call('pre-tool-use', { hook_event_name: 'PreToolUse', tool_name, tool_input });
  use('Write', { file_path: 'a', content: 'b' });
  const before = chunks();
  assert.ok(before.includes('base.cjs'), before.join());
  const again = readdirSync(cache).map((name) => statSync(join(cache, name)).ino);
  assert.equal(again.length, before.length);
  call('ralph-stop-hook', { hook_event_name: 'Stop' });
  assert.ok(chunks().length > before.length, chunks().join());
});

test('A process that forgot code leaves a cache as it is, and one with a large heap completes it.', (context) => {
  const { cache, kept, stop, after } = hooks(context);
  stop();
  const path = join(cache, kept()[0] ?? '');
  const before = readFileSync(path);
  stop(after(FORGET));
  assert.deepEqual(readFileSync(path), before);
  stop(after('globalThis.kept = Array.from({ length: 5_000_000 }, (_, nth) => nth);'));
  assert.equal(readFileSync(path).at(-1), 2);
  rmSync(path);
  stop(after(FORGET));
  assert.ok(readFileSync(path).length < 0.9 * before.length, 'control: code was forgotten');
});

test('A cache is readable by its owner only, and none is made on a machine without the state folder.', (context) => {
  const { folder, cache, stop } = hooks(context);
  rmSync(join(folder, 'outside'), { recursive: true });
  assert.equal(stop(), '');
  assert.equal(existsSync(join(folder, 'outside')), false);
  mkdirSync(dirname(cache), { recursive: true });
  stop();
  if (process.platform !== 'win32') assert.equal(statSync(cache).mode & 0o777, 0o700);
});

test('A hook works where no cache can be kept.', (context) => {
  const { cache, stop } = hooks(context);
  writeFileSync(cache, 'a file where the folder would be');
  assert.equal(stop(), '');
});

test('A command keeps the code that it ran where loops have been, and leaves nothing behind elsewhere.', (context) => {
  const home = emptyFolder(context);
  const outside = join(home, 'outside', 'ralph-loop');
  const call = (...args: string[]): string => {
    const { stdout, stderr } = spawnSync(process.execPath, [join(DIST, 'scripts', 'main.cjs'), ...args], {
      env: { PATH: process.env['PATH'], HOME: home, XDG_STATE_HOME: join(home, 'outside') },
      cwd: home,
      encoding: 'utf8',
    });
    return stdout + stderr;
  };
  const first = call('list');
  assert.equal(existsSync(outside), false);
  mkdirSync(outside, { recursive: true });
  assert.equal(call('list'), first);
  assert.equal(call('no-such-command'), call('no-such-command'));
  const cache = join(outside, 'code-cache');
  const names = readdirSync(cache);
  const [name = '', ...others] = names.filter((each) => each.startsWith('main-ralph-main.cjs-'));
  assert.deepEqual(others, [], 'one for all commands');
  assert.ok(names.length > 3, 'one for each chunk of the program');
  const path = join(cache, name);
  const before = readFileSync(path);
  const later = new Date(Date.now() + HOUR_MS);
  utimesSync(path, later, later);
  assert.equal(call('list'), first, 'what was kept changes nothing');
  assert.deepEqual(readFileSync(path), before, 'it was taken as it is');
  writeFileSync(path, before.subarray(0, before.length / 2));
  assert.equal(call('list'), first);
  assert.ok(readFileSync(path).length > before.length / 2, 'what V8 refused is made again');
});

test('A tool hook loads no module of node that only few calls need.', (context) => {
  const { folder, call } = hooks(context);
  const list = join(folder, 'list.cjs');
  const loaded = join(folder, 'loaded');
  const write = `require('node:fs').writeFileSync(${JSON.stringify(loaded)}, process.moduleLoadList.join('\\n'))`;
  writeFileSync(list, `process.on('exit', () => ${write});`);
  const edit = { hook_event_name: 'PreToolUse', tool_name: 'Write', tool_input: { file_path: 'a', content: 'b' } };
  const modulesOf = (more: NodeJS.ProcessEnv = {}): string => {
    call('pre-tool-use', edit, { NODE_OPTIONS: `--require ${list}`, ...more });
    return readFileSync(loaded, 'utf8');
  };
  const rare = /^NativeModule (?:child_process|crypto|os|timers\/promises|v8)$/m;
  assert.doesNotMatch(modulesOf(), rare);
  assert.match(modulesOf({ HOME: '', XDG_STATE_HOME: '' }), rare, 'control: only node:os names the home folder here');
});
