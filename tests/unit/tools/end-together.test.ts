import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const tool = (name: string): string => JSON.stringify(pathToFileURL(join(root, 'tests', 'tools', name)).href);
const isAlive = (pid: number): boolean => spawnSync('kill', ['-0', String(pid)]).status === 0;

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  test(`${signal} to a run of the tests ends the program that it has started`, async () => {
    const waits = JSON.stringify('console.log(process.pid); setInterval(() => undefined, 1000)');
    const script = `import { runForwarding } from ${tool('end-together.mjs')};
      process.exitCode = await runForwarding(process.execPath, ['-e', ${waits}]);`;
    const outer = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const inner = await new Promise<number>((done) => outer.stdout.once('data', (text) => done(Number(text))));
    assert.ok(isAlive(inner), 'control: it runs');
    outer.kill(signal);
    const code = await new Promise((done) => outer.once('close', done));
    assert.deepEqual([code, isAlive(inner)], [1, false]);
  });

/** Returns the program that the runner of the tests would start with this folder of temporary files. */
function programWith(folder: string): string {
  const script = `import { inMemory } from ${tool('in-memory.mjs')}; console.log(inMemory(['tests'])[0]);`;
  const run = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    cwd: root,
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], TMPDIR: folder },
    encoding: 'utf8',
  });
  return run.stdout.trim();
}

function emptyFolder(t: TestContext): string {
  const folder = mkdtempSync(join(root, '.build', 'in-memory-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

test('a folder of temporary files that is a link to one above the checkout does not hide it', (t) => {
  const folder = emptyFolder(t);
  symlinkSync(dirname(join(root, '.')), join(folder, 'link'));
  assert.equal(programWith(join(folder, 'link')), 'tests');
  assert.ok(['tests', 'unshare'].includes(programWith(folder)), 'control: another folder may move into memory');
});
