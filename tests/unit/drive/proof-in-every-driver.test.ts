import '../../support/starts-processes.ts';
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe } from 'node:test';
import type { Project } from '../../support/drive/drive-project.ts';
import { type AgentTurn, EVERY_DRIVER, type Task } from '../../support/drive/every-driver.ts';
import { commitFolder } from '../../support/git.ts';
import { IS_LONG, someTests } from '../../support/short-form.ts';

const DONE = 'RALPH_AUDIT_COMPLETE_NO_FINDINGS';
const PROMPT = '.claude/ralph/PROMPT.md';

const prompt = (frontmatter: string): string => `---\nmax_iterations: 3\n${frontmatter}\n---\nWork.\n`;
const GREEN = 'validation: ["true"]';
const RED = 'validation: ["true", "test -f made.txt"]';

/** Writes these files, and claims completion. */
const writes =
  (files: Readonly<Record<string, string>>): AgentTurn =>
  ({ directory }) => {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(join(directory, path, '..'), { recursive: true });
      writeFileSync(join(directory, path), text);
    }
    return DONE;
  };

const lazy: AgentTurn = () => DONE;

const git = ({ directory }: Pick<Project, 'directory'>, ...words: string[]): void => {
  execFileSync('git', ['-c', 'user.name=A', '-c', 'user.email=a@b.c', ...words], { cwd: directory, stdio: 'ignore' });
};

const inGit = ({ directory }: Project): void => {
  commitFolder(directory);
};

/** Keeps what every loop keeps for itself, and claims completion. */
const keepsBooks = writes({
  [PROMPT]: `${prompt(GREEN)}Noted.\n`,
  '.ralph/findings.md': '# Findings\n\nNone.\n',
  '.ralph/site/notes.md': 'Nothing.\n',
  'RALPH_PROGRESS.md': 'Looked around.\n',
  'OPEN_QUESTIONS.md': '# P0\n\n# P1\n',
  '.ralph-runner/prompt.md': 'x\n',
  '.claude/context/memory/learnings.md': '- nothing\n',
  '.claude/scheduled_tasks.json': '{}\n',
  // The client notes there what its user allows.
  '.claude/settings.local.json': '{}\n',
});

