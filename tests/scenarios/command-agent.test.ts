import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { agreeTo } from '../support/agree-to.ts';
import { project } from '../support/project.ts';
import { someOf } from '../support/short-form.ts';
import { unattended } from '../support/terminal/in-person.ts';
import { until } from '../support/until.ts';
import { agent, MAIN, runs, task } from './support/command-agent.ts';

type Event = Readonly<Record<string, unknown>> & { readonly type: string };

const SIGNAL = 'RALPH_AUDIT_COMPLETE_NO_FINDINGS';

const events = (stdout: string): Event[] => stdout.split('\n').flatMap((line) => (line ? [JSON.parse(line)] : []));

test('any program that reads a prompt can be the agent, and its claim is checked', (t) => {
  const p = project(t);
  task(p, 'max_iterations: 5\nvalidation: ["test -f made.txt"]', 'Make the file. $(touch pwned) `touch pwned`');
  const cmd = agent(p, `[ -f early ] && touch made.txt; touch early; echo "I did it"; echo ${SIGNAL}`);
  const { code, stdout } = p.ralph(['run', '--agent', cmd, '--json']);
  assert.equal(code, 0, stdout);
  const told = events(stdout);
  assert.deepEqual(
    // What comes in one piece, and what in two, is for the pipe to say.
    told
      .map(({ type }) => type)
      .filter((type, at, all) => type !== 'agent.notice' && (type !== 'agent.text' || all[at - 1] !== type)),
    [
      'run.started',
      ...['iteration.started', 'agent.text', 'agent.ended', 'verification.started'],
      ...['iteration.started', 'agent.text', 'agent.ended', 'verification.started'],
      'run.ended',
    ],
  );
  const ended = told.find(({ type }) => type === 'agent.ended');
  assert.deepEqual(
    ['outcome', 'turns', 'toolCalls', 'model', 'costUsd', 'usage'].map((key) => ended?.[key]),
    ['ok', null, null, null, null, null],
  );
  assert.equal(told.at(-1)?.['status'], 'complete');
  assert.equal(p.has('pwned'), false, 'nothing of the prompt is for the shell');
});

test('a resumed loop keeps its command line except for new options, and a new loop has none of it', (t) => {
  const p = project(t);
  task(p, 'max_iterations: 9');
  const cmd = agent(p, 'echo "this is run $(wc -l < runs.txt)"');
  const first = p.ralph(['run', '--agent', cmd, '--set', 'max_iterations=1']);
  assert.deepEqual([first.code, runs(p)], [2, 1], first.stderr);
  assert.match(p.ralph(['verify']).stderr, /Go on: ralph-loop resume --max-iterations \d+\./);
  const more = p.ralph(['run', '--resume', '--max-iterations', '3']);
  assert.deepEqual([more.code, runs(p)], [2, 3], more.stderr);
  const refused = p.ralph(['run', '--resume']);
  assert.equal(refused.code, 1, 'the limit that holds on is reached');
  assert.match(refused.stderr, /3/);
  const anew = p.ralph(['run', '--fresh'], { RALPH_CLAUDE: '/no/such/claude' });
  assert.equal(anew.code, 1);
  assert.equal(runs(p), 3, 'a new loop asks for Claude Code');
});

test('the frontmatter may name the agent, and Claude Code need not be installed', (t) => {
  const p = project(t);
  const cmd = agent(p, `echo "$prompt" > seen.txt; echo ${SIGNAL}`);
  task(p, `agent: ${cmd} | cat`);
  agreeTo(p.dir, p.env, { agent: `${cmd} | cat` });
  const { code, stdout, stderr } = p.ralph(['run'], { RALPH_CLAUDE: '/no/such/claude' });
  assert.equal(code, 0, stderr);
  assert.match(p.read('seen.txt'), /Iteration 1 of 25[\s\S]*Do the work\./);
  assert.match(stdout, /─── [\dms ]+ ───/, 'time is all that is known');
});

test('a session does not take the agent of a runner, and says so', (t) => {
  const p = project(t);
  task(p, 'agent: ./agent.sh\nguardrails: {protected_files: [x]}');
  const { code, stderr } = p.ralph(['start']);
  assert.equal(code, 0, stderr);
  assert.match(stderr, /agent \(\.\/agent\.sh\) applies only to "run"; this loop uses Claude Code/);
});

