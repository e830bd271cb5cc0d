import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { loopFiles } from '../../src/state/loop-files.ts';
import { isAlive } from '../../src/state/process/identity.ts';
import { commandHere } from '../support/command-here.ts';
import { commitFolder } from '../support/git.ts';
import { DIST, project } from '../support/project.ts';
import { longTest, someOf } from '../support/short-form.ts';
import { until } from '../support/until.ts';

const TASK = '.claude/ralph/PROMPT.md';
const DONE = 'RALPH_AUDIT_COMPLETE_NO_FINDINGS\n';

test('a script drives a loop with start, next, report and status, and each answers in JSON what comes next', (t) => {
  const p = project(t);
  p.write(TASK, '---\nvalidation:\n  - test -f done\n---\n\nDo it.\n');
  const first = p.ralph(['router', 'start']);
  assert.equal(first.code, 0, first.stderr);
  assert.deepEqual([first.json['action'], first.json['spawn'], first.json['iteration']], ['spawn', 1, 1]);
  assert.deepEqual(p.ralph(['router', 'next']).json, first.json);
  assert.deepEqual(p.ralph(['router', 'start']).json, first.json);
  const status = p.ralph(['router', 'status']).json;
  assert.deepEqual([status['active'], status['status'], status['iteration']], [true, 'running', 0]);
  assert.deepEqual(status['spawn'], { spawn: 1, iteration: 1, agentType: 'general-purpose' });
  p.write('said.txt', `I have done it.\n\n${DONE}`);
  const rejected = p.ralph(['router', 'report', '--spawn', '1', '--file', 'said.txt']).json;
  assert.match(String(rejected['prompt']), /was rejected/);
  p.write('done', '');
  const end = p.sh(`node '${DIST}/scripts/main.cjs' router report --spawn 2 --file -`, DONE);
  assert.deepEqual(
    [end.code, end.json['action'], end.json['status'], end.json['verified'], end.json['exitCode']],
    [0, 'stop', 'complete', true, 0],
  );
  assert.equal(p.ralph(['router', 'status']).json['status'], 'complete');
});

test('of the sessions that start one loop at the same moment one works, and the others learn who', async (t) => {
  const p = project(t);
  p.write(TASK, 'Do it.\n');
  const session = (id: number): Promise<string> => {
    const env = { ...p.env, CLAUDECODE: '1', CLAUDE_CODE_SESSION_ID: `host-${id}` };
    const child = spawn(process.execPath, [`${DIST}/scripts/main.cjs`, 'router', 'start'], { cwd: p.dir, env });
    return text(child.stdout);
  };
  const answers = (await Promise.all([1, 2, 3, 4].map(session))).map((said) => JSON.parse(said));
  assert.deepEqual(answers.map(({ status }) => status ?? 'works').toSorted(), ['busy', 'busy', 'busy', 'works']);
});

test('an agent of Codex or Gemini CLI, whose subagents nothing guards, is refused a loop with subagents', async (t) => {
  const p = project(t);
  p.write(TASK, 'Do it.\n');
  for (const [name, agent] of [
    ['CODEX_CI', 'codex'],
    ['GEMINI_CLI', 'gemini'],
  ] as const) {
    const { code, stderr } = await commandHere(p, ['router', 'start', '--task', TASK], { [name]: '1' });
    assert.equal(code, 1);
    assert.match(stderr, /cannot work on a loop with subagents, because no hook would guard them/);
    assert.ok(stderr.includes(` start --task ${TASK} --launch --agent ${agent}`), stderr);
    assert.equal((await commandHere(p, ['router', 'status'])).json['active'], false);
  }
  const nested = await commandHere(p, ['router', 'start'], { CODEX_CI: '1', CLAUDECODE: '1' });
  assert.equal(nested.json['action'], 'spawn', `control: Claude Code within Codex: ${nested.stderr}`);
});

