import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { performance } from 'node:perf_hooks';
import { parseHookInput } from '../../../src/hosts/hook-io/hook-input.ts';
import fc from '../../support/property.ts';
import { aCase, type Case, type Laid, lay } from './case.ts';
import { lookAt } from './oracle.ts';
import { checkAnswer, checkBlock, checkDisk, isBlock, LIMIT_MS } from './rules.ts';

/** What a hook may have to read, beside the payload of the case. */
interface SpawnedCase {
  readonly one: Case;
  readonly stdin: 'payload' | 'nothing' | 'no text' | '10 MB' | 'cut off';
  readonly active: string | null;
}

const spawnedCase: fc.Arbitrary<SpawnedCase> = fc.record({
  one: aCase,
  stdin: fc.constantFrom(
    ...(['payload', 'payload', 'payload', 'payload', 'payload', 'payload', 'payload', 'payload'] as const),
    ...(['nothing', 'no text', '10 MB', 'cut off'] as const),
  ),
  active: fc.oneof(
    { weight: 9, arbitrary: fc.constant<string | null>('1') },
    { weight: 1, arbitrary: fc.constantFrom(null, '', '0', 'true', '1 ') },
  ),
});

export interface SpawnedResult {
  readonly hooks: number;
  readonly blocks: number;
  readonly words: number;
  /** The slowest hook that had nothing to wait for, in milliseconds. */
  readonly slowestMs: number;
  readonly failures: readonly string[];
}

/** So many generated Stops through the hook as the client starts it, two at a time. */
export async function spawnStops(hook: string, directory: string, count: number, seed: number): Promise<SpawnedResult> {
  const cases = fc.sample(spawnedCase, { numRuns: count, seed });
  const failures: string[] = [];
  let [next, blocks, words, slowestMs] = [0, 0, 0, 0];
  const seat = async (): Promise<void> => {
    for (let index = next++; index < cases.length; index = next++) {
      const spawned = cases[index];
      if (spawned === undefined) return;
      const laid = lay(spawned.one, directory);
      try {
        const { answer, ms, waited } = await stopOf(hook, laid, spawned);
        if (isBlock(answer)) blocks += 1;
        else if (answer !== null) words += 1;
        if (!waited) slowestMs = Math.max(slowestMs, ms);
      } catch (error) {
        failures.push(`case ${index} of seed ${seed}: ${(error as Error).message}\n${fc.stringify(spawned)}`);
      } finally {
        laid.remove();
      }
    }
  };
  await Promise.all([seat(), seat()]);
  return { hooks: cases.length, blocks, words, slowestMs, failures };
}

async function stopOf(
  hook: string,
  laid: Laid,
  { one, stdin, active }: SpawnedCase,
): Promise<{ answer: unknown; ms: number; waited: boolean }> {
  const input = stdinOf(laid, stdin);
  const before = lookAt(laid);
  const { RALPH_ACTIVE: _given, ...env } = laid.env;
  const from = performance.now();
  // One second to answer in: a hook that has something to wait for waits that long.
  const child = spawn(process.execPath, [hook, '--timeout', '1'], {
    cwd: laid.project,
    env: { PATH: process.env['PATH'], ...env, ...(active === null ? {} : { RALPH_ACTIVE: active }) },
  });
  const [output, errors] = [collect(child.stdout), collect(child.stderr)];
  child.stdin.on('error', () => undefined); // a hook that is not active reads nothing
  child.stdin.end(input);
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  const ms = performance.now() - from;
  assert.deepEqual([code, signal], [0, null], `the hook ended with ${code ?? signal}: ${errors()}`);
  assert.equal(errors(), '');
  assert.ok(ms <= LIMIT_MS, `the hook took ${ms.toFixed(0)} ms`);
  const text = output();
  const answer: unknown = text === '' ? null : JSON.parse(text);
  if (text !== '') assert.ok(typeof answer === 'object' && answer !== null);
  checkAnswer('Stop', answer);
  if (active !== '1') {
    assert.deepEqual([answer, lookAt(laid)], [null, before], 'a hook that is not active did something');
    return { answer, ms, waited: false };
  }
  const parsed = parseHookInput(input.toString('utf8'));
  const session = parsed?.event === 'Stop' ? parsed.sessionId : null;
  if (isBlock(answer)) checkBlock(laid, before, session ?? '');
  if (session === null) assert.deepEqual(lookAt(laid), before, 'no Stop, and something has changed');
  else checkDisk('Stop', laid, before, session);
  return { answer, ms, waited: mayWait(one, input) };
}

function stdinOf(laid: Laid, stdin: SpawnedCase['stdin']): Buffer {
  const payload = laid.input('Stop');
  switch (stdin) {
    case 'payload':
      return payload;
    case 'nothing':
      return Buffer.alloc(0);
    case 'no text':
      return Buffer.from([0xff, 0xfe, 0x00, 0xc3, 0x28, 0xed, 0xa0, 0x80]);
    case '10 MB':
      return Buffer.concat([payload.subarray(0, -1), Buffer.from(`,"further":"${'\u{1F642}'.repeat(2_600_000)}"}`)]);
    case 'cut off':
      return payload.subarray(0, Math.floor(payload.length / 2));
    default:
      return stdin satisfies never;
  }
}

/** Background work, an idle signal, or a state that waits already. */
function mayWait({ loop }: Case, input: Buffer): boolean {
  const state = JSON.stringify(loop.state?.value ?? null);
  return input.includes('running') || input.includes('ralph:state') || state.includes('"waiting"');
}

function collect(stream: NodeJS.ReadableStream): () => string {
  const chunks: Buffer[] = [];
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  return () => Buffer.concat(chunks).toString('utf8');
}
