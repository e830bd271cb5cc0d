import assert from 'node:assert/strict';
import { chmodSync } from 'node:fs';
import { test } from 'node:test';
import { inLoopProject } from '../support/client/loop-project.ts';
import { bash, steps, text } from '../support/model/scripted-model.ts';
import { IS_LONG } from '../support/short-form.ts';

const TASK = 'tasks/auth';
const args = ['--task', TASK];
const folder = (frontmatter: string, body: string): Record<string, string> => ({
  [`${TASK}/RALPH.md`]: `---\n${frontmatter}\n---\n${body}\n`,
});
const promise = 'All of it is there.\n\n<promise>DONE</promise>';

test('a task folder goes through evidence, a rejected promise and the gate until everything holds', async () => {
  const files = {
    ...folder(
      [
        'args: [owner]',
        'commands:',
        '  - name: tests',
        '    run: cat result.txt 2>/dev/null || { echo "no result for" {{ args.owner }}; exit 1; }',
        '    acceptance: true',
        'max_iterations: 6',
        'completion_promise: DONE',
        'required_outputs: [AUTH_FIXES.md]',
      ].join('\n'),
      'Fix it for {{ args.owner }}.\n\n{{ commands.tests }}\n<!-- a note for people -->',
    ),
  };
  const model = steps([
    bash('echo started > notes.txt'),
    text(promise),
    bash(`echo green > result.txt; echo fixed > ${TASK}/AUTH_FIXES.md; echo '# P0' > ${TASK}/OPEN_QUESTIONS.md`),
    text(`${promise}\n`),
  ]);
  await inLoopProject({ files, git: true, loop: 'auth' }, model, async (project) => {
    const run = await project.run({ args: [...args, '--arg', 'owner=Ada; touch pwned'] });
    project.model.check();
    assert.equal(run.code, 0, run.said);
    const [first, , second] = project.model.mainRequests();
    assert.match(first?.sinceText ?? '', /Fix it for Ada; touch pwned\./);
    assert.match(first?.sinceText ?? '', /no result for Ada; touch pwned\n\[exit code 1\]/);
    assert.doesNotMatch(first?.sinceText ?? '', /a note for people/);
    assert.match(second?.sinceText ?? '', /AUTH_FIXES\.md/);
    assert.equal(project.workspace.has('pwned'), false);
    const lines = project.workspace.jsonLines(`${TASK}/.ralph-runner/iterations.jsonl`);
    assert.deepEqual(
      lines.map(({ iteration, progress, changedFiles }) => ({ iteration, progress, changedFiles })),
      [
        { iteration: 1, progress: true, changedFiles: ['notes.txt'] },
        {
          iteration: 2,
          progress: true,
          changedFiles: ['result.txt', `${TASK}/AUTH_FIXES.md`, `${TASK}/OPEN_QUESTIONS.md`],
        },
      ],
    );
    const status = project.workspace.json(`${TASK}/.ralph-runner/status.json`);
    assert.deepEqual([status['status'], status['loopId']], ['complete', lines[0]?.['loopId']]);
    assert.deepEqual(
      { as: project.ended().as, verified: project.ended().verified },
      { as: 'complete', verified: true },
    );
    assert.match(project.workspace.read(`${TASK}/.ralph-runner/transcripts/001.md`), /no result for Ada/);
  });
});

test('a prompt file has arguments, commands and a gate too, all in the project itself', async () => {
  const frontmatter = [
    'args: [owner]',
    'commands:',
    '  - { name: tests, run: "./check.sh {{ args.owner }}", acceptance: true }',
    'max_iterations: 6',
    'completion_promise: DONE',
    'required_outputs: [FIXES.md]',
  ].join('\n');
  const files = { 'check.sh': '#!/bin/sh\necho "checked for $1"; test -f FIXES.md\n' };
  const body = 'Fix it for {{ args.owner }}.\n\n{{ commands.tests }}\n<!-- a note for people -->';
  const model = steps([text(promise), bash('echo fixed > FIXES.md'), text(`${promise}\n`)]);
  await inLoopProject({ standIn: !IS_LONG, frontmatter, body, files, git: true }, model, async (project) => {
    chmodSync(project.workspace.path('check.sh'), 0o755);
    const run = await project.run({ args: ['--arg', 'owner=Ada Doe'] });
    project.model.check();
    assert.equal(run.code, 0, run.said);
    const [first, second] = project.model.mainRequests();
    assert.match(first?.sinceText ?? '', /The task is in \.claude\/ralph\/PROMPT\.md/);
    assert.match(first?.sinceText ?? '', /Fix it for Ada Doe\.\n\nchecked for Ada Doe\n\[exit code 1\]/);
    assert.match(first?.sinceText ?? '', /these files exist: FIXES\.md\n- these commands pass: tests/);
    assert.doesNotMatch(first?.sinceText ?? '', /a note for people|OPEN_QUESTIONS|RALPH_PROGRESS/);
    assert.match(second?.sinceText ?? '', /missing; create it as FIXES\.md/);
    assert.deepEqual([project.ended().as, project.ended().verified], ['complete', true]);
    assert.equal(project.workspace.has('.ralph-runner'), false);
    assert.equal(project.workspace.has('.claude/ralph/.ralph-runner'), false);
  });
});
