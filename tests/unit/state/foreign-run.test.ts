import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { runFiles } from '../../../src/state/task-folder/run-files.ts';
import { putForeignRunAway } from '../../../src/state/task-folder/run-state.ts';
import { folderWith } from '../../support/folder.ts';

const AT = '2026-05-04T10:00:00.000Z';
/** Files of pi-ralph-loop. */
const PI = {
  '.ralph-runner/status.json': '{"loopToken": "x", "status": "running", "currentIteration": 3}\n',
  '.ralph-runner/iterations.jsonl': '{"iteration": 1, "status": "complete"}\n',
  '.ralph-runner/events.jsonl': '{"type": "runner.started"}\n',
  '.ralph-runner/transcripts/iteration-001.md': '# 1\n',
};

for (const gone of ['nothing', '.ralph-runner/status.json']) {
  test(`the run state of another runner is moved away whole, with ${gone} missing`, (t) => {
    const dir = folderWith(t, Object.fromEntries(Object.entries(PI).filter(([path]) => path !== gone)));
    putForeignRunAway(runFiles(dir), AT);
    assert.ok(!existsSync(join(dir, '.ralph-runner')));
    const [name = ''] = readdirSync(join(dir, '.ralph-runner-archive'));
    const moved = join(dir, '.ralph-runner-archive', name);
    assert.equal(readFileSync(join(moved, 'iterations.jsonl'), 'utf8'), PI['.ralph-runner/iterations.jsonl']);
    assert.ok(existsSync(join(moved, 'transcripts/iteration-001.md')));
  });
}

test('control: a task folder without a run, and one with an empty run, stay', (t) => {
  const dir = folderWith(t, { 'RALPH.md': '' });
  putForeignRunAway(runFiles(dir), AT);
  assert.deepEqual(readdirSync(dir), ['RALPH.md']);
  const own = folderWith(t, { '.ralph-runner/.gitignore': '*\n' });
  putForeignRunAway(runFiles(own), AT);
  assert.deepEqual(readdirSync(own), ['.ralph-runner']);
});
