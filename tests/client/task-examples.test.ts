import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inTaskFolder } from '../support/client/task-loop.ts';
import { AUTH_FIXES, MIGRATION, MINIMAL, MULTI_ENV, SCAFFOLD, SELF_HEALING } from '../support/example-tasks.ts';
import { bash, steps, text, tool } from '../support/model/scripted-model.ts';
import { IS_LONG, longTest } from '../support/short-form.ts';

// Each on a small project of its own.

const promise = (said: string) => text(`${said}\n\n<promise>DONE</promise>`);

const authProject = {
  'package.json': '{"name":"auth","scripts":{"test":"node --test auth/"}}\n',
  'auth/login.js': 'exports.login = (name) => name.length > 99;\n',
  'auth/login.test.js': `const { test } = require('node:test');
const { login } = require('./login.js');
test('a user with a name may log in', () => require('node:assert').ok(login('ada')));
`,
  '.env': 'KEY=first\n',
};

test('the auth example works through its tests, its gate and its guardrails to a verified end', async () => {
  const script = steps([
    bash('git push origin main'),
    // A new file: an older client itself refuses to write over one that was not read.
    tool('Write', { file_path: '.env.local', content: 'KEY=second\n' }),
    promise('It should work now.'),
    bash(`sed -i 's/99/0/' auth/login.js && npm test`),
    tool('Write', { file_path: 'my-task/AUTH_FIXES.md', content: 'login took no short names.\n' }),
    bash(`printf '# P0\\n\\n- [x] why short names\\n\\n# P2\\n\\n- [ ] long names\\n' > my-task/OPEN_QUESTIONS.md`),
    promise('All tests pass.'),
  ]);
  await inTaskFolder({ standIn: !IS_LONG, ralph: AUTH_FIXES, files: authProject, git: true }, script, async (loop) => {
    const { workspace, project } = loop;
    workspace.write('my-task/scripts/verify.sh', '#!/bin/sh\ngrep -q login AUTH_FIXES.md && echo named\n', 0o755);
    const run = await loop.run({ args: ['--arg', 'owner=Ada'] });
    assert.equal(run.code, 0, run.said);
    const [first = '', pushed = '', written = '', second = ''] = loop.told();
    assert.match(first, /Iteration 1 of 20/);
    assert.match(first, /Fix the failing auth tests for Ada\./);
    assert.match(first, /a user with a name may log in[\s\S]*\[exit code 1\]\n\n## Verification/);
    assert.match(pushed, /\[blocked by guardrail: git\\s\+push\]/);
    assert.match(written, /\[blocked by guardrail: protected_files: \.env\*\]/);
    assert.equal(workspace.read('.env'), 'KEY=first\n');
    assert.equal(workspace.has('.env.local'), false);
    assert.match(second, /Your claim of completion was rejected/);
    assert.match(second, /missing; create it as my-task\/AUTH_FIXES\.md/);
    assert.match(second, /OPEN_QUESTIONS\.md: missing;/);
    assert.match(second, /Iteration 2 of 20/);
    const { as, verified, message } = project.ended();
    assert.deepEqual({ as, verified }, { as: 'complete', verified: true });
    assert.match(message, /Complete after 2 iterations, verified by 4 checks/);
    assert.deepEqual(
      loop.records().map(({ progress, changedFiles, completion, commands }) => ({
        progress,
        changedFiles,
        gate: [completion.promiseSeen, completion.gateChecked, completion.gatePassed, completion.reasons.length],
        commands: commands.map(({ name, outcome }) => `${name} ${outcome}`),
      })),
      [
        {
          progress: false,
          changedFiles: [],
          gate: [true, true, false, 2],
          commands: ['tests error', 'verify error'],
        },
        {
          progress: true,
          changedFiles: ['auth/login.js', 'my-task/AUTH_FIXES.md', 'my-task/OPEN_QUESTIONS.md'],
          gate: [true, true, true, 0],
          commands: ['tests error', 'verify error'],
        },
      ],
    );
    assert.equal(loop.status().status, 'complete');
  });
});

longTest('the minimal loop has no promise and ends at its limit: max-iterations, with one commit in ten', async () => {
  const turns = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
  const commit = bash('git add TODO.md && git commit -qm "Do the first task"');
  const script = steps(turns.flatMap((turn) => [...(turn === 4 ? [commit] : []), text(`Turn ${turn} is over.`)]));
  await inTaskFolder(
    { standIn: true, ralph: MINIMAL, files: { 'TODO.md': '- one\n' }, git: true },
    script,
    async (loop) => {
      const run = await loop.run();
      assert.equal(run.code, 2, run.said);
      assert.equal(loop.project.ended().as, 'max-iterations');
      assert.match(run.said, /Stopped after 10 iterations, the limit, without completion\./);
      assert.deepEqual(
        loop.records().map(({ progress, noProgressStreak }) => [progress, noProgressStreak]),
        turns.map((turn) => [turn === 4, turn < 4 ? turn : turn - 4]),
      );
      assert.match(loop.told()[0] ?? '', /Read TODO\.md and implement the next task\. Commit when done\./);
      assert.match(loop.told()[0] ?? '', /No promise is expected/);
      assert.doesNotMatch(run.said, /No checks are configured|unverified/);
    },
  );
});

longTest('the minimal loop without any change ends as no-progress-exhaustion', async () => {
  const script = steps([text('I have looked.'), text('I have looked again.'), text('And again.')]);
  await inTaskFolder({ standIn: true, ralph: MINIMAL, git: true }, script, async (loop) => {
    const run = await loop.run({ args: ['--max-iterations', '3'] });
    assert.equal(run.code, 2, run.said);
    assert.equal(loop.project.ended().as, 'no-progress-exhaustion');
    assert.match(
      run.said,
      /Stopped after 3 iterations, the limit, without completion and without confirmed progress\./,
    );
    assert.deepEqual(
      loop.records().map(({ progress, noProgressStreak }) => [progress, noProgressStreak]),
      [1, 2, 3].map((streak) => [false, streak]),
    );
    assert.equal(loop.status().status, 'no-progress-exhaustion');
  });
});

longTest('the self-healing example sees its own test results, fresh in every iteration, until it is done', async () => {
  const script = steps([
    bash(`sed -i 's/99/2/' auth/login.js`),
    text('Short names may log in now.'),
    bash(`echo '# Open questions' > my-task/OPEN_QUESTIONS.md`),
    promise('All tests pass.'),
  ]);
  await inTaskFolder({ standIn: true, ralph: SELF_HEALING, files: authProject }, script, async (loop) => {
    const run = await loop.run();
    assert.equal(run.code, 0, run.said);
    const [first = '', , second = ''] = loop.told();
    assert.match(first, /# fail 1|ℹ fail 1/);
    assert.match(second, /# fail 0|ℹ fail 0/);
    assert.doesNotMatch(second, /\[exit code/);
    assert.match(run.said, /Command tests: error after/);
    // The example shows the results to its agent, and has no check.
    assert.deepEqual([loop.project.ended().as, loop.project.ended().verified], ['complete', false]);
    assert.deepEqual(
      loop.records().map(({ commands }) => commands.map(({ outcome }) => outcome)),
      [['error'], ['ok']],
    );
  });
});

longTest('the parameterised example fills its arguments into text and commands, as one word each', async () => {
  const files = {
    'package.json': '{"name":"envs","scripts":{"test":"node test.js"}}\n',
    'test.js': 'console.log("arguments: " + JSON.stringify(process.argv.slice(2)));\n',
    'secrets/key.txt': 'first\n',
  };
  const script = steps([
    tool('Write', { file_path: 'secrets/new.txt', content: 'second\n' }),
    bash('echo third > config/../secrets/other.txt'),
    text('one'),
    text('two'),
  ]);
  await inTaskFolder({ standIn: true, ralph: MULTI_ENV, files, git: true }, script, async (loop) => {
    const given = ['--arg', 'env=staging', '--arg', 'focus=auth; touch pwned', '--max-iterations', '2'];
    const run = await loop.run({ args: given });
    assert.equal(run.code, 2, run.said);
    const told = loop.told();
    for (const prompt of [told[0], told[3]]) {
      assert.match(prompt ?? '', /Environment: staging\nFocus: auth; touch pwned\n/);
      assert.match(prompt ?? '', /arguments: \["--env=staging"\]/);
    }
    for (const denied of [told[1], told[2]])
      assert.match(denied ?? '', /\[blocked by guardrail: protected_files: policy:secret-bearing-paths\]/);
    assert.equal(loop.workspace.read('secrets/key.txt'), 'first\n');
    assert.equal(loop.workspace.has('secrets/new.txt'), false);
    assert.equal(loop.workspace.has('secrets/other.txt'), false);
    assert.equal(loop.workspace.has('pwned'), false);
    assert.equal(loop.project.ended().as, 'no-progress-exhaustion');
  });
});

longTest('the parameterised example does not start without its arguments', async () => {
  await inTaskFolder({ standIn: true, ralph: MULTI_ENV }, steps([]), async (loop) => {
    const run = await loop.run({ args: ['--arg', 'env=staging'] });
    assert.equal(run.code, 1);
    assert.match(run.stderr, /the argument "focus" has no value/);
    assert.equal(loop.project.state(), null);
    assert.equal(loop.workspace.has('my-task/.ralph-runner'), false);
  });
});

longTest(
  'the migration example moves one module an iteration, and its promise holds once the notes exist',
  async () => {
    const files = {
      'package.json': `{"name":"modules","scripts":{"build":"node --check src/a.js && node --check src/b.js && echo built","test":"grep -L modern src/*.js"}}\n`,
      'src/a.js': "require('legacy');\n",
      'src/b.js': "require('legacy');\n",
    };
    const migrate = (module: string) => bash(`sed -i 's/legacy/modern/' src/${module}.js`);
    const script = steps([
      ...[migrate('a'), text('Module a is migrated.')],
      ...[migrate('b'), promise('Both modules are migrated.')],
      bash(`echo 'a and b are migrated' > my-task/MIGRATION_NOTES.md; echo '## P1' > my-task/OPEN_QUESTIONS.md`),
      promise('The notes are there as well.'),
    ]);
    await inTaskFolder({ standIn: true, ralph: MIGRATION, files, git: true }, script, async (loop) => {
      const run = await loop.run();
      assert.equal(run.code, 0, run.said);
      const told = loop.told();
      assert.match(told[0] ?? '', /Build output:\n[\s\S]*\nbuilt\n\nTest results:\n[\s\S]*\nsrc\/a\.js\nsrc\/b\.js\n/);
      assert.doesNotMatch(told[2] ?? '', /^src\/a\.js$/m);
      assert.match(told[4] ?? '', /missing; create it as my-task\/MIGRATION_NOTES\.md/);
      assert.deepEqual(
        loop.records().map(({ changedFiles }) => changedFiles),
        [['src/a.js'], ['src/b.js'], ['my-task/MIGRATION_NOTES.md', 'my-task/OPEN_QUESTIONS.md']],
      );
      assert.deepEqual([loop.project.ended().as, loop.project.ended().verified], ['complete', true]);
    });
  },
);

longTest(
  'the scaffold runs once its task is filled in: its promise is believed, and not reported as verified',
  async () => {
    await inTaskFolder(
      { standIn: true, ralph: SCAFFOLD },
      steps([text('Nothing yet.'), promise('Finished.')]),
      async (loop) => {
        const template = await loop.run();
        assert.equal(template.code, 1, template.said);
        assert.match(
          template.said,
          /line 10: The template is not filled in\. Write your task in place of this line: Describe the task here\./,
        );
        loop.workspace.write('my-task/RALPH.md', SCAFFOLD.replace('Describe the task here.', 'Tidy up.'));
        const run = await loop.run();
        assert.equal(run.code, 0, run.said);
        assert.match(loop.told()[0] ?? '', /^# my-task$/m);
        assert.doesNotMatch(loop.told()[0] ?? '', /Completion gate/);
        assert.match(run.said, /No checks are configured/);
        assert.deepEqual([loop.project.ended().as, loop.project.ended().verified], ['complete', false]);
        const [, last] = loop.records();
        assert.deepEqual(last?.completion, { promiseSeen: true, gateChecked: false, gatePassed: true, reasons: [] });
      },
    );
  },
);
