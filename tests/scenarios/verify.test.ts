import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { whole } from '../../src/drive/status/proof-record.ts';
import type { ProofRecord } from '../../src/engine/schema/proof.ts';
import { commitFolder } from '../support/git.ts';
import { project } from '../support/project.ts';
import { agent, MAIN } from './support/command-agent.ts';
import { cloned, completed, differences, forge, PROOF, record, TASK } from './support/proved-loop.ts';

test('a complete loop writes its proof, without output and paths of the machine, and verify confirms it', async () => {
  const { p, git } = completed();
  const { checks, proof, verified, commits } = record(p);
  assert.deepEqual(checks, [{ name: 'made', run: 'grep -q done made.txt', before: 'failed', after: 'passed' }]);
  assert.deepEqual([proof, verified, commits], ['red-to-green', true, [git('rev-parse', 'HEAD').trim()]]);
  assert.ok(!p.read(PROOF).includes(p.dir));
  for (const words of [[], ['fix'], ['--proof', PROOF], ['--tree', 'HEAD']])
    assert.deepEqual(await differences(p, ...words), {});
  const { stdout } = p.ralph(['verify']);
  assert.match(stdout, /\n {2}checks +passed: made \(grep -q done made\.txt\)\nVerified: the proof holds\.\n$/);
});

test('a changed tree, task, contract and record, and a check that no longer passes, are told apart', async () => {
  const { p, git } = completed();
  p.write('other.txt', 'x\n');
  assert.deepEqual(await differences(p), { files: 'differ since the verdict: other.txt' });
  assert.deepEqual(await differences(p, '--tree', 'HEAD'), {}, 'control: the commit is as it was');
  git('stash', '-u', '-q');
  p.write('made.txt', 'no\n');
  assert.deepEqual(Object.keys(await differences(p)), ['files', 'checks']);
  git('checkout', '-q', 'made.txt');
  p.write('.ralph/fix/RALPH.md', TASK.replace('Make the', 'Make another'));
  assert.deepEqual(await differences(p), { task: '.ralph/fix/RALPH.md changed since the verdict' });
  git('checkout', '-q', '.ralph/fix/RALPH.md');
  git('stash', 'pop', '-q');
  p.write('other.txt', '');
  spawnSync('rm', [join(p.dir, 'other.txt')]);
  const text = p.read(PROOF);
  p.write(PROOF, text.replace('"iterations": 1', '"iterations": 2'));
  assert.deepEqual(await differences(p), { record: 'edited after it was written' });
  forge(p, { iterations: 2 });
  assert.deepEqual(await differences(p), { record: 'not the one that the loop wrote on this machine' });
  p.write(PROOF, text);
  assert.deepEqual(await differences(p), {}, 'control');
});

test('verify of a commit says what it does not see, and names an ignored folder without its files', async () => {
  const { p, git } = completed();
  const inCopy = (): string => p.ralph(['verify', '--tree', 'HEAD']).stdout;
  assert.match(inCopy(), /Verified: the proof holds\.\n$/);
  p.write('.git/info/exclude', 'node_modules\npackage.json\n');
  for (const path of ['package.json', 'node_modules/a/index.js']) p.write(path, '{}');
  assert.match(inCopy(), /\nThe checks used node_modules as installed here: changes there are not seen\.\n$/);
  assert.doesNotMatch(p.ralph(['verify']).stdout, /not seen/, 'control');
  p.write('made.txt', 'no\n');
  git('commit', '-qam', 'Not made');
  p.write('made.txt', 'done\n');
  for (const path of ['.gitignore', 'lib/a']) p.write(`.tool/${path}`, '*\n');
  assert.match(
    (await differences(p, '--tree', 'HEAD'))['checks'] ?? '',
    /and the ignored \.tool, agent\.sh, .*runs\.txt\. /,
  );
  const files = p.ralph(['verify']).stdout;
  assert.match(files, /not compared, as git ignores them: .*\.tool\/, agent\.sh, node_modules\/, /);
});

