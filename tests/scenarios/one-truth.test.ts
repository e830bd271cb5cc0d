import assert from 'node:assert/strict';
import { test } from 'node:test';
import { commandHere } from '../support/command-here.ts';
import { commitFolder } from '../support/git.ts';
import { planProject, planText } from '../support/plan-beside.ts';
import { DIST, project } from '../support/project.ts';

const nextIn = (text: string): string | undefined => /^ {2}Next: (.*)$/m.exec(text)?.[1];

test('a plan that paused for review names one next command, in its report and explain', async (t) => {
  const p = planProject(t, planText([{ id: 1 }, { id: 2 }]));
  const { code, stdout } = p.run(['PLAN.md', '--plan', '--max-tasks', '1']);
  assert.equal(code, 3, stdout);
  assert.match(nextIn(stdout) ?? stdout, /run --task PLAN\.md --plan --from "Task 2"$/);
  assert.ok(String((await commandHere(p, ['explain', '--json'])).json['next']).endsWith(`: ${nextIn(stdout)}.`));
});

test('a plan with manual work left, or a blocked task, names one next command as well', (t) => {
  const manual = planText([{ id: 1 }, { id: 2 }]).replace('**Task 2', '(manual-verify) **Task 2');
  const left = planProject(t, manual).run(['PLAN.md', '--plan']);
  assert.match(nextIn(left.stdout) ?? left.stdout, /run --task PLAN\.md --plan$/);
  const blocked = planProject(t, planText([{ id: 1 }]), 'true\n').run(['PLAN.md', '--plan']);
  assert.match(nextIn(blocked.stdout) ?? blocked.stdout, /ralph-loop resume$/);
  for (const { stdout } of [left, blocked]) assert.equal(stdout.split(`${nextIn(stdout)}`).length, 2, stdout);
});

test("the mounts of a client's sandbox are no uncommitted files of a plan or worktree; the user's are", (t) => {
  const p = project(t);
  p.write('PLAN.md', planText([{ id: 1 }], 'true'));
  p.write('agent.sh', '#!/bin/sh\necho done\n', 0o755);
  commitFolder(p.dir, 'work');
  p.write('stray.txt', 'x');
  const mounts = ['.bashrc', '.mcp.json'].map((name) => `--ro-bind /dev/null '${p.dir}/${name}'`).join(' ');
  const within = (line: string): string => {
    const { stdout, stderr } = p.sh(`bwrap --dev-bind / / ${mounts} sh -c "${line}"`);
    return stdout + stderr;
  };
  const main = `node '${DIST}/scripts/main.cjs'`;
  assert.match(within('git status --porcelain'), /\?\? \.bashrc\n\?\? \.mcp\.json\n/, 'git lists them');
  const worktree = within(`${main} run PLAN.md --loop w --worktree --agent ./agent.sh --max-iterations 1`);
  assert.match(worktree, /1 uncommitted change of the project is not in the worktree/);
  const start = `${main} router start --task PLAN.md --plan`;
  assert.match(within(start), /these files are not committed [^:]*: stray\.txt\./);
  p.sh('rm stray.txt');
  assert.match(within(start), /"action": "spawn"/);
});

test('consent where no loop awaits it says so, before any loop and after one has ended', async (t) => {
  const p = project(t);
  p.write('job/RALPH.md', '---\ncompletion_promise: D\nmax_iterations: 2\n---\n\nDo it.\n');
  const consent = () => p.ralph(['start', '--task', 'job', '--consent']).stderr;
  assert.match(consent(), /no loop here awaits your consent\. List the loops: .* list\./);
  assert.equal((await commandHere(p, ['start', '--task', 'job'])).code, 0);
  await commandHere(p, ['cancel']);
  assert.match(consent(), /nothing awaits your consent: this loop has ended \(cancelled\)\. List the loops: .* list\./);
});

test('limits of iterations that agentkit allows are refused with the bound that holds here', async (t) => {
  const p = project(t);
  const check = async (limit: number): Promise<string> => {
    p.write('job/RALPH.md', `---\nmaxIterations: ${limit}\n---\n\nDo it.\n`);
    const { stdout, stderr } = await commandHere(p, ['check', 'job']);
    return stdout + stderr;
  };
  for (const limit of [0, 60]) assert.match(await check(limit), new RegExp(`integer from 1 to 50, but is ${limit}\\.`));
  assert.doesNotMatch(await check(50), /integer from/);
});
