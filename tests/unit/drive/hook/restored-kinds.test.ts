import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { postToolUse, preToolUse } from '../../../../src/drive/hook/tool-use.ts';
import { dropSnapshot } from '../../../../src/state/snapshot/snapshot.ts';
import { aHook, aStop, type Project, put } from '../../../support/drive/drive-project.ts';
import { someOf } from '../../../support/short-form.ts';
import { aProtectedLoop, call, treeOf } from '../../../support/snapshot/guarded-project.ts';
import '../../../support/starts-processes.ts';

function shell({ directory }: Project, command: string): string {
  const { status, stderr } = spawnSync('sh', ['-c', command], { cwd: directory, encoding: 'utf8' });
  return status === 0 ? '' : stderr || String(status);
}
const testsOf = ({ directory }: Project): Record<string, string> => treeOf(join(directory, 'tests'));
const workOf = ({ directory }: Project): string => readFileSync(join(directory, 'src', 'work.ts'), 'utf8');

/** What a program can put in the place of a protected file or of its folder, as any user. */
const REPLACED: Readonly<Record<string, string>> = {
  'a named pipe': 'rm tests/file-0.ts && mkfifo tests/file-0.ts',
  'a socket':
    'rm tests/file-0.ts && node -e \'require("net").createServer().listen("tests/file-0.ts", () => process.kill(process.pid, 9))\'; test -S tests/file-0.ts',
  'a folder with content': 'rm tests/file-0.ts && mkdir -p tests/file-0.ts/deep && echo mine > tests/file-0.ts/deep/x',
  'a link to a file outside': 'rm tests/file-0.ts && ln -s /etc/hostname tests/file-0.ts',
  'a second name of other work': 'rm tests/file-0.ts && ln src/work.ts tests/file-0.ts',
  'a change through a second name': 'ln -f tests/file-0.ts alias.ts && echo spoiled > alias.ts',
  'another protected file': 'mv tests/file-0.ts t && mv tests/file-5.ts tests/file-0.ts && mv t tests/file-5.ts',
  'a name in another case': 'mv tests/file-0.ts tests/FILE-0.ts',
  'a named pipe for its folder': 'rm -r tests/unit && mkfifo tests/unit',
  'a file for its folder': 'rm -r tests/unit && echo x > tests/unit',
  'a link for the whole tree': 'mv tests moved && ln -s moved tests',
  'a named pipe where the draft is written': 'echo x > tests/file-0.ts && mkfifo tests/.ralph-restore.tmp',
  'a folder where the draft is written':
    'echo x > tests/file-0.ts && mkdir -p tests/.ralph-restore.tmp/a && echo y > tests/.ralph-restore.tmp/a/b',
  'a link where the draft is written': 'echo x > tests/file-0.ts && ln -s ../src/work.ts tests/.ralph-restore.tmp',
};

for (const [what, command] of someOf(Object.entries(REPLACED), 2))
  test(`restores a protected file after ${what}`, async (t) => {
    const project = aProtectedLoop(t);
    const [before, work] = [testsOf(project), workOf(project)];
    await call(project, () => assert.equal(shell(project, command), ''));
    assert.deepEqual([testsOf(project), workOf(project)], [before, work]);
    dropSnapshot(project.files);
    await call(project, () => void shell(project, command));
    assert.notDeepEqual(testsOf(project), before, 'control: without the snapshot');
  });

/** Runs the hooks as a user whom modes bind: root writes everywhere. */
async function asUser(project: Project, work: () => Promise<void>): Promise<void> {
  if (process.getuid?.() !== 0) return work();
  spawnSync('chown', ['-R', '65534', dirname(project.directory)]);
  process.seteuid?.(65534);
  try {
    await work();
  } finally {
    process.seteuid?.(0);
  }
}

