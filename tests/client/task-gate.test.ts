import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inTaskFolder, type TaskLoop } from '../support/client/task-loop.ts';
import { bash, steps, text } from '../support/model/scripted-model.ts';
import { IS_LONG, longTest, someOf } from '../support/short-form.ts';

const ralph = (frontmatter: string, body = 'Do the work.'): string =>
  `---\ncompletion_promise: DONE\nmax_iterations: 5\n${frontmatter}\n---\n${body}\n`;
const promise = (said: string) => text(`${said}\n\n<promise>DONE</promise>`);
const questions = { 'my-task/OPEN_QUESTIONS.md': '# Open questions\n\n## P0\n\n## P1\n\n## P2\n\n- [ ] a later one\n' };

const assertComplete = ({ project }: TaskLoop, run: { code: number | null; said: string }, verified: boolean): void => {
  assert.equal(run.code, 0, run.said);
  assert.deepEqual([project.ended().as, project.ended().verified], ['complete', verified]);
};

for (const gate of someOf(['optional', 'disabled'], 2)) {
  test(`with a gate that is ${gate} the promise is enough, whatever is missing`, async () => {
    const frontmatter = `completion_gate: ${gate}\nrequired_outputs: [NOTES.md]\ncommands: [{ name: tests, run: exit 1, acceptance: true }]`;
    const files = { 'my-task/OPEN_QUESTIONS.md': '# P0\n\n- [ ] open\n' };
    await inTaskFolder({ standIn: true, ralph: ralph(frontmatter), files }, steps([promise('Done.')]), async (loop) => {
      const run = await loop.run();
      assertComplete(loop, run, false);
      const reminded = /## Completion gate: optional[\s\S]*my-task\/NOTES\.md/;
      if (gate === 'optional') assert.match(loop.told()[0] ?? '', reminded);
      else assert.doesNotMatch(loop.told()[0] ?? '', /Completion gate|NOTES\.md/);
    });
  });
}

longTest('an open question under P1 keeps the loop going until it is checked', async () => {
  const ask = (box: string) =>
    bash(
      `printf '## P0\\n\\nNone.\\n\\n## P1\\n\\n- [${box}] which port?\\n  - a note\\n' > my-task/OPEN_QUESTIONS.md`,
    );
  const script = steps([ask(' '), promise('Done.'), ask('x'), promise('Now it is.')]);
  await inTaskFolder({ standIn: true, ralph: ralph('') }, script, async (loop) => {
    const run = await loop.run();
    assertComplete(loop, run, false);
    assert.match(
      loop.told()[2] ?? '',
      /OPEN_QUESTIONS\.md: 2 open\.[\s\S]*P1, line 7: which port\?\nP1, line 8: a note/,
    );
    assert.deepEqual(
      loop.records().map(({ completion: { promiseSeen, gatePassed } }) => [promiseSeen, gatePassed]),
      [
        [true, false],
        [true, true],
      ],
    );
    assert.equal(loop.project.events('completion.rejected').length, 1);
  });
});

longTest('a promise in code or inside a sentence does not count, and the next prompt says how to give it', async () => {
  const script = steps([
    text('I shall end with `<promise>DONE</promise>` when it is done.'),
    text('Soon:\n\n```\n<promise>DONE</promise>\n```'),
    promise('Done.'),
  ]);
  await inTaskFolder({ standIn: true, ralph: ralph(''), files: questions }, script, async (loop) => {
    const run = await loop.run();
    assertComplete(loop, run, false);
    assert.equal(loop.records().length, 3);
    for (const prompt of loop.told().slice(1))
      assert.match(prompt, /contained <promise>DONE<\/promise> inside other text, where it does not count/);
  });
});

test('an acceptance command without an executed test accepts nothing', async () => {
  const frontmatter = 'commands: [{ name: tests, run: node --test tests/, acceptance: true }]';
  const write = bash(`printf %s "require('node:test').test('one', () => {});" > tests/one.test.js`);
  const script = steps([promise('Green.'), write, promise('Now there is a test.')]);
  const files = { ...questions, 'package.json': '{"name":"empty"}\n', 'tests/notes.txt': 'no tests yet\n' };
  await inTaskFolder({ standIn: true, ralph: ralph(frontmatter), files }, script, async (loop) => {
    const run = await loop.run();
    assertComplete(loop, run, true);
    assert.match(
      loop.told()[1] ?? '',
      /tests: vacuous: exit code 0, but its test runner reports no test that it executed/,
    );
  });
});

