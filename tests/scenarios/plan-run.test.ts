import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, existsSync, lstatSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { AGENT, planPlace, read, subjects, TWO, task } from '../support/plan-place.ts';
import { DIST } from '../support/project.ts';
import { longTest } from '../support/short-form.ts';
import { until } from '../support/until.ts';

test('footers of the configuration end the message of each commit', (t) => {
  const footers = `---\ncommit_footers:\n  - "Co-authored-by: Ada <ada@example.invalid>"\n  - "Thread: T-1"\n---\n${task(1)}`;
  const p = planPlace(t, footers);
  const { code, stdout } = p.run(null);
  assert.equal(code, 0);
  assert.match(
    stdout,
    /^ralph-loop: The loop is working on PLAN\.md\.\nCtrl\+C .*\n\n─── Iteration 1 of 25 │ Task 1, Make 1 ───$/m,
  );
  assert.equal(
    p.git('log', '-1', '--format=%B').trim(),
    'feat: Task 1 - Make 1\n\nProof: none (no check proves it), 1 file changed.\n\nCo-authored-by: Ada <ada@example.invalid>\nThread: T-1',
  );
});

longTest('only the boxes of a plan change; line ends and byte order mark stay', (t) => {
  const plan = `\ufeff# Plan\r\n\r\n${TWO.replaceAll('\n', '\r\n')}\r\n\tend \r\n`;
  const p = planPlace(t, plan);
  assert.equal(p.run(null).code, 0);
  assert.equal(read(p, 'PLAN.md'), plan.replaceAll('[ ]', '[x]'));
});

test('a plan that git ignores is ticked too, and its task is one commit', (t) => {
  const p = planPlace(t, task(1));
  writeFileSync(join(p.dir, '.gitignore'), 'PLAN*\n');
  p.git('rm', '-q', '--cached', 'PLAN.md');
  p.git('add', '-A');
  p.git('commit', '-q', '-m', 'Ignore the plan');
  assert.equal(p.run(null).code, 0);
  assert.deepEqual(subjects(p).slice(1), ['feat: Task 1 - Make 1']);
  assert.match(read(p, 'PLAN.md'), /^- \[x\] \*\*Task 1/m);
  assert.deepEqual(p.git('show', '--name-only', '--format=', 'HEAD').trim(), 'work/1.txt');
});

test('an uncommitted plan goes with the first task, and other uncommitted files are refused', (t) => {
  const p = planPlace(t, task(1));
  appendFileSync(join(p.dir, 'PLAN.md'), '\nA late thought.\n');
  writeFileSync(join(p.dir, 'stray.txt'), 'x');
  const refused = p.run(null);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /not committed[^\n]*: stray\.txt\./);
  p.git('stash', '-q', '-u', '--', 'stray.txt');
  assert.equal(p.run(null).code, 0);
  assert.match(p.git('show', 'HEAD:PLAN.md'), /A late thought/);
});

test('an agent that removes the plan or leaves credentials does not pass', (t) => {
  const agent = '#!/bin/sh\nmkdir -p work && echo x > work/deploy.pem\nrm -f PLAN.md\n';
  const p = planPlace(t, TWO, agent);
  assert.equal(p.run(null).code, 3);
  assert.match(
    read(p, 'PLAN.progress.md'),
    /plan: PLAN\.md was removed[\s\S]*secrets: these files may contain credentials[^\n]*work\/deploy\.pem/,
  );
  assert.match(read(p, 'PLAN.md'), /^- \[ \] \(blocked\) \*\*Task 1/m);
});

