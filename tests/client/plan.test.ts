import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runClient } from '../support/client/client.ts';
import {
  assertCommits,
  inPlanProject,
  ORDER,
  ORDER_OF_SIX,
  PLAN,
  type PlanProject,
  PROGRESS,
  SIX,
  TWELVE,
  workers,
} from '../support/client/plan-project.ts';
import { routerCommand, routerHost } from '../support/client/router-host.ts';
import { runRunner } from '../support/client/runner.ts';
import { bash, type Reply, type Script, text, together, tool } from '../support/model/scripted-model.ts';
import { longTest } from '../support/short-form.ts';

function assertPaused({ project, git, dirty }: PlanProject): void {
  const ended = project.ended();
  assert.equal(ended.as, 'paused-for-review');
  assert.match(ended.message, /5 tasks done in this session: Task 1, Task 2, Task 3, Task 6, Task 8\. Next is Task 7/);
  assert.deepEqual(dirty(), []);
  assert.match(git('show', `HEAD:${PROGRESS}`), /Paused after 5 tasks for review/);
}

function assertVerified({ project, git, dirty }: PlanProject, order = ORDER): void {
  const last = project.archive().at(-1)?.state['ended'] as { as: string; message: string };
  assert.equal(last.as, 'needs-verification');
  assert.match(last.message, /Task 10, Make file 10\n {2}- work\/10\/done\.txt is there/);
  assert.match(last.message, /Blocked: Task 4, Task 5/);
  assert.deepEqual(dirty(), []);
  const progress = git('show', `HEAD:${PROGRESS}`);
  for (const task of order) assert.equal(progress.split(`## ${task}: `).length, 2, `${task} has one entry`);
  assert.equal(progress.split('- Status: completed').length, order.length + 1);
  assert.match(
    progress,
    /- Commands: made: ok\n- Proof: .*, 1 file changed\n- Summary: it is done\.\n- Learnings: files are made by touch\./,
  );
}

longTest('the runner executes a plan of twelve tasks, one commit each, with a pause for review', async () => {
  await inPlanProject(
    TWELVE,
    workers(),
    async (plan) => {
      const { project } = plan;
      const first = await runRunner(project, { args: [PLAN, '--plan'] });
      assert.equal(first.code, 3, first.stdout + first.stderr);
      assertCommits(plan, ORDER.slice(0, 5));
      assertPaused(plan);
      assert.match(first.stdout, /Skipped: Task 4 \(blocked\), Task 5 \(waits for Task 4\), Task 10/);
      const second = await runRunner(project, {
        args: [PLAN, '--plan', '--from', 'Task 7', '--max-tasks', '20'],
      });
      assert.equal(second.code, 3, second.stdout + second.stderr);
      assertCommits(plan, ORDER);
      assertVerified(plan);
      const sessions = new Set(project.model.mainRequests().map(({ sessionId }) => sessionId));
      assert.equal(sessions.size, ORDER.length, 'a fresh context for each task');
    },
    { standIn: true },
  );
});

test('the Stop hook executes the same plan in the same order in one session', async () => {
  await inPlanProject(
    TWELVE,
    workers(),
    async (plan) => {
      const { project } = plan;
      const first = await project.run({ args: ['--task', PLAN, '--plan'] });
      assert.equal(first.code, 3, first.said);
      assertCommits(plan, ORDER.slice(0, 5));
      assertPaused(plan);
      const second = await project.run({ args: ['--task', PLAN, '--plan', '--max-tasks', '20'] });
      assert.equal(second.code, 3, second.said);
      assertCommits(plan, ORDER);
      assertVerified(plan);
      const sessions = new Set(project.model.mainRequests().map(({ sessionId }) => sessionId));
      assert.equal(sessions.size, 2, 'a session for each start');
      const handOff = project.model.mainRequests().find(({ sinceText }) => /Current task: Task 6/.test(sinceText));
      assert.match(handOff?.sinceText ?? '', /Continue ralph execution for: PLAN\.md/);
      assert.match(handOff?.sinceText ?? '', /Tasks completed this session: 3 of 5/);
      assert.match(handOff?.sinceText ?? '', /Last progress: Task 3: Make file 3 \(completed\): it is done\./);
    },
    { init: true, standIn: true },
  );
});