longTest('status and explain do not call a subagent that could not work an agent at work', async (t) => {
  const p = project(t);
  p.write(TASK, 'Do it.\n');
  await commandHere(p, ['router', 'start']);
  const working = /The agent is working on iteration 1/;
  assert.match((await commandHere(p, ['explain'])).stdout, working, 'control');
  const answer = (await commandHere(p, ['router', 'report', '--error', 'overloaded'])).json;
  const { stdout } = await commandHere(p, ['explain']);
  assert.doesNotMatch(stdout, working);
  assert.match(stdout, /The last agent could not work; the next one starts at [\d :-]+ at the earliest\.$/m);
  assert.match(
    (await commandHere(p, ['status'])).stdout,
    /^The loop is waiting, because the last agent could not work; the next one /,
  );
  const status = (await commandHere(p, ['status', '--json'])).json;
  assert.deepEqual([status['waitingUntil'], status['waitingFor']], [answer['until'], 'retry']);
  const { spawn: record } = loopFiles(p.dir, null, p.env);
  const past = new Date(0).toISOString();
  writeFileSync(record, readFileSync(record, 'utf8').replace(String(answer['until']), past));
  assert.match((await commandHere(p, ['status'])).stdout, /could not work\.\n/);
  assert.equal((await commandHere(p, ['router', 'next'])).json['action'], 'spawn');
  assert.match((await commandHere(p, ['explain'])).stdout, working);
});

test('the loop of a task folder is named in every command that an answer gives', async (t) => {
  const p = project(t);
  p.write('job/RALPH.md', '---\ncompletion_promise: DONE\n---\n\nDo it.\n');
  const first = (await commandHere(p, ['router', 'start', '--task', 'job'])).json;
  assert.equal(first['loop'], 'job');
  assert.match(String(first['next']), /router report --loop job --spawn 1/);
  assert.deepEqual((await commandHere(p, ['router', 'next'])).json, first, 'the only live router loop needs no name');
});

test('the commands in the answers of the default loop work beside another loop of the session', async (t) => {
  const p = project(t);
  p.write(TASK, 'Do it.\n');
  p.write('job/RALPH.md', '---\nmax_iterations: 5\n---\nWork.\n');
  const first = (await commandHere(p, ['router', 'start'])).json;
  const job = (await commandHere(p, ['router', 'start', '--task', 'job'])).json;
  assert.deepEqual([first['loop'], job['loop']], [null, 'job']);
  assert.match(String(first['next']), /router report --spawn 1/);
  assert.deepEqual((await commandHere(p, ['router', 'next'])).json, first);
  p.write('said.txt', 'Some of it.\n');
  const second = await commandHere(p, ['router', 'report', '--spawn', '1', '--file', 'said.txt']);
  assert.deepEqual([second.json['loop'], second.json['spawn']], [null, 2], second.stderr);
  assert.deepEqual((await commandHere(p, ['router', 'next', '--loop', 'job'])).json, job, 'control');
  assert.match((await commandHere(p, ['router', 'status'])).stderr, /2 router loops are live here/);
});

for (const [what, text] of someOf(
  [
    ['60 MB', Buffer.concat([Buffer.alloc(60 * 1024 * 1024, 'x\n'), Buffer.from(DONE)])],
    ['nothing', Buffer.alloc(0)],
    ['any bytes', Buffer.from(Array.from({ length: 100_000 }, (_, index) => (index * 31) % 256))],
  ] as const,
  2,
)) {
  test(`accepts ${what} as a report`, async (t) => {
    const p = project(t);
    p.write(TASK, 'Do it.\n');
    p.ralph(['router', 'start']);
    const child = spawn(process.execPath, [join(DIST, 'scripts/main.cjs'), 'router', 'report', '--spawn', '1'], {
      ...{ cwd: p.dir, env: p.env, stdio: ['pipe', 'pipe', 'inherit'] },
    });
    let said = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
    child.stdin?.end(text);
    assert.deepEqual(await once(child, 'close'), [0, null]);
    const answer = JSON.parse(said) as Record<string, unknown>;
    assert.deepEqual(answer['action'], what === '60 MB' ? 'stop' : 'spawn');
  });
}

test('a terminated call ends its checks, and the next call runs them again', async (t) => {
  const p = project(t);
  p.write(TASK, '---\nvalidation:\n  - echo $$ >> runs; if test -f slow; then sleep 300; fi\n---\n\nDo it.\n');
  p.ralph(['router', 'start']);
  p.sh('rm runs; touch slow');
  p.write('said.txt', DONE);
  const args = [join(DIST, 'scripts/main.cjs'), 'router', 'report', '--spawn', '1', '--file', 'said.txt'];
  const child = spawn(process.execPath, args, { cwd: p.dir, env: p.env, stdio: 'ignore' });
  await until('the check runs', () => p.has('runs') && p.read('runs').endsWith('\n'));
  child.kill('SIGTERM');
  assert.deepEqual(await once(child, 'exit'), [143, null]);
  const check = Number(p.read('runs'));
  // A process that has ended is there until its new parent has looked.
  await until('no check is left', () => !isAlive({ pid: check, startedAt: null }));
  assert.equal(p.ralph(['router', 'status']).json['status'], 'verifying');
  p.sh('rm slow');
  const end = p.ralph(['router', 'next']).json;
  assert.deepEqual([end['action'], end['status'], end['verified']], ['stop', 'complete', true]);
});

