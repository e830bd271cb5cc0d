import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { agreeTo } from '../support/agree-to.ts';
import { commandHere } from '../support/command-here.ts';
import { commitFolder } from '../support/git.ts';
import type { PlanProject, TaskLine } from '../support/plan-beside.ts';
import { CHECK, listedRuns, MAKES, planProject, planText } from '../support/plan-beside.ts';
import { DIST, type Project, project } from '../support/project.ts';
import { IS_LONG, longTest, someOf } from '../support/short-form.ts';
import { until } from '../support/until.ts';
import { MAIN } from './support/command-agent.ts';

/** Tasks in a shape that mixes chains, diamonds and tasks on their own; some stand before what they need. */
const NEEDS: Readonly<Record<number, readonly number[]>> = {
  ...{ 1: [3], 4: [1, 2] },
  // In the long form there are more.
  ...{ 6: [9], 7: [5], 8: [5], 10: [7, 8] },
  ...{ 12: [11], 13: [12], 15: [4, 10], 17: [16], 18: [16], 20: [13, 19] },
};
const TASKS = Number(process.env['RALPH_PLAN_TASKS'] ?? (IS_LONG ? 6 : 3));
const MIXED: TaskLine[] = Array.from({ length: TASKS }, (_, at) => ({
  id: at + 1,
  needs: (NEEDS[at + 1] ?? []).filter((id) => id <= TASKS),
}));
const ALL = ['PLAN.md', '--plan', '--max-tasks', String(TASKS)];
/** Two at once are in the other tests. */
const AT_ONCE = 4;

const subjects = ({ git }: PlanProject): string[] => git('log --reverse --format=%s').split('\n').slice(1);

/** What is left of a progress file without what differs from run to run. */
const timeless = (progress: string): string =>
  progress
    .replace(/loop-[0-9a-f-]+ \d+ -->|loop-[0-9a-f-]+|^- Iteration: \d+/gm, 'LOOP')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    // A loop of its own may know less about the checks before its task.
    .replace(/^- Proof: \S+ \([^)]*\)/gm, '- Proof: known');

/** Files of the last commit, apart from what differs from run to run. */
const treeOf = ({ git }: PlanProject): string[] =>
  git('ls-tree -r HEAD')
    .split('\n')
    .filter((line) => !line.endsWith('PLAN.progress.md'));

function assertClean(p: PlanProject): void {
  assert.equal(p.git('status --short -- . :!.claude'), '');
  assert.equal(p.git('branch --list "ralph/*"'), '');
  assert.equal(p.git('worktree list').split('\n').length, 1);
}

function assertGreenEverywhere(p: PlanProject): void {
  p.git('worktree add -q --detach ../checked HEAD');
  for (const commit of p.git('rev-list --reverse HEAD').split('\n').slice(1)) {
    const { code, stderr } = p.sh(`cd ../checked && git checkout -q ${commit} && sh check.sh`);
    assert.equal(code, 0, `${commit}: ${stderr}`);
  }
  p.git('worktree remove --force ../checked');
}

test('parallel tasks give the commits of a sequential run, and the proof of both can be checked', async (t) => {
  const sequential = planProject(t, planText(MIXED));
  assert.equal(sequential.run(ALL).code, 0);
  const expected = { plan: sequential.read('PLAN.md'), progress: timeless(sequential.read('PLAN.progress.md')) };
  const p = planProject(t, planText(MIXED));
  const { code, stdout, stderr } = p.run([...ALL, '--parallel', String(AT_ONCE)]);
  assert.equal(code, 0, stdout + stderr);
  assert.match(stdout, new RegExp(`All ${TASKS} tasks of PLAN\\.md are done`));
  assert.deepEqual(subjects(p), subjects(sequential));
  assert.deepEqual({ plan: p.read('PLAN.md'), progress: timeless(p.read('PLAN.progress.md')) }, expected);
  assert.deepEqual(treeOf(p), treeOf(sequential));
  assert.ok(mostAtOnce(p.log()) <= AT_ONCE, p.log().join(' '));
  assert.equal(p.log().length, 2 * TASKS);
  assertClean(p);
  assertGreenEverywhere(p);
  assert.deepEqual(runOf(p), runOf(sequential), 'both are one run, with the same tasks, after their end');
  const [{ tasks = [] } = {}] = listedRuns(p);
  const commits = tasks.map(({ commit }) => p.git(`log -1 --format=%s ${commit}`)).sort();
  assert.deepEqual(commits, subjects(p).sort());
  const verify = async (at: Project, ...words: string[]) => (await commandHere(at, ['verify', ...words])).code;
  assert.deepEqual([await verify(p), await verify(p, 'PLAN.md')], [0, 0]);
  sequential.sh('git clone -q . ../clone');
  const proof = '.claude/context/runtime/ralph-proof.json';
  const clone = { ...project(t), dir: join(sequential.dir, '../clone') };
  assert.equal(
    await verify(clone, '--proof', join(sequential.dir, proof)),
    0,
    'no option says there that it is a plan',
  );
  for (const { dir } of [p, clone]) writeFileSync(join(dir, 'work/1/made'), 'other');
  assert.deepEqual([await verify(p), await verify(clone, '--proof', join(sequential.dir, proof))], [1, 1], 'control');
});