test('a session of a client that has no loops is refused, and a misspelt one gets a suggestion', (t) => {
  const p = project(t);
  task(p, '');
  const { code, stderr } = p.ralph(['start', '--agent', 'codx']);
  assert.equal(code, 1);
  assert.match(
    stderr,
    /a session works with codex or gemini, .* Did you mean "codex"\? .*: ralph-loop run TASK --agent codx\./,
  );
  assert.equal(p.ralph(['status', '--json']).json['active'], false);
  p.write('.claude/ralph/PROMPT.md', '---\npermission_mode: acceptedits\n---\nWork.\n');
  const check = p.ralph(['check', '--run']).stdout;
  assert.match(check, /but is "acceptedits"\. Did you mean "acceptEdits"\?\n/);
  assert.match(check, /^Note: Its checks were not run, because the task cannot be started as it is\.$/m);
  assert.doesNotMatch(check, /the agent decides/, 'settings that were not read measure nothing');
});

test('a failing agent is retried five times, then the loop ends with its last error', (t) => {
  const p = project(t);
  task(p, 'max_iterations: 3');
  const cmd = agent(p, 'echo "no key set" >&2; exit 7');
  const { code, stdout } = p.ralph(['run', '--agent', cmd], { RALPH_RETRY_WAIT: '0.02s' });
  assert.equal(code, 1);
  assert.equal(runs(p), 6);
  assert.match(stdout, /exit code 7[\s\S]*no key set/);
  assert.equal(stdout.split('─── Iteration 1 of 3 ───').length - 1, 6, 'each attempt begins the iteration');
});

test('an agent that cannot be started is not retried', (t) => {
  const p = project(t);
  task(p, 'max_iterations: 3');
  const { code, stdout } = p.ralph(['run', '--agent', 'no-such-agent --yes']);
  assert.equal(code, 1);
  assert.match(stdout, /no-such-agent/);
  assert.doesNotMatch(stdout, /Trying again/);
});

const refusals: readonly (readonly [string, string, readonly string[], RegExp])[] = [
  ['guardrails', 'guardrails: {protected_files: [x]}', [], /Guardrails cannot be enforced.*Remove the guardrails/],
  ['a cost limit', 'budget: {max_cost: 2}', [], /budget\.max_cost.*does not report/],
  ['a token limit', 'budget: {max_tokens: 20}', [], /budget\.max_tokens.*does not report/],
  ['a model', 'max_iterations: 2', ['--model', 'opus'], /model: only Claude Code supports this/],
  ['options of the client', 'max_iterations: 2', ['--', '--chrome'], /for Claude Code/],
];

for (const [what, frontmatter, more, says] of someOf(refusals, 2)) {
  test(`${what} and a command for an agent are refused together, before anything is created`, (t) => {
    const p = project(t);
    task(p, frontmatter);
    const cmd = agent(p, 'true');
    const { code, stderr } = p.ralph(['run', '--agent', cmd, ...more]);
    assert.equal(code, 1);
    assert.match(stderr, says);
    assert.equal(runs(p), 0);
    assert.equal(p.has('.claude/context/runtime/ralph-state.json'), false);
  });
}

test('a silent agent does not count as repeating itself', (t) => {
  const p = project(t);
  task(p, 'max_iterations: 7');
  const { code, stdout } = p.ralph(['run', '--agent', agent(p, 'true'), '--json']);
  assert.equal(code, 2);
  assert.equal(events(stdout).at(-1)?.['status'], 'max-iterations');
  assert.equal(runs(p), 7);
});

test('such an agent cannot steer its own loop, whatever it does to its environment', (t) => {
  const p = project(t);
  task(p, 'max_iterations: 2');
  const clean = `env -i PATH="$PATH" HOME="$HOME" XDG_STATE_HOME="$XDG_STATE_HOME"`;
  const cmd = agent(
    p,
    `node ${MAIN} stop >> said.txt 2>&1; ${clean} node ${MAIN} stop --project "$PWD" >> said.txt 2>&1; echo ok`,
  );
  const { code } = p.ralph(['run', '--agent', cmd]);
  assert.equal(code, 2, 'both iterations ran');
  assert.equal(p.read('said.txt').match(/is for the user at a terminal/g)?.length, 4);
});