test('restores files of a folder that was closed to writes, and leaves its mode', async (t) => {
  const project = aProtectedLoop(t);
  const before = testsOf(project);
  await asUser(project, async () => {
    await call(project, () => {
      assert.equal(shell(project, 'echo x > tests/file-0.ts && echo y > tests/new.ts && chmod 555 tests'), '');
    });
  });
  assert.equal(shell(project, 'test "$(stat -c %a tests)" = 555 && chmod 755 tests'), '');
  assert.deepEqual(testsOf(project), before);
});

/** What root alone can do; where the system does not let it, nothing was changed. */
const HELD: Readonly<Record<string, readonly [hold: string, release: string]>> = {
  immutable: ['chattr +i tests/file-0.ts', 'chattr -i tests/file-0.ts'],
  'in an immutable folder': ['chattr +i tests', 'chattr -i tests'],
  'a bind mount': ['mount --bind src/work.ts tests/file-0.ts', 'umount tests/file-0.ts'],
  'on a read-only mount': ['mount --bind tests tests && mount -o remount,ro,bind tests', 'umount tests'],
};

for (const [what, [hold, release]] of someOf(Object.entries(HELD), 2))
  test(`reports a protected file that is ${what}, and restores it at its next change`, async (t) => {
    const project = aProtectedLoop(t);
    t.after(() => shell(project, `${release} 2>/dev/null`));
    const [before, work] = [testsOf(project), workOf(project)];
    let held = true;
    const { after } = await call(project, () => {
      held = shell(project, `echo spoiled > tests/file-0.ts && { ${hold}; }`) === '';
    });
    if (held) {
      assert.match(after?.systemMessage ?? '', /could not be restored, .* immutable, mounted or read-only\./);
      await call(project, () => assert.equal(shell(project, `${release} && touch tests/file-0.ts`), ''));
    }
    assert.deepEqual([testsOf(project), workOf(project)], [before, work]);
  });

test("a file that the user has repaired is the user's to change again", async (t) => {
  for (const isRepaired of [true, false]) {
    const project = aProtectedLoop(t);
    const path = join(project.directory, 'tests', 'file-0.ts');
    const original = readFileSync(path, 'utf8');
    const archive = join(project.files.archiveDir, 'replaced');
    const { after } = await call(project, () => {
      writeFileSync(path, 'spoiled\n');
      put(archive, 'no folder');
    });
    assert.match(after?.systemMessage ?? '', /could not be restored/);
    if (isRepaired) writeFileSync(path, original);
    else assert.equal(readFileSync(path, 'utf8'), 'spoiled\n');
    await call(project, () => undefined);
    rmSync(archive);
    writeFileSync(path, 'mine\n');
    await call(project, () => undefined);
    assert.equal(readFileSync(path, 'utf8'), isRepaired ? 'mine\n' : original, isRepaired ? '' : 'control');
  }
});

/** The first file of the protected tests, and the file with the kept contents. */
function keptIn({ directory, files }: Project): { readonly path: string; readonly pack: string } {
  const { pack } = JSON.parse(readFileSync(`${files.snapshot}.json`, 'utf8'));
  return { path: join(directory, 'tests', 'file-0.ts'), pack: join(files.outsideDir, pack) };
}

const LOSSES: Readonly<Record<string, (pack: string) => void>> = {
  missing: (pack) => rmSync(pack),
  empty: (pack) => truncateSync(pack),
  incomplete: (pack) => truncateSync(pack, statSync(pack).size >> 1),
  changed: (pack) => writeFileSync(pack, Buffer.alloc(statSync(pack).size, 'x')),
};

for (const [what, lose] of someOf(Object.entries(LOSSES), 2))
  test(`only reading is allowed while the kept contents are ${what}, and nothing is put in their place`, async (t) => {
    const project = aProtectedLoop(t);
    const { path, pack } = keptIn(project);
    const { after } = await call(project, () => {
      lose(pack);
      writeFileSync(path, 'spoiled\n');
    });
    const named = new RegExp(`snapshot\\+pack-\\S+ (?:is|was) ${what}`);
    assert.match(after?.systemMessage ?? '', named);
    assert.equal(readFileSync(path, 'utf8'), 'spoiled\n');
    const { before } = await call(project, () => undefined);
    assert.equal(before?.hookSpecificOutput?.permissionDecision, 'deny');
    assert.match(before?.hookSpecificOutput?.permissionDecisionReason ?? '', named);
    const read = { tool_name: 'Read', tool_input: { file_path: path }, tool_use_id: 'r', cwd: project.directory };
    assert.equal(await preToolUse(aHook(project, 'PreToolUse', read)), null);
  });