/** The run over the plan as `list` shows it, without what differs from run to run. */
function runOf(p: PlanProject): object {
  const [run, ...others] = listedRuns(p);
  assert.deepEqual([others, run?.live, run?.total], [[], false, TASKS]);
  const tasks = run?.tasks.map(({ id, title, status, done, needs, files, iterations, why, commit }) => {
    return { id, title, status, done, needs, files, iterations, why, hasCommit: commit !== null };
  });
  return { title: run?.title, plan: run?.plan, status: run?.status, done: run?.done, why: run?.why, tasks };
}

longTest('agents of independent tasks work at the same time', (t) => {
  const tasks = [1, 2, 3, 4].map((id) => ({ id }));
  // Each waits until another one is there.
  const meets = `touch "$NOTES/here.$id"
while [ "$(ls "$NOTES" | grep -c '^here')" -lt 2 ] && [ ! -e "$NOTES/free" ]; do sleep 0.02; done
touch "$NOTES/free"
`;
  const p = planProject(t, planText(tasks), meets + MAKES);
  const { code, stdout } = p.run(['PLAN.md', '--plan', '--parallel', '2']);
  assert.equal(code, 0, stdout);
  assert.equal(mostAtOnce(p.log()), 2);
});

longTest('tasks with overlapping scopes, and those without a scope, run alone', (t) => {
  const scopes = ['work/a', 'work/a/b', 'work/*', '', 'work/b'];
  const work =
    'mkdir -p work/a/b work/b; echo "$id" >> work/a/b/made; [ "$id" = 5 ] && { git checkout -q work/a/b/made; echo 5 > work/b/made; }\n';
  const p = planProject(
    t,
    planText(
      scopes.map((scope, at) => ({ id: at + 1, scope })),
      'true',
    ),
    work,
  );
  const { code, stdout, stderr } = p.run(['PLAN.md', '--plan', '--parallel', '4']);
  assert.equal(code, 0, stdout + stderr);
  assert.equal(mostAtOnce(p.log()), 1, p.log().join(' '));
  assert.equal(p.read('work/a/b/made'), '1\n2\n3\n4\n');
});

/**
 * Leaves a process behind, which the loop does not know as the agent's, that commits another check once Task 1 is on the plan's
 * branch. An agent of Task 2 that is there before waits for that commit, and is asked for again.
 */
const LEFT = `if [ "$id" = 1 ]; then
  (cd "$MAIN_DIR" && env -i "PATH=$PATH" "HOME=$HOME" setsid sh -c '
    until git log --format=%s | grep -q "Task 1"; do sleep 0.02; done
    echo true > check.sh; git commit -qm "By a process left" check.sh
  ' </dev/null >/dev/null 2>&1 &)
elif ! git -C "$MAIN_DIR" log --format=%s | grep -q "By a process"; then
  until git -C "$MAIN_DIR" log --format=%s | grep -q "By a process"; do sleep 0.05; done
  return
fi
`;

test('a check that changes between two tasks, by neither of them, holds the plan until a person resumes', (t) => {
  const p = planProject(t, planText([{ id: 1 }, { id: 2, needs: [1] }]), `${LEFT}${MAKES}`);
  const { code, stdout, stderr } = p.run(['PLAN.md', '--plan', '--parallel', '1', '--max-tasks', '2']);
  assert.equal(code, 3, stdout);
  assert.match(stdout + stderr, /check\.sh/);
  assert.deepEqual(subjects(p), ['feat: Task 1 - Make 1', 'By a process left']);
  const resumed = p.run(['--resume']);
  assert.match(resumed.stderr, /belongs to no task changed [^.]*: check\.sh\. The run takes them/);
  assert.equal(resumed.code, 0, resumed.stdout + resumed.stderr);
  assert.equal(subjects(p).at(-1), 'feat: Task 2 - Make 2');
});

