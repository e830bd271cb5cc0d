import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { loopFiles } from '../../src/state/loop-files.ts';
import { MAIN, task } from '../scenarios/support/command-agent.ts';
import { project } from '../support/project.ts';
import { until } from '../support/until.ts';

const running = (commandLine: string): number =>
  readdirSync('/proc').filter((name) => {
    try {
      return /^\d+$/.test(name) && readFileSync(`/proc/${name}/cmdline`, 'utf8') === commandLine;
    } catch {
      return false; // it has just gone
    }
  }).length;

/** Where the check runs, and what remains of a copy that is being checked while its process is killed. */
const PLACES = { 'in the sandbox': '', 'in the sandbox on a clean copy': '\nverify_in: worktree' } as const;

for (const [nth, [where, more]] of Object.entries(PLACES).entries())
  test(`a report that is killed during a check ${where} ends the check, and can be repeated`, async (t) => {
    const p = project(t);
    const seconds = `60${nth}.${process.pid}`;
    const sleeps = (): number => running(`sleep\0${seconds}\0`);
    p.write('.gitignore', '.claude/\n');
    p.sh('git init -q; git add -A; git -c user.name=x -c user.email=x@example.invalid commit -qm Begin');
    task(p, `validation: ["test -e go || sleep ${seconds}", "test -e go"]\nsandbox: {mode: "on"}${more}`);
    assert.equal(p.ralph(['router', 'start']).json['action'], 'spawn');
    p.write('../said.txt', 'All is done.\n\nRALPH_AUDIT_COMPLETE_NO_FINDINGS');
    const report = ['router', 'report', '--spawn', '1', '--file', '../said.txt'];
    const killed = spawn(process.execPath, [MAIN, ...report], { cwd: p.dir, env: p.env, stdio: 'ignore' });
    const over = once(killed, 'exit');
    await until('the check runs', () => sleeps() === 1);
    const { copies } = loopFiles(p.dir, null, p.env);
    const left = (): string[] => p.sh(`ls -A '${copies}' 2> /dev/null`).stdout.split('\n').filter(Boolean);
    assert.equal(left().length, more === '' ? 0 : 1, 'the copy is there');
    killed.kill('SIGKILL');
    await over;
    await until('the check is gone', () => sleeps() === 0);
    p.write('go', '');
    const end = p.ralph(report);
    const { action, status, verified } = end.json;
    assert.deepEqual([action, status, verified], ['stop', 'complete', true], end.stdout + end.stderr);
    assert.deepEqual(left(), []);
    const events = readFileSync(join(p.dir, '.claude/context/runtime/ralph-events.jsonl'), 'utf8');
    assert.equal(events.split('"type":"iteration.ended"').length - 1, 1, 'the iteration counts once');
  });