test('a required output has to be a regular file of the task folder, not a link out of it', async () => {
  const output = 'my-task/REPORT.md';
  const script = steps([
    ...[bash(`ln -s ../elsewhere.md ${output}`), promise('It is there.')],
    ...[bash(`rm ${output} && mkdir ${output}`), promise('Now it is there.')],
    ...[bash(`rmdir ${output} && echo report > ${output}`), promise('Now it really is.')],
  ]);
  const files = { ...questions, 'elsewhere.md': 'a report\n' };
  await inTaskFolder({ standIn: true, ralph: ralph('required_outputs: [REPORT.md]'), files }, script, async (loop) => {
    const run = await loop.run();
    assertComplete(loop, run, true);
    assert.match(loop.told()[2] ?? '', /my-task\/REPORT\.md is not a regular file in the task folder/);
    assert.match(loop.told()[4] ?? '', /my-task\/REPORT\.md is empty/);
    assert.equal(loop.records().length, 3);
  });
});

test('a changed script of the task does not run, as evidence or at the gate, until the user accepts it', async () => {
  const frontmatter = 'commands: [{ name: verify, run: ./verify.sh, acceptance: true }]';
  let user: TaskLoop | undefined;
  const script = steps([
    bash('printf "#!/bin/sh\\ntouch fooled && echo all is well\\n" > my-task/verify.sh'),
    promise('Verified.'),
    () => {
      const accepted = user?.project.inPerson(['accept', '--loop', 'my-task']);
      assert.equal(accepted?.code, 0, accepted?.stderr);
      return promise('The user has adopted it.');
    },
  ]);
  await inTaskFolder(
    { standIn: !IS_LONG, ralph: ralph(frontmatter, '{{ commands.verify }}'), files: questions },
    script,
    async (loop) => {
      user = loop;
      loop.workspace.write('my-task/verify.sh', '#!/bin/sh\necho nothing is verified; exit 1\n', 0o755);
      const run = await loop.run();
      const [first = '', , second = ''] = loop.told();
      assert.match(first, /nothing is verified\n\[exit code 1\]/);
      assert.match(
        second,
        /verify: changed: my-task\/verify\.sh was changed since the loop started, so it was not run/,
      );
      assert.match(second, /^\[my-task\/verify\.sh was changed since the loop started, so it was not run\./m);
      assert.match(
        run.said,
        /Completion rejected: verify\. Not run because a script changed during the loop: verify\. .* ralph-loop accept --loop my-task\./,
      );
      assertComplete(loop, run, true);
      assert.equal(loop.workspace.has('my-task/fooled'), true, 'control: it runs once it is adopted');
      assert.deepEqual(
        loop.records().map(({ commands }) => commands.map(({ outcome }) => outcome)),
        [['error'], ['blocked']],
      );
    },
  );
});

const edited = (max: number, rules: string): string =>
  `---\nmax_iterations: ${max}\ncommands: [{ name: one, run: echo first }]\n${rules}---\nDo it: {{ commands.one }}\n`;
const rules = "guardrails: { block_commands: ['touch blocked'] }\n";

test('frontmatter that is edited during the run is reported but not adopted; the text is adopted', async () => {
  const rewrite = edited(9, '').replace('Do it', 'Do it well').replace('echo first', 'touch by-the-task');
  const script = steps([
    bash(`printf %s '${rewrite}' > my-task/RALPH.md`),
    text('one'),
    bash('touch blocked'),
    text('two'),
  ]);
  await inTaskFolder({ standIn: true, ralph: edited(2, rules) }, script, async (loop) => {
    const run = await loop.run();
    assert.equal(run.code, 2, run.said);
    assert.equal(loop.project.ended().as, 'max-iterations');
    const [, , second = '', third = ''] = loop.told();
    assert.match(
      second,
      /The frontmatter of my-task\/RALPH\.md changed during the loop\. The loop continues under its contract/,
    );
    assert.match(second, /Iteration 2 of 2/);
    assert.match(second, /^Do it well: first$/m);
    assert.match(run.said, /The frontmatter of my-task\/RALPH\.md changed/);
    assert.match(third, /\[blocked by guardrail: touch blocked\]/);
    for (const path of ['blocked', 'by-the-task']) assert.equal(loop.workspace.has(path), false, path);
  });
});

longTest('accept adopts the edited frontmatter: its commands, its rules and its limit apply from then on', async () => {
  let user: TaskLoop | undefined;
  const script = steps([
    bash('touch blocked'),
    () => {
      user?.workspace.write('my-task/RALPH.md', edited(3, '').replace('first', 'second'));
      const accepted = user?.project.inPerson(['accept', '--loop', 'my-task']);
      assert.equal(accepted?.code, 0, accepted?.stderr);
      return text('one');
    },
    bash('touch blocked'),
    text('two'),
    text('three'),
  ]);
  await inTaskFolder({ standIn: true, ralph: edited(2, rules) }, script, async (loop) => {
    user = loop;
    const run = await loop.run();
    assert.equal(run.code, 2, run.said);
    const [, first = '', second = ''] = loop.told();
    assert.match(first, /\[blocked by guardrail: touch blocked\]/);
    assert.match(second, /Iteration 2 of 3/);
    assert.match(second, /^Do it: second$/m);
    assert.equal(loop.workspace.has('blocked'), true);
    assert.equal(loop.records().length, 3);
  });
});