test('a check that a person corrects on the branch counts for a task that was blocked by it', (t) => {
  const plan = planText([{ id: 1 }]).replace('---\n', () => '---\nunchanged: [kept.txt]\n');
  const p = planProject(t, plan, MAKES, 'exit 1\n');
  assert.equal(p.run(['PLAN.md', '--plan', '--parallel', '1']).code, 3);
  p.write('check.sh', 'test -s work/1/made\n');
  p.write('kept.txt', 'new\n');
  p.write('PLAN.md', p.read('PLAN.md').replace('(blocked) ', ''));
  p.git('add kept.txt');
  p.git('commit -qm "Correct the check" check.sh kept.txt');
  const resumed = p.run(['--resume']);
  assert.equal(resumed.code, 0, resumed.stdout + resumed.stderr);
  assert.match(resumed.stderr, /belongs to no task changed [^.]*: check\.sh, kept\.txt\. The run takes them/);
  assert.deepEqual(subjects(p), ['Correct the check', 'feat: Task 1 - Make 1']);
  assert.equal(p.git('show --format= --name-only'), 'PLAN.md\nPLAN.progress.md\nwork/1/made');
});

test('a file that has to stay counts at a resume as a person committed it during the task', (t) => {
  const cheats = ['', 'echo cheat > kept.txt\n', 'echo cheat | tee kept.txt > "$MAIN_DIR/kept.txt"\n'];
  for (const agents of someOf(cheats, 2)) {
    const hand = 'echo new > kept.txt && git add kept.txt && git commit -qm "By hand"';
    const work = `[ "$run" != 1 ] || (cd "$MAIN_DIR" && ${hand})\n${agents}${MAKES}`;
    const p = planProject(t, planText([{ id: 1 }]).replace('---\n', '---\nunchanged: [kept.txt]\n'), work);
    assert.equal(p.run(['PLAN.md', '--plan', '--parallel', '1']).code, 3);
    p.write('PLAN.md', p.read('PLAN.md').replace('(blocked) ', ''));
    const { code, stdout } = p.run(['--resume']);
    assert.equal(code, agents === '' ? 0 : 3, stdout);
    if (agents !== '') assert.match(stdout, /unchanged: changed since the start of the loop: kept\.txt/, agents);
  }
});

test('a protected file that a person changed on the branch is not put back at the resume of a killed task', (t) => {
  const hook = `'${process.execPath}' '${join(DIST, 'hooks', 'pre-tool-use.cjs')}'`;
  const call = {
    hook_event_name: 'PreToolUse',
    session_id: 's',
    tool_name: 'Bash',
    tool_use_id: 't',
    transcript_path: null,
  };
  const asked = JSON.stringify({ ...call, cwd: '.', tool_input: { command: 'npm test' } });
  // It is killed while a call is open that may have changed any file.
  const killed = `if [ "$run" = 1 ]; then
    echo '${asked}' | RALPH_ACTIVE=1 ${hook} && echo "by the agent" > .claude/settings.json
    cd "$MAIN_DIR" && echo '{"env":{}}' > .claude/settings.json && git commit -qam "By hand"
    kill -9 $(ps -o ppid= -p $PPID) $PPID; exit 1
  fi\n`;
  const p = planProject(t, planText([{ id: 1 }]), `${killed}${MAKES}`);
  p.write('.claude/settings.json', '{}');
  p.git('add .claude');
  p.git('commit -qm Settings');
  assert.equal(p.run(['PLAN.md', '--plan', '--parallel', '1']).code, null, 'it was killed');
  const resumed = p.run(['--resume']);
  assert.equal(resumed.code, 0, resumed.stdout + resumed.stderr);
  assert.deepEqual(subjects(p), ['Settings', 'By hand', 'feat: Task 1 - Make 1']);
  assert.equal(p.read('.claude/settings.json'), '{"env":{}}\n');
});

test('a resume of a blocked task takes up the run, and never the whole plan in the worktree of that task', (t) => {
  const once = 'if [ "$id" = 2 ] && [ ! -e "$HOME/go" ]; then return; fi\n';
  const p = planProject(t, planText([{ id: 1 }, { id: 2 }]), `${once}${MAKES}`);
  const first = p.run(['PLAN.md', '--plan', '--parallel', '1', '--max-tasks', '2']);
  assert.equal(first.code, 3, first.stdout + first.stderr);
  p.write('PLAN.md', p.read('PLAN.md').replace('(blocked) ', ''));
  writeFileSync(join(p.home, 'go'), '');
  const alone = p.ralph(['run', '--resume', '--loop', 'PLAN-Task-2'], p.env);
  assert.match(alone.stderr, /is working on Task 2 of PLAN\.md beside others\. Resume all of them from the project: /);
  const resumed = p.ralph(['resume', 'PLAN-Task-2'], p.env);
  assert.equal(resumed.code, 0, resumed.stdout + resumed.stderr);
  assert.deepEqual(subjects(p), ['feat: Task 1 - Make 1', 'feat: Task 2 - Make 2']);
});

