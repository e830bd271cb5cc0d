import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { confinedTest, longConfinedTest } from '../support/client/client-facts.ts';
import { inLoopProject } from '../support/client/loop-project.ts';
import { assertCommits, inPlanProject, ORDER_OF_SIX, PLAN, SIX, workers } from '../support/client/plan-project.ts';
import { runRunner } from '../support/client/runner.ts';
import { bash, type Reply, type Script, steps, text } from '../support/model/scripted-model.ts';

const DONE = 'All is done.\n\nRALPH_AUDIT_COMPLETE_NO_FINDINGS';
const WHO = '-c user.name=x -c user.email=x@example.invalid';

/** What a sandboxed shell can write: a repository within, whose settings name a program that git starts. */
const trap = (outside: string): Reply =>
  bash(
    [
      'mkdir inner && cd inner && git init -q && echo a > a.txt && echo "* filter=x" > .gitattributes',
      `git add . && git ${WHO} commit -qm inner && cd .. && git add inner && git ${WHO} commit -qm linked`,
      `git -C inner config filter.x.clean "touch '${outside}'; cat"`,
      // Of the same size and another time: git has to read it to know.
      'echo b > inner/a.txt && touch -d @1 inner/a.txt && echo SET',
    ].join('\n'),
  );

confinedTest(
  'no program that the agent’s git settings name runs outside the sandbox, at the end of a loop',
  async () => {
    let outside = '';
    let set = '';
    const script = ({ root }: { readonly root: string }): Script => {
      outside = join(root, 'written-by-a-filter');
      return steps([
        trap(outside),
        (request) => {
          set = request.sinceText;
          return text(DONE);
        },
      ]);
    };
    await inLoopProject({ git: true, init: false, frontmatter: 'validation: ["true"]' }, script, async (project) => {
      execFileSync('git', ['commit', '-q', '--allow-empty', '-m', 'Begin'], { cwd: project.workspace.project });
      const run = await runRunner(project, { args: ['--sandbox'], json: false });
      assert.match(set, /^SET$/m);
      assert.equal(run.code, 0, run.stdout + run.stderr);
      assert.match(run.stdout, /Changed since the start/, 'git was asked');
      const report = join(project.workspace.root, 'report.html');
      assert.equal(project.main(['report', '--out', report]).code, 0);
      assert.ok(!existsSync(outside));
      execFileSync('git', ['status'], { cwd: project.workspace.project, stdio: 'ignore' });
      assert.ok(existsSync(outside), 'control: a plain git status starts it');
    });
  },
);

/** Programs in a folder of the PATH, under names that client and loop start themselves. */
const plant = (outside: string): Reply =>
  bash(
    [
      'for name in bwrap git sh bash node; do',
      `  printf '#!/bin/sh\necho "$0 $*" >> ${outside}\nexec %s "$@"\n' "$(command -v $name)" > .bin/$name`,
      'done',
      'chmod +x .bin/*',
    ].join('\n'),
  );

confinedTest('no program that the agent leaves on the PATH runs outside the sandbox, where it is found', async () => {
  const own = '#!/bin/sh\necho tool-of-the-project\n';
  const script = ({ root }: { readonly root: string }): Script =>
    steps([plant(join(root, 'outside')), text(DONE), bash('tool > made.txt; git status'), text(DONE)]);
  const frontmatter = 'validation: ["tool && test -s made.txt"]';
  await inLoopProject({ git: true, init: false, frontmatter }, script, async (project) => {
    const { root, project: dir } = project.workspace;
    project.workspace.write('.bin/tool', own, 0o755);
    const PATH = `${join(dir, '.bin')}:${project.environment()['PATH']}`;
    const run = await runRunner(project, { args: ['--sandbox'], json: false, env: { PATH } });
    assert.equal(run.code, 0, run.stdout + run.stderr);
    assert.match(
      project.workspace.read('made.txt'),
      /tool-of-the-project/,
      'the shell of the agent has the whole PATH',
    );
    assert.ok(!existsSync(join(root, 'outside')));
    execFileSync('git', ['--version'], { cwd: dir, env: { PATH }, stdio: 'ignore' });
    assert.ok(existsSync(join(root, 'outside')), 'control: the program of the PATH is the one that the agent left');
  });
});

longConfinedTest('a plan whose commits cannot be signed in the sandbox is refused before an agent works', () =>
  inPlanProject(
    SIX,
    workers(),
    async ({ project, git }) => {
      const { root } = project.workspace;
      const signs = "printf '\\n[GNUPG:] SIG_CREATED ' >&2; echo -----BEGIN PGP SIGNATURE-----";
      const signer = join(root, 'signer');
      writeFileSync(signer, `#!/bin/sh\ncat > '${root}/asked-key' || exit 2\n${signs}\n`, { mode: 0o755 });
      git('config', 'commit.gpgsign', 'true');
      git('config', 'gpg.program', signer);
      const refused = await runRunner(project, { args: [PLAN, '--plan', '--sandbox'], json: false });
      assert.equal(refused.code, 1, refused.stdout);
      assert.match(refused.stderr, /git could not sign one in the sandbox: [\s\S]*--set sandbox\.mode=off/);
      assert.equal(project.model.requests.length, 0);
      const signed = await runRunner(project, { args: [PLAN, '--plan'], json: false });
      assert.equal(signed.code, 3, `control: it can be signed without the sandbox\n${signed.stderr}`);
    },
    { standIn: true },
  ),
);

confinedTest('a plan in the sandbox is committed task by task, and the hooks of its user run confined', async () => {
  const work = (task: string): Reply => {
    const folder = `work/${task.slice('Task '.length)}`;
    return bash(`mkdir -p ${folder} && touch ${folder}/done.txt made.txt`);
  };
  const body = async (plan: Parameters<Parameters<typeof inPlanProject>[2]>[0]): Promise<void> => {
    const { project } = plan;
    const outside = join(project.workspace.root, 'written-by-a-hook');
    const hook = project.workspace.path('.git/hooks/pre-commit');
    const lines = ['#!/bin/sh', `touch '${outside}' 2> /dev/null`, 'echo ran >> .git/hook-ran', 'exit 0', ''];
    writeFileSync(hook, lines.join('\n'), { mode: 0o755 });
    // It judges the messages before the start as well.
    const judged = join(project.workspace.root, 'written-by-a-judge');
    const judge = ['#!/bin/sh', `touch '${judged}' 2> /dev/null`, 'grep -q "^feat: " "$1"', ''];
    writeFileSync(project.workspace.path('.git/hooks/commit-msg'), judge.join('\n'), { mode: 0o755 });
    const run = await runRunner(project, { args: [PLAN, '--plan', '--sandbox'], json: false });
    assert.equal(run.code, 3, run.stdout + run.stderr);
    assertCommits(plan, ORDER_OF_SIX);
    assert.ok(!existsSync(judged));
    assert.equal(project.workspace.read('.git/hook-ran'), 'ran\n'.repeat(ORDER_OF_SIX.length));
    assert.ok(!existsSync(outside));
    plan.git('commit', '-q', '--allow-empty', '-m', 'feat: By hand');
    assert.ok(existsSync(outside) && existsSync(judged), 'control: a commit of the user');
  };
  // Checks and commits are confined by us, whatever the client is.
  await inPlanProject(SIX, workers(work), body, { standIn: true });
});
