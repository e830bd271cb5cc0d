import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { shellWord } from '../../src/text/quote.ts';
import { commandHere } from '../support/command-here.ts';
import { DIST, type Project, project } from '../support/project.ts';
import { someOf } from '../support/short-form.ts';
import { inPerson, unattended } from '../support/terminal/in-person.ts';
import { peopleTerminal } from '../support/terminal/people-terminal.ts';
import { agent, MAIN, task } from './support/command-agent.ts';

const SIGNAL = 'RALPH_AUDIT_COMPLETE_NO_FINDINGS';
const EMPTIES_CHECK = `sed -i 's/sh verify.sh/true/' .claude/ralph/PROMPT.md`;

/** A loop whose check cannot pass. */
function aLoop(t: TestContext, frontmatter = ''): Project {
  const p = project(t);
  p.write('verify.sh', 'exit 1\n');
  task(p, `max_iterations: 1\nvalidation: ["sh verify.sh"]\n${frontmatter}`);
  return p;
}

/** An environment without a trace of the loop. */
const bare = ({ env }: Project): string =>
  `env -i ${['PATH', 'HOME', 'XDG_STATE_HOME', 'XDG_CONFIG_HOME'].map((name) => `${name}=${shellWord(env[name] ?? '')}`).join(' ')}`;

/** Shell lines of an agent: a detached process runs the command, notes output and exit code, and is waited for. */
function detached(p: Project, name: string, command: string): string {
  p.write(
    `${name}.sh`,
    `{ ${command}; } > ${name}.out 2>&1 < /dev/null\necho "exit $?" >> ${name}.out\ntouch ${name}.done\n`,
  );
  return `setsid -f ${bare(p)} sh ${name}.sh\nwhile [ ! -f ${name}.done ]; do sleep 0.05; done`;
}

test('an agent cannot accept its own change, be it detached, in the background, copied or piped', (t) => {
  const p = aLoop(t);
  cpSync(DIST, join(p.home, 'copy'), { recursive: true });
  const main = `${process.execPath} ${shellWord(MAIN)}`;
  const attacks: Record<string, string> = {
    detached: detached(p, 'detached', `${main} accept`),
    copied: detached(p, 'copied', `${process.execPath} "$HOME/copy/scripts/main.cjs" accept`),
    json: detached(p, 'json', `${main} accept --json`),
    yes: detached(p, 'yes', `${main} accept --yes`),
    reset: detached(p, 'reset', `${main} reset --force --json`),
    piped: detached(p, 'piped', `yes yes | ${main} accept`),
    background: [
      `( ${bare(p)} sh -c 'sleep 1; ${main} accept > background.out 2>&1; echo "exit $?" >> background.out; touch background.done' & )`,
      'while [ ! -f background.done ]; do sleep 0.05; done',
    ].join('\n'),
  };
  const cmd = agent(p, [EMPTIES_CHECK, ...Object.values(attacks), `echo ${SIGNAL}`].join('\n'));
  const { code, stdout } = p.ralph(['run', '--plain', '--agent', cmd]);
  for (const name of Object.keys(attacks)) {
    assert.match(p.read(`${name}.out`), /so run it at a terminal|shell of an agent|--yes/, name);
    assert.match(p.read(`${name}.out`), /\nexit 1\n$/, name);
  }
  assert.equal(code, 2, stdout);
  assert.match(stdout, /Failed: sh verify\.sh/);
  assert.doesNotMatch(stdout, /Changed by accept/);
});

test('control: an accept at an imitated terminal succeeds, and every report names it', async (t) => {
  const p = aLoop(t);
  const typing = `sh -c 'echo yes; while [ ! -f answered ]; do sleep 0.05; done'`;
  p.write('accept.sh', `${process.execPath} ${MAIN} accept\ncode=$?\ntouch answered\nexit $code\n`);
  const lines = detached(p, 'imitated', `${typing} | script -qec "sh accept.sh" /dev/null`);
  const { code, stdout } = p.ralph([
    'run',
    '--plain',
    '--agent',
    agent(p, `${EMPTIES_CHECK}\n${lines}\necho ${SIGNAL}`),
  ]);
  assert.equal(code, 0, stdout + p.read('imitated.out'));
  const told =
    /Changed by accept at [\d-]+ [\d:]+: validation: sh verify\.sh \(300 s\) -> true \(300 s\); - script verify\.sh: sha256 [0-9a-f]{64}\./;
  assert.match(stdout, told, 'the end report');
  assert.match((await commandHere(p, ['status'])).stdout, told);
  assert.match((await commandHere(p, ['explain'])).stdout, told);
  assert.match((await commandHere(p, ['archive'])).stdout.replace(/\s+/g, ' '), told);
  const events = p.read('.claude/context/runtime/ralph-events.jsonl').trim().split('\n');
  const accepted = events.map((line) => JSON.parse(line)).find(({ type }) => type === 'notice.accept');
  assert.match(accepted.terminal, /^\/dev\/pts\/\d+$/);
  assert.match(accepted.processes.join(' < '), /^node \(\d+\) < .*script \(\d+\)/);
  assert.equal(accepted.changes[0], 'validation: sh verify.sh (300 s) -> true (300 s)');
  assert.match(accepted.digest, /^[0-9a-f]{64}$/);
});

