import assert from 'node:assert/strict';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { runStatus, taskIterationRecord } from '../../../src/engine/schema/records.ts';
import type { RunFiles } from '../../../src/state/task-folder/run-files.ts';
import { beat, endBeat, prune, runFiles, takeFlags } from '../../../src/state/task-folder/run-files.ts';
import {
  mirrorEvent,
  mirrorIteration,
  mirrorStatus,
  readRunState,
  writeTranscript,
} from '../../../src/state/task-folder/run-state.ts';
import { emptyFolder } from '../../support/folder.ts';
import { aRecord, aStatus } from './a-run.ts';

function aTask(t: TestContext): RunFiles {
  const dir = emptyFolder(t);
  mkdirSync(join(dir, 'task'));
  return runFiles(join(dir, 'task'));
}

const PARTS = {
  loopId: 'loop-1',
  startedAt: '2026-02-28T10:00:00Z',
  endedAt: '2026-02-28T10:01:00Z',
  status: 'completed' as const,
  prompt: 'Do it.\n',
  commands: [{ name: 'tests', run: 'npm test', outcome: 'error' as const, durationMs: 1234, output: '2 failed' }],
  message: 'Done.',
};

test('The records that the tests write match the schemas.', () => {
  assert.deepEqual(runStatus.parse(aStatus()), aStatus());
  assert.deepEqual(taskIterationRecord.parse(aRecord()), aRecord());
});

test('Reads status and iterations back as they were written, the last iteration last.', (t) => {
  const files = aTask(t);
  assert.equal(readRunState(files), null, 'there has been no run');
  mirrorStatus(files, aStatus({ iteration: 1 }));
  mirrorStatus(files, aStatus({ iteration: 2 }));
  mirrorIteration(files, aRecord({ iteration: 1 }));
  mirrorIteration(files, aRecord({ iteration: 2 }));
  mirrorEvent(files, { type: 'loop.started', at: '2026-02-28T10:00:00Z', loopId: 'loop-1', iteration: 0 });
  assert.deepEqual(readRunState(files), {
    status: aStatus({ iteration: 2 }),
    lastIteration: aRecord({ iteration: 2 }),
    torn: 0,
    problem: null,
  });
  assert.equal(readFileSync(files.events, 'utf8').split('\n').length, 2);
  assert.deepEqual(readdirSync(files.dir).sort(), ['.gitignore', 'events.jsonl', 'iterations.jsonl', 'status.json']);
});

test('Skips and counts a torn last line, and a line that is not an iteration.', (t) => {
  const files = aTask(t);
  mirrorIteration(files, aRecord());
  appendFileSync(files.iterations, '{"loopId":1}\n{"loopId":"lo');
  const run = readRunState(files);
  assert.deepEqual([run?.lastIteration, run?.torn], [aRecord(), 2]);
  mirrorIteration(files, aRecord({ iteration: 2 }));
  assert.deepEqual([readRunState(files)?.lastIteration?.iteration, readRunState(files)?.torn], [2, 2]);
});

test('A broken status is reported with its place and does not throw.', (t) => {
  const files = aTask(t);
  mirrorStatus(files, aStatus());
  for (const [text, problem] of [
    ['{', /cannot be read/],
    ['[]', /must be object/],
    [JSON.stringify({ ...aStatus(), iteration: -1 }), /iteration must be at least 0/],
  ] as const) {
    writeFileSync(files.status, text);
    assert.match(readRunState(files)?.problem ?? '', problem);
    assert.equal(readRunState(files)?.status, null);
  }
});

test('Secrets are masked in status, journals and transcripts.', (t) => {
  const files = aTask(t);
  const secret = 'TOKEN=abcdef123';
  mirrorStatus(files, aStatus({ message: secret }));
  const command = { name: 'a', outcome: 'ok', durationMs: 1, truncated: false, bytes: 9, preview: secret } as const;
  mirrorIteration(files, aRecord({ commands: [command] }));
  mirrorEvent(files, { type: 'x', at: '2026-02-28T10:00:00Z', loopId: 'l', iteration: 0, message: secret });
  writeTranscript(files, 1, { ...PARTS, prompt: secret, message: secret });
  for (const path of readdirSync(files.dir, { recursive: true, encoding: 'utf8' })) {
    const full = join(files.dir, path);
    if (/json|md/.test(path)) assert.ok(!readFileSync(full, 'utf8').includes('abcdef123'), path);
  }
});

