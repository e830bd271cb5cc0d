import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { initialState } from '../../../src/engine/initial-state.ts';
import type { LoopState } from '../../../src/engine/schema/state.ts';
import { streamed } from '../../../src/state/event-stream.ts';
import { listEvidence } from '../../../src/state/evidence/evidence.ts';
import { beginEvidence, writeContract } from '../../../src/state/evidence/store-evidence.ts';
import { newOwner, runnerHold } from '../../../src/state/lock/owner.ts';
import { type LoopFiles, loopFiles } from '../../../src/state/loop-files.ts';
import { readStartPoint, writeStartPoint } from '../../../src/task/git/start-point.ts';
import { buildContract } from '../../../src/task/settings/build-contract.ts';
import { terms } from '../contract-terms.ts';

const START = Date.parse('2026-03-02T21:00:00.000Z');
const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** What an agent may say that must stay text. */
export const HOSTILE = [
  '<img src=x onerror="document.title=\'owned\'">',
  '</script><script>document.title=`owned`</script>',
  '\u001B[2J\u001B[31mred\u001B[0m \u001B]0;owned\u0007',
  'user\u202Etxt.exe\u2066 hidden \u200F',
  '[a link](javascript:alert(1)) https://example.invalid/beacon',
  '&lt;b&gt; ${7*7} {{7*7}}',
].join('\n');

export interface LongLoop {
  readonly files: LoopFiles;
  readonly state: LoopState;
  readonly loopId: string;
}

interface Shape {
  readonly name: string | null;
  readonly iterations: number;
  /** Still at work, instead of ended by the breaker. */
  readonly live?: boolean;
  readonly hostile?: boolean;
  /** This process stands for its runner. */
  readonly driven?: boolean;
}

/** Writes a loop as its driver would have left it: working and idle iterations, rejected claims, denials, waits, steering. */
export function writeLongLoop(projectDir: string, env: NodeJS.ProcessEnv, shape: Shape): LongLoop {
  const files = loopFiles(projectDir, shape.name, env);
  const loopId = `loop-${shape.name ?? 'default'}-0001`;
  const taskPath = shape.name === null ? 'PROMPT.md' : `.ralph/${shape.name}/RALPH.md`;
  const lines: object[] = [];
  const start = shape.live === true ? Date.now() - 2 * 60 * MINUTE : START;
  let at = start;
  let iteration = 0;
  let costUsd = 0;
  let looks = 0;
  const time = (): string => new Date(at).toISOString();
  const add = (type: string, more: object = {}): void =>
    void lines.push(streamed({ type, at: time(), loopId, iteration, ...more }));
  add('loop.started', {
    ...{ maxIterations: 100, taskPath, mode: 'runner', client: '2.1.330', model: 'sonnet', system: 'linux x64' },
    ...{ node: 'v20.20.2', contract: '9f2c11d0aa31', ralphLoop: '0.1.0' },
    breaker: { findings: 6, noProgress: 3, sameReply: 3, sameError: 4, denials: 2, tdd: 0 },
    limits: { maxCostUsd: 60, maxTokens: null, maxTimeMs: 48 * 60 * MINUTE, maxIdleMs: null },
    checks: [
      { name: 'tests', run: 'npm test' },
      { name: 'types', run: 'npx tsc --noEmit' },
      { name: 'acceptance', run: './accept.sh --all' },
    ],
  });
  for (let index = 1; index <= shape.iterations; index += 1) {
    const startedAt = time();
    const claims = index % 23 === 0;
    const fails = index % 71 === 0;
    const denies = index % 17 === 0;
    // At most 100 iterations count; a longer history consists mostly of looks while idle.
    const works = claims || fails || denies || index % 5 === 0 || index > shape.iterations - 3;
    const idle = shape.iterations > 100 ? !works : index % 29 === 0;
    looks += idle ? 1 : 0;
    const open = shape.live === true && index === shape.iterations;
    add('iteration.started', { begins: iteration + 1, maxIterations: 100 });
    if (index % 41 === 0) {
      add('operator.steer', {
        id: `s${index}`,
        delivery: 'now',
        text: 'Leave the public API as it is; the tests of src/date are wrong.',
      });
      add('steering.delivered', { ids: [`s${index}`] });
    }
    const calls = idle ? 1 : 3 + (index % 5);
    for (let call = 0; call < calls; call += 1) {
      at += 4 * SECOND;
      const id = `toolu_${index}_${call}`;
      const [tool, about] = CALLS[(index + call) % CALLS.length] ?? ['Bash', 'ls'];
      add('tool.started', { id, tool, about, nested: call === 2 });
      at += (1 + ((index * 7 + call * 3) % 20)) * SECOND;
      const denied = denies && call === 0;
      const outcome = denied ? 'denied' : (index + call) % 13 === 0 ? 'failed' : 'ok';
      const reason = denied
        ? { reason: '[blocked by guardrail: git\\s+push] The user does not allow git push in this loop.' }
        : {};
      add('tool.ended', { id, tool, about, nested: call === 2, outcome, durationMs: 2_000 + call * 700, ...reason });
    }
    add('agent.usage', { tokens: 20_000, context: 24_000 + ((index * 1_733) % 120_000), window: 200_000 });
    const words = shape.hostile && index % 3 === 0 ? HOSTILE : WORDS[index % WORDS.length];
    add('agent.text', {
      text: `${words}\n\nRALPH_ITERATION_COMPLETE: ${Math.max(0, 40 - Math.floor(index / 8))} findings remain`,
    });
    if (open) break;
    at += 5 * SECOND;
    if (!idle) iteration += 1;
    const spent = 0.02 + ((index * 37) % 100) / 900;
    costUsd += spent;
    if (fails) add('iteration.failed', { error: 'The agent was silent for 20 minutes and was ended.' });
    const usage = {
      inputTokens: 900 + index * 3,
      outputTokens: 1_200 + ((index * 53) % 900),
      cacheReadTokens: 60_000,
      cacheWriteTokens: 4_000,
    };
    const durationMs = at - Date.parse(startedAt);
    add('iteration.ended', {
      ...{
        idleIterations: looks,
        kind: idle ? 'idle' : 'working',
        startedAt,
        endedAt: time(),
        durationMs,
      },
      ...{ findings: Math.max(0, 40 - Math.floor(index / 8)), states: [], claimed: claims, toolCalls: calls },
      ...{
        deniedCalls: denies ? 1 : 0,
        outputTokens: usage.outputTokens,
        decision: claims ? 'claimed' : 'running',
      },
      breaker: {
        ...{ findings: index % 6, noProgress: index > shape.iterations - 3 ? index - shape.iterations + 3 : index % 2 },
        ...{ sameReply: 0, sameError: 0, denials: denies ? 1 : 0, tdd: 0 },
      },
      agent: { model: 'sonnet', turns: 4, durationMs, costUsd: spent, usage },
    });
    if (claims) reject(add, index, () => (at += 9 * SECOND));
    if (idle) {
      add('wait.started', { why: 'idle', until: new Date(at + 10 * MINUTE).toISOString() });
      at += 10 * MINUTE;
      add('idle.ended', { why: 'elapsed' });
    }
    if (index === 150) {
      add('loop.paused', { reason: 'rate-limited', resetsAt: new Date(at + 90 * MINUTE).toISOString() });
      at += 90 * MINUTE;
      add('loop.resumed', { why: 'the rate limit has passed' });
    }
  }
  const message = `stopped by the circuit breaker after ${iteration} iterations: three iterations in a row changed nothing.`;
  const fresh = initialState({
    ...{ loopId, name: shape.name, mode: 'runner', taskPath, contractHash: null, maxIterations: 100 },
    ...{ at: new Date(start).toISOString(), consented: true },
  });
  const counted: LoopState = {
    ...fresh,
    ...{ iteration, maxIterations: 100, lastRunAt: time() },
    usage: { ...fresh.usage, costUsd, inputTokens: 400_000, outputTokens: 500_000, cacheWriteTokens: 1_200_000 },
  };
  const state: LoopState =
    shape.live === true
      ? { ...counted, sessionId: 'session-live', clientPid: process.pid, clientStartedAt: null }
      : ({
          ...counted,
          status: 'ended',
          ended: { at: time(), as: 'circuit-open', message, verified: false },
        } as LoopState);
  if (shape.live !== true) add('loop.ended', { status: 'circuit-open', message, verified: false });
  mkdirSync(files.archiveDir, { recursive: true });
  mkdirSync(files.outsideDir, { recursive: true });
  writeFileSync(files.events, `${lines.map((line) => JSON.stringify(line)).join('\n')}\n`);
  if (shape.driven === true) writeFileSync(runnerHold(files), JSON.stringify(newOwner()));
  const archived = join(files.archiveDir, `${time().replaceAll(':', '-')}-circuit-open.json`);
  writeFileSync(shape.live === true ? files.state : archived, `${JSON.stringify(state)}\n`);
  return { files, state, loopId };
}

