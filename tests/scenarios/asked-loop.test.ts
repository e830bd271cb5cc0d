import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { commandHere } from '../support/command-here.ts';
import { type Answer, type Project, project } from '../support/project.ts';
import { someOf } from '../support/short-form.ts';
import { inPerson, unattended } from '../support/terminal/in-person.ts';
import { peopleTerminal } from '../support/terminal/people-terminal.ts';

const AGENT = { CLAUDECODE: '1' };

function task(p: Project, name: string, more = ''): void {
  p.write(
    `jobs/${name}/RALPH.md`,
    `---\nmax_iterations: 3\ncompletion_promise: DONE\ncompletion_gate: disabled\ncommands: [{name: look, run: "ls"}]\n${more}---\nDo it.\n`,
  );
  p.write('agent.sh', '#!/bin/sh\ncat > prompt.txt\necho "<promise>DONE</promise>"\n', 0o755);
}

const byAgent = (p: Project, ...words: string[]) => commandHere(p, words, AGENT);

async function ask(p: Project, name: string, args: readonly string[] = []): Promise<Answer> {
  task(p, name);
  const answer = await byAgent(p, 'start', '--mode', 'runner', '--task', `jobs/${name}`, '--json', ...args);
  assert.equal(answer.code, 0, answer.stderr);
  return answer;
}

test('an agent asks for a loop, the user agrees by one command, and it runs', async (t) => {
  const p = project(t);
  const { json } = await ask(p, 'fix', ['--set', 'inter_iteration_delay=1']);
  assert.deepEqual(
    ['status', 'mode', 'name', 'maxIterations', 'consent'].map((key) => json[key]),
    ['awaiting-consent', 'runner', 'fix', 3, 'ralph-loop run --consent fix'],
  );
  assert.equal((await byAgent(p, 'status', '--loop', 'fix', '--json')).json['status'], 'awaiting-consent');
  assert.match((await byAgent(p, 'status', '--loop', 'fix')).stdout, /^Loop fix is awaiting your consent\.$/m);
  assert.match((await byAgent(p, 'explain', '--loop', 'fix')).stdout, /Agree: ralph-loop run --consent fix/);
  const { code, stderr, stdout, screen } = inPerson(p, ['run', '--consent', 'fix', '--agent', './agent.sh']);
  assert.equal(code, 0, stderr + stdout + screen);
  for (const shown of [
    /jobs\/fix\/RALPH\.md/,
    /max_iterations +3\n/,
    /the command: \.\/agent\.sh/,
    /commands +ls \(60 s/,
  ]) {
    assert.match(screen, shown);
  }
  assert.match(stdout, /Agreed at .*: to the loop that an agent requested, in terminal \/dev\/pts\/\d+\./);
  await commandHere(p, ['report', '--loop', 'fix', '--out', 'r.html']);
  assert.match(p.read('r.html'), /Agreed: to the loop that an agent requested, in terminal /);
  assert.match(p.read('prompt.txt'), /Do it\./);
  const events = p.read('.claude/context/runtime/ralph-events.fix.jsonl');
  assert.match(events, /"loop\.resumed"/);
  assert.match(p.ralph(['run', '--consent', 'fix']).stderr, /there is no loop fix here that awaits your consent/);
});

test('an agent cannot run a loop itself, and learns how to request one', async (t) => {
  const p = project(t);
  await ask(p, 'fix');
  const tree = p.tree();
  const refused = p.ralph(['run', 'jobs/fix'], AGENT);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /An agent can request a loop: ralph-loop start --mode runner/);
  assert.equal(p.ralph(['run', '--consent', 'fix'], AGENT).code, 1);
  assert.equal((await byAgent(p, 'start', '--consent', '--loop', 'fix')).code, 1);
  assert.match((await byAgent(p, 'start', '--mode', 'router')).stderr, /ralph-loop router start/);
  assert.deepEqual(p.tree(), tree);
});