test('A transcript contains prompt, evidence and final message, in fences that they cannot close.', (t) => {
  const files = aTask(t);
  const message = 'See:\n```js\n1\n```\n````\nend';
  const path = writeTranscript(files, 7, { ...PARTS, message });
  assert.equal(path, join(files.transcriptsDir, '007.md'));
  const text = readFileSync(path, 'utf8');
  assert.match(text, /^# Iteration 7\n/);
  assert.match(text, /## Prompt\n\n```markdown\nDo it\.\n```\n/);
  assert.match(text, /### tests: error after 1\.2 s\n\n```sh\nnpm test\n```\n\n```\n2 failed\n```\n/);
  assert.ok(text.includes(`\n\`\`\`\`\`markdown\n${message}\n\`\`\`\`\`\n`));
  assert.ok(text.endsWith('\n'));
});

test('A transcript has every tool call with what it was about, and a denied one as denied.', (t) => {
  const calls = [
    { tool: 'Bash', about: 'npm test', outcome: 'ok' },
    { tool: 'Write', about: '/etc/passwd', outcome: 'denied' },
  ];
  const text = readFileSync(writeTranscript(aTask(t), 1, { ...PARTS, calls }), 'utf8');
  const shown = '- Bash: ok\n```\nnpm test\n```\n\n- Write: denied\n```\n/etc/passwd\n```\n';
  assert.ok(text.includes(`\n## Tool calls\n\n${shown}`), text);
});

test('An existing transcript is never overwritten.', (t) => {
  const files = aTask(t);
  for (const message of ['one', 'two', 'three']) writeTranscript(files, 1, { ...PARTS, message });
  assert.deepEqual(readdirSync(files.transcriptsDir).sort(), ['001-2.md', '001-3.md', '001.md']);
  assert.match(readFileSync(join(files.transcriptsDir, '001.md'), 'utf8'), /one/);
  assert.match(readFileSync(join(files.transcriptsDir, '001-3.md'), 'utf8'), /three/);
});

test('A heartbeat is rewritten when it is a minute old, and when the clock was set back.', (t) => {
  const files = aTask(t);
  const times = (): string[] => prune(files, '2026-02-28T10:05:00Z').map(({ at }) => at);
  beat(files, 'loop-1', '2026-02-28T10:00:00Z');
  beat(files, 'loop-1', '2026-02-28T10:00:59Z');
  assert.deepEqual(times(), ['2026-02-28T10:00:00Z']);
  beat(files, 'loop-1', '2026-02-28T10:01:00Z');
  assert.deepEqual(times(), ['2026-02-28T10:01:00Z']);
  beat(files, 'loop-1', '2026-02-28T09:50:00Z');
  assert.deepEqual(times(), ['2026-02-28T09:50:00Z']);
  endBeat(files, 'loop-1');
  assert.deepEqual(times(), []);
  endBeat(files, 'loop-1');
});

test('Prunes a loop without a heartbeat for half an hour and keeps a younger one.', (t) => {
  const files = aTask(t);
  assert.deepEqual(prune(files, '2026-02-28T10:00:00Z'), []);
  beat(files, 'old', '2026-02-28T10:00:00Z');
  beat(files, 'young', '2026-02-28T10:00:01Z');
  writeFileSync(join(files.activeDir, 'broken.json'), '{');
  writeFileSync(join(files.activeDir, 'ancient.json'), '{');
  utimesSync(join(files.activeDir, 'broken.json'), new Date('2026-02-28T10:29:00Z'), new Date('2026-02-28T10:29:00Z'));
  utimesSync(join(files.activeDir, 'ancient.json'), new Date(0), new Date(0));
  const left = [{ loopId: 'young', at: '2026-02-28T10:00:01Z' }];
  assert.deepEqual(prune(files, '2026-02-28T10:30:00Z'), left);
  assert.deepEqual(readdirSync(files.activeDir).sort(), ['broken.json', 'young.json']);
});

test("A loop's id cannot place its heartbeat outside the folder.", (t) => {
  const files = aTask(t);
  for (const id of ['../../x', '/etc/x', 'four-keys-2026-02-28T10:00:00Z', '..', '', 'x'.repeat(5000)]) {
    beat(files, id, '2026-02-28T10:00:00Z');
    assert.deepEqual(readdirSync(files.activeDir).length, 1);
    assert.deepEqual(prune(files, '2026-02-28T10:00:00Z').length, id.length > 4000 ? 0 : 1);
    endBeat(files, id);
  }
  assert.deepEqual(readdirSync(files.taskDir), ['.ralph-runner']);
});

test('A flag takes effect once.', (t) => {
  const files = aTask(t);
  assert.deepEqual(takeFlags(files), { stop: false, cancel: false });
  mkdirSync(files.dir);
  for (const path of [files.stopFlag, files.cancelFlag]) writeFileSync(path, '');
  assert.deepEqual(takeFlags(files), { stop: true, cancel: true });
  assert.deepEqual(takeFlags(files), { stop: false, cancel: false });
});

test('A flag that is a link takes effect and is removed, its target stays; a directory is not a flag.', (t) => {
  const files = aTask(t);
  const target = join(files.taskDir, 'mine.txt');
  writeFileSync(target, 'mine');
  mkdirSync(files.dir);
  symlinkSync(target, files.stopFlag);
  mkdirSync(files.cancelFlag);
  assert.deepEqual(takeFlags(files), { stop: true, cancel: false });
  assert.equal(readFileSync(target, 'utf8'), 'mine');
  assert.ok(existsSync(files.cancelFlag));
});

const WRITERS: readonly [name: string, write: (files: RunFiles) => void][] = [
  ['mirrorStatus', (files) => mirrorStatus(files, aStatus())],
  ['mirrorIteration', (files) => mirrorIteration(files, aRecord())],
  ['mirrorEvent', (files) => mirrorEvent(files, { type: 'x', at: '2026-02-28T10:00:00Z', loopId: 'l', iteration: 0 })],
  ['writeTranscript', (files) => writeTranscript(files, 1, PARTS)],
  ['beat', (files) => beat(files, 'l', '2026-02-28T10:00:00Z')],
  ['prune', (files) => prune(files, '2026-02-28T10:00:00Z')],
  ['takeFlags', (files) => takeFlags(files)],
  ['readRunState', (files) => readRunState(files)],
];

for (const [name, write] of WRITERS) {
  test(`${name} refuses a .ralph-runner that is a link or a file, and touches nothing behind it.`, (t) => {
    const files = aTask(t);
    const outside = join(files.taskDir, '..', 'outside');
    mkdirSync(outside);
    writeFileSync(join(outside, 'stop.flag'), '');
    symlinkSync(outside, files.dir);
    assert.throws(() => write(files), { code: 'refused', message: /\.ralph-runner is no directory of its own/ });
    assert.deepEqual(readdirSync(outside), ['stop.flag']);
    rmSync(files.dir);
    writeFileSync(files.dir, 'mine');
    assert.throws(() => write(files), { code: 'refused' });
    assert.equal(readFileSync(files.dir, 'utf8'), 'mine');
  });
}

test('Control: a writer that follows the link does write outside.', (t) => {
  const files = aTask(t);
  const outside = join(files.taskDir, '..', 'outside');
  mkdirSync(outside);
  symlinkSync(outside, files.dir);
  writeFileSync(files.status, '{}');
  assert.deepEqual(readdirSync(outside), ['status.json']);
});

test('Refuses a journal, transcripts or active-loops folder that is a link, and replaces such a status.', (t) => {
  const files = aTask(t);
  const outside = join(files.taskDir, '..', 'outside');
  mkdirSync(join(outside, 'dir'), { recursive: true });
  writeFileSync(join(outside, 'file'), 'theirs');
  mkdirSync(files.dir);
  symlinkSync(join(outside, 'file'), files.iterations);
  symlinkSync(join(outside, 'file'), files.status);
  symlinkSync(join(outside, 'dir'), files.transcriptsDir);
  symlinkSync(join(outside, 'dir'), files.activeDir);
  assert.throws(() => readRunState(files), { code: 'refused' });
  mirrorStatus(files, aStatus());
  assert.throws(() => mirrorIteration(files, aRecord()), { code: 'refused', message: /iterations\.jsonl/ });
  assert.throws(() => writeTranscript(files, 1, PARTS), { code: 'refused', message: /transcripts/ });
  assert.throws(() => beat(files, 'l', '2026-02-28T10:00:00Z'), { code: 'refused', message: /active-loops/ });
  assert.equal(readFileSync(join(outside, 'file'), 'utf8'), 'theirs');
  assert.deepEqual(readdirSync(join(outside, 'dir')), []);
});

test('A run that has ended no iteration yet does not show the last iteration of the run before.', (t) => {
  const files = aTask(t);
  mirrorStatus(files, aStatus({ loopId: 'loop-1' }));
  mirrorIteration(files, aRecord({ loopId: 'loop-1', iteration: 6 }));
  mirrorStatus(files, aStatus({ loopId: 'loop-2', iteration: 0 }));
  assert.equal(readRunState(files)?.lastIteration, null);
  mirrorIteration(files, aRecord({ loopId: 'loop-2' }));
  assert.equal(readRunState(files)?.lastIteration?.iteration, 1);
});
