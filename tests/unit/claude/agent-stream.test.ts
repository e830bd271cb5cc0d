import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { addFact, NO_FACTS, type RunFacts } from '../../../src/hosts/agent/agent-message.ts';
import { byteLines } from '../../../src/hosts/agent/stream-run.ts';
import { readMessages } from '../../../src/hosts/claude/agent/read-messages.ts';
import { startAgent } from '../../../src/hosts/claude/agent/start-claude.ts';
import { isAlive } from '../../../src/state/process/identity.ts';
import { emptyFolder } from '../../support/folder.ts';
import { plainProgram } from '../../support/plain-program.ts';
import fc from '../../support/property.ts';
import { until } from '../../support/until.ts';

const cut = (chunks: readonly Buffer[], limit: number): { lines: string[]; long: number; torn: boolean } => {
  const lines: string[] = [];
  let long = 0;
  const splitter = byteLines(
    limit,
    (line) => lines.push(line),
    () => {
      long += 1;
    },
  );
  for (const chunk of chunks) splitter.add(chunk);
  return { lines, long, torn: splitter.end() };
};

test('splits the stream into whole lines wherever it is cut, even inside a character', () => {
  const line = fc.string({ unit: 'grapheme', minLength: 1 }).filter((text) => !text.includes('\n'));
  fc.assert(
    fc.property(fc.array(line), fc.array(fc.nat()), (wanted, cuts) => {
      const bytes = Buffer.from(wanted.map((text) => `${text}\n`).join(''));
      const places = [...new Set(cuts.map((at) => at % (bytes.length + 1)))].sort((a, b) => a - b);
      const chunks = [0, ...places].map((from, index) => bytes.subarray(from, places[index] ?? bytes.length));
      const { lines, torn } = cut(chunks, 1_000_000);
      assert.deepEqual(
        lines,
        wanted.map((text) => Buffer.from(text).toString('utf8')),
      );
      assert.equal(torn, false);
    }),
  );
});

test('skips a line that is too long, reports it once and reads the next one', () => {
  const { lines, long, torn } = cut(
    [Buffer.from('ab\n'), Buffer.alloc(50, 'x'), Buffer.alloc(50, 'x'), Buffer.from('\ncd\nef')],
    60,
  );
  assert.deepEqual(lines, ['ab', 'cd']);
  assert.equal(long, 1);
  assert.equal(torn, true);
});

test('reads any JSON on a line without throwing', () => {
  const types = fc.constantFrom('system', 'assistant', 'user', 'result', 'rate_limit_event', 'stream_event', 'new');
  const kinds = fc.constantFrom('message_start', 'content_block_delta', 'message_delta', 'x');
  const subtypes = fc.constantFrom('init', 'hook_started', 'api_retry', 'compact_boundary', 'x');
  fc.assert(
    fc.property(fc.jsonValue(), types, subtypes, kinds, fc.jsonValue(), (any, type, subtype, kind, message) => {
      const event = { type: kind, message, delta: any, usage: message };
      const told = { is_api_error_message: any, rate_limit_info: any, modelUsage: any, isReplay: true, uuid: any };
      const fields = { type, subtype, message, event, ...told };
      for (const value of [any, fields]) {
        const messages = readMessages(JSON.stringify(value)) ?? [];
        messages.reduce(addFact, NO_FACTS);
      }
    }),
  );
  assert.equal(readMessages('{"type":"ass'), null);
  assert.equal(readMessages('[]'), null);
});