/** Records the present files of the project as those of the loop's start. */
export async function recordStart({ files, loopId }: LongLoop, env: NodeJS.ProcessEnv): Promise<void> {
  const start = await readStartPoint(files.projectDir, { env });
  if (typeof start === 'string') throw new Error(start);
  beginEvidence(files, loopId);
  writeStartPoint(files, loopId, { ...start.point, loopId });
  const { contract, hash } = buildContract(terms(files.projectDir, [], { loopId, name: files.name }));
  writeContract(files, { hash, contract: { ...contract, evidence: listEvidence(files, loopId) } });
}

function reject(add: (type: string, more?: object) => void, index: number, pass: () => void): void {
  add('completion.claimed');
  add('verification.started');
  pass();
  const tail = `exit code 1.\n${Array.from({ length: 12 }, (_, line) => `not ok ${line + 1} - slugify keeps ${line} dashes`).join('\n')}`;
  add('check.ran', { name: 'tests', run: 'npm test', outcome: 'failed', tail });
  add('check.ran', {
    name: 'types',
    run: 'npx tsc --noEmit',
    outcome: index > 80 ? 'ok' : 'failed',
    tail: index > 80 ? 'exit code 0.' : 'exit code 2.\nsrc/date.ts(3,7): error TS2322',
  });
  add('completion.rejected', { reasons: ['tests: exit code 1.\nnot ok 4 - slugify keeps 3 dashes'] });
}

const CALLS: readonly (readonly [string, string])[] = [
  ['Read', 'src/date/parse-iso.ts'],
  ['Bash', 'npm test -- --test-name-pattern "keeps the offset of a zoned time"'],
  ['Edit', 'src/date/parse-iso.ts'],
  ['Grep', 'parseIso\\('],
  ['Bash', 'git push origin HEAD'],
  ['Task', 'Look for other callers of parseIso'],
];
const WORDS = [
  'I moved the zone handling into one function and made its tests pass. Two of the findings were the same mistake.',
  'The parser now keeps fractions of a second. I left the formatter alone, as its tests describe another rule.',
  'Nothing changed since the last look, so there was nothing to do.',
];
