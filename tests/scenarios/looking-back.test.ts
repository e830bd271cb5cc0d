import assert from 'node:assert/strict';
import { appendFileSync, existsSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { commandHere } from '../support/command-here.ts';
import { startHere } from '../support/drive/start-now.ts';
import { initRepository } from '../support/git.ts';
import { DIST, type Project, project } from '../support/project.ts';
import { longTest, someOf } from '../support/short-form.ts';

const RUNTIME = '.claude/context/runtime';
const STATE = `${RUNTIME}/ralph-state.json`;

function started(p: Project): Record<string, unknown> {
  p.write('.claude/ralph/PROMPT.md', '# Task\n\nMake it work.\n');
  startHere(p);
  return JSON.parse(p.read(STATE)) as Record<string, unknown>;
}

function changeState(p: Project, more: object): void {
  p.write(STATE, { ...JSON.parse(p.read(STATE)), ...more });
}

function lines(text: string): Record<string, unknown>[] {
  return text
    .trim()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

test('explain says how to begin if there has been no loop', (t) => {
  const { json, code } = project(t).ralph(['explain', '--json']);
  assert.equal(code, 0);
  assert.deepEqual([json['active'], json['status']], [false, null]);
  assert.match(String(json['next']), /ralph-loop start/);
});

test('without a name, status, logs and archive are about the loop that ended last', async (t) => {
  const p = project(t);
  p.write('job/RALPH.md', '---\nmax_iterations: 1\n---\nWork.\n');
  assert.equal(p.ralph(['run', 'job', '--agent', 'cat >/dev/null; echo fine']).code, 2);
  assert.match(
    (await commandHere(p, ['status'])).stdout,
    /^Loop job ended \(no progress, [^)]* ago\): Stopped after 1 iteration,/,
  );
  assert.equal(((await commandHere(p, ['status'])).stdout.match(/ended \(/g) ?? []).length, 1, 'once');
  assert.match((await commandHere(p, ['logs'])).stdout, /agent\.ended {2}ok, [^{}]*$/m);
  assert.match((await commandHere(p, ['logs', '--iterations'])).stdout, /^1 +working/m);
  assert.match((await commandHere(p, ['archive'])).stdout, /no-progress-exhaustion\.json/);
  assert.equal(p.has('.claude/context/memory'), false, 'a project without a memory gets none');
  const config = (await commandHere(p, ['config'])).stdout;
  assert.match(config, /^state file +\.claude\/context\/runtime\/ralph-state\.json$/m);
});

test('the status line of a session shows how its own loop ended', (t) => {
  const p = project(t);
  const { loopId } = started(p);
  const program = `node ${join(DIST, 'scripts', 'statusline.cjs')}`;
  const line = (id: unknown): string => p.sh(program, '', { RALPH_LOOP_ID: String(id) }).stdout;
  assert.match(line(loopId), /^ralph: default │ running │ iter 1\/25 │/);
  p.ralph(['stop']);
  assert.match(line(loopId), /^ralph: default │ stopped │ iter 0\/25 │/);
  assert.equal(line('another'), '');
});

const at = '2026-01-01T00:00:00Z';

const LIVE: readonly [when: string, state: object, why: RegExp, next: RegExp][] = [
  ['nobody has taken it up yet', {}, /no client has joined it/, /ralph-loop start --resume --launch/],
  ['no session has asked the router', { mode: 'router' }, /no client has joined it/, /: \/ralph-loop$/],
  ['it works', { sessionId: 's', clientPid: process.pid }, /is working on iteration 1 of 25/, /Nothing/],
  ['it works in a session of unknown process', { sessionId: 's', clientPid: null }, /is working on/, /Nothing/],
  ['its client is gone', { sessionId: 's', clientPid: 2 ** 22 }, /has exited/, /ralph-loop resume/],
  [
    'it was told to stop',
    { sessionId: 's', clientPid: process.pid, stopRequested: true },
    /The user stopped it/,
    /cancel/,
  ],
  [
    'it is idle',
    { status: 'waiting', waiting: { since: at, until: at, delayMs: 1, last: false, woken: false, seen: null } },
    /has nothing to do; the loop wakes at 2026-01-01 09:00:00\./,
    /ralph-loop wake/,
  ],
  [
    'it waits between two iterations',
    {
      status: 'waiting',
      waiting: { since: at, until: at, delayMs: 1, last: false, woken: false, seen: null, why: 'pace' },
    },
    /delay between iterations; the next one begins at 2026-01-01 09:00:00\./,
    /ralph-loop wake/,
  ],
  ['its checks run', { status: 'verifying', verifying: { since: at } }, /checks are running/, /Nothing/],
  ['it awaits consent', { status: 'awaiting-consent' }, /the user has not agreed/, /start --consent/],
  ...(
    [
      ['operator', /ralph-loop resume/],
      ['interrupted', /ralph-loop resume/],
      ['rate-limited', /Wait until the limit has reset/],
      ['api-error', /Fix what the message names/],
      ['contract-changed', /ralph-loop accept/],
    ] as const
  ).map(([reason, next]): [string, object, RegExp, RegExp] => [
    `it is paused (${reason})`,
    { status: 'paused', paused: { since: at, reason, message: 'the very message.', resumesAt: null } },
    /the very message/,
    next,
  ]),
];

for (const [when, state, why, next] of someOf(LIVE, 5)) {
  test(`explain of a live loop when ${when}`, (t) => {
    const p = project(t);
    started(p);
    changeState(p, { clientStartedAt: null, ...state });
    const { json } = p.ralph(['explain', '--json'], { TZ: 'Asia/Tokyo' });
    assert.equal(json['active'], true);
    assert.match(String(json['why']), why);
    assert.match(String(json['next']), next);
  });
}

const ENDS: readonly [as: string, next: RegExp][] = [
  ['complete', /no check proves it/],
  ['stopped', /ralph-loop resume/],
  ['cancelled', /ralph-loop resume/],
  ['interrupted', /ralph-loop resume/],
  ['max-iterations', /Show them: .* logs\. Resume: /],
  ['no-progress-exhaustion', /^No iteration is known to have made progress\./],
  ['circuit-open', /The iterations repeated themselves/],
  ['idle-limit', /idle\.max/],
  ['budget-exhausted', /what its budget allows/],
  ['rate-limited', /limit has reset/],
  ['blocked', /Remove what blocks the task/],
  ['needs-verification', /manual work/],
  ['paused-for-review', /Review/],
  ['timeout', /timeout/],
  ['error', /Fix what the message names/],
];

for (const [as, next] of someOf(ENDS, 5)) {
  test(`explain of a loop that ended as ${as}, from the archive, says what to do next`, async (t) => {
    const p = project(t);
    const { loopId, ...state } = started(p);
    const ended = { at, as, message: `it ended as ${as}.`, verified: false };
    p.write(`${RUNTIME}/ralph-archive/2026-01-01T00-00-00Z-${as}.json`, { ...state, loopId, status: 'ended', ended });
    p.sh(`rm ${STATE}`);
    const event = { type: 'completion.rejected', at, loopId, iteration: 1, reasons: ['npm test failed'] };
    p.write(
      `${RUNTIME}/ralph-events.jsonl`,
      [event, { ...event, loopId: 'another' }].map((one) => JSON.stringify(one)).join('\n'),
    );
    const { json } = await commandHere(p, ['explain', '--json']);
    assert.deepEqual([json['active'], json['status'], json['why'], json['at']], [false, as, ended.message, at]);
    assert.match(String(json['next']), next);
  });
}

test('explain names what led to the end, and nothing of other loops', async (t) => {
  const p = project(t);
  const { loopId } = started(p);
  const event = { type: 'completion.rejected', at, loopId, iteration: 1, reasons: ['npm test failed'] };
  const routine = [{ type: 'iteration.completed' }, { type: 'agent.ended', outcome: 'ok' }];
  const ended = { type: 'loop.ended', at, loopId, iteration: 1, status: 'no-progress-exhaustion', message: 'Stopped.' };
  for (const one of [
    event,
    ended,
    { ...event, loopId: 'another' },
    ...routine.map((each) => ({ ...event, ...each })),
  ]) {
    appendFileSync(join(p.dir, RUNTIME, 'ralph-events.jsonl'), `${JSON.stringify(one)}\n`);
  }
  p.ralph(['cancel']);
  const { json } = await commandHere(p, ['explain', '--json']);
  assert.equal(json['status'], 'cancelled');
  assert.deepEqual(json['events'], [event, ended]);
  const { stdout } = await commandHere(p, ['explain']);
  // No "1s ago": the pane shows it for longer.
  assert.match(stdout, /^The loop: cancelled \([-\d]{10} [:\d]{8}\): Cancelled by the user/);
  assert.match(stdout, / {2}ended {2}no progress; Stopped\.$/m, 'in words');
});

test('logs prints iterations and events in order of time, as JSON lines', async (t) => {
  const p = project(t);
  const event = (time: string) => ({ type: 'x', at: time, loopId: 'l', iteration: 1 });
  const iteration = { ...event('2026-01-01T00:00:02Z'), type: 'iteration.ended', kind: 'working' };
  const all = [event('2026-01-01T00:00:01Z'), iteration, event('2026-01-01T00:00:03Z')];
  p.write(`${RUNTIME}/ralph-events.jsonl`, `${all.map((one) => JSON.stringify(one)).join('\n')}\n{"torn":`);
  assert.deepEqual(lines((await commandHere(p, ['logs', '--json'])).stdout), all);
  assert.equal(lines((await commandHere(p, ['logs', '--events', '--json'])).stdout).length, 2);
});

test('logs --iterations prints the last loop’s figures in plain columns, or as stored in the journal', async (t) => {
  const p = project(t);
  const usage = { inputTokens: 10, outputTokens: 2, cacheReadTokens: 0, cacheWriteTokens: 1 };
  const agent = { model: 'm', turns: 3, durationMs: 900, costUsd: 0.1 + 0.2, usage };
  const iteration = {
    type: 'iteration.ended',
    loopId: 'l',
    iteration: 1,
    kind: 'working',
    durationMs: 1500,
    toolCalls: 2,
    findings: 4,
    agent,
  };
  const journal = [{ ...iteration, loopId: 'older' }, iteration, { ...iteration, iteration: 2, agent: undefined }];
  p.write(`${RUNTIME}/ralph-events.jsonl`, `${journal.map((one) => JSON.stringify(one)).join('\n')}\n`);
  const [head, first, second, ...more] = (await commandHere(p, ['logs', '--iterations'])).stdout.trim().split('\n');
  assert.match(head ?? '', /^iteration +kind +time +cost +tokens +findings$/);
  assert.match(first ?? '', /^1 +working +2s +\$0\.30 +13 +4$/);
  assert.match(second ?? '', /^2 +working +2s +- +- +4$/);
  assert.deepEqual(more, []);
  assert.deepEqual(lines((await commandHere(p, ['logs', '--iterations', '--json'])).stdout), [
    iteration,
    JSON.parse(JSON.stringify(journal[2])),
  ]);
  assert.match((await commandHere(p, ['logs', '--iterations', '--events'])).stderr, /takes no --events/);
});

test('logs without a journal prints nothing', (t) => {
  const { code, stdout } = project(t).ralph(['logs']);
  assert.deepEqual([code, stdout], [0, '']);
});

test('a torn line within a journal is left out and counted', async (t) => {
  const p = project(t);
  p.write(`${RUNTIME}/ralph-events.jsonl`, '{"type":"a","at":"1"}\n{"type":\n{"type":"b","at":"2"}\n');
  const { stdout, stderr } = await commandHere(p, ['logs', '--json']);
  assert.deepEqual(
    lines(stdout).map(({ type }) => type),
    ['a', 'b'],
  );
  assert.match(stderr, /one line is unreadable/);
});

test('archive lists ended loops and shows one of them whole, and no other file', async (t) => {
  const p = project(t);
  const { loopId } = started(p);
  p.ralph(['cancel']);
  const archived = (await commandHere(p, ['archive', '--json'])).json['archived'] as {
    file: string;
    loop: Record<string, unknown>;
  }[];
  assert.deepEqual(
    archived.map(({ loop }) => [loop['loopId'], loop['status']]),
    [[loopId, 'cancelled']],
  );
  assert.match((await commandHere(p, ['archive'])).stdout, / {2}0 of 25 iterations {2}/);
  assert.equal((await commandHere(p, ['archive', 'show', archived[0]?.file ?? ''])).json['loopId'], loopId);
  for (const wanted of someOf(['../ralph-state.json', '/etc/passwd', 'x'], 3)) {
    const { code, stdout } = await commandHere(p, ['archive', 'show', wanted]);
    assert.deepEqual([code, stdout], [1, '']);
  }
  assert.equal((await commandHere(p, ['archive', 'frob'])).code, 1);
});

test('archive --prune removes archived states of that age, and asks first', async (t) => {
  const p = project(t);
  for (const age of [40, 1]) {
    started(p);
    p.ralph(['cancel']);
    const names = ((await commandHere(p, ['archive', '--json'])).json['archived'] as { file: string }[]).map(
      ({ file }) => file,
    );
    const time = Date.now() / 1000 - age * 86_400;
    utimesSync(join(p.dir, RUNTIME, 'ralph-archive', names.at(-1) ?? ''), time, time);
  }
  const count = async (): Promise<number> =>
    ((await commandHere(p, ['archive', '--json'])).json['archived'] as unknown[]).length;
  assert.match((await commandHere(p, ['archive', '--prune', 'old'])).stderr, /--prune takes an age/);
  const asked = await commandHere(p, ['archive', '--prune', '30d']);
  assert.deepEqual([asked.code, await count()], [1, 2]);
  assert.match(asked.stderr, /needs a terminal, or --yes/);
  const pruned = await commandHere(p, ['archive', '--prune', '30d', '--yes', '--json']);
  assert.deepEqual([(pruned.json['removed'] as unknown[]).length, await count()], [1, 1]);
  assert.match(
    (await commandHere(p, ['archive', '--prune', '30d'])).stdout,
    /^No archived state of the default loop, and no run, is older than 30d\.$/m,
  );
});

test('archive --prune removes the files that were recorded for undo, of the removed loops alone', async (t) => {
  const { p, git, old, loopId } = prunable(t);
  const kept = (): string[] =>
    git('for-each-ref', '--format=%(refname)', 'refs/ralph-loop').split('\n').filter(Boolean);
  const before = kept();
  assert.equal(before.length, 4, 'the start and the end of two loops');
  assert.match(
    (await commandHere(p, ['archive', '--prune', '30d', '--yes'])).stdout,
    /\. --loop NAME removes those of another\. /,
  );
  age(old);
  await commandHere(p, ['archive', '--prune', '30d', '--loop', 'job']);
  assert.deepEqual(kept(), before, 'the control: nothing goes before the answer');
  const { code, stderr } = await commandHere(p, ['archive', '--prune', '30d', '--yes', '--loop', 'job']);
  assert.deepEqual([code, stderr], [0, '']);
  assert.deepEqual(
    kept(),
    before.filter((ref) => !ref.includes(loopId)),
  );
  assert.equal(kept().length, 2);
});

longTest('archive --prune keeps what was recorded for a loop that an archived state only claims to be', async (t) => {
  const { p, git, old, loopId } = prunable(t);
  p.write('other/RALPH.md', '---\nmax_iterations: 1\n---\nWork.\n');
  p.ralph(['run', 'other', '--agent', 'cat >/dev/null; echo more >> draft.txt']);
  const refs = (): string => git('for-each-ref', '--format=%(refname)', 'refs/ralph-loop');
  const { archived } = (await commandHere(p, ['archive', '--json', '--loop', 'other'])).json as unknown as {
    archived: { loop: { loopId: string } }[];
  };
  const victim = archived[0]?.loop.loopId ?? '';
  writeFileSync(old, readFileSync(old, 'utf8').replaceAll(loopId, victim));
  age(old);
  const { code, stderr } = await commandHere(p, ['archive', '--prune', '30d', '--yes', '--loop', 'job']);
  assert.equal(code, 0);
  assert.match(refs(), new RegExp(`/${victim}/start\n`));
  assert.match(stderr, new RegExp(`an undo of ${victim} stays: .* To see it: git for-each-ref refs/ralph-loop\n$`));
  assert.equal(p.ralph(['undo', 'other', '--yes']).code, 0);
});

test('archive --prune without git is refused, and removes neither the state nor what was recorded', (t) => {
  const { p, git, old, loopId } = prunable(t);
  age(old);
  const words = ['archive', '--prune', '30d', '--yes', '--loop', 'job'];
  const { code, stderr } = p.ralph(words, { PATH: join(p.dir, 'nowhere') });
  assert.equal(code, 1, stderr);
  assert.match(stderr, /git was not found on the PATH\.$/m);
  const refs = (): string => git('for-each-ref', '--format=%(refname)', 'refs/ralph-loop');
  assert.ok(existsSync(old));
  assert.match(refs(), new RegExp(loopId));
  assert.equal(p.ralph(words).code, 0, 'control: with git it is removed');
  assert.equal(existsSync(old), false);
  assert.doesNotMatch(refs(), new RegExp(loopId));
});

/** A repository in which the loop `job` ran twice, and the archived state of the first one. */
function prunable(t: TestContext) {
  const p = project(t);
  const git = initRepository(p.dir);
  git('commit', '--allow-empty', '-qm', 'Begin');
  p.write('job/RALPH.md', '---\nmax_iterations: 1\n---\nWork.\n');
  p.write('draft.txt', 'mine\n');
  for (let loop = 0; loop < 2; loop += 1) p.ralph(['run', 'job', '--agent', 'cat >/dev/null; echo more >> draft.txt']);
  const { directory, archived } = p.ralph(['archive', '--json', '--loop', 'job']).json as unknown as {
    directory: string;
    archived: { file: string; loop: { loopId: string } }[];
  };
  const [{ file, loop }] = archived as [(typeof archived)[number]];
  return { p, git, old: join(directory, file), loopId: loop.loopId };
}

/** Makes a file 40 days old. */
function age(path: string): void {
  const time = Date.now() / 1000 - 40 * 86_400;
  utimesSync(path, time, time);
}

test('signs lists the lessons of guardrails.md', (t) => {
  const p = project(t);
  assert.deepEqual(p.ralph(['signs', '--json']).json['signs'], []);
  p.write(
    '.claude/ralph/guardrails.md',
    '# Guardrails\n\n### Sign: Read first\n\n- **Trigger**: an edit\n- **Instruction**: read the file\n- **Added after**: a lost change\n',
  );
  assert.deepEqual(p.ralph(['signs', '--json']).json['signs'], [
    { name: 'Read first', trigger: 'an edit', instruction: 'read the file', addedAfter: 'a lost change' },
  ]);
});

test('check reports everything wrong with a task file at once and exits 1 on an error', async (t) => {
  const p = project(t);
  p.write('task.txt', '---\nmax_iterations: 0\nfoo: 1\n---\n# Task\n');
  const { code, json } = await commandHere(p, ['check', 'task.txt', '--json']);
  assert.equal(code, 1);
  assert.deepEqual(Object.keys(json), ['ok', 'file', 'kind', 'problems', 'notes', 'settings']);
  assert.deepEqual([json['ok'], json['file'], json['kind']], [false, 'task.txt', 'prompt']);
  const problems = json['problems'] as Record<string, unknown>[];
  assert.deepEqual(
    problems.map(({ path, line }) => [path, line]),
    [
      ['max_iterations', 2],
      ['foo', 3],
    ],
  );
  for (const problem of problems) {
    assert.deepEqual(Object.keys(problem).sort(), ['column', 'line', 'message', 'path', 'rule', 'severity', 'value']);
  }
});

test('check without a file reads PROMPT.md, and a warning alone is not an error', async (t) => {
  const p = project(t);
  assert.equal((await commandHere(p, ['check'])).code, 1, 'there is none');
  p.write('.claude/ralph/PROMPT.md', '# Task\n\n## Validation Commands\n\nnpm test\n');
  const { code, json } = await commandHere(p, ['check', '--json']);
  assert.deepEqual([code, json['ok'], (json['problems'] as unknown[]).length], [0, true, 1]);
});

test('a loop whose state file is gone or corrupt is named by status and explain, and resumed', async (t) => {
  const p = project(t);
  p.write('.claude/ralph/PROMPT.md', 'Work.\n');
  assert.equal(p.ralph(['start']).code, 0);
  rmSync(join(p.dir, RUNTIME, 'ralph-state.json'));
  const gone = /The state file \S+ralph-state\.json is missing; its journal has 0 iterations\./;
  const { stdout } = await commandHere(p, ['status']);
  assert.match(stdout, gone);
  assert.match(stdout, /Resume: \S.* resume\. Start over: /);
  assert.match((await commandHere(p, ['explain'])).stdout, gone);
  const { code, stderr } = p.ralph(['resume']);
  assert.equal(code, 0, stderr);
  assert.equal((await commandHere(p, ['status', '--json'])).json['status'], 'running');
  p.write(join(RUNTIME, 'ralph-state.json'), '{"half');
  const corrupt =
    /is corrupt: [\s\S]*Its counters are in the journal\. Resume: \S.* resume\. Or archive the file: .* reset\./;
  for (const name of ['status', 'explain']) assert.match((await commandHere(p, [name])).stdout, corrupt, name);
  const again = p.ralph(['resume']);
  assert.equal(again.code, 0, again.stderr);
  assert.equal((await commandHere(p, ['status', '--json'])).json['status'], 'running');
});

test('a loop whose runner has exited is interrupted, not running', async (t) => {
  const p = project(t);
  started(p);
  changeState(p, { mode: 'runner' });
  const { status, clientAlive } = (await commandHere(p, ['status', '--json'])).json;
  assert.deepEqual([status, clientAlive], ['interrupted', false]);
  assert.match((await commandHere(p, ['status'])).stdout, /^The loop is interrupted\./);
  assert.match(
    (await commandHere(p, ['explain'])).stdout,
    /^The loop: interrupted in iteration 1 .*Its runner has exited/,
  );
});

test('status of a path still knows how its loop ended after archive of the path', async (t) => {
  const p = project(t);
  p.write('job/RALPH.md', '---\nmax_iterations: 2\n---\nWork.\n');
  assert.equal(p.ralph(['start', '--task', 'job']).code, 0);
  assert.equal(p.ralph(['cancel', 'job']).code, 0);
  const before = (await commandHere(p, ['status', 'job', '--json'])).json;
  const archived = await commandHere(p, ['archive', 'job']);
  assert.equal(archived.code, 0, archived.stderr);
  const after = (await commandHere(p, ['status', 'job', '--json'])).json;
  assert.deepEqual([after['name'], after['lastLoop']], [before['name'], before['lastLoop']]);
  assert.equal(after['name'], 'job');
});

test('the stream keeps the last 4 KiB of what a check printed, whatever its characters', (t) => {
  const p = project(t);
  const check = 'validation: ["yes 検査 | head -2000; exit 1"]';
  p.write('.claude/ralph/PROMPT.md', `---\nmax_iterations: 1\n${check}\n---\nWork.\n`);
  p.ralph(['run', '--agent', 'cat >/dev/null; echo RALPH_AUDIT_COMPLETE_NO_FINDINGS']);
  const ran = lines(p.read(`${RUNTIME}/ralph-events.jsonl`)).find(({ type }) => type === 'check.ran');
  const tail = String(ran?.['tail']);
  const size = Buffer.byteLength(tail);
  assert.ok(size > 3_900 && size <= 4_096, `${size} bytes: ${tail.slice(0, 80)}`);
  assert.match(tail, /^exit code 1\.\n\[…\]\n検?査?\n(?:検査\n)+/);
});