// In the short form each case is played by one driver.
for (const [nth, [driver, run]] of Object.entries(EVERY_DRIVER).entries()) {
  const some = someTests(3, nth);
  describe(`in the ${driver}`, () => {
    const places = [['in git', inGit] as const, ['without git', () => undefined] as const];
    // Files are compared in the same way in every driver: one of them shows it without git.
    for (const [where, prepare] of places.slice(0, IS_LONG || driver === 'runner' ? 2 : 1)) {
      const task = (frontmatter: string, files: Readonly<Record<string, string>> = {}): Task => ({
        files: { [PROMPT]: prompt(frontmatter), 'kept.txt': 'kept\n', ...files },
        prepare,
      });

      some(`${where}, an agent that does nothing proves nothing with checks that passed before`, async (t) => {
        const { status, verified, proof, message } = await run(t, task(GREEN), [lazy]);
        assert.deepEqual([status, verified, proof], ['complete', false, 'none']);
        assert.match(
          message,
          /unverified: every check passed before the start as well, and no file of the project changed\./,
        );
      });

      some(`${where}, a changed file makes it work that broke nothing`, async (t) => {
        const { status, verified, proof, message, turns } = await run(t, task(GREEN), [
          writes({ 'kept.txt': 'other\n' }),
        ]);
        assert.deepEqual([status, verified, proof, turns], ['complete', true, 'still-green', 1]);
        assert.match(message, /The checks passed before as well: they show that nothing broke\.$/);
      });

      some(`${where}, the verdict names the tests that are gone or switched off`, async (t) => {
        const tap = (run: number, skipped: number): string =>
          `TAP version 13\n1..${run + skipped}\n# tests ${run + skipped}\n# suites 0\n# pass ${run}\n# fail 0\n# cancelled 0\n# skipped ${skipped}\n# todo 0\n`;
        const counted = task('validation: [{name: tests, run: cat tap.txt}]', { 'tap.txt': tap(6, 0) });
        const { verified, message } = await run(t, counted, [writes({ 'tap.txt': tap(3, 2) })]);
        assert.match(message, / Tests of tests: 1 test fewer than at the start, 2 skipped\.$/);
        assert.equal(verified, true);
        const more = await run(t, counted, [writes({ 'tap.txt': tap(7, 0) })]);
        assert.doesNotMatch(more.message, /Tests of/, 'control');
      });

      some(`${where}, a check that failed before and passes now proves the work`, async (t) => {
        const { status, verified, proof, message } = await run(t, task(RED), [writes({ 'made.txt': 'made\n' })]);
        assert.deepEqual([status, verified, proof], ['complete', true, 'red-to-green']);
        assert.match(message, /test -f made\.txt failed before the start and passes now\.$/);
      });

      some(`${where}, the files in which a loop keeps its books are no work`, async (t) => {
        const { verified, proof } = await run(t, task(GREEN), [keepsBooks]);
        assert.deepEqual([verified, proof], [false, 'none']);
      });

      some(`${where}, what the checks write themselves is no work`, async (t) => {
        const check = "validation: ['date +%N > report.txt']";
        const { verified, proof } = await run(t, task(check), [lazy]);
        assert.deepEqual([verified, proof], [false, 'none']);
        const anew = await run(t, task("validation: ['echo x > report-$(date +%s%N).txt']"), [lazy]);
        assert.deepEqual([anew.verified, anew.proof], [false, 'none'], 'a file of another name each time');
        const control = await run(t, task(check), [writes({ 'work.txt': 'x\n' })]);
        assert.deepEqual([control.verified, control.proof], [true, 'still-green'], 'control');
      });

      some(`${where}, a required output that a command or a check writes is no work`, async (t) => {
        const job = (by: string): Task => ({
          ...task('', {
            'job/RALPH.md': `---\nrequired_outputs: [OUT.md]\ncompletion_promise: ALL DONE\n${by}\n---\nWork.\n`,
          }),
          path: 'job',
        });
        const claims: AgentTurn = () => '<promise>ALL DONE</promise>';
        for (const by of ["commands: [{name: out, run: 'date > job/OUT.md'}]", "validation: ['date > job/OUT.md']"]) {
          const { status, proof } = await run(t, job(by), [claims]);
          assert.deepEqual([status, proof], ['complete', 'none'], by);
        }
        const control = await run(t, job(''), [
          (project) => writes({ 'job/OUT.md': 'x\n' })(project) && claims(project),
        ]);
        assert.equal(control.proof, 'red-to-green', 'control: the agent writes it');
      });

      some(`${where}, what commands and the checks of a rejected claim write is no work`, async (t) => {
        const anew = (name: string): string => `echo x > ${name}-$(date +%s%N).txt`;
        const job = `---
commands:
  - {name: state, run: '${anew('state')}'}
validation: ['${anew('report')}; if [ -e held.txt ]; then rm held.txt; false; fi']
open_questions: optional
completion_promise: ALL DONE
max_iterations: 4
---
{{ commands.state }}
`;
        // The first claim is rejected, by something that is gone afterwards.
        const inFolder = (work: (project: Project) => void): AgentTurn[] => [
          () => 'Looked around.',
          ({ directory }) => {
            writeFileSync(join(directory, 'held.txt'), 'x');
            return '<promise>ALL DONE</promise>';
          },
          (project) => {
            work(project);
            return '<promise>ALL DONE</promise>';
          },
        ];
        const folder = { ...task(''), path: 'job', files: { 'kept.txt': 'kept\n', 'job/RALPH.md': job } };
        const { verified, proof, turns } = await run(
          t,
          folder,
          inFolder(() => undefined),
        );
        assert.deepEqual([turns, verified, proof], [3, false, 'none']);
        const changes = ({ directory }: Project): void => {
          const written = readdirSync(directory).findLast((name) => name.startsWith('state-')) ?? '';
          appendFileSync(join(directory, written), 'the agent\n');
        };
        const control = await run(t, folder, inFolder(changes));
        assert.deepEqual([control.turns, control.proof], [3, 'still-green'], 'control: the agent changes such a file');
      });

      some(`${where}, work that was taken back is no work`, async (t) => {
        const changes = writes({ 'kept.txt': 'other\n', 'new.txt': 'new\n' });
        const works: AgentTurn = (project) => `${changes(project)} no`;
        const takesBack: AgentTurn = ({ directory }) => {
          writeFileSync(join(directory, 'kept.txt'), 'kept\n');
          rmSync(join(directory, 'new.txt'));
          return DONE;
        };
        const { verified, proof } = await run(t, task(GREEN), [works, takesBack]);
        assert.deepEqual([verified, proof], [false, 'none']);
      });

      some(`${where}, a required output that was missing proves the work`, async (t) => {
        const outputs = 'required_outputs: [report.md]';
        const { verified, proof } = await run(t, task(outputs), [writes({ 'report.md': 'Found it.\n' })]);
        assert.deepEqual([verified, proof], [true, 'red-to-green']);
        const before = await run(t, task(outputs, { 'report.md': 'Old.\n' }), [lazy]);
        assert.deepEqual([before.verified, before.proof], [false, 'none'], 'it existed before');
      });

      some(`${where}, a loop that skips the baseline completes with an unknown one`, async (t) => {
        const { verified, proof, message } = await run(t, task(`${GREEN}\nbaseline: false`), [lazy]);
        assert.deepEqual([verified, proof], [true, 'green']);
        assert.match(message, /Whether the checks passed before the start is unknown\.$/);
      });

      some(`${where}, a loop without checks proves nothing, whatever changed`, async (t) => {
        const { verified, proof, message } = await run(t, task(''), [writes({ 'kept.txt': 'other\n' })]);
        assert.deepEqual([verified, proof], [false, 'none']);
        assert.match(message, /unverified: no checks are configured/);
      });

      some(`${where}, an empty list of open questions proves nothing`, async (t) => {
        const asks = 'completion_promise: ALL DONE\ncompletion_gate: required\nopen_questions: required';
        const answers = writes({ 'OPEN_QUESTIONS.md': '# P0\n' });
        const { status, verified, proof } = await run(t, task(asks), [
          (project) => `${answers(project)}\n<promise>ALL DONE</promise>`,
        ]);
        assert.deepEqual([status, verified, proof], ['complete', false, 'none']);
      });
    }

    const inRepository = (prepare: (project: Project) => void, files: Readonly<Record<string, string>> = {}): Task => ({
      files: { [PROMPT]: prompt(GREEN), 'kept.txt': 'kept\n', ...files },
      prepare,
    });

    some('committing what the user had left uncommitted is no work', async (t) => {
      const task = inRepository((project) => {
        commitFolder(project.directory);
        appendFileSync(join(project.directory, 'kept.txt'), 'the user\n');
        writeFileSync(join(project.directory, 'mine.txt'), 'the user\n');
      });
      const commits: AgentTurn = (project) => {
        git(project, 'add', '-A');
        git(project, 'commit', '-m', 'All of it');
        return DONE;
      };
      const { verified, proof } = await run(t, task, [commits]);
      assert.deepEqual([verified, proof], [false, 'none']);
      const works: AgentTurn = (project) => {
        appendFileSync(join(project.directory, 'mine.txt'), 'the agent\n');
        return commits(project);
      };
      const control = await run(t, task, [works]);
      assert.deepEqual([control.verified, control.proof], [true, 'still-green'], 'control');
    });

    some('a change in an untracked file of the user counts, and so does a commit of it', async (t) => {
      const task = inRepository((project) => {
        commitFolder(project.directory);
        writeFileSync(join(project.directory, 'mine.txt'), 'the user\n');
      });
      const { proof } = await run(t, task, [writes({ 'mine.txt': 'the agent\n' })]);
      assert.equal(proof, 'still-green');
    });

    some('work that git ignores is not seen in a prompt file, but in the folder of a task', async (t) => {
      const prepare = inGit;
      const files = { '.gitignore': 'out/\njob/out/\n' };
      const ignored = await run(t, inRepository(prepare, files), [writes({ 'out/result.txt': 'x\n' })]);
      assert.equal(ignored.proof, 'none');
      const job = {
        'job/RALPH.md': `---\n${GREEN}\nopen_questions: optional\ncompletion_promise: ALL DONE\n---\nWork.\n`,
      };
      const inFolder = writes({ 'job/out/result.txt': 'x\n' });
      const seen = await run(t, { path: 'job', files: { ...files, ...job }, prepare }, [
        (project) => `${inFolder(project)}\n<promise>ALL DONE</promise>`,
      ]);
      assert.equal(seen.proof, 'still-green', seen.message);
    });

    some('work in a submodule alone is a change of the project', async (t) => {
      const withModule = ({ directory }: Project): void => {
        const module = join(directory, '..', 'lib');
        mkdirSync(module);
        writeFileSync(join(module, 'lib.js'), 'old\n');
        commitFolder(module);
        commitFolder(directory);
        git({ directory }, '-c', 'protocol.file.allow=always', 'submodule', 'add', module, 'vendor/lib');
        git({ directory }, 'commit', '-m', 'With a module');
      };
      const task = inRepository(withModule);
      const { proof } = await run(t, task, [writes({ 'vendor/lib/lib.js': 'new\n' })]);
      assert.equal(proof, 'still-green', 'uncommitted in the submodule');
      const commits: AgentTurn = (project) => {
        writes({ 'vendor/lib/lib.js': 'new\n' })(project);
        git({ directory: join(project.directory, 'vendor/lib') }, 'commit', '-am', 'Work');
        return DONE;
      };
      assert.equal((await run(t, task, [commits])).proof, 'still-green', 'committed in the submodule');
      assert.equal((await run(t, task, [lazy])).proof, 'none', 'control');
    });

    some('tracked files in folders with the names of build results count', async (t) => {
      const { proof } = await run(t, inRepository(inGit, { 'build/rules.mk': 'all:\n' }), [
        writes({ 'build/rules.mk': 'all: x\n' }),
      ]);
      assert.equal(proof, 'still-green');
    });

    some('a project without a commit yet compares its files all the same', async (t) => {
      const prepare = (project: Project): void => git(project, 'init');
      assert.equal((await run(t, inRepository(prepare), [lazy])).proof, 'none');
      assert.equal((await run(t, inRepository(prepare), [writes({ 'kept.txt': 'x\n' })])).proof, 'still-green');
    });

    some('each check runs once before the start, and acceptance commands not again for the first prompt', async (t) => {
      const count = (name: string): string => `echo ${name} >> "$COUNT"`;
      const job = `---
commands:
  - {name: state, run: '${count('evidence')}'}
  - {name: ready, run: '${count('acceptance')}; test -f made.txt', acceptance: true}
validation: ['${count('validation')}']
open_questions: optional
completion_promise: ALL DONE
---
{{ commands.state }}{{ commands.ready }}
`;
      let counted = '';
      const seen: string[][] = [];
      const works: AgentTurn = (project) => {
        const lines = readFileSync(counted, 'utf8').trim().split('\n');
        seen.push(lines);
        writes({ 'made.txt': 'x\n' })(project);
        return '<promise>ALL DONE</promise>';
      };
      const prepare = (project: Project): void => {
        counted = join(project.directory, '..', 'count');
        project.env['COUNT'] = counted;
      };
      const { proof } = await run(t, { path: 'job', files: { 'job/RALPH.md': job }, prepare }, [works]);
      assert.equal(proof, 'red-to-green');
      assert.deepEqual(seen, [['evidence', 'acceptance', 'validation']], 'once, before the first turn');
      const all = readFileSync(counted, 'utf8').trim().split('\n');
      assert.deepEqual(
        all,
        ['evidence', 'acceptance', 'validation', 'acceptance', 'validation'],
        'and once at the claim',
      );
    });
  });
}