test('with several requests the user names one, and a requested loop takes no other task', async (t) => {
  const p = project(t);
  assert.match(p.ralph(['run', '--consent']).stderr, /no loop here awaits your consent/);
  await ask(p, 'one');
  await ask(p, 'two');
  const again = (await byAgent(p, 'start', '--mode', 'runner', '--task', 'jobs/one')).stderr;
  assert.match(again, /requested this loop[^\n]*approve it: ralph-loop run --consent one\./, 'not: interrupted');
  assert.match(p.ralph(['run', '--consent']).stderr, /2 loops await your consent[\s\S]*one[\s\S]*two/);
  const other = p.ralph(['run', '--consent', 'one', '--task', 'jobs/two']);
  assert.match(other.stderr, /takes no --task/);
});

test("changes since the request are shown, and the agent's settings apply unless the user overrides them", async (t) => {
  const p = project(t);
  await ask(p, 'fix', ['--max-iterations', '2', '--permission-mode', 'bypassPermissions']);
  task(p, 'fix', 'timeout: 60\n');
  const refused = p.ralph(['run', '--consent', '--agent', './agent.sh']);
  assert.match(refused.stderr, /permission_mode: only Claude Code supports this/);
  await commandHere(p, ['cancel', '--loop', 'fix']);
  await ask(p, 'fix', ['--max-iterations', '2']);
  task(p, 'fix', 'timeout: 60\n');
  const agreed = inPerson(p, ['run', '--consent', '--agent', './agent.sh', '--max-iterations', '1']);
  assert.equal(agreed.code, 0, agreed.stderr + agreed.screen);
  assert.match(agreed.screen, /max_iterations +1\n/);
  assert.match(agreed.screen, /Changed since the request:[\s\S]*pace\.iteration_timeout: 5m -> 1m/);
  assert.match(agreed.stderr, /You agreed to changes since the request: agent: /);
  assert.doesNotMatch(agreed.stderr, /Adopted by the resume/);
});

test("an agent's text cannot hide behind control characters", async (t) => {
  const p = project(t);
  task(p, 'fix');
  p.write(
    'jobs/fix/RALPH.md',
    '---\ncompletion_promise: DONE\ncompletion_gate: disabled\nvalidation: ["rm -rf build\\u001b[2K\\rnpm test"]\n---\nx\n',
  );
  assert.equal((await byAgent(p, 'start', '--task', 'jobs/fix')).code, 0);
  const { screen } = inPerson(p, ['run', '--consent', '--agent', './agent.sh', '--max-iterations', '1']);
  assert.match(screen, /validation +rm -rf buildnpm test/);
});

test('at a terminal the user sees the loop and is asked; a no leaves it unchanged', async (t) => {
  const p = project(t);
  await ask(p, 'fix');
  const no = await peopleTerminal(t, p, '$RALPH run --consent --agent ./agent.sh');
  await no.waitFor(/Start it\? Type yes to agree:/);
  await no.submit('y');
  assert.equal(await no.waitForExit(), 1);
  assert.match(await no.history(), /still awaits your consent\. Refuse it: ralph-loop cancel --loop fix\./);
  assert.equal((await commandHere(p, ['status', '--loop', 'fix', '--json'])).json['status'], 'awaiting-consent');
  const changed = await peopleTerminal(t, p, '$RALPH run --consent --plain --agent ./agent.sh');
  await changed.waitFor(/Start it\? Type yes to agree:/);
  task(p, 'fix', 'validation: ["touch pwned"]\n');
  await changed.submit('yes');
  assert.equal(await changed.waitForExit(), 1);
  assert.match(
    await changed.history(),
    /changed after you were shown what would run\. Nothing was started[\s\S]*\+ validation: touch pwned/,
  );
  const yes = await peopleTerminal(t, p, '$RALPH run --consent --plain --agent ./agent.sh');
  await yes.waitFor(/Start it\? Type yes to agree:/);
  await yes.submit('yes');
  assert.equal(await yes.waitForExit(), 0);
  assert.ok(p.has('prompt.txt'));
});