test('a message comes with the next prompt, and another agent is not accepted', async (t) => {
  const p = project(t);
  const cmd = agent(
    p,
    `n=$(wc -l < runs.txt); echo "$prompt" > "prompt-$n.txt"; while [ ! -f "go-$n" ]; do sleep 0.05; done; echo fine`,
  );
  task(p, `max_iterations: 2\nagent: ${cmd}`);
  agreeTo(p.dir, p.env, { agent: cmd });
  const child = spawn(process.execPath, [MAIN, 'run', '--json'], { cwd: p.dir, env: p.env, stdio: 'ignore' });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  await until('the first prompt', () => existsSync(join(p.dir, 'prompt-1.txt')));
  assert.equal(p.ralph(['steer', 'mind the gap']).code, 0);
  task(p, 'max_iterations: 2\nagent: evil');
  const accept = p.ralph(['accept']);
  assert.equal(accept.code, 1);
  assert.match(accept.stderr, /You cannot change the agent from .*agent\.sh to evil/);
  p.write('go-1', '');
  await until('the second prompt', () => existsSync(join(p.dir, 'prompt-2.txt')));
  p.write('go-2', '');
  assert.equal(await ended, 2);
  assert.equal(readFileSync(join(p.dir, 'prompt-2.txt'), 'utf8').match(/mind the gap/g)?.length, 1);
});

test('run over what a killed run left advises run, and names the loop', (t) => {
  const p = project(t);
  const cmd = agent(p, 'kill -9 $PPID; sleep 5');
  p.write('jobs/fix/RALPH.md', '---\nmax_iterations: 2\n---\nDo it.\n');
  // The command's shell is replaced by it, so that its parent is the runner.
  p.ralph(['run', 'jobs/fix', '--agent', `exec ${cmd}`]);
  const { code, stderr } = p.ralph(['run', 'jobs/fix', '--agent', cmd]);
  assert.equal(code, 1);
  assert.match(stderr, /Resume: ralph-loop resume fix\. .*ralph-loop run --loop fix --fresh/);
});

/** Kills the runner in its first run, as the system would that is short of memory. */
const KILLS_ONCE = `[ -f killed ] || { touch killed; kill -9 $(sed -n 's/.*"clientPid": *\\([0-9]*\\).*/\\1/p' .claude/context/runtime/ralph-state.json); sleep 9; }`;

test('resuming after a killed runner keeps its agent and limits, and new options win', (t) => {
  const p = project(t);
  task(p, 'validation: ["false"]');
  const cmd = agent(
    p,
    `${KILLS_ONCE}; cat "$XDG_STATE_HOME"/ralph-loop/*/contract.json > contract.txt; wc -l < runs.txt`,
  );
  const given = ['--set', 'budget.max_time=1h', '--max-iterations', '1'];
  assert.equal(p.ralph(['run', '--agent', cmd, ...given]).code, null, 'killed');
  const { code, stdout, stderr } = p.ralph(['run', '--resume', '--set', 'maxIterations=2', '--json']);
  assert.equal(code, 2, stdout + stderr);
  assert.equal(runs(p), 3, 'one run was cut short, and the same agent made two');
  assert.match(p.read('contract.txt'), /"maxTimeMs": 3600000/);
});

test('resuming a loop that an agent requested runs nothing from its command line', (t) => {
  const p = project(t);
  task(p, 'validation: ["false"]');
  const asked = p.ralph(['start', '--mode', 'runner', '--json', '--set', 'agent=touch pwned'], { CLAUDECODE: '1' });
  assert.equal(asked.json['status'], 'awaiting-consent', asked.stderr);
  assert.match(
    unattended(p, ['run', '--resume', '--agent', 'true']).stderr,
    /only a user at a terminal can approve it\. Show it and approve it: ralph-loop run --consent\./,
  );
  assert.equal(p.has('pwned'), false);
});

test('an agent that deletes everything ends its loop, and the user learns what happened and what to do', (t) => {
  const p = project(t);
  task(p, 'max_iterations: 3');
  const { code, stderr } = p.ralph(['run', '--agent', 'cat > /dev/null; rm -rf .claude; echo hi']);
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^ralph-loop: The loop's state was deleted while the agent worked: \/.*runtime no longer exists\. .* resume: ralph-loop resume\.$/m,
  );
});