test('another machine compares a proof with the task and the files of its clone', async (t) => {
  const { p, git } = completed();
  git('add', '-f', PROOF);
  git('commit', '-qm', 'Add the proof');
  const clone = project(t);
  spawnSync('git', ['clone', '-q', p.dir, join(clone.dir, 'clone')]);
  const there = { ...clone, place: 'clone' };
  const at = `clone/${PROOF}`;
  assert.deepEqual(await differences(there, '--proof', at), {});
  const forged = (change: Partial<ProofRecord>): Promise<Record<string, string>> => {
    const { digest: _, ...rest } = JSON.parse(readFileSync(join(p.dir, PROOF), 'utf8')) as ProofRecord;
    clone.write(at, JSON.stringify(whole({ ...rest, ...change })));
    return differences(there, '--proof', at);
  };
  assert.deepEqual(await forged({ checks: [{ name: 'made', run: 'true', before: 'failed' }] }), {
    contract: 'other checks than the loop ran: made',
  });
  assert.deepEqual(await forged({ checks: [{ name: 'made', run: 'grep -q done made.txt', before: 'passed' }] }), {
    proof: 'red-to-green, which the recorded results do not allow',
  });
  assert.deepEqual(await forged({ tree: '0'.repeat(40) }), { files: 'other files than at the verdict' });
  assert.deepEqual(await forged({}), {}, 'control');
  spawnSync('git', ['-C', join(clone.dir, 'clone'), 'checkout', '-q', '-f', 'HEAD~2']);
  clone.write(at, p.read(PROOF));
  assert.deepEqual(Object.keys(await differences(there, '--proof', at)), ['files', 'checks']);
  assert.match(
    (await differences(there, '--proof', at))['files'] ?? '',
    /made\.txt; the loop's commits are on another branch, or were rewritten$/,
  );
});

test('a script beside the task is a file of the project, and a clone shows that it was changed', async (t) => {
  const p = project(t);
  p.write('.ralph/fix/RALPH.md', TASK.replace('grep -q done made.txt', 'sh .ralph/fix/check.sh'));
  p.write('.ralph/fix/check.sh', 'grep -q done made.txt\n');
  p.write('.gitignore', 'runs.txt\nagent.sh\n');
  const command = agent(
    p,
    'echo done > made.txt; git add made.txt; git commit -qm Make\necho "<promise>DONE</promise>"',
  );
  commitFolder(p.dir);
  assert.equal(p.ralph(['run', 'fix', '--plain', '--agent', command]).code, 0);
  const clone = project(t);
  spawnSync('git', ['clone', '-q', p.dir, join(clone.dir, 'clone')]);
  clone.write(`clone/${PROOF}`, p.read(PROOF));
  const there = { ...clone, place: 'clone' };
  assert.deepEqual(await differences(there, '--proof', `clone/${PROOF}`), {}, 'control');
  clone.write('clone/.ralph/fix/check.sh', 'true\n');
  assert.deepEqual(await differences(there, '--proof', `clone/${PROOF}`), {
    files: 'differ since the verdict: .ralph/fix/check.sh',
  });
});

test("a proof leads to no folder but its loop's and its task's, and a loop without a task file is told", async () => {
  const { p } = completed();
  const refused = (change: Partial<ProofRecord>): string => {
    const text = p.read(PROOF);
    forge(p, { loopId: 'loop-of-another-machine', ...change });
    const { code, stderr } = p.ralph(['verify', '--proof', PROOF]);
    p.write(PROOF, text);
    assert.equal(code, 1);
    return stderr;
  };
  assert.match(refused({ name: 'fix/../../../home' }), /proof\.json is no proof of a loop: name: Invalid loop name\./);
  assert.match(refused({ task: { path: '../task/RALPH.md', sha256: '0'.repeat(64) } }), /outside the project/);
  assert.equal(
    refused({ task: { path: '.ralph/fix/RALPH.md', sha256: '0'.repeat(64) } }),
    '',
    'control: a proof to check',
  );
  p.sh('rm .ralph/fix/RALPH.md');
  assert.equal((await differences(p))['task'], '.ralph/fix/RALPH.md is missing');
});

test('a loop of a worktree is compared with the files there, and a loop is found by its task', async (t) => {
  const p = project(t);
  p.write('.ralph/fix/RALPH.md', TASK);
  const command = agent(p, 'echo done > made.txt\necho "<promise>DONE</promise>"');
  commitFolder(p.dir);
  p.ralph(['run', 'fix', '--worktree', '--plain', '--agent', command]);
  p.write('mine.txt', 'x\n');
  for (const words of [[], ['fix'], ['.ralph/fix/RALPH.md'].map((path) => join(p.dir, path))])
    assert.deepEqual(await differences(p, ...words), {}, 'what changes beside the worktree is no change');
  p.write('.ralph/worktrees/fix/made.txt', 'done twice\n');
  assert.deepEqual(await differences(p, 'fix'), { files: 'differ since the verdict: made.txt' });
  assert.match(p.ralph(['undo', '.ralph/fix/RALPH.md', '--dry-run']).stdout, /made\.txt/);
  assert.match(p.ralph(['undo', 'no/such', '--dry-run']).stderr, /No loop has ended on no\/such here/);
});

test('the scenarios of a test-first loop do not run again, which its proof does not hide', async () => {
  const { p } = completed();
  forge(p, {
    checks: [
      { name: 'made', run: 'grep -q done made.txt', before: 'failed' },
      { name: 'scenarios', run: null, before: 'failed' },
    ],
  });
  assert.equal((await differences(p))['checks'], 'not run again: scenarios');
});

