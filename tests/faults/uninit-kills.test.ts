import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { commandHere } from '../support/command-here.ts';
import { isKilledAt } from '../support/faults/kill-command.ts';
import { makeOlder } from '../support/older-install.ts';
import { type Project, project } from '../support/project.ts';
import { IS_LONG } from '../support/short-form.ts';

/** Every how many changes of the disk a kill is tried; 1 tries them all. */
const STEP = Number(process.env['KILL_STEP'] ?? (IS_LONG ? 11 : 29));

const SETTINGS = '.claude/settings.json';

function place(t: TestContext): Project {
  const p = project(t);
  p.write(SETTINGS, '{\n  "model": "opus"\n}\n');
  return p;
}

/** A project with the same files. What `init` installs names no project. */
function copyOf(t: TestContext, { dir }: Project): Project {
  const p = project(t);
  cpSync(dir, p.dir, { recursive: true });
  return p;
}

/** Files and empty folders, without the manifest's folder, which only the manifest names. */
const left = (p: Project): string[] => Object.keys(p.tree()).filter((path) => path !== '.claude/ralph/');
const drafts = (p: Project): string[] => Object.keys(p.tree()).filter((path) => path.endsWith('.tmp'));

test('after an uninit that was killed, another one removes what is left', async (t) => {
  const installed = place(t);
  const before = left(installed);
  assert.equal((await commandHere(installed, ['init'])).code, 0);
  for (let at = 2; ; at += STEP) {
    const p = copyOf(t, installed);
    if (!isKilledAt(p, ['uninit'], at)) break;
    const { code, stderr } = await commandHere(p, ['uninit']);
    if (code !== 0) assert.match(stderr, /was not set up by init/);
    assert.deepEqual(left(p), before, `call ${at}`);
  }
});

test('control: without its manifest, an uninit leaves what another one removes', async (t) => {
  const p = place(t);
  const before = left(p);
  assert.equal((await commandHere(p, ['init'])).code, 0);
  p.sh('rm .claude/ralph/.install.json');
  assert.equal((await commandHere(p, ['uninit'])).code, 1);
  assert.notDeepEqual(left(p), before);
});

test('after an init that was killed, another one completes it, and an uninit removes what is left', async (t) => {
  const whole = place(t);
  const before = left(whole);
  assert.equal((await commandHere(whole, ['init'])).code, 0);
  /** The manifest of a repeated init does not name the folder that the first one made for it. */
  const placed = (p: Project): object => ({ ...p.tree(), '.claude/ralph/.install.json': null });
  const wanted = placed(whole);
  let withDrafts = 0;
  for (let at = 1; ; at += STEP) {
    const p = place(t);
    if (!isKilledAt(p, ['init'], at)) break;
    const other = copyOf(t, p);
    withDrafts += drafts(p).length;
    assert.equal((await commandHere(p, ['init'])).code, 0);
    assert.deepEqual(placed(p), wanted, `call ${at}`);
    // Without a manifest it refuses, and nothing is there yet.
    if ((await commandHere(other, ['uninit'])).code === 0) assert.deepEqual(left(other), before, `call ${at}`);
    else
      assert.deepEqual(
        left(other).filter((path) => !/install\.json/.test(path)),
        before,
        `call ${at}`,
      );
  }
  assert.ok(withDrafts > 0, 'control: a kill leaves drafts');
});

test('after an update that was killed, another init completes it, and an uninit leaves nothing of it', async (t) => {
  const whole = place(t);
  const before = left(whole);
  assert.equal((await commandHere(whole, ['init'])).code, 0);
  const wanted = whole.tree();
  let killed = 0;
  for (let at = 1; ; at += 2 * STEP) {
    const p = copyOf(t, whole);
    makeOlder(p);
    if (!isKilledAt(p, ['init'], at)) break;
    killed += 1;
    const other = copyOf(t, p);
    assert.equal((await commandHere(other, ['uninit'])).code, 0);
    assert.deepEqual(left(other), before, `call ${at}, uninit`);
    assert.equal((await commandHere(p, ['init'])).code, 0);
    assert.deepEqual(p.tree(), wanted, `call ${at}`);
  }
  assert.ok(killed > 1);
});

test('control: a file that the user changed is kept in an update', async (t) => {
  const p = place(t);
  assert.equal((await commandHere(p, ['init'])).code, 0);
  makeOlder(p);
  const path = '.claude/skills/ralph-loop/scripts/main.cjs';
  p.write(path, '// mine\n');
  assert.equal((await commandHere(p, ['init'])).code, 0);
  assert.equal(p.read(path), '// mine\n');
});

test('control: the draft of a process that lives stays', async (t) => {
  const p = place(t);
  const draft = `${SETTINGS}.${process.pid.toString(36)}-1-123456789.tmp`;
  p.write(draft, '');
  assert.equal((await commandHere(p, ['init'])).code, 0);
  assert.ok(p.has(draft));
});