test('only yes adopts a change, and a change made while the diff was shown adopts nothing', async (t) => {
  const p = aLoop(t);
  assert.equal((await commandHere(p, ['start'])).code, 0);
  task(p, 'max_iterations: 1\nvalidation: ["true"]');
  for (const typed of someOf(['y', '', 'yes please'], 3)) {
    const refused = inPerson(p, ['accept'], typed);
    assert.deepEqual([refused.code, refused.stderr], [1, 'ralph-loop: nothing was adopted.\n'], typed);
  }
  const swapped = await peopleTerminal(t, p, '$RALPH accept');
  await swapped.waitFor(/validation: sh verify\.sh \(300 s\) -> true \(300 s\)[\s\S]*Type yes to agree:/);
  task(p, 'max_iterations: 1\nvalidation: ["touch pwned"]');
  await swapped.submit('yes');
  assert.equal(await swapped.waitForExit(), 1);
  assert.match(await swapped.history(), /changed after you were shown[\s\S]*-> touch pwned/);
  assert.equal((await commandHere(p, ['status', '--json'])).json['notices'], undefined);
});

test('the terminal of the loop’s own client is refused', async (t) => {
  const p = aLoop(t);
  assert.equal((await commandHere(p, ['start'])).code, 0);
  task(p, 'max_iterations: 1\nvalidation: ["true"]');
  const state = '.claude/context/runtime/ralph-state.json';
  const own = await peopleTerminal(
    t,
    p,
    `sed -i "s/\\"clientPid\\": null/\\"clientPid\\": $$/" ${state}; $RALPH accept; true`,
  );
  await own.waitForExit();
  assert.match(await own.history(), /Run "accept" in another terminal: the loop's client runs in this one/);
  assert.equal(inPerson(p, ['accept']).code, 0, 'control: another terminal');
});

test('accept: never locks the contract until the loop has ended, for accept and for resume', async (t) => {
  for (const lock of [(p: Project) => p.ralph(['start', '--no-accept']), null]) {
    const p = aLoop(t, lock === null ? 'accept: never\n' : '');
    assert.equal((lock ?? (() => p.ralph(['start'])))(p).code, 0);
    const frontmatter = `max_iterations: 1\nvalidation: ["true"]${lock === null ? '\naccept: never' : ''}`;
    task(p, frontmatter);
    assert.match(
      inPerson(p, ['accept']).stderr,
      /locked \(accept: never\) until the loop has ended\. End it: ralph-loop stop/,
    );
    const resumed = await commandHere(p, ['start', '--resume']);
    assert.match(
      resumed.stderr,
      /locked \(accept: never\), and a resume would change it:\n {2}validation: sh verify\.sh/,
    );
    task(p, `max_iterations: 1\nvalidation: ["sh verify.sh"]${lock === null ? '\naccept: never' : ''}`);
    assert.equal((await commandHere(p, ['start', '--resume'])).code, 0, 'control: nothing changes');
    assert.equal((await commandHere(p, ['stop'])).code, 0);
    task(p, frontmatter);
    assert.equal((await commandHere(p, ['start', '--resume'])).code, 0, 'control: the loop has ended');
  }
});

test('a resume after the end names the checks and scripts that it adopts, at once and in every report', async (t) => {
  for (const isChanged of [true, false]) {
    const p = aLoop(t);
    const changes = isChanged ? `${EMPTIES_CHECK}; echo "exit 0" > verify.sh; ` : '';
    const cmd = agent(p, `${changes}echo ${SIGNAL}`);
    assert.equal(p.ralph(['run', '--plain', '--agent', cmd]).code, 2);
    const resumed = p.ralph(['resume', '--max-iterations', '3']);
    assert.equal(resumed.code, isChanged ? 0 : 2, resumed.stdout);
    const told = /Adopted by the resume: validation: sh verify\.sh \(300 s\) -> true \(300 s\); - script verify\.sh/;
    const shown = [await commandHere(p, ['status']), await commandHere(p, ['explain'])];
    for (const text of [resumed.stderr, resumed.stdout, ...shown.map(({ stdout }) => stdout)])
      (isChanged ? assert.match : assert.doesNotMatch)(text, isChanged ? told : /Adopted by the resume/);
  }
});

test('a run that completes unverified exits with 3 where a verification is required', (t) => {
  const p = project(t);
  task(p, 'max_iterations: 2');
  const cmd = agent(p, `echo ${SIGNAL}`);
  assert.equal(p.ralph(['run', '--plain', '--require-verified', '--agent', cmd]).code, 3);
  assert.equal(p.ralph(['run', '--plain', '--agent', cmd]).code, 0, 'control');
  task(p, 'max_iterations: 2\nvalidation: ["true"]');
  assert.equal(p.ralph(['run', '--plain', '--require-verified', '--agent', cmd]).code, 0, 'verified');
});

test('the journal says where a stop came from', async (t) => {
  const p = aLoop(t);
  assert.equal((await commandHere(p, ['start'])).code, 0);
  assert.equal(unattended(p, ['steer', 'Look again']).code, 0);
  const events = p.read('.claude/context/runtime/ralph-events.jsonl').trim().split('\n');
  const steered = events.map((line) => JSON.parse(line)).find(({ type }) => type === 'operator.steer');
  assert.equal(steered.from.terminal, null);
  assert.match(steered.from.processes[0], /^node \(\d+\)$/);
});