longTest('git finds a file outside the scope of its task, and nothing of the task is committed', (t) => {
  const p = planPlace(t, TWO, `${AGENT}if [ $task = 1 ]; then echo x >> elsewhere.txt; fi\n`);
  const { code, stdout } = p.run(null);
  assert.equal(code, 3);
  assert.match(
    stdout,
    /did not pass; it will be tried once more\.\n {2}scope: outside the scope of Task 1: elsewhere\.txt/,
  );
  const progress = read(p, 'PLAN.progress.md');
  assert.match(progress, /## Task 1: Make 1[\s\S]*Status: blocked[\s\S]*scope: [^\n]*elsewhere\.txt/);
  assert.match(read(p, 'PLAN.md'), /^- \[ \] \(blocked\) \*\*Task 1/m);
  assert.deepEqual(subjects(p), []);
});

test('an agent may tick the box of its own task, and not that of another', (t) => {
  const own = planPlace(t, task(1), `${AGENT}sed -i "s/\\[ \\] \\*\\*Task $task/[x] **Task $task/" PLAN.md\n`);
  const passed = own.run(null);
  assert.equal(passed.code, 0, passed.stdout + passed.stderr);
  assert.match(passed.stdout, /The agent ticked the box of Task 1\. The box was cleared/);
  assert.deepEqual(subjects(own), ['feat: Task 1 - Make 1']);

  const other = planPlace(t, TWO, `${AGENT}sed -i "s/\\[ \\] \\*\\*Task 2/[x] **Task 2/" PLAN.md\n`);
  assert.equal(other.run(null).code, 3);
  assert.match(read(other, 'PLAN.progress.md'), /Task 2: the agent ticked a box in PLAN\.md/);
});

test('a box that another program ticks between two tasks is cleared, and its task is done', (t) => {
  const p = planPlace(t, TWO);
  // Like a program that the agent left running, a hook of git works between the commit and the next task.
  const hook = `#!/bin/sh\nsed -i "s/\\[ \\] \\*\\*Task 2/[x] **Task 2/" PLAN.md\n`;
  writeFileSync(join(p.dir, '.git', 'hooks', 'post-commit'), hook, { mode: 0o755 });
  const { code, stdout } = p.run(null);
  assert.equal(code, 0, stdout);
  assert.match(stdout, /Task 2: a box in PLAN\.md was ticked, but not by the loop\. It was cleared/);
  assert.deepEqual(subjects(p).slice(-2), ['feat: Task 1 - Make 1', 'feat: Task 2 - Make 2']);
  assert.equal(read(p, 'work/2.txt'), 'done\n');
});

test('what an agent does to the plan in a session before its first task is opened counts as its own', (t) => {
  const p = planPlace(t, TWO);
  const env = { ...p.env, RALPH_ACTIVE: '1' };
  const program = (script: string, args: readonly string[], input = '') =>
    spawnSync(process.execPath, [join(DIST, script), ...args], { cwd: p.dir, env, input, encoding: 'utf8' });
  const started = program('scripts/main.cjs', ['start', '--task', 'PLAN.md', '--plan']);
  assert.equal(started.status, 0, started.stderr);
  const begun = { hook_event_name: 'SessionStart', source: 'startup', session_id: 's', cwd: p.dir };
  program('hooks/session-start.cjs', [], JSON.stringify(begun));
  const eased = TWO.replaceAll('[ ]', '[x]')
    .replace('`work`', '`work`, `src`')
    .replace(/(?=\*\*\n)/, ' (no-change)');
  writeFileSync(join(p.dir, 'PLAN.md'), eased);
  // The same message at once would be the same Stop, of two hooks.
  let turn = 0;
  const stop = () => {
    const said = { session_id: 's', cwd: p.dir, last_assistant_message: `All is done: ${++turn}.` };
    const payload = JSON.stringify({ hook_event_name: 'Stop', ...said });
    return JSON.parse(program('hooks/ralph-stop-hook.cjs', [], payload).stdout);
  };
  // A state that is rewritten hides nothing that the loop has done: before its first iteration that is nothing.
  const state = join('.claude', 'context', 'runtime', 'ralph-state.json');
  writeFileSync(join(p.dir, state), JSON.stringify({ ...JSON.parse(read(p, state)), contractHash: '0'.repeat(64) }));
  const first = stop();
  assert.match(
    first.systemMessage,
    /Task 1, Task 2: a box in PLAN\.md was ticked, but not by the loop\. It was cleared/,
  );
  assert.match(first.reason, /Change only files in scope: `work`\./);
  assert.match(stop().reason, /no file in the scope of Task 1 changed/);
  assert.deepEqual(subjects(p), []);
  mkdirSync(join(p.dir, 'work'));
  writeFileSync(join(p.dir, 'work', '1.txt'), 'done\n');
  assert.match(stop().reason, /Current task: Task 2/, 'control: work');
  assert.deepEqual(subjects(p), ['feat: Task 1 - Make 1']);
  const { plan: _, ...without } = JSON.parse(read(p, state));
  writeFileSync(join(p.dir, state), JSON.stringify(without));
  assert.match(stop().reason, /Current task: Task 2/, 'the record of the open task knows of the first');
  assert.match(read(p, 'PLAN.md'), /\[x\] \*\*Task 1[\s\S]*\[ \] \*\*Task 2/);
});

test('what a user does to the plan of a paused session counts once the user resumes it', (t) => {
  const p = planPlace(t, TWO);
  const env = { ...p.env, RALPH_ACTIVE: '1' };
  const program = (script: string, args: readonly string[], input = '') =>
    spawnSync(process.execPath, [join(DIST, script), ...args], { cwd: p.dir, env, input, encoding: 'utf8' });
  const main = (...args: readonly string[]) => assert.equal(program('scripts/main.cjs', args).status, 0, args[0]);
  const hook = (name: string, hook_event_name: string, more = {}) =>
    program(`hooks/${name}.cjs`, [], JSON.stringify({ session_id: 's', cwd: p.dir, hook_event_name, ...more })).stdout;
  // The same message at once would be the same Stop, of two hooks.
  let turn = 0;
  const stop = () => JSON.parse(hook('ralph-stop-hook', 'Stop', { last_assistant_message: `Next: ${++turn}.` }));
  main('start', '--task', 'PLAN.md', '--plan');
  assert.match(stop().reason, /Current task: Task 1/);
  mkdirSync(join(p.dir, 'work'));
  writeFileSync(join(p.dir, 'work', '1.txt'), 'done\n');
  assert.match(stop().reason, /Current task: Task 2, Make 2/);
  main('pause');
  assert.match(stop().systemMessage, /Paused by the user/);
  const edited = read(p, 'PLAN.md').replace('Make 2', 'Write the manual');
  assert.match(edited, /\[x\] \*\*Task 1/);
  writeFileSync(join(p.dir, 'PLAN.md'), edited);
  main('resume');
  hook('user-prompt-submit', 'UserPromptSubmit', { prompt: 'Go on.', prompt_id: 'p' });
  assert.match(stop().reason, /Current task: Task 2, Write the manual/);
  assert.equal(read(p, 'PLAN.md'), edited);
  // The state that is restored knows of no pause.
  const state = '.claude/context/runtime/ralph-state.json';
  const forged = { ...JSON.parse(read(p, state)), contractHash: '0'.repeat(64) };
  writeFileSync(join(p.dir, state), JSON.stringify(forged));
  writeFileSync(join(p.dir, 'PLAN.md'), edited.replaceAll('[ ]', '[x]'));
  assert.match(stop().systemMessage, /The loop's state was changed by another program\. It was restored/);
  assert.equal(read(p, 'PLAN.md'), edited);
});

longTest('a progress file that an agent rewrites is restored', (t) => {
  const p = planPlace(t, TWO, `${AGENT}if [ $task = 2 ]; then echo forged > PLAN.progress.md; fi\n`);
  assert.equal(p.run(null).code, 3);
  assert.doesNotMatch(read(p, 'PLAN.progress.md'), /forged/);
  assert.match(read(p, 'PLAN.progress.md'), /## Task 1: Make 1[\s\S]*## Task 2: Make 2[\s\S]*Status: blocked/);
});

test('a package in the scope means its folder', (t) => {
  const plan = '- [ ] **Task 1: Make 1**\n  - Scope: `@acme/core`\n  - Acceptance: yes\n';
  const agent = '#!/bin/sh\necho x > packages/core/a.txt\nprintf "Summary: done."\n';
  const p = planPlace(t, plan, agent);
  mkdirSync(join(p.dir, 'packages/core'), { recursive: true });
  writeFileSync(join(p.dir, 'packages/core/package.json'), '{ "name": "@acme/core" }\n');
  p.git('add', '-A');
  p.git('commit', '-q', '-m', 'A package');
  assert.equal(p.run(null).code, 0, read(p, 'PLAN.md'));
});

test('--from begins with that task and refuses one with an unfinished dependency', (t) => {
  const p = planPlace(t, TWO + task(3, '  - Depends on: Task 1\n'));
  const waiting = p.run(null, '--from', 'Task 3');
  assert.equal(waiting.code, 1);
  assert.match(waiting.stderr, /depends on Task 1, which is not done/);
  const unknown = p.run(null, '--from', 'Task 9');
  assert.match(unknown.stderr, /no such task/);
  assert.equal(p.run(null, '--from', '2').code, 3);
  assert.deepEqual(subjects(p), ['feat: Task 2 - Make 2']);
});

longTest('resuming a plan needs no --plan', (t) => {
  const p = planPlace(t, TWO);
  assert.equal(p.run(null, '--max-tasks', '1').code, 3);
  assert.equal(p.run(null, '--resume', '--max-tasks', '1').code, 0);
  assert.deepEqual(subjects(p), ['feat: Task 1 - Make 1', 'feat: Task 2 - Make 2']);
});

test('a resume names the tasks that were removed or ticked while no runner held the plan', (t) => {
  const p = planPlace(t, TWO + task(3) + task(4));
  assert.equal(p.run(null, '--max-tasks', '1').code, 3);
  const left = read(p, 'PLAN.md').replace(task(2), '').replace('[ ] **Task 3', '[x] **Task 3');
  writeFileSync(join(p.dir, 'PLAN.md'), left);
  const { code, stdout } = p.run(null, '--resume', '--max-tasks', '1');
  assert.equal(code, 0, stdout);
  const said = 'Since the loop was left, Task 2 was removed from PLAN.md, and the box of Task 3 was ticked.';
  assert.equal(stdout.split(said).length, 3, `in the run and in its report: ${stdout}`);
  assert.deepEqual(subjects(p), ['feat: Task 1 - Make 1', 'feat: Task 4 - Make 4']);

  const control = planPlace(t, TWO);
  assert.equal(control.run(null, '--max-tasks', '1').code, 3);
  assert.doesNotMatch(control.run(null, '--resume').stdout, /Since the loop was left/);
});

test('starting a plan over its running loop is refused for that, not for its uncommitted files', async (t) => {
  const p = planPlace(t, task(1), `${AGENT}while [ ! -e ../go ]; do sleep 0.1; done\n`);
  const root = join(p.dir, '..');
  const main = join(DIST, 'scripts', 'main.cjs');
  const first = spawn(process.execPath, [main, 'run', 'PLAN.md', '--plan', '--agent', './agent.sh'], {
    cwd: p.dir,
    env: { PATH: process.env['PATH'], HOME: join(root, 'home'), XDG_STATE_HOME: p.state },
    stdio: 'ignore',
  });
  t.after(() => first.kill('SIGKILL'));
  const over = once(first, 'close');
  await until('the agent is at work', () => existsSync(join(p.dir, 'work', '1.txt')));
  const { code, stderr } = p.run(null);
  assert.equal(code, 1);
  assert.match(stderr, new RegExp(`process ${first.pid}`));
  assert.doesNotMatch(stderr, /not committed/);
  writeFileSync(join(root, 'go'), '');
  assert.deepEqual(await over, [0, null]);
});

test('a finished plan is reported at once, without an agent', (t) => {
  const p = planPlace(t, TWO.replaceAll('[ ]', '[x]'), '#!/bin/sh\ntouch ../called\n');
  const { code, stdout } = p.run(null);
  assert.equal(code, 0, stdout);
  assert.equal(existsSync(join(p.dir, '..', 'called')), false);
});

longTest('the hand-off of each task names the memory of the project', (t) => {
  const p = planPlace(
    t,
    TWO,
    `${AGENT.replace('$(sed', '$(tee prompt.log | sed')}cat prompt.log >> .claude/context/heard\n`,
  );
  mkdirSync(join(p.dir, '.claude/context/memory'), { recursive: true });
  writeFileSync(join(p.dir, '.claude/context/memory/learnings.md'), '# Learnings\n\n- one\n- two\n');
  writeFileSync(join(p.dir, '.gitignore'), 'prompt.log\n.claude/\n');
  p.git('add', '-A');
  p.git('commit', '-q', '-m', 'Ignore');
  assert.equal(p.run(null).code, 0);
  assert.equal(read(p, '.claude/context/heard').match(/memory\/learnings\.md \(2 entries\)/g)?.length, 2);
});

test('the uncommitted work of a blocked task goes into its own commit after a resume, and into no other', (t) => {
  const plan = `---\nvalidation:\n  - test ! -e work/1.txt || test -e "$XDG_STATE_HOME/ok"\n---\n${TWO}`;
  const p = planPlace(t, plan, `${AGENT}[ $task = 1 ] && date +%N >> work/a.txt || true\n`);
  assert.equal(p.run(null).code, 3);
  const unblock = (): void => writeFileSync(join(p.dir, 'PLAN.md'), read(p, 'PLAN.md').replace(' (blocked)', ''));
  writeFileSync(join(p.state, 'ok'), '');
  assert.equal(p.run(null, '--resume').code, 3);
  assert.deepEqual(subjects(p), ['feat: Task 2 - Make 2']);
  assert.deepEqual(p.git('show', '--name-only', '--format=', 'HEAD', '--', 'work').trim(), 'work/2.txt');
  unblock();
  assert.equal(p.run(null, '--resume').code, 0);
  assert.deepEqual(p.git('show', '--name-only', '--format=', 'HEAD', '--', 'work').trim().split('\n'), [
    'work/1.txt',
    'work/a.txt',
  ]);
  assert.equal(p.git('status', '--porcelain', '--', 'work'), '');
});

test('reports tasks that were marked, widened, reopened or added while an agent worked', (t) => {
  const cut = `sed -i -e 's/^- \\[ \\] \\(..Task 2\\)/- [ ] (manual-verify) \\1/' \\
  -e 's/^- \\[x\\] \\(..Task 5\\)/- [ ] \\1/' -e '/Task 4/,/Acceptance/s,work,else,' PLAN.md
printf -- '%s' '${task(9)}' >> PLAN.md\n`;
  const plan = TWO + task(3) + task(4) + task(5).replace('[ ]', '[x]');
  const p = planPlace(t, plan, `${AGENT}if [ $task = 1 ]; then ${cut}fi\n`);
  const { stdout } = p.run(null, '--max-tasks', '1');
  assert.match(
    stdout,
    /changed while the agent worked: Task 2 \(manual-verify\), Task 4 \(another scope\), Task 5 \(open again\), Task 9 \(new\)\. If you/,
  );
});

test('a scope that is widened while its task is in progress applies only once the user resumes', (t) => {
  const p = planPlace(t, task(1), `${AGENT}sed -i 's/\`work\`/\`work\`, \`evil\`/' PLAN.md\necho x > evil\n`);
  const { code, stdout } = p.run(null);
  assert.equal(code, 3, stdout);
  assert.match(stdout, /the scope of Task 1 was changed in PLAN\.md[^\n]*until you stop the loop and resume it/);
  assert.match(read(p, 'PLAN.progress.md'), /scope: outside the scope of Task 1: evil\. Restore these files, or widen/);
  assert.match(stdout, /tried once more\.\n {2}scope: [^\n]*end as blocked and say so/, 'to the agent');
  assert.match(stdout, /Task 1 is blocked: [^\n]*or widen the scope in the plan\./, 'to the user');
  assert.equal(stdout.match(/or widen the scope in the plan/g)?.length, 1, 'once');
  assert.deepEqual(subjects(p), []);
  writeFileSync(join(p.dir, 'PLAN.md'), read(p, 'PLAN.md').replace(' (blocked)', ''));
  assert.equal(p.run(null, '--resume').code, 0);
  assert.match(p.git('show', '--name-only', '--format=', 'HEAD'), /^evil$/m);
});

test("resuming over foreign files is refused, and over the loop's own work continues", (t) => {
  const p = planPlace(t, TWO, `${AGENT}[ -e ../done ] || { touch ../done; echo half > work/half; kill -9 $PPID; }\n`);
  assert.equal(p.run(null, '--max-tasks', '1').code, null);
  assert.equal(p.run(null, '--resume', '--max-tasks', '1').code, 3);
  assert.deepEqual(subjects(p), ['feat: Task 1 - Make 1']);
  assert.match(p.git('show', '--name-only', '--format=', 'HEAD'), /^work\/half$/m);
  writeFileSync(join(p.dir, 'mine.txt'), 'x');
  writeFileSync(join(p.dir, 'work/1.txt'), 'mine');
  const refused = p.run(null, '--resume');
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /not committed and do not come from this loop: mine\.txt, work\/1\.txt\. Commit/);
  p.git('stash', '-q', '-u', '--', 'mine.txt', 'work/1.txt');
  assert.equal(p.run(null, '--resume').code, 0);
});

test('resuming a task goes on beside what the checks of an earlier one left in the project', (t) => {
  const plan = `---\nvalidation: ['date > report.txt']\nverify_in: project\n---\n${TWO}`;
  const p = planPlace(t, plan, `${AGENT}[ $task = 1 ] || [ -e ../done ] || { touch ../done; kill -9 $PPID; }\n`);
  assert.equal(p.run(null).code, null);
  assert.match(p.git('status', '--short'), /^\?\? report\.txt$/m);
  const resumed = p.run(null, '--resume');
  assert.equal(resumed.code, 0, resumed.stderr);
  assert.deepEqual(subjects(p), ['feat: Task 1 - Make 1', 'feat: Task 2 - Make 2']);
  assert.doesNotMatch(p.git('log', '--name-only', '--format='), /report/);
});

longTest('files that an agent puts in place of the plan or its progress file are not written to', (t) => {
  const replaced = `outside=$(dirname "$PWD")/outside
if [ $task = 2 ]; then cp PLAN.md ../plan; echo mine > $outside; rm PLAN.md PLAN.progress.md
ln -s $outside PLAN.progress.md; ln -s ../plan PLAN.md; fi
if [ $task = 3 ]; then rm PLAN.progress.md; mkfifo PLAN.progress.md; fi\n`;
  const p = planPlace(t, TWO + task(3), `${AGENT}${replaced}`);
  assert.equal(p.run(null).code, 3);
  assert.equal(p.run(null, '--resume').code, 3);
  const progress = read(p, 'PLAN.progress.md');
  assert.match(progress, /plan: PLAN\.md was removed or replaced[^\n]*\/ progress: PLAN\.progress\.md was changed/);
  assert.equal(progress.split('- Status: blocked').length, 3);
  assert.equal(read(p, '../outside'), 'mine\n');
  assert.match(read(p, '../plan'), /^- \[ \] \*\*Task 2/m);
  assert.match(read(p, 'PLAN.md'), /^- \[ \] \(blocked\) \*\*Task 2/m);
  assert.ok(lstatSync(join(p.dir, 'PLAN.md')).isFile());
});

longTest('a plan behind a link is ticked in each commit, also if uncommitted and after a blocked task', (t) => {
  const p = planPlace(t, TWO + task(3), `${AGENT}if [ $task = 2 ]; then touch out; fi\n`);
  mkdirSync(join(p.dir, 'docs'));
  p.git('mv', 'PLAN.md', 'docs/plan.md');
  symlinkSync('docs/plan.md', join(p.dir, 'PLAN.md'));
  p.git('add', '-A');
  p.git('commit', '-q', '-m', 'Move the plan');
  appendFileSync(join(p.dir, 'docs/plan.md'), '\nA late thought.\n');
  assert.equal(p.run(null).code, 3);
  assert.equal(p.run(null, '--resume').code, 3);
  assert.deepEqual(subjects(p).slice(1), ['feat: Task 1 - Make 1', 'feat: Task 3 - Make 3']);
  for (const at of ['HEAD', 'HEAD~1']) assert.match(p.git('show', '--name-only', '--format=', at), /^docs\/plan\.md$/m);
  assert.match(p.git('show', 'HEAD:docs/plan.md'), /^- \[x\] \*\*Task 3/m);
});

test('a plan whose progress file is not a regular file is refused', (t) => {
  const p = planPlace(t, TWO);
  mkdirSync(join(p.dir, 'PLAN.progress.md'));
  const { code, stderr } = p.run(null);
  assert.equal(code, 1);
  assert.match(stderr, /the plan's progress goes to PLAN\.progress\.md, which is not a regular file\. Move it/);
});

test('tasks that an agent removes are put back, and the plan is complete only once they are done', (t) => {
  const removes = `if [ $task = 1 ] && [ ! -e ../removed ]; then touch ../removed; sed -i '/Task 1/,$d' PLAN.md; fi\n`;
  const p = planPlace(t, TWO, `${AGENT}${removes}`);
  const { code, stdout } = p.run(null);
  assert.equal(code, 0, stdout);
  assert.match(
    stdout,
    /plan: Task 1, Task 2 were removed from PLAN\.md before they were done, and put back\. To remove a task, pause the loop first\./,
  );
  assert.deepEqual(subjects(p).slice(-2), ['feat: Task 1 - Make 1', 'feat: Task 2 - Make 2']);
  assert.match(read(p, 'PLAN.md'), /^- \[x\] \*\*Task 1[\s\S]*^- \[x\] \*\*Task 2/m);
});