test('router status and status alike call a loop interrupted whose caller has exited', async (t) => {
  const p = project(t);
  p.write(TASK, 'Do it.\n');
  const args = [join(DIST, 'scripts/main.cjs'), 'router', 'start'];
  const child = spawn(process.execPath, args, { cwd: p.dir, env: p.env, stdio: 'ignore', detached: true });
  assert.deepEqual(await once(child, 'exit'), [0, null]);
  assert.equal(p.ralph(['router', 'status']).json['status'], 'interrupted');
  assert.equal(p.ralph(['status', '--json']).json['status'], 'interrupted');
});

test('a plan with a task in progress restarts without a complaint about its files, by its own session only', (t) => {
  const p = project(t);
  const task = (id: number): string => `- [ ] **Task ${id}: t**\n  - Scope: \`src\`\n  - Acceptance: it is there\n`;
  p.write('PLAN.md', task(1) + task(2));
  commitFolder(p.dir, 'work');
  const start = ['router', 'start', '--task', 'PLAN.md', '--plan'];
  const first = p.ralph(start);
  assert.equal(first.json['action'], 'spawn', first.stderr);
  assert.match(first.stderr, /has no validation commands/);
  p.write('src/a', 'at work');
  const again = p.ralph(start);
  assert.equal(again.stderr, '');
  assert.deepEqual(again.json, { ...first.json, notes: [] });
  const other = p.ralph(start, { CLAUDECODE: '1', CLAUDE_CODE_SESSION_ID: 'another' });
  assert.equal(other.json['status'], 'busy', other.stderr);
  const elsewhere = p.ralph([...start, '--from', 'task 2']);
  assert.equal(elsewhere.code, 1);
  assert.match(elsewhere.stderr, /--from/);
});

test('an invalid router call is refused with the valid form', async (t) => {
  const p = project(t);
  p.write(TASK, 'Do it.\n');
  for (const [args, message] of someOf(
    [
      [['router'], /the action is missing\. Usage: ralph-loop router start \| next \| report \| status/],
      [['router', 'again'], /"again" is not an action\. Usage: ralph-loop router start \|/],
      [['router', 'next', '--wait', 'long'], /--wait long/],
      [['router', 'report', '--spawn', 'x'], /--spawn x/],
      [['router', 'report', '--spawn', '0'], /--spawn 0/],
      [['router', 'report', '--spawn', '0x1'], /--spawn 0x1/],
      [['router', 'report', '--spawn', '1e3'], /--spawn 1e3/],
      [['router', 'report', '--file', '.'], /\. is not a regular file/],
      [['router', 'report', '--agent', 'a1', '--file', 'x'], /one of --agent, --file and --error/],
      [['router', 'report', '--agent', 'a1'], /has no record of a subagent a1[\s\S]*--file PATH[\s\S]*random word/],
      [['router', 'report', '--file', 'missing.txt'], /missing\.txt/],
      [['router', 'start', '--task', 'missing.md'], /missing\.md/],
    ] as const,
    3,
  )) {
    const { code, stderr } = p.ralph(args);
    assert.equal(code, 1, args.join(' '));
    assert.match(stderr, message);
  }
  assert.equal((await commandHere(p, ['router', 'next'])).json['status'], 'none');
});

test('start warns of a foreign agent under our name if the task has guardrails, and not of ours', async (t) => {
  const p = project(t);
  const agent = '.claude/agents/ralph-qa.md';
  const notes = async (): Promise<string> =>
    String((await commandHere(p, ['router', 'start', '--fresh'])).json['notes']);
  p.write(TASK, '---\nguardrails: {protected_files: [secret]}\n---\n\nDo it.\n');
  p.write(agent, '---\nname: ralph-qa\ndescription: mine\n---\n\nNo ralph-router-tool-use.cjs here.\n');
  assert.match(
    await notes(),
    /Guardrails are not enforced for this subagent: the agent ralph-qa in [^ ]*ralph-qa\.md is not the one/,
  );
  p.ralph(['cancel']);
  p.sh(`rm ${agent}`);
  assert.equal(p.ralph(['init']).code, 0);
  assert.doesNotMatch(await notes(), /hold/);
});
