import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** The project of every case: one function is wrong, one test of two fails. */
export const FILES: Readonly<Record<string, string>> = {
  'package.json': `${JSON.stringify({ name: 'sums', private: true, type: 'module', scripts: { test: 'node --test test/' } }, null, 2)}\n`,
  'src/sum.js': 'export const sum = (a, b) => a - b;\n',
  'src/name.js': "export const name = () => 'sums';\n",
  'test/sum.test.js': [
    "import assert from 'node:assert/strict';",
    "import { test } from 'node:test';",
    "import { sum } from '../src/sum.js';",
    "test('adds', () => assert.equal(sum(2, 3), 5));",
    '',
  ].join('\n'),
  'test/name.test.js': [
    "import assert from 'node:assert/strict';",
    "import { test } from 'node:test';",
    "import { name } from '../src/name.js';",
    "test('has a name', () => assert.equal(name(), 'sums'));",
    '',
  ].join('\n'),
};

export const WORK = "sed -i 's/a - b/a + b/' src/sum.js && npm test";

/** Whether the project's code, as it is now, passes the tests as they were at the start: what no runner is asked about. */
export function isTrulyDone(project: string): boolean {
  const clean = mkdtempSync(join(tmpdir(), 'ralph-truth-'));
  try {
    for (const [path, content] of Object.entries(FILES)) {
      mkdirSync(dirname(join(clean, path)), { recursive: true });
      if (!path.startsWith('src/')) writeFileSync(join(clean, path), content);
    }
    if (existsSync(join(project, 'src'))) cpSync(join(project, 'src'), join(clean, 'src'), { recursive: true });
    const run = spawnSync(process.execPath, ['--test', 'test/'], { cwd: clean, env: { PATH: process.env['PATH'] } });
    return run.status === 0;
  } finally {
    rmSync(clean, { recursive: true, force: true });
  }
}