test("a missing or unreadable proof is an error that names it, and verify runs nothing in an agent's shell", () => {
  const { p } = completed();
  p.write('none.json', '{"proofVersion": 1}');
  assert.match(p.ralph(['verify', '--proof', 'none.json']).stderr, /none\.json is no proof of a loop: loopId: /);
  assert.match(p.ralph(['verify', '--proof', 'gone.json']).stderr, /gone\.json does not exist/);
  assert.match(p.ralph(['verify', '--tree', 'nope']).stderr, /--tree nope: git knows no such commit here/);
  const { code } = p.ralph(['verify'], { CLAUDECODE: '1' });
  assert.notEqual(code, 0);
});

test('who has only a clone and a proof is told how to check it, and what is missing', (t) => {
  const { p } = completed();
  const { there, at } = cloned(t, p);
  const said = (...words: string[]): string => {
    const { stdout, stderr } = there.ralph(['verify', ...words]);
    return stdout + stderr;
  };
  assert.match(
    said(),
    /Proofs of others are here: \.ralph\/fix\/proof\.json\. Check one: \S* verify fix --project \S*clone\./,
  );
  assert.match(
    said('fix'),
    /Verified[^\n]*\nOnly the sender's word says what the checks did before the start: made failed\.\n$/,
  );
  const proof = there.read(at);
  there.write(at, proof.replace('"proofVersion": 1', '"proofVersion": 2'));
  assert.match(said('fix'), /proof of a newer ralph-loop \(its version is 2, this one reads 1\)/);
  there.write(at, proof);
  there.sh('rm clone/.ralph/fix/RALPH.md');
  const missing =
    /The task \.ralph\/fix\/RALPH\.md of the proof does not exist\. Check a proof in a clone of its project/;
  for (const words of [['fix'], ['--proof', at]]) assert.match(said(...words), missing);
});

test('the workflow that init writes verifies the proofs of a pull request', (t) => {
  const { p, git } = completed();
  assert.equal(p.ralph(['init', '--ci', 'github', '--json']).json['success'], true);
  assert.match(p.ralph(['init', '--ci', 'github']).stderr, /already exists and stays as it is/);
  assert.match(p.ralph(['init', '--ci', 'other']).stderr, /github is the only provider/);
  const workflow = parse(p.read('.github/workflows/ralph-loop.yml')) as {
    jobs: { verify: { steps: { run?: string }[] } };
  };
  const steps = workflow.jobs.verify.steps.flatMap(({ run }) => run ?? []);
  git('branch', 'base', 'HEAD~1');
  git('add', '-f', PROOF);
  git('commit', '-qm', 'Add the proof');
  const ci = project(t);
  spawnSync('git', ['clone', '-q', p.dir, join(ci.dir, 'clone')]);
  // Stands in for npx: the version that the workflow names is this one, and in the project another one may be installed.
  ci.write('bin/npx', `#!/bin/sh\nshift 2\n[ -e .git ] && exit 0\nexec node ${MAIN} "$@"\n`, 0o755);
  const runSteps = (GITHUB_BASE_REF = 'base'): (number | null)[] =>
    steps.map((run) => {
      const PATH = `${join(ci.dir, 'bin')}:${process.env['PATH']}`;
      const [GITHUB_WORKSPACE, RUNNER_TEMP] = [join(ci.dir, 'clone'), ci.home];
      const env = { ...process.env, PATH, GITHUB_BASE_REF, GITHUB_WORKSPACE, RUNNER_TEMP };
      return spawnSync('bash', ['-e', '-c', run], { cwd: GITHUB_WORKSPACE, env }).status;
    });
  assert.deepEqual(runSteps(), [0]);
  assert.notDeepEqual(runSteps('gone'), [0], 'control: a base that git does not know');
  writeFileSync(join(ci.dir, 'clone', 'made.txt'), 'no\n');
  assert.notDeepEqual(runSteps(), [0], 'control: files that the proof does not have');
});

test('the workflow for a project in a folder of a repository is at the top, where GitHub runs it', (t) => {
  const p = project(t);
  const write = (folder: string) => p.ralph(['init', '--ci', 'github', '--json'], {}, join(p.dir, folder));
  p.write('apps/one/a.txt', 'a\n');
  p.write('two words/a.txt', 'a\n');
  commitFolder(p.dir);
  assert.match(write('two words').stderr, /two words\/ has characters that a workflow cannot name/);
  assert.deepEqual(write('apps/one').json['created'], ['../../.github/workflows/ralph-loop.yml']);
  const workflow = p.read('.github/workflows/ralph-loop.yml');
  assert.match(workflow, /'apps\/one\/\.ralph\/\*\/proof\.json'.*--project "\$GITHUB_WORKSPACE\/apps\/one\/"/);
  assert.match(write('apps/one').stderr, /\.\.\/\.\.\/\.github\/workflows\/ralph-loop\.yml already exists/);
});