test('a resume of a task whose plan was started anew takes up no other loop or run of the project', (t) => {
  const p = planProject(t, planText([{ id: 1 }]), 'return\n');
  for (const path of ['.claude/ralph/PROMPT.md', 'a.md', 'b.md']) p.write(path, 'Do nothing.\n');
  p.git('add .claude a.md b.md');
  p.git('commit -qm Tasks');
  assert.equal(p.run(['PLAN.md', '--plan', '--parallel', '1']).code, 3);
  const other = p.run(['--max-iterations', '1']);
  assert.equal(other.code, 2, other.stderr);
  // Its record goes when another run takes its place.
  p.run(['a.md', 'b.md', '--parallel', '1', '--fresh', '--max-iterations', '1']);
  const began = p.log().length;
  const { code, stderr } = p.ralph(['resume', 'PLAN-Task-1'], p.env);
  assert.equal(code, 1, stderr);
  const isOver = /the run in which this loop worked on Task 1 of PLAN\.md is over\. Start the plan again: /;
  assert.match(stderr, isOver, stderr);
  assert.match(p.ralph(['run', '--resume', '--loop', 'PLAN-Task-1'], p.env).stderr, isOver);
  assert.equal(p.log().length, began);
});

/** While Task 2 is worked on for the first time, a person commits on the plan's branch. */
const BY_HAND = `if [ "$id" = 2 ] && [ "$run" = 1 ]; then
  (cd "$MAIN_DIR" && mkdir -p work/2 && echo hand > work/2/made && git add work/2 && git commit -qm "By hand")
fi
`;

test('conflicting work is returned to its agent with both versions, and committed once they agree', (t) => {
  const resolves = `${BY_HAND}if [ "$run" = 2 ]; then cp work/$id/made "$NOTES/conflict"; printf 'hand\\n2\\n' > work/$id/made; return; fi
${MAKES}`;
  const p = planProject(t, planText([{ id: 1 }, { id: 2 }]), resolves);
  const { code, stdout } = p.run(['PLAN.md', '--plan', '--parallel', '2']);
  assert.equal(code, 0, stdout);
  assert.match(stdout, /Task 2 does not fit what other tasks have done meanwhile; its agent gets it back once/);
  assert.equal(p.prompts(2).length, 2);
  assert.match(p.prompts(2)[1] ?? '', /other commits changed the same lines as Task 2: work\/2\/made/);
  assert.match(p.read('../notes/conflict'), /^<{7} [\s\S]*hand[\s\S]*={7}[\s\S]*2[\s\S]*>{7} /);
  assert.equal(p.read('work/2/made'), 'hand\n2\n');
  assert.deepEqual(subjects(p).sort(), ['By hand', 'feat: Task 1 - Make 1', 'feat: Task 2 - Make 2']);
  assertClean(p);
});

longTest('a conflict that its agent leaves blocks the task, and the branch stays intact', (t) => {
  const leaves = `${BY_HAND}if [ "$run" = 2 ]; then return; fi\n${MAKES}`;
  const p = planProject(t, planText([{ id: 1 }, { id: 2 }, { id: 3, needs: [2] }], 'true'), leaves);
  const { code, stdout } = p.run(['PLAN.md', '--plan', '--parallel', '2', '--json']);
  assert.equal(code, 3, stdout);
  const end = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as { plan: { status: string; message: string } };
  assert.equal(end.plan.status, 'blocked');
  assert.match(end.plan.message, /Task 2 is blocked\..*\.ralph\/worktrees\/PLAN-Task-2\..*main\.cjs resume/s);
  assert.equal(p.prompts(2).length, 2);
  assert.deepEqual(subjects(p).sort(), ['By hand', 'feat: Task 1 - Make 1']);
  assert.equal(p.git('show work:work/2/made'), 'hand');
  assert.match(p.read('PLAN.md'), /^- \[ \] \(blocked\) \*\*Task 2/m);
  assert.match(
    p.read('PLAN.progress.md'),
    /## Task 2: Make 2\n[\s\S]*- Status: blocked[\s\S]*conflict markers are left/,
  );
  assert.equal(p.prompts(3).length, 0);
  // The user solves it and takes the mark out.
  p.write(join('.ralph', 'worktrees', 'PLAN-Task-2', 'work', '2', 'made'), 'hand\n2\n');
  p.write('PLAN.md', p.read('PLAN.md').replace('(blocked) ', ''));
  p.write('work.sh', `if [ "$id" = 2 ]; then return; fi\n${MAKES}`);
  p.git('commit -qm "Agents" work.sh');
  const again = p.run(['--resume']);
  assert.equal(again.code, 0, again.stdout + again.stderr);
  assert.equal(p.git('show work:work/2/made'), 'hand\n2');
  assert.deepEqual(subjects(p).slice(-2), ['feat: Task 2 - Make 2', 'feat: Task 3 - Make 3']);
  assertClean(p);
});

