import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { initRepository } from '../support/git.ts';
import { type Project, project } from '../support/project.ts';
import { agent, task } from './support/command-agent.ts';

const READING = ['status', 'list', 'report', 'explain', 'logs', 'check', 'doctor', 'status --json', 'list --json'];
const SIGNAL = 'RALPH_AUDIT_COMPLETE_NO_FINDINGS';

const git = (p: Project, ...words: string[]): string =>
  execFileSync('git', words, { cwd: p.dir, env: { ...p.env, GIT_CONFIG_NOSYSTEM: '1' }, encoding: 'utf8' });

/** A project with an ended loop, whose repository names a program in every place that git reads. */
function hostile(t: TestContext): { readonly p: Project; readonly ran: () => boolean } {
  const p = project(t);
  initRepository(p.dir);
  task(p, 'max_iterations: 1');
  p.write('a.txt', 'one\n');
  git(p, 'add', '-A');
  git(p, '-c', 'user.name=a', '-c', 'user.email=a@b.c', 'commit', '-qm', 'Start');
  p.ralph(['run', '--plain', '--agent', agent(p, `echo two > a.txt; echo ${SIGNAL}`)]);
  const mark = join(p.dir, '..', 'ran');
  const program = join(p.dir, '..', 'program.sh');
  writeFileSync(program, `#!/bin/sh\ntouch "${mark}"\ncat\n`, { mode: 0o755 });
  p.write('.gitattributes', '*.txt filter=evil diff=evil\n');
  const keys = ['filter.evil.clean', 'filter.evil.smudge', 'filter.evil.process', 'diff.evil.textconv'];
  const others = [
    'diff.evil.command',
    'diff.external',
    'core.fsmonitor',
    'core.pager',
    'core.sshCommand',
    'gpg.program',
  ];
  for (const key of [...keys, ...others]) git(p, 'config', key, program);
  git(p, 'config', 'log.showSignature', 'true');
  p.write('a.txt', 'three\n');
  rmSync(mark, { force: true });
  return { p, ran: () => existsSync(mark) };
}

test('commands that only read run no program that the repository names', (t) => {
  const { p, ran } = hostile(t);
  for (const line of READING) {
    p.ralph(line.split(' '));
    assert.equal(ran(), false, line);
  }
});

test('a list of worktrees runs no program of the repository', (t) => {
  const { p, ran } = hostile(t);
  assert.equal(p.sh('git stash -q && git worktree add -q -b ralph/fix .ralph/worktrees/fix').code, 0);
  const file = '.ralph/worktrees/fix/a.txt';
  p.write(file, p.read(file));
  rmSync(join(p.dir, '..', 'ran'), { force: true });
  const { code, stdout } = p.ralph(['worktree', 'list']);
  assert.equal(code, 0);
  assert.match(stdout, /ralph\/fix/);
  assert.equal(ran(), false);
  p.sh('git -C .ralph/worktrees/fix status');
  assert.equal(ran(), true, 'control: git runs one there');
});

test('a report of a loop whose stored report is gone runs no program of the repository', (t) => {
  const { p, ran } = hostile(t);
  const { stdout } = p.sh(`find "${p.env['XDG_STATE_HOME']}" -name 'contract*.report' -print -delete`);
  assert.match(stdout, /report/);
  for (const line of ['report', 'explain', 'status --json']) p.ralph(line.split(' '));
  assert.equal(ran(), false);
});

test('control: git itself runs the filter of the same repository', (t) => {
  const { p, ran } = hostile(t);
  for (const key of ['core.fsmonitor', 'diff.external', 'filter.evil.process']) git(p, 'config', '--unset', key);
  git(p, 'diff', '--stat');
  assert.equal(ran(), true);
});