test('start and resume over a loop that an agent asked for show the changes and ask', async (t) => {
  const p = project(t);
  await ask(p, 'fix');
  task(p, 'fix', 'timeout: 60\n');
  const COMMANDS = [
    'start --mode runner --task jobs/fix',
    'run jobs/fix --agent ./agent.sh',
    'resume fix --agent ./agent.sh',
  ];
  for (const command of someOf(COMMANDS, 2)) {
    const { code, stderr } = unattended(p, command.split(' '));
    assert.equal(code, 1, command);
    assert.match(
      stderr,
      /An agent requested this loop.*Show it and approve it: ralph-loop run --consent fix\./,
      command,
    );
    const no = await peopleTerminal(t, p, `$RALPH ${command}`);
    await no.waitFor(/Start it\? Type yes to agree:/);
    await no.submit('y');
    assert.equal(await no.waitForExit(), 1, command);
    const shown = await no.history();
    assert.match(shown, /commands +ls \(60 s/, command);
    assert.match(shown, /Changed since the request:[\s\S]*pace\.iteration_timeout: 5m -> 1m/, command);
    const { json } = await commandHere(p, ['status', '--json', '--loop', 'fix']);
    assert.equal(json['status'], 'awaiting-consent', command);
  }
  const yes = await peopleTerminal(t, p, '$RALPH resume fix --plain --agent ./agent.sh');
  await yes.waitFor(/Start it\? Type yes to agree:/);
  await yes.submit('yes');
  assert.equal(await yes.waitForExit(), 0);
  assert.ok(p.has('prompt.txt'));
});

const ASKED = /\[w\]atch it, \[s\]top it after this iteration, \[l\]eave it alone:/;

test('run over a running loop asks at a terminal what to do, and refuses elsewhere', async (t) => {
  const p = project(t);
  p.write('.claude/ralph/PROMPT.md', 'Do it.\n');
  p.write(
    'agent.sh',
    '#!/bin/sh\ncat > /dev/null\ntouch "up-$RALPH_LOOP"; while [ ! -f go ]; do sleep 0.1; done\n',
    0o755,
  );
  const first = await peopleTerminal(t, p, '$RALPH run --plain --max-iterations 1 --agent ./agent.sh');
  await first.waitFor(() => p.has('up-'));
  const elsewhere = p.ralph(['run', '--agent', './agent.sh']);
  assert.equal(elsewhere.code, 1);
  assert.match(elsewhere.stderr, /already.*process \d+.*--loop NAME.*ralph-loop status.*ralph-loop stop/);
  const again = '$RALPH run --plain --max-iterations 1 --agent ./agent.sh';
  const watched = await peopleTerminal(t, p, again);
  await watched.waitFor(/is already running; --loop NAME starts another\./, ASKED);
  await watched.submit('w');
  await watched.waitFor(/Ctrl\+C leaves it running\.[\s\S]*Iteration 1 of 1/);
  await watched.key('C-c');
  await watched.waitForExit();
  const other = await peopleTerminal(t, p, `${again} --loop second`);
  await other.waitFor(() => p.has('up-second'));
  const started = await peopleTerminal(t, p, '$RALPH start');
  await started.waitFor(ASKED);
  await started.submit('l');
  assert.equal(await started.waitForExit(), 1, 'nothing was started');
  const stopped = await peopleTerminal(t, p, again);
  await stopped.waitFor(ASKED);
  await stopped.submit('s');
  assert.equal(await stopped.waitForExit(), 1, 'nothing was started');
  assert.match(await stopped.history(), /will stop after the current iteration/);
  p.write('go', '');
  assert.equal(await first.waitForExit(), 3, 'Stopped by the user');
  assert.equal(await other.waitForExit(), 2);
  assert.ok(join(p.dir, 'up-second'));
});