test('work that fails beside other work is returned once, then blocked with the reason', async (t) => {
  // Each passes by itself: together there are two.
  const check = 'test "$(ls work | wc -l)" -le 1 || { echo "two are too many"; exit 1; }\n';
  const command = ['sh', '-c', 'cat > "$HOME/part.$$"; mv "$HOME/part.$$" "$HOME/told.$$"'];
  const plan = planText([{ id: 1 }, { id: 2 }]).replace('---\n', () => `---\nnotify: ${JSON.stringify({ command })}\n`);
  const p = planProject(t, plan, MAKES, check);
  agreeTo(p.dir, p.env, { 'notify.command': command });
  const { code, stdout } = p.run(['PLAN.md', '--plan', '--parallel', '2']);
  assert.equal(code, 3, stdout);
  assert.equal(p.prompts(2).length, 2);
  assert.match(p.prompts(2)[1] ?? '', /Task 2 passed by itself, but not together with[\s\S]*two are too many/);
  assert.deepEqual(subjects(p), ['feat: Task 1 - Make 1']);
  assert.match(p.read('PLAN.progress.md'), /## Task 2: Make 2\n[\s\S]*- Status: blocked/);
  assert.ok(existsSync(join(p.dir, '.ralph/worktrees/PLAN-Task-2')));
  const told = (): Record<string, unknown>[] =>
    readdirSync(p.home)
      .filter((name) => name.startsWith('told.'))
      .map((name) => JSON.parse(readFileSync(join(p.home, name), 'utf8')) as Record<string, unknown>);
  await until('both were told', () => told().length === 2);
  const byLoop = new Map(told().map((one) => [one['loop'], one]));
  assert.deepEqual([...byLoop.keys()].sort(), ['PLAN-Task-2', 'PLAN.md'], 'the run, and the task that needs a person');
  const { title, message, tasks } = byLoop.get('PLAN.md') ?? {};
  assert.deepEqual([title, tasks], ['Plan: blocked, 1 of 2 tasks done', { done: 1, total: 2 }]);
  assert.match(String(message), /^Task 2: blocked, sh check\.sh: exit code 1\.\n +two are too many/m);
  assert.match(
    String(byLoop.get('PLAN-Task-2')?.['message']),
    /^Task 2 is blocked: sh check\.sh: exit code 1\. The attempted/,
  );
  for (const command of ['status', 'explain']) {
    const { stdout } = p.ralph([command]);
    assert.match(stdout, /^Plan \(PLAN\.md\): blocked, 1 of 2 tasks done \(.* ago\), at most 2 at once$/m);
    assert.match(stdout, /^ +Task 2 +blocked .*two are too many|^Task 2 .*blocked .*\n.*two are too many/ms, stdout);
    assert.match(stdout, /Resume: .* resume\.$/m);
  }
  assert.match(p.ralph(['list']).stdout, /^Plan +PLAN\.md +blocked +1 of 2 /m);
  const about =
    /^ralph-loop: The last run, Plan, has several tasks\. This is about its loop PLAN-Task-2\. (?:git revert .*\. )?See them: \S.* status\.$/m;
  assert.match((await commandHere(p, ['undo', '--dry-run'])).stderr, about);
  const { stderr } = await commandHere(p, ['verify']);
  assert.match(stderr, about);
  assert.doesNotMatch(stderr, /git revert/);
  assert.doesNotMatch((await commandHere(p, ['undo', 'PLAN-Task-2', '--dry-run'])).stderr, about, 'control');
});

longTest('a session ends after its number of tasks, and the next one continues from there', (t) => {
  const p = planProject(t, planText([1, 2, 3].map((id) => ({ id }))));
  const words = ['PLAN.md', '--plan', '--parallel', '2', '--max-tasks', '2'];
  const { code, stdout } = p.run(words);
  assert.equal(code, 3, stdout);
  assert.match(stdout, /2 tasks done in this session: Task 1, Task 2\..*--parallel 2/s);
  assert.equal(p.log().length, 4);
  assert.match(p.read('PLAN.progress.md'), /## Paused after 2 tasks for review\n[\s\S]*- Next: Task 3, Make 3\n$/);
  assertClean(p);
  assert.equal(p.run(words).code, 0);
  assert.deepEqual(subjects(p).length, 3);
});

longTest('tasks that an agent ticks or removes in the plan of the main project are done all the same', (t) => {
  const cheats = `if [ "$id" = 1 ]; then sed -i 's/\\[ \\] \\*\\*Task 2/[x] **Task 2/; /Task 3:/,$d' "$MAIN_DIR/PLAN.md"; fi\n`;
  const p = planProject(t, planText([{ id: 1 }, { id: 2, needs: [1] }, { id: 3, needs: [1] }]), cheats + MAKES);
  const { code, stdout, stderr } = p.run(['PLAN.md', '--plan', '--parallel', '2']);
  assert.equal(code, 0, stdout + stderr);
  assert.match(stdout, /Task 3 was removed from PLAN\.md before it was done, and put back\./);
  assert.match(stdout, /Task 2: a box in PLAN\.md was ticked, but not by the loop\. It was cleared/);
  assert.deepEqual(
    subjects(p),
    [1, 2, 3].map((id) => `feat: Task ${id} - Make ${id}`),
  );
});

/** Starts the plan with two agents at once, and returns when both work. */
async function twoAtWork(p: ReturnType<typeof planProject>) {
  const words = [MAIN, 'run', 'PLAN.md', '--plan', '--parallel', '2', '--agent', './agent.sh'];
  const child = spawn(process.execPath, words, { cwd: p.dir, env: p.env });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      said += chunk;
    });
  }
  const over = new Promise<number | null>((resolve) => child.once('close', resolve));
  await until('two agents at work', () => {
    assert.deepEqual([child.exitCode, child.signalCode], [null, null], said);
    return p.log().length === 2;
  });
  return { child, over, said: () => said };
}