/** A stand-in for the client: a node program that is given the client's own options and ignores them. */
const withProgram = async (source: string, body: (program: string) => Promise<void>): Promise<void> => {
  const dir = mkdtempSync(join(tmpdir(), 'ralph-agent-'));
  const program = join(dir, 'agent');
  writeFileSync(program, `#!${process.execPath}\n${source}`, { mode: 0o755 });
  try {
    await body(program);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
};

const defaults = {
  args: [],
  cwd: tmpdir(),
  env: { PATH: process.env['PATH'] },
  prompt: 'go',
  silenceMs: 20_000,
  timeMs: null,
  lingerMs: 20_000,
  guarded: false,
  allowance: { costUsd: null, tokens: null, timeMs: null },
  onMessage: () => undefined,
} as const;

test('kills an agent that ignores a polite request to end', async () => {
  const deaf = 'process.on("SIGTERM", () => {}); console.log("{}"); setInterval(() => {}, 1000);';
  await withProgram(deaf, async (program) => {
    const run = await startAgent({ ...defaults, program, silenceMs: 300 }).done;
    assert.equal(run.outcome.kind, 'hung');
  });
});

test('ends an iteration at its time limit, however much the agent writes', async () => {
  await withProgram('setInterval(() => console.log("{}"), 20);', async (program) => {
    const run = await startAgent({ ...defaults, program, timeMs: 500 }).done;
    assert.equal(run.outcome.kind, 'out-of-time');
  });
});

test('reports a missing program and a torn last line without throwing', async () => {
  const missing = await startAgent({ ...defaults, program: '/no/such/claude' }).done;
  assert.equal(missing.outcome.kind, 'crashed');
  assert.match(missing.outcome.message, /could not be started/);
  await withProgram(
    'process.stdout.write("{}\\nno json\\n{\\"type\\":\\"res"); process.stderr.write("oh no");',
    async (program) => {
      const run = await startAgent({ ...defaults, program }).done;
      assert.equal(run.facts.lostLines, 2);
      assert.equal(run.complaint, 'oh no');
    },
  );
});

/** Repeats what it is told; with `acks` it says by their ids what it has heard. */
const echoing = (acks: boolean): string => `
  require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
    const { type, message, uuid } = JSON.parse(line);
    const say = (what) => console.log(JSON.stringify(what));
    if (type === "control_request") return say({ type: "result", result: "stopped", num_turns: 1, terminal_reason: "completed" });
    if (${acks}) say({ type: "user", isReplay: true, uuid });
    say({ type: "assistant", message: { content: [{ type: "text", text: message.content[0].text }] } });
  });`;

for (const acks of [true, false]) {
  test(`delivers messages in the turn and reports each once, ${acks ? 'acknowledged' : 'not acknowledged'} by the agent`, async () => {
    await withProgram(echoing(acks), async (program) => {
      const told: string[] = [];
      const agent = startAgent({
        ...defaults,
        program,
        onMessage: (message) => {
          if (message.kind === 'acknowledged') told.push(`heard ${message.id}`);
          if (message.kind !== 'text') return;
          told.push(message.text);
          if (message.text === 'go') assert.equal(agent.send('more', 'id-1'), true);
          else agent.end('interrupt');
        },
      });
      const run = await agent.done;
      assert.deepEqual(told, ['go', 'heard id-1', 'more']);
      assert.equal(run.outcome.kind, 'ok');
      assert.equal(agent.send('too late', 'id-2'), false);
    });
  });
}

test('reads a stream of 100 MB within 40 MB of memory', async (t) => {
  const talker = `
    const line = JSON.stringify({ type: "assistant", message: { content: [{ type: "text", text: "x".repeat(100000) }] } }) + "\\n";
    let left = 1000;
    const talk = () => { while (left-- > 0) if (!process.stdout.write(line)) return void process.stdout.once("drain", talk); };
    talk();`;
  await withProgram(talker, async (program) => {
    const read = async (keep: boolean): Promise<{ status: number | null; stdout: string }> => {
      const script = `
        import { startAgent } from '../../src/hosts/claude/agent/start-claude.ts';
        const kept = [];
        let bytes = 0;
        const options = ${JSON.stringify({ ...defaults, program })};
        const onMessage = (message) => { bytes += message.text.length; if (${keep}) kept.push(message.text + bytes.toString().repeat(1)); };
        await startAgent({ ...options, onMessage }).done;
        console.log(bytes);`;
      const words = ['--max-old-space-size=40', await plainProgram(emptyFolder(t), script)];
      return spawnSync(process.execPath, words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    };
    const run = await read(false);
    assert.equal(run.status, 0);
    assert.equal(run.stdout.trim(), '100000000');
    assert.notEqual((await read(true)).status, 0, 'the control: who keeps the texts runs out of memory');
  });
});

test('does not count output that could not be read yet as silence', async (t) => {
  const talker = `
    const { existsSync, writeFileSync } = require("node:fs");
    process.stdout.write("{}\\n", () => writeFileSync(__filename + ".said", ""));
    setInterval(() => { if (existsSync(__filename + ".end")) process.exit(0); }, 10);`;
  await withProgram(talker, async (program) => {
    t.mock.timers.enable({ apis: ['setInterval', 'Date'], now: Date.now() });
    const agent = startAgent({ ...defaults, program, silenceMs: 2_000 });
    for (let passed = 0; passed < 600; passed += 200) t.mock.timers.tick(200);
    // As if the runner had been stopped, or the machine asleep: timers are due before anything is read.
    const wait = new Int32Array(new SharedArrayBuffer(4));
    const given = performance.now() + 60_000;
    while (!existsSync(`${program}.said`) && performance.now() < given) Atomics.wait(wait, 0, 0, 20);
    t.mock.timers.setTime(Date.now() + 2_600);
    t.mock.timers.tick(200);
    writeFileSync(`${program}.end`, '');
    const run = await agent.done;
    assert.notEqual(run.outcome.kind, 'hung');
  });
});

test('ends a program whose process cannot be recorded, and throws the error', async () => {
  await withProgram('setInterval(() => {}, 1000);', async (program) => {
    let pid = 0;
    const full = new Error('the disk is full (ENOSPC, write)');
    const onStart = (started: number): never => {
      pid = started;
      throw full;
    };
    assert.throws(() => startAgent({ ...defaults, program, onStart }), full);
    await until('the process has ended', () => !isAlive({ pid, startedAt: null }));
  });
});

test('asks an agent that runs out of time for its usage first', async () => {
  const source = `
    const usage = { input_tokens: 70, output_tokens: 1, cache_read_input_tokens: 3, cache_creation_input_tokens: 2 };
    const say = (line) => console.log(JSON.stringify(line));
    say({ type: "stream_event", event: { type: "message_start", message: { id: "m", usage } } });
    require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
      if (JSON.parse(line).type !== "control_request") return;
      const modelUsage = { m: { inputTokens: 70, outputTokens: 9, cacheReadInputTokens: 3, cacheCreationInputTokens: 2 } };
      say({ type: "result", is_error: true, terminal_reason: "aborted_streaming", total_cost_usd: 0.5, modelUsage });
    });`;
  await withProgram(source, async (program) => {
    const used: unknown[] = [];
    const onUsage = ({ usage, costUsd }: Pick<RunFacts, 'usage' | 'costUsd'>) =>
      used.push([usage?.outputTokens, costUsd]);
    const { facts, outcome } = await startAgent({ ...defaults, program, timeMs: 800, onUsage }).done;
    assert.equal(outcome.kind, 'out-of-time');
    const usage = { inputTokens: 70, outputTokens: 9, cacheReadTokens: 3, cacheWriteTokens: 2 };
    assert.deepEqual(
      [facts.usage, facts.costUsd, used],
      [
        usage,
        0.5,
        [
          [1, null],
          [9, 0.5],
        ],
      ],
    );
  });
});
