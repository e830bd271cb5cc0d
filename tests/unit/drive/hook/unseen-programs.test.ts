import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, statSync, truncateSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { postToolUse, preToolUse } from '../../../../src/drive/hook/tool-use.ts';
import { looksUnchanged } from '../../../../src/state/snapshot/look.ts';
import { isSameVersion, versionAt } from '../../../../src/state/snapshot/version.ts';
import { aHook, type Project, put } from '../../../support/drive/drive-project.ts';
import { someOf } from '../../../support/short-form.ts';
import { aProtectedLoop, call, noticesIn, treeOf } from '../../../support/snapshot/guarded-project.ts';
import '../../../support/starts-processes.ts';

const DIFF = `--- a/tests/file-0.ts
+++ b/tests/file-0.ts
@@ -1 +1 @@
-test 0
+spoiled
`;
const MANY = "const fs = require('fs'); for (const f of fs.readFileSync(0, 'utf8').split('\\n').filter(Boolean)) ";

/** Programs of a project that do what they are told on their standard input. */
const PROGRAMS: Readonly<Record<string, string>> = {
  'spoil.cjs': `${MANY} fs.writeFileSync(f, 'spoiled');`,
  'append.cjs': `${MANY} fs.appendFileSync(f, 'spoiled');`,
  'wipe.cjs': `${MANY} fs.rmSync(f, { recursive: true });`,
  'away.cjs': `${MANY} fs.renameSync(f, f + '.away');`,
  'chmod.cjs': `${MANY} fs.chmodSync(f, 0o600);`,
  'link.cjs': `${MANY} { fs.rmSync(f); fs.symlinkSync('/etc/hostname', f); }`,
  'hard.cjs': `${MANY} { fs.writeFileSync('src/other', 'spoiled'); fs.rmSync(f); fs.linkSync('src/other', f); }`,
  'through.cjs': `${MANY} { fs.linkSync(f, 'src/through'); fs.writeFileSync('src/through', 'spoiled'); }`,
  'stamp.cjs': `${MANY} { const s = fs.statSync(f); const b = fs.readFileSync(f); fs.writeFileSync(f, b.map(() => 88)); fs.utimesSync(f, s.atime, s.mtime); }`,
  'run.cjs': "require('child_process').execSync(require('fs').readFileSync(0, 'utf8'), { shell: '/bin/bash' });",
  'job.sh': 'read f; echo spoiled > "$f"',
  'change.diff': DIFF,
  'other/tests/file-0.ts': 'spoiled\n',
  'other/tests/unit/file-1.ts': 'spoiled\n',
  names: 'tests/file-0.ts\n',
};

const UNSEEN: readonly string[] = [
  'printf tests/file-0.ts | node spoil.cjs',
  'printf tests/file-0.ts | node append.cjs',
  'printf tests/file-0.ts | node wipe.cjs',
  'echo tests/unit | node wipe.cjs',
  'echo tests | node wipe.cjs',
  'echo tests | node away.cjs',
  'echo tests/file-5.ts | node away.cjs',
  'echo tests/file-0.ts | node chmod.cjs',
  'echo tests/file-0.ts | node link.cjs',
  'echo tests/file-0.ts | node hard.cjs',
  'echo tests/file-0.ts | node through.cjs',
  'echo tests/file-0.ts | node stamp.cjs',
  'find . -name "file-1*.ts" | node spoil.cjs',
  'node spoil.cjs < names',
  'xargs -a names node spoil.cjs < names',
  "echo tests/file-0.ts | xargs -I{} node -e \"require('fs').writeFileSync(process.argv[1], '')\" {}",
  'echo tests/file-0.ts | bash job.sh',
  "echo 'echo spoiled > tests/file-0.ts' | node run.cjs",
  "echo 'mv tests away && mkdir -p /tmp/ralph-elsewhere-$$ && ln -s /tmp/ralph-elsewhere-$$ tests' | node run.cjs",
  "echo 'rm tests/file-0.ts && mkfifo tests/file-0.ts' | node run.cjs",
  "echo 'rm tests/file-0.ts && mkdir -p tests/file-0.ts/x && touch tests/file-0.ts/x/y' | node run.cjs",
  "echo 'truncate -s 300G tests/file-0.ts' | node run.cjs",
  "echo 'truncate -s 300G deps.lock' | node run.cjs",
  "echo 'rm -rf tests && ln -s src tests' | node run.cjs",
  "echo 'mv tests/unit x && ln -s ../x tests/unit && echo spoiled > x/file-1.ts' | node run.cjs",
  'git apply change.diff',
  'git apply < change.diff',
  'cat change.diff | git apply',
  'tar -C other -cf x.tar tests && tar -xf x.tar',
  'echo tests/file-0.ts | tar -C other -cf x.tar -T - && tar -xf x.tar',
  'tar -C other -cf - tests | tar -xf -',
];

const guarded = ({ directory }: Project): object => [
  treeOf(join(directory, 'tests')),
  readFileSync(join(directory, 'deps.lock'), 'utf8'),
];

test('a change by a program that no rule knows is undone after its call', async (t) => {
  const project = aProtectedLoop(t);
  for (const [name, text] of Object.entries(PROGRAMS)) put(join(project.directory, name), text);
  const before = guarded(project);
  for (const [nth, command] of someOf(UNSEEN, 4).entries()) {
    const payload = { tool_name: 'Bash', tool_input: { command }, tool_use_id: `call-${nth}`, cwd: project.directory };
    const asked = await preToolUse(aHook(project, 'PreToolUse', payload));
    assert.notEqual(asked?.hookSpecificOutput?.permissionDecision, 'deny', command);
    const told = noticesIn(project).length;
    spawnSync('bash', ['-c', command], { cwd: project.directory });
    assert.equal(looksUnchanged(`${project.files.snapshot}.look`, 'all'), false, `control: ${command} changes files`);
    await postToolUse(aHook(project, 'PostToolUse', payload));
    assert.equal(noticesIn(project).length, told + 1, command);
    assert.deepEqual(guarded(project), before, command);
  }
});

test('a protected file that has become 64 GiB long is not read', async (t) => {
  const project = aProtectedLoop(t, undefined, { more: { 'data/model.lock': 'weights\n' } });
  const file = join(project.directory, 'data/model.lock');
  const [long, whole] = [64 * 1024 ** 3, statSync(file).size];
  await call(project, () => truncateSync(file, long));
  assert.equal(statSync(file).size, whole);
  assert.equal(versionAt(file)?.hash.length, 64);
  truncateSync(file, long);
  const now = versionAt(file);
  assert.deepEqual([now?.size, now?.hash.includes(String(long))], [long, true]);
  assert.equal(isSameVersion(now, versionAt(file)), true);
  utimesSync(file, 1, 1);
  assert.equal(isSameVersion(now, versionAt(file)), false, 'a write that leaves its length is seen by its stamp');
});