test('Ctrl+C lets the agents finish their work, which is committed, and resume does the rest', async (t) => {
  const tasks = [1, 2, 3].map((id) => ({ id }));
  const p = planProject(t, planText(tasks), `while [ ! -e "$NOTES/go" ]; do sleep 0.02; done\n${MAKES}`);
  const { child, over, said } = await twoAtWork(p);
  child.kill('SIGINT');
  await until('it says so', () => said().includes('The loops stop after their current iterations'));
  p.write('../notes/go', '');
  assert.equal(await over, 3, said());
  assert.deepEqual(subjects(p), ['feat: Task 1 - Make 1', 'feat: Task 2 - Make 2']);
  const again = p.run(['--resume']);
  assert.equal(again.code, 0, again.stdout + again.stderr);
  assert.equal(subjects(p).length, 3);
  assert.equal(p.log().length, 6);
  assertClean(p);
});

test('a submodule that a task moves to a commit of its worktree alone is not delivered beside other tasks', (t) => {
  const author = 'git -c user.name=a -c user.email=a@example.invalid';
  const p = planProject(t, planText([{ id: 1 }]), `cd work/1 && echo x >> file && ${author} commit -qam inner\n`, '');
  p.write('../lib/file', '');
  commitFolder(join(p.dir, '../lib'));
  p.git('-c protocol.file.allow=always submodule --quiet add ../lib work/1');
  p.git('commit -qm "A submodule"');
  const { code, stdout } = p.run(['PLAN.md', '--plan', '--parallel', '2']);
  assert.equal(code, 3, stdout);
  assert.match(stdout, /submodules at another commit: work\/1\. No other worktree has that commit/);
  assert.equal(p.git('log -1 --format=%s'), 'A submodule');
});

longTest('tasks side by side do not look into submodules, whatever submodule.recurse says', (t) => {
  const p = planProject(t, planText([{ id: 1 }, { id: 2 }]));
  p.write('../lib/file', '');
  commitFolder(join(p.dir, '../lib'));
  p.git('-c protocol.file.allow=always submodule --quiet add ../lib lib');
  p.git('commit -qm "A submodule"');
  p.git('submodule --quiet deinit lib');
  // As a clone with --recurse-submodules has it.
  p.git('config submodule.active .');
  p.git('config submodule.recurse true');
  const { code, stdout } = p.run(['PLAN.md', '--plan', '--parallel', '2']);
  assert.equal(code, 0, stdout);
});