test('a host session executes such a plan in order through the router, one subagent a task', async () => {
  const answers: Record<string, unknown>[] = [];
  const start = bash(`${routerCommand} start --task ${PLAN} --plan --max-tasks 20`);
  const aHost = (first: Reply) => routerHost(workers().main, { first, answers });
  let host = aHost(start);
  await inPlanProject(
    SIX,
    { subagent: workers().main, main: (request) => host.main(request) },
    async (plan) => {
      const { project } = plan;
      const { workspace, model } = project;
      const hosted = async (status: string): Promise<void> => {
        const run = await runClient({ workspace, model, prompt: 'Run ralph on PLAN.md' });
        assert.equal(run.result?.['result'], `The loop is over: ${status}.`, run.stderr);
      };
      const asksAndAgrees = async (): Promise<void> => {
        host = aHost(start);
        await hosted('awaiting-consent');
        const asked = answers.pop();
        assert.deepEqual([asked?.['action'], asked?.['why']], ['wait', 'awaiting-consent']);
        const agreed = project.inPerson(['start', '--consent']);
        assert.equal(agreed.code, 0, agreed.stderr);
        host = aHost(bash(`${routerCommand} next`));
      };
      await asksAndAgrees();
      await hosted('needs-verification');
      assert.equal(answers.at(-1)?.['exitCode'], 3);
      assertCommits(plan, ORDER_OF_SIX);
      assertVerified(plan, ORDER_OF_SIX);
      const spawned = (task: string) => ['ralph-developer', [`work/${task.slice('Task '.length)}`, 'made.txt']];
      assert.deepEqual(
        answers.map(({ action, agentType, allowedScope }) => action === 'spawn' && [agentType, allowedScope]),
        [...ORDER_OF_SIX.map(spawned), false],
      );
    },
    { init: true },
  );
});

const ONE = `- [ ] **Task 1: Make it**
  - Scope: \`src\`
  - Acceptance:
    - it works
- [ ] **Task 2: After it**
  - Scope: \`src\`
  - Depends on: Task 1
  - Acceptance: it works
`;

/** What no guard sees: code of an interpreter that puts the names together. */
const UNSEEN = `node -e "const f=require('fs'),p='PLAN'+'.md';f.writeFileSync(p,f.readFileSync(p,'utf8').replace('[ ]','[x]'));f.writeFileSync('lib.txt','x')"`;