const SPOIL = 'A changes a file';
type Step = 'pre A' | 'pre B' | 'post A' | 'post B' | typeof SPOIL;

/** Every order of the hooks of two calls, with a change by the first while it runs. */
function orders(): Step[][] {
  const found: Step[][] = [];
  const extend = (done: Step[], left: readonly Step[]): void => {
    if (left.length === 0) found.push(done);
    for (const step of left) {
      const waits = { 'post A': SPOIL, 'post B': 'pre B', [SPOIL]: 'pre A' }[step as string];
      if (waits !== undefined && !done.includes(waits as Step)) continue;
      extend(
        [...done, step],
        left.filter((other) => other !== step),
      );
    }
  };
  extend([], ['pre A', 'pre B', 'post A', 'post B', SPOIL]);
  return found;
}

test('restores what one of two calls at once has changed, in every order of their hooks', async (t) => {
  const all = orders();
  assert.equal(all.length, 10);
  for (const [nth, steps] of [...all, ...all].entries()) {
    const isControl: boolean = nth >= all.length;
    const project = aProtectedLoop(t);
    if (isControl) dropSnapshot(project.files);
    const path = join(project.directory, 'tests', 'file-0.ts');
    for (const step of steps) {
      const [when, id] = step.split(' ');
      const payload = { tool_name: 'Bash', tool_input: { command: 'x' }, tool_use_id: id, cwd: project.directory };
      if (step === SPOIL) writeFileSync(path, 'spoiled\n');
      else if (when === 'pre') await preToolUse(aHook(project, 'PreToolUse', payload));
      else await postToolUse(aHook(project, 'PostToolUse', payload));
    }
    const expected: string = isControl ? 'spoiled\n' : 'test 0\n';
    assert.equal(readFileSync(path, 'utf8'), expected, `${steps.join(', ')}${isControl ? ', control' : ''}`);
  }
});

test('a hook that ends at any moment after a call leaves the change to the next one', async (t) => {
  let ended = 0;
  for (const moment of [1, 2, 3, 4, 5]) {
    const project = aProtectedLoop(t);
    const path = join(project.directory, 'tests', 'file-0.ts');
    const payload = { tool_name: 'Bash', tool_input: { command: 'x' }, tool_use_id: 'a', cwd: project.directory };
    await preToolUse(aHook(project, 'PreToolUse', payload));
    writeFileSync(path, 'spoiled\n');
    const hook = aHook(project, 'PostToolUse', payload);
    let left = moment;
    const now = (): string => {
      left -= 1;
      if (left > 0) return hook.now();
      ended += 1;
      throw new Error('killed');
    };
    await postToolUse({ ...hook, now }).catch((error: Error) => assert.equal(error.message, 'killed'));
    await aStop(project, { prompt_id: 'p1' });
    assert.equal(readFileSync(path, 'utf8'), 'test 0\n', `moment ${moment}`);
  }
  assert.ok(ended >= 3, `only ${ended} hooks were ended`);
});

test('keeps in the archive what stood in the place of a protected file', async (t) => {
  const project = aProtectedLoop(t);
  await call(project, () => void shell(project, REPLACED['a folder with content'] ?? ''));
  const folder = join(project.files.archiveDir, 'replaced');
  const names = existsSync(folder) ? readdirSync(folder, { recursive: true, encoding: 'utf8' }) : [];
  assert.ok(
    names.some((name) => name.endsWith('deep/x')),
    names.join(', '),
  );
});