test('refuses options that do not fit a plan, and creates nothing', (t) => {
  const p = planProject(t, planText([{ id: 1 }]));
  const wrong = [['--integrate', 'merge'], ['--loop', 'x'], ['OTHER.md'], ['--from', 'Task 9']];
  for (const words of someOf(wrong, 2)) {
    const { code, stderr } = p.run(['PLAN.md', '--plan', '--parallel', '2', ...words]);
    assert.equal(code, 1, stderr);
  }
  assert.equal(p.has('.ralph'), false);
  assert.deepEqual(p.log(), []);
});

longTest('--require-verified ends with 3 where nothing proves a task of a parallel plan, and names it', (t) => {
  // Its own `(no-change)` lets it pass.
  const text = planText([{ id: 1 }, { id: 2 }]).replace('**Task 2', '(no-change) **Task 2');
  const p = planProject(t, text, `[ $id = 2 ] || { ${MAKES}}\n`, 'true\n');
  const words = ['PLAN.md', '--plan', '--parallel', '2', '--require-verified'];
  const { code, stdout, stderr } = p.run(words);
  assert.equal(code, 3, stdout + stderr);
  assert.match(stdout, /Nothing proves Task 2, and --require-verified asks for proof\./);
  assert.equal(subjects(p).length, 2, 'it is done all the same');
  const proved = planProject(t, planText([{ id: 1 }, { id: 2 }]), MAKES, CHECK);
  const control = proved.run(words);
  assert.equal(control.code, 0, `control: ${control.stdout}${control.stderr}`);
});

longTest('another program that ticks or renames a task at work is told, and the task is done all the same', (t) => {
  const change = `case $id in 1) sed -i 's/\\[ \\] \\*\\*Task 1/[x] **Task 1/' "$MAIN_DIR/PLAN.md";; *) sed -i 's/Make 2/Buy bread/' "$MAIN_DIR/PLAN.md";; esac\n`;
  const p = planProject(t, planText([{ id: 1 }, { id: 2, needs: [1] }]), change + MAKES);
  const { code, stdout, stderr } = p.run(['PLAN.md', '--plan', '--parallel', '2']);
  assert.equal(code, 0, stdout + stderr);
  assert.match(stdout, /Task 1: a box in PLAN\.md was ticked, but not by the loop\. It was cleared/);
  assert.match(stdout, /Task 2 was given another title in PLAN\.md before it was done\. The title was put back\./);
  assert.deepEqual(subjects(p), ['feat: Task 1 - Make 1', 'feat: Task 2 - Make 2']);
  assertClean(p);
});

test('an agent cannot free the next task of the plan from its proof', (t) => {
  const [mark, scope] = ['s/\\] \\*\\*Task 2/] (no-change) **Task 2/', '/Task 2/,$s#work/2#work/1#'];
  // A report that the checks wrote before the start holds no task whose agent runs them.
  const cheat = `[ $id = 2 ] && exit 0; sh check.sh; sed -i '${mark}; ${scope}' "$MAIN_DIR/PLAN.md"\n${MAKES}`;
  const p = planProject(
    t,
    planText([{ id: 1 }, { id: 2, needs: [1] }]),
    cheat,
    'date +%N > report.txt; test -e work/1\n',
  );
  const { code, stdout } = p.run(['PLAN.md', '--plan', '--parallel', '2']);
  assert.equal(code, 3, stdout);
  assert.match(stdout, /tasks of PLAN\.md were changed while the agent worked: Task 2 \(no-change\)\. If you did not/);
  assert.match(stdout, /no file in the scope of Task 2 changed/);
  assert.doesNotMatch(stdout, /commit is without them/);
  assert.deepEqual(subjects(p), ['feat: Task 1 - Make 1']);
  // Control: the user's own mark.
  p.write('PLAN.md', p.read('PLAN.md').replace('(no-change) (blocked)', '(no-change)').replace('(blocked) ', ''));
  assert.equal(p.run(['--resume']).code, 0);
  assert.equal(subjects(p).length, 2);
});