test('an agent that lies is caught each time with the reason, and its task is blocked after two attempts', async () => {
  const lies = together(
    tool('Write', { file_path: 'other.txt', content: 'x' }),
    bash('echo x > other2.txt'),
    bash('sed -i "s/\\[ \\]/[x]/" PLAN.md'),
    bash('git push origin main'),
    bash(`mkdir -p src && echo x > src/a && ${UNSEEN} && git add -A && git commit -q -m "All done"`),
  );
  let turns = 0;
  const script = {
    main: ({ sinceText }: { sinceText: string }) => {
      if (!sinceText.includes('Current task:')) return text('Summary: everything is done and verified.');
      turns += 1;
      return lies;
    },
  };
  await inPlanProject(
    ONE,
    script,
    async ({ project, git, commits }) => {
      const run = await runRunner(project, { args: [PLAN, '--plan'] });
      assert.equal(run.code, 3, run.stdout + run.stderr);
      assert.equal(turns, 2);
      const rules = project.calls().flatMap((call) => (call['phase'] === 'denied' ? [call['rule']] : []));
      assert.deepEqual(
        rules,
        [...Array(2)].flatMap(() => ['scope', 'scope', 'own-files', 'push-main']),
      );
      const second = project.model.mainRequests().find(({ sinceText }) => /did not pass/.test(sinceText));
      assert.doesNotMatch(second?.sinceText ?? '', /plan: Task 1/);
      assert.match(run.stdout, /The agent ticked the box of Task 1\. The box was cleared/);
      assert.match(second?.sinceText ?? '', /scope: outside the scope of Task 1: lib\.txt/);
      const ended = project.ended();
      assert.equal(ended.as, 'blocked');
      assert.match(
        ended.message,
        /Task 1 is blocked: scope: outside the scope of Task 1: lib\.txt\. .* Waiting for it: Task 2/,
      );
      assert.match(run.stdout, /1 commit made during Task 1 was folded into the loop's commit: \S+ All done\./);
      assert.deepEqual(commits(), []);
      assert.match(project.workspace.read(PLAN), /^- \[ \] \(blocked\) \*\*Task 1: Make it\*\*\n/);
      assert.match(project.workspace.read(PROGRESS), /- Status: blocked\n[\s\S]*Blockers: .*lib\.txt/);
      assert.equal(git('log', '-1', '--format=%s').trim(), 'Begin');
    },
    { standIn: true },
  );
});

test('an agent may put back what it changed outside the scope, and nothing else there', async () => {
  const strays = `mkdir -p src && echo x > src/a && node -e "const f=require('fs');f.writeFileSync('new.txt','x');f.writeFileSync('old.txt','x')"`;
  const script: Script = {
    main: ({ sinceText }) => {
      if (/fix what kept Task 1/.test(sinceText))
        return together(
          bash('rm new.txt'),
          tool('Write', { file_path: 'other.txt', content: 'x' }),
          bash('echo old > old.txt'),
        );
      return /Current task: Task 1/.test(sinceText) ? bash(strays) : text('Summary: it is done.');
    },
  };
  await inPlanProject(
    ONE,
    script,
    async ({ project, commits, dirty }) => {
      const run = await runRunner(project, { args: [PLAN, '--plan', '--max-tasks', '1'] });
      assert.match(
        run.stdout,
        /outside the scope of Task 1: new\.txt, old\.txt\. Restore these files, and remove new ones\./,
      );
      assert.deepEqual(commits(), ['feat: Task 1 - Make it'], run.stdout);
      assert.deepEqual(dirty(), []);
      const denied = project.calls().filter((call) => call['phase'] === 'denied');
      assert.deepEqual(
        denied.map(({ rule, about }) => [rule, about]),
        [['scope', 'other.txt']],
      );
    },
    { standIn: true, files: { 'old.txt': 'old\n' } },
  );
});

longTest('a task that an agent reports as blocked ends the loop at once, and a partial one continues', async () => {
  const script: Script = {
    main: ({ sinceText }) => {
      if (/Current task: Task 2/.test(sinceText)) return text('Blockers: the key is missing.');
      if (/Your last report on this task/.test(sinceText)) return text('Summary: the rest is done.');
      if (/Current task: Task 1/.test(sinceText)) return bash('mkdir -p src && echo x > src/a');
      return text('Summary: half of it.\n\n<!-- ralph:state partial -->');
    },
  };
  await inPlanProject(
    `---\nvalidation: ["true"]\n---\n${ONE}`,
    script,
    async ({ project, commits }) => {
      const run = await runRunner(project, { args: [PLAN, '--plan'] });
      assert.equal(run.code, 3, run.stdout + run.stderr);
      assert.deepEqual(commits(), ['feat: Task 1 - Make it']);
      assert.equal(project.ended().as, 'blocked');
      const progress = project.workspace.read(PROGRESS);
      assert.match(progress, /Status: partial[\s\S]*Status: completed[\s\S]*Status: blocked[\s\S]*the key is missing/);
    },
    { standIn: true },
  );
});

longTest(
  'a plan does not start on main, with uncommitted files or an error, and reports all of it at once',
  async () => {
    await inPlanProject('- [ ] **Task 1: a**\n  - Depends on: Task 9\n', workers(), async ({ project, git }) => {
      project.workspace.write('stray.txt', 'x');
      const broken = await runRunner(project, { args: [PLAN, '--plan'] });
      assert.equal(broken.code, 1);
      assert.match(broken.stderr, /Task 9[\s\S]*no acceptance[\s\S]*stray\.txt/);
      project.workspace.write(PLAN, ONE);
      git('add', '-A');
      git('commit', '-q', '-m', 'More');
      git('switch', '-q', '-c', 'main');
      const main = await runRunner(project, { args: [PLAN, '--plan'] });
      assert.equal(main.code, 1);
      assert.match(main.stderr, /not executed on main[\s\S]*git switch -c plan\/PLAN/);
      assert.equal(project.model.mainRequests().length, 0);
    });
  },
);
