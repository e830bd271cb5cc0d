import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { loopFiles } from '../../src/state/loop-files.ts';
import { MAIN, task } from '../scenarios/support/command-agent.ts';
import { childrenOf, descendantRunning, lives, signalQuietly } from '../support/client/process-tree.ts';
import { type Project, project } from '../support/project.ts';
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

interface KilledReport {
  readonly p: Project;
  readonly report: readonly string[];
  /** Names of the copies of the project. */
  readonly left: () => string[];
  /** Process of the check's sandbox that started it, and the one within. */
  readonly sandbox: readonly number[];
}

/** A router's report that is killed while its check sleeps in the sandbox. `bwrap` replaces the program of that name. */
async function killedReport(t: TestContext, seconds: string, more = '', bwrap = ''): Promise<KilledReport> {
  const p = project(t);
  p.write('.gitignore', '.claude/\n');
  p.sh('git init -q; git add -A; git -c user.name=x -c user.email=x@example.invalid commit -qm Begin');
  task(
    p,
    `validation: ["test -e go || sleep ${seconds}", "test -e go"]\nsandbox: {mode: "on"}\nbaseline: false${more}`,
  );
  if (bwrap !== '') p.write('../bin/bwrap', bwrap, 0o755);
  const PATH = `${join(p.dir, '../bin')}${delimiter}${p.env['PATH']}`;
  assert.equal(p.ralph(['router', 'start'], { PATH }).json['action'], 'spawn');
  p.write('../said.txt', 'All is done.\n\nRALPH_AUDIT_COMPLETE_NO_FINDINGS');
  const report = ['router', 'report', '--spawn', '1', '--file', '../said.txt'];
  const killed = spawn(process.execPath, [MAIN, ...report], { cwd: p.dir, env: { ...p.env, PATH }, stdio: 'ignore' });
  const over = once(killed, 'exit');
  await until('the check runs', () => running(`sleep\0${seconds}\0`) === 1);
  const { copies } = loopFiles(p.dir, null, p.env);
  const left = (): string[] => p.sh(`ls -A '${copies}' 2> /dev/null`).stdout.split('\n').filter(Boolean);
  assert.equal(left().length, more === '' ? 0 : 1, 'the copy is there');
  const outer = descendantRunning(killed.pid ?? 0, /^\S*bwrap /) ?? 0;
  const sandbox = [outer, ...childrenOf(outer)];
  killed.kill('SIGKILL');
  await over;
  return { p, report, left, sandbox };
}

for (const [nth, [where, more]] of Object.entries(PLACES).entries())
  test(`a report that is killed during a check ${where} ends the check, and can be repeated`, async (t) => {
    const seconds = `60${nth}.${process.pid}`;
    const { p, report, left } = await killedReport(t, seconds, more);
    await until('the check is gone', () => running(`sleep\0${seconds}\0`) === 0);
    p.write('go', '');
    const end = p.ralph(report);
    const { action, status, verified } = end.json;
    assert.deepEqual([action, status, verified], ['stop', 'complete', true], end.stdout + end.stderr);
    assert.deepEqual(left(), []);
    const events = readFileSync(join(p.dir, '.claude/context/runtime/ralph-events.jsonl'), 'utf8');
    assert.equal(events.split('"type":"iteration.ended"').length - 1, 1, 'the iteration counts once');
  });

/** bubblewrap as it is without the option that ends a sandbox together with its parent. */
const OUTLIVING = `#!/bin/sh
for word; do shift; [ "$word" = --die-with-parent ] || set -- "$@" "$word"; done
exec ${execFileSync('sh', ['-c', 'command -v bwrap'], { encoding: 'utf8' }).trim()} "$@"
`;

test('control: a check in a sandbox that may outlive its parent goes on after the report is killed', async (t) => {
  const seconds = `609.${process.pid}`;
  const { sandbox } = await killedReport(t, seconds, '', OUTLIVING);
  const [outer = 0, inner = 0] = sandbox;
  assert.ok(outer > 0 && inner > 0);
  t.after(() => signalQuietly(inner, 'SIGKILL'));
  await until('the outer process is gone', () => !lives(outer));
  assert.equal(running(`sleep\0${seconds}\0`), 1);
});