test('an agent cannot change the checks of the tasks that begin after its own', (t) => {
  const cheat = `[ $id = 2 ] || sed -i 's/sh check.sh/true/' "$MAIN_DIR/PLAN.md"\n${MAKES}`;
  const p = planProject(t, planText([{ id: 1 }, { id: 2, needs: [1] }]), cheat, 'test ! -e work/2\n');
  const { code, stdout } = p.run(['PLAN.md', '--plan', '--parallel', '2']);
  assert.equal(code, 1, stdout);
  assert.match(stdout, /the settings of PLAN\.md have changed since the run began/);
  assert.deepEqual(subjects(p), ['feat: Task 1 - Make 1']);
  // Control: the user takes them by a resume.
  assert.equal(p.run(['--resume']).code, 0);
  assert.equal(subjects(p).length, 2);
});

longTest('the table says why the work of a resumed task was not committed', async (t) => {
  const wait = '[ -e "$NOTES/go" ] || { while [ ! -e "$NOTES/stop" ]; do sleep 0.02; done; exit 1; }\n';
  const p = planProject(t, planText([{ id: 1 }, { id: 2 }]), wait + MAKES);
  const { child, over, said } = await twoAtWork(p);
  child.kill('SIGINT');
  await until('it says so', () => said().includes('The loops stop after their current iterations'));
  p.write('../notes/stop', '');
  assert.equal(await over, 3, said());
  p.write('../notes/go', '');
  p.write('work.sh', `[ $id = 1 ] && sed -i 's/\\[ \\] \\*\\*Task 1/[x] **Task 1/' "$MAIN_DIR/PLAN.md"\n${MAKES}`);
  const { code, stdout } = p.run(['--resume']);
  assert.notEqual(code, 0, stdout);
  assert.match(
    stdout,
    /Task 1 +Make 1 +interrupted[\s\S]*Task 1 is no longer open in PLAN\.md, so its work is not committed/,
  );
});

test('a task that another program ticks before its loop has opened it is not done by that', (t) => {
  const p = planProject(
    t,
    planText([{ id: 1 }, { id: 2 }]),
    '[ $id = 2 ] || mkdir -p work/1; date > work/1/made\n',
    'true\n',
  );
  // The set-up of a worktree runs when the plan has chosen the task and its loop has not begun.
  const tick = `sed -i 's/- \\[ \\] \\*\\*Task 2/- [x] **Task 2/' "$MAIN_DIR/PLAN.md"`;
  p.write('../tick.sh', `case "$PWD" in */PLAN-Task-2) ${tick};; esac\n`);
  const words = ['PLAN.md', '--plan', '--parallel', '2', '--set', `worktree_setup=sh '${p.dir}/../tick.sh'`];
  const { code, stdout, stderr } = p.run(words);
  assert.notEqual(code, 0, stdout + stderr);
  assert.doesNotMatch(stdout, /All 2 tasks of PLAN\.md are done|Task 2 +Make 2 +complete/);
  assert.ok(!subjects(p).some((subject) => subject.includes('Task 2')));
});

test('control: detects a commit at which validation fails', (t) => {
  const p = planProject(t, planText([{ id: 1 }]), MAKES, CHECK);
  p.write('PLAN.md', p.read('PLAN.md').replace('[ ]', '[x]'));
  p.write('work/1/made', '1\n');
  p.git('add -A');
  p.git('commit -qm Done');
  assertGreenEverywhere(p);
  p.sh('sed -i s/1/2/ work/1/made && git commit -qam Broken');
  assert.throws(() => assertGreenEverywhere(p), /^AssertionError.*[0-9a-f]{40}: /);
});

longTest('Ctrl+C twice cancels the tasks and ends their agents with 130, and resume does them all', async (t) => {
  const work = `while [ ! -e "$NOTES/go" ]; do sleep 0.05; done\n${MAKES}`;
  const p = planProject(t, planText([{ id: 1 }, { id: 2 }]), work);
  const { child, over, said } = await twoAtWork(p);
  child.kill('SIGINT');
  await until('the first is taken', () => said().includes('The loops stop after their current iterations'));
  child.kill('SIGINT');
  assert.equal(await over, 130, said());
  assert.deepEqual(subjects(p), []);
  p.write('../notes/go', '');
  const again = p.run(['--resume']);
  assert.equal(again.code, 0, again.stdout + again.stderr);
  assert.deepEqual(subjects(p), ['feat: Task 1 - Make 1', 'feat: Task 2 - Make 2']);
  assertClean(p);
});

/** The largest number of agents that were at work at once. */
function mostAtOnce(lines: readonly string[]): number {
  let [now, most] = [0, 0];
  for (const line of lines) {
    now += line.startsWith('+') ? 1 : -1;
    most = Math.max(most, now);
  }
  return most;
}
