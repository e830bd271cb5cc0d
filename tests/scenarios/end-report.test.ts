import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { commandHere } from '../support/command-here.ts';
import { commitFolder, type Git } from '../support/git.ts';
import { type Project, project } from '../support/project.ts';
import { agent, task } from './support/command-agent.ts';

const SIGNAL = 'RALPH_AUDIT_COMPLETE_NO_FINDINGS';

/** A repository with a committed file, a staged and an unstaged change, and an untracked file. */
function dirtyRepository(t: TestContext): { readonly p: Project; readonly git: Git } {
  const p = project(t);
  p.write('kept.txt', 'one\n');
  p.write('staged.txt', 'one\n');
  p.write('check.sh', 'exit 0\n');
  task(p, 'max_iterations: 3\nvalidation: [{name: proof, run: sh check.sh}]');
  const git = commitFolder(p.dir);
  p.write('kept.txt', 'one\nmine\n');
  p.write('staged.txt', 'staged\n');
  git('add', 'staged.txt');
  p.write('loose.txt', 'loose\n');
  return { p, git };
}

test('the end report says what was done, what proved it, and how to undo it; the undo works', async (t) => {
  const { p, git } = dirtyRepository(t);
  const status = git('status', '--porcelain', '--', ':!.claude', ':!agent.sh', ':!runs.txt');
  const cmd = agent(p, `echo agent >> kept.txt; echo new > new.txt; echo "I did it."; echo ${SIGNAL}`);
  const { code, stdout, stderr } = p.ralph(['run', '--plain', '--agent', cmd]);
  assert.equal(code, 0, stdout + stderr);
  assert.match(
    stderr,
    /Uncommitted changes: agent\.sh, kept\.txt, loose\.txt, staged\.txt\. To work without them, add --worktree\./,
  );
  const report = stdout.slice(stdout.indexOf('ralph-loop: Complete'));
  assert.match(
    report,
    /\n {2}Passed: proof\n {2}Before the start: proof passed\n {2}1 iteration of 3, [\dms ]+, cost unknown, tokens unknown\n/,
  );
  assert.match(report, /\n {2}Changed since the start: 1 file changed, 1 insertion\(\+\)\n {4}kept\.txt \| 1 \+\n/);
  assert.match(report, /\n {4}new\.txt \(new\)\n/);
  assert.doesNotMatch(report, /loose\.txt|staged\.txt/);
  assert.match(report, /\n {2}The agent's final message:\n {4}I did it\.\n/);
  assert.match(report, /\n {2}Next: git diff [0-9a-f]{12} [0-9a-f]{12}\n {2}Undo: ralph-loop undo\n/);
  const undone = await commandHere(p, ['undo', '--yes']);
  assert.equal(undone.code, 0, undone.stderr);
  assert.equal(p.read('kept.txt'), 'one\nmine\n');
  assert.equal(git('status', '--porcelain', '--', ':!.claude', ':!agent.sh', ':!runs.txt', ':!new.txt'), status);
});

test('status --json has the report as it was at the end, until the next loop', async (t) => {
  const { p, git } = dirtyRepository(t);
  git('stash', '-qu');
  const cmd = agent(p, `echo agent >> kept.txt; echo 'exit 0 # mine' > check.sh; echo ${SIGNAL}`);
  const { code } = p.ralph(['run', '--plain', '--max-iterations', '1', '--agent', cmd]);
  assert.equal(code, 2);
  git('checkout', '-q', 'kept.txt');
  const { report } = (await commandHere(p, ['status', '--json'])).json as { report: Record<string, unknown> };
  const { outcome, verified, checks, iterations, costUsd, changedScripts, next, restore } = report;
  assert.deepEqual([outcome, verified, iterations, costUsd], ['max-iterations', false, 1, null]);
  const [check] = checks as { name: string; outcome: string; why: string }[];
  assert.deepEqual([check?.name, check?.outcome], ['proof', 'changed']);
  assert.match(check?.why ?? '', /^check\.sh was changed since the loop started, so it was not run\./);
  assert.deepEqual(changedScripts, ['check.sh was changed']);
  assert.match(JSON.stringify(report['changes']), /kept\.txt \| 1 \+/);
  assert.equal(next, 'ralph-loop resume --max-iterations 2');
  assert.equal(restore, 'ralph-loop undo');
});

test('an agent that never claims has its checks run at the limit, and the end says that they pass', (t) => {
  const p = project(t);
  task(p, 'max_iterations: 2\nvalidation: ["test -f done"]');
  const silent = agent(
    p,
    'echo x >> work; [ "$(wc -l < runs.txt)" = 2 ] && touch done; echo "I did $(wc -l < runs.txt)."',
  );
  const { code, stdout } = p.ralph(['run', '--plain', '--agent', silent]);
  assert.equal(code, 2);
  assert.match(stdout, /ralph-loop: The agent stopped without a claim; running the checks\./);
  assert.match(
    stdout,
    /Stopped after 2 iterations, the limit.* The checks pass now, but the agent did not say that it was done\./,
  );
  assert.match(stdout, /\n {2}Passed: test -f done\n {2}Before the start: test -f done failed\n/);
  assert.doesNotMatch(stdout, /Complete|claims completion/);
});

test('a project without git has a report without changes', (t) => {
  const p = project(t);
  task(p, 'max_iterations: 1');
  const { stdout } = p.ralph(['run', '--plain', '--agent', agent(p, 'echo "Half done. key=sk_live_0123456789abcdef"')]);
  assert.match(
    stdout,
    /\n {2}No check was run\.\n {2}1 iteration of 1, [^\n]+\n {2}The agent's final message:\n {4}Half done\. key=\*\*\*\n {2}Next: [^\n]+ resume --max-iterations 2\n/,
  );
  assert.doesNotMatch(stdout, /Changed since|Undo/);
});

test('the next step after a verified end knows whether the agent has committed its work', (t) => {
  const nextAfter = (does: string, withGit = true): string => {
    const p = project(t);
    p.write('check.sh', 'test -e made.txt\n');
    p.write('kept.txt', 'one\n');
    task(p, 'max_iterations: 2\nvalidation: [{name: proof, run: sh check.sh}]');
    const cmd = agent(p, `touch made.txt; ${does}; echo ${SIGNAL}`);
    // A start on uncommitted changes of the user: those are not the agent's to commit.
    if (withGit) commitFolder(p.dir);
    p.write('loose.txt', 'mine\n');
    const { code, stdout, stderr } = p.ralph(['run', '--plain', '--agent', cmd]);
    assert.equal(code, 0, stdout + stderr);
    return /^Next: (.*)$/m.exec(p.ralph(['explain']).stdout)?.[1] ?? '';
  };
  assert.equal(nextAfter('git add made.txt runs.txt && git commit -qm Made'), 'Review the commits.');
  assert.equal(
    nextAfter('git add made.txt runs.txt && git commit -qm Made; echo two >> kept.txt'),
    'Review the result and commit it.',
  );
  assert.equal(nextAfter(':'), 'Review the result and commit it.');
  assert.equal(nextAfter(':', false), 'Review the result.', 'there is nothing to commit to');
});
