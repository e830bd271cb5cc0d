import assert from 'node:assert/strict';
import { appendFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readSignals } from '../../../src/engine/signals/signals.ts';
import { watchQueue } from '../../../src/hosts/claude/transcript/queued-messages.ts';
import {
  apiFailure,
  begunBy,
  blockOverridden,
  clientVersion,
  lastApiError,
  transcriptSize,
} from '../../../src/hosts/claude/transcript/transcript.ts';
import { parseHookInput, toolCall } from '../../../src/hosts/hook-io/hook-input.ts';
import { readUsage } from '../../../src/hosts/read-usage.ts';
import { readLines, readTail } from '../../../src/state/files/journal-lines.ts';
import { parseState } from '../../../src/state/loop-files.ts';
import { splitFrontmatter } from '../../../src/task/frontmatter/split-frontmatter.ts';
import { policyFromEnvironment } from '../../../src/task/settings/from-environment.ts';
import fc from '../../support/property.ts';
import { payload, payloadBytes } from './payload.ts';
import type { Stopwatch } from './rules.ts';
import { loopOnDisk } from './state.ts';
import { anyText, contentBytes, damage, damaged, junk, render, UNDAMAGED, written } from './text.ts';
import { transcript, transcriptBytes } from './transcript.ts';

const PATHS = { project: '/project', transcript: '/transcript.jsonl' };

/** Texts of every kind that a hook reads: payloads, state files, task files, messages, and none of these. */
const anyInput: fc.Arbitrary<Buffer> = fc.oneof(
  { weight: 4, arbitrary: payload.map((one) => payloadBytes(one, 'Stop', PATHS)) },
  {
    weight: 4,
    arbitrary: loopOnDisk.map(({ state, contract }) =>
      contentBytes(state ?? contract ?? { value: '', damage: UNDAMAGED }),
    ),
  },
  { weight: 2, arbitrary: junk.map((value) => Buffer.from(render(value))) },
  { weight: 3, arbitrary: fc.tuple(anyText, damage).map(([text, how]) => damaged(written(text), how)) },
);

export type ParseHookInput = typeof parseHookInput;

/** What is read from a text that was read already: no text makes one of these throw, or takes it long. */
export function parsersNeverThrow(watch: Stopwatch, parse: ParseHookInput = parseHookInput): fc.IProperty<unknown[]> {
  return fc.property(anyInput, (bytes) => {
    const text = bytes.toString('utf8');
    const input = watch.time('parseHookInput', () => parse(text));
    if (input !== null) {
      assert.ok(typeof input.event === 'string' && typeof input.sessionId === 'string' && input.sessionId !== '');
      for (const part of [input.transcriptPath, input.promptId, input.lastMessage, input.source, input.prompt]) {
        assert.ok(part === null || typeof part === 'string');
      }
      for (const { id, running } of input.backgroundTasks) {
        assert.deepEqual([typeof id, typeof running], ['string', 'boolean']);
      }
      const call = watch.time('toolCall', () => toolCall(input));
      assert.deepEqual([typeof call.name, typeof call.input, typeof call.id], ['string', 'object', 'string']);
    }
    const state = watch.time('parseState', () => parseState(text));
    assert.ok(['loop', 'four-keys', 'newer', 'corrupt'].includes(state.kind));
    const split = watch.time('splitFrontmatter', () => splitFrontmatter(text));
    assert.ok(text.endsWith(split.body));
    for (const signalMatch of ['line', 'anywhere'] as const) {
      watch.time('readSignals', () => readSignals(text, { completion: { kind: 'signal', text: 'DONE' }, signalMatch }));
    }
    const env = { RALPH_COMPLETION_SIGNAL: text, RALPH_MAX_ITERATIONS: text };
    watch.time('policyFromEnvironment', () => policyFromEnvironment(env, '/nowhere'));
  });
}

const readerCase = fc.record({
  file: transcript,
  later: transcript,
  subagent: fc.oneof({ weight: 9, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: transcript }),
  from: fc.oneof(fc.constantFrom(0, 1, 5, 2 ** 40, 1e308), fc.nat({ max: 500 })),
  budget: fc.constantFrom(1, 64, 64 * 1024, 1024 * 1024, 32 * 1024 * 1024),
  needle: fc.constantFrom('', '"usage"', '\u2028'),
  error: fc.record({ error: junk, last_assistant_message: junk }),
});

/** Everything that is read from transcripts and journals, over one file that grows while it is read. */
export function readersNeverThrow(directory: string, watch: Stopwatch): fc.IProperty<unknown[]> {
  const path = join(directory, 'transcript.jsonl');
  const subagents = join(directory, 'transcript', 'subagents');
  return fc.property(readerCase, ({ file, later, subagent, from, budget, needle, error }) => {
    writeFileSync(path, transcriptBytes(file));
    rmSync(subagents, { recursive: true, force: true });
    if (subagent !== null) {
      mkdirSync(subagents, { recursive: true });
      writeFileSync(join(subagents, 'agent-1.jsonl'), transcriptBytes(subagent));
    }
    watch.time('begunBy', () => begunBy(path, 'p1'));
    watch.time('blockOverridden', () => blockOverridden(path, '2026-02-28T10:00:00Z'));
    const version = watch.time('clientVersion', () => clientVersion(path));
    assert.ok(version === null || typeof version === 'string');
    watch.time('lastApiError', () => lastApiError(path));
    const failure = watch.time('apiFailure', () => apiFailure(error, path));
    assert.ok(failure.message.length <= 500);
    const { resetsAt } = failure;
    assert.ok(resetsAt === null || /^\d{4}-/.test(resetsAt), `no state file can hold ${resetsAt}`);
    watch.time('readTail', () => readTail(path, budget, (line) => line.includes('m3')));
    checkLines(path, from, budget, needle, watch);
    const queue = watch.time('watchQueue', () => watchQueue(path, ['t1', 't2']));
    appendFileSync(path, transcriptBytes(later));
    const queued = watch.time('the queue', () => queue());
    assert.ok(queued === null || queued === 'message' || queued === 'notification');
    checkUsage(path, from, watch);
  });
}

/** Read on to the end: every read comes further or is the last one. */
function checkLines(path: string, from: number, budget: number, needle: string, watch: Stopwatch): void {
  const size = transcriptSize(path) ?? 0;
  let place = from;
  for (let reads = 0; reads < 3; reads++) {
    const { entries, next } = watch.time('readLines', () =>
      readLines(path, place, budget, (line) => line.includes(needle)),
    );
    assert.ok(Number.isSafeInteger(next) && next >= 0 && next <= size, `the next read starts at ${next} of ${size}`);
    assert.ok(next >= place || place > size);
    assert.ok(entries.every((entry) => typeof entry === 'object' && entry !== null));
    place = next;
  }
}

function checkUsage(path: string, transcriptBytes: number, watch: Stopwatch): void {
  const marks = { transcriptPath: path, transcriptBytes, subagentBytes: {}, lastMessageIds: ['m1'], callsBytes: 0 };
  const first = watch.time('readUsage', () => readUsage(path, marks));
  const second = watch.time('readUsage again', () => readUsage(path, first.marks));
  for (const { usage, marks: after } of [first, second]) {
    const counts = [...Object.values(usage ?? {}), after.transcriptBytes, ...Object.values(after.subagentBytes)];
    assert.ok(
      counts.every((count) => Number.isSafeInteger(count) && count >= 0),
      `counts ${counts}`,
    );
    assert.ok(after.lastMessageIds.every((id) => typeof id === 'string'));
  }
}
