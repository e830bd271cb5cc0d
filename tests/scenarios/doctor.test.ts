import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { commandHere } from '../support/command-here.ts';
import { fakeClient } from '../support/fake-client.ts';
import { makeOlder } from '../support/older-install.ts';
import { type Answer, project } from '../support/project.ts';
import { changeSettings, findings, healthyProject, STATE } from './support/doctor-case.ts';

test('a healthy project has only good findings and exit code 0', async (t) => {
  const { p, env } = healthyProject(t);
  const answer = await commandHere(p, ['doctor', '--json'], env);
  assert.deepEqual(
    findings(answer).filter(({ level }) => level !== 'ok'),
    [],
  );
  assert.equal(answer.code, 0);
  assert.equal(answer.json['ok'], true);
  assert.ok(findings(answer).some(({ check }) => check === 'self-test'));
});

test('doctor changes nothing', async (t) => {
  const { p, env } = healthyProject(t);
  p.write(STATE, '{"half":');
  rmSync(join(p.dir, '.claude/skills/ralph-loop/scripts/ralph-hooks.cjs'));
  const tree = p.tree();
  assert.equal((await commandHere(p, ['doctor'], env)).code, 1);
  assert.deepEqual(p.tree(), tree);
});

test('doctor names the files of another version in one finding, and --fix replaces them', async (t) => {
  const { p, env } = healthyProject(t);
  makeOlder(p);
  const files = (answer: Answer) => findings(answer).filter(({ check }) => check === 'hook-files');
  const found = files(await commandHere(p, ['doctor', '--json'], env));
  assert.equal(found.length, 1, JSON.stringify(found));
  assert.match(String(found[0]?.message), /^from another version: \S+\.cjs, \S+\.cjs, \S+\.cjs and \d+ more\.$/);
  assert.deepEqual(
    files(await commandHere(p, ['doctor', '--fix', '--json'], env)).map(({ level }) => level),
    ['ok'],
  );
});

test('doctor --fix repairs a project so that a loop can run', async (t) => {
  const { p, env } = healthyProject(t);
  rmSync(join(p.dir, '.claude/hooks/ralph-stop-hook.cjs'));
  changeSettings(p, ({ hooks }) => delete hooks?.['Stop']);
  chmodSync(join(p.dir, '.claude/ralph/ralph-audit.sh'), 0o644);
  assert.equal((await commandHere(p, ['doctor'], env)).code, 1);
  const answer = await commandHere(p, ['doctor', '--fix', '--json'], env);
  assert.equal(answer.code, 0, answer.stdout);
  assert.equal(answer.json['ok'], true);
});

test('doctor says that a live loop has to end first where it advises init', async (t) => {
  const { p, env } = healthyProject(t);
  rmSync(join(p.dir, '.claude/hooks/ralph-stop-hook.cjs'));
  const advice = (): string =>
    String(findings(p.ralph(['doctor', '--json'], env)).find(({ check }) => check === 'hook-files')?.fix);
  assert.match(advice(), /Run: \S*.* init\.$/, 'control');
  assert.equal((await commandHere(p, ['start', '--loop', 'job'], env)).code, 0);
  assert.match(advice(), / init\. init refuses while a loop is live\. To end it first: \S*.* cancel --loop job\.$/);
  assert.match((await commandHere(p, ['init'], env)).stderr, /a loop is live/);
  assert.equal((await commandHere(p, ['cancel', '--loop', 'job'], env)).code, 0);
  assert.equal((await commandHere(p, ['init'], env)).code, 0);
});

test('without init doctor finds no error, because run works, and --fix does not set the project up', async (t) => {
  const p = project(t);
  const answer = await commandHere(p, ['doctor', '--fix', '--json'], fakeClient(p));
  assert.equal(answer.code, 0, answer.stdout);
  const found = new Map(findings(answer).map(({ check, message }) => [check, message]));
  assert.match(String(found.get('registration')), /"run" and "start --launch" pass their own/);
  assert.match(String(found.get('self-test')), /sends the task back/);
  assert.deepEqual(p.tree(), {});
});

test('the reset that doctor names for an unreadable state moves it to the archive unchanged', async (t) => {
  const { p, env } = healthyProject(t);
  p.write(STATE, '{"half":');
  assert.match((await commandHere(p, ['doctor'], env)).stdout, /it can be archived\. Run: ralph-loop reset\./);
  assert.equal((await commandHere(p, ['reset'], env)).code, 0);
  assert.ok(!p.has(STATE));
  assert.ok(Object.entries(p.tree()).some(([path, text]) => /-corrupt\.json$/.test(path) && text.endsWith('{"half":')));
});

test('an agent may run doctor but not doctor --fix', async (t) => {
  const { p, env } = healthyProject(t);
  assert.equal((await commandHere(p, ['doctor'], { ...env, CLAUDECODE: '1' })).code, 0);
  const { code, stderr } = await commandHere(p, ['doctor', '--fix'], { ...env, CLAUDECODE: '1' });
  assert.equal(code, 1);
  assert.match(stderr, /for the user at a terminal/);
});

test('trust in a directory above counts within one repository only', (t) => {
  const { p, env } = healthyProject(t);
  p.write('../home/.claude.json', { projects: { [join(p.dir, '..')]: { hasTrustDialogAccepted: true } } });
  const trust = (): string | undefined =>
    findings(p.ralph(['doctor', '--json'], env)).find(({ check }) => check === 'workspace-trust')?.level;
  assert.equal(trust(), 'ok');
  mkdirSync(join(p.dir, '.git'));
  assert.equal(trust(), 'warning');
});
