import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inTaskFolder, type TaskLoop } from '../support/client/task-loop.ts';
import { bash, delay, steps, text } from '../support/model/scripted-model.ts';
import { IS_LONG, longTest } from '../support/short-form.ts';
import { until } from '../support/until.ts';

const ralph = (frontmatter: string, body = 'Do the work.'): string => `---\n${frontmatter}\n---\n${body}\n`;
const waiting = ({ project }: TaskLoop) => project.state()?.['status'] === 'waiting';
const progress = ({ records }: TaskLoop) => records().map((record) => record.progress);

test("a commit alone is progress, the loop's own files are not", async () => {
  const script = steps([
    bash('git commit --allow-empty -qm "Note the state"'),
    text('one'),
    bash('mkdir -p node_modules/a my-task/dist && touch node_modules/a/b my-task/dist/c && sed -n 1p my-task/RALPH.md'),
    text('two'),
    bash('echo note > my-task/notes.txt'),
    text('three'),
  ]);
  await inTaskFolder({ standIn: true, ralph: ralph('max_iterations: 3'), git: true }, script, async (loop) => {
    const run = await loop.run();
    assert.equal(run.code, 2, run.said);
    assert.equal(loop.project.ended().as, 'max-iterations');
    assert.deepEqual(progress(loop), [true, false, true]);
    assert.deepEqual(
      loop.records().map(({ changedFiles }) => changedFiles),
      [[], [], ['my-task/notes.txt']],
    );
  });
});

test('without a repository only the task folder is measured: the end says how many iterations are unknown', async () => {
  const script = steps([bash('echo work > elsewhere.txt'), text('one'), text('two')]);
  await inTaskFolder({ standIn: true, ralph: ralph('max_iterations: 2') }, script, async (loop) => {
    const run = await loop.run();
    assert.equal(run.code, 2, run.said);
    assert.equal(loop.project.ended().as, 'no-progress-exhaustion');
    assert.match(run.said, /without completion and without confirmed progress \(progress unknown in 2\)/);
    assert.deepEqual(progress(loop), ['unknown', 'unknown']);
  });
});

test('an iteration beyond its time limit gets no further call and ends the loop as timeout', async () => {
  const late = delay(1_100, bash('touch late'));
  const script = steps([late, text('I have not come far.')]);
  await inTaskFolder({ standIn: !IS_LONG, ralph: ralph('timeout: 1') }, script, async (loop) => {
    const run = await loop.run();
    assert.equal(run.code, 1, run.said);
    assert.equal(loop.workspace.has('late'), false);
    assert.match(
      loop.told()[1] ?? '',
      /\[blocked by guardrail: timeout\] Time is up: end your message with what is done/,
    );
    assert.equal(loop.project.ended().as, 'timeout');
    assert.match(run.said, /Stopped: iteration 1 timed out after 1s/);
    assert.deepEqual(
      loop.records().map(({ status }) => status),
      ['timeout'],
    );
    assert.equal(loop.status().status, 'timeout');
    assert.equal(loop.project.calls()[0]?.['rule'], 'timeout');
  });
});

longTest('with stop_on_error off the next prompt reports a timed-out iteration, and the loop continues', async () => {
  const late = delay(1_100, bash('touch late'));
  const script = steps([late, text('One.'), late, text('Two.')]);
  const frontmatter = 'timeout: 1\nstop_on_error: false\nmax_iterations: 2';
  await inTaskFolder({ standIn: true, ralph: ralph(frontmatter) }, script, async (loop) => {
    const run = await loop.run();
    assert.equal(run.code, 2, run.said);
    assert.equal(loop.workspace.has('late'), false);
    assert.match(loop.told()[2] ?? '', /Your last iteration timed out \(timeout: 1s\)/);
    assert.deepEqual(
      loop.records().map(({ status }) => status),
      ['timeout', 'timeout'],
    );
  });
});

longTest('a late promise still counts if the gate passes', async () => {
  const files = { 'my-task/OPEN_QUESTIONS.md': '# P0\n' };
  const script = steps([delay(1_100, text('It was long, and is done.\n\n<promise>DONE</promise>'))]);
  const frontmatter = 'timeout: 1\ncompletion_promise: DONE';
  await inTaskFolder({ standIn: true, ralph: ralph(frontmatter), files }, script, async (loop) => {
    const run = await loop.run();
    assert.equal(run.code, 0, run.said);
    assert.deepEqual([loop.project.ended().as, loop.project.ended().verified], ['complete', false]);
  });
});

test('the delay between iterations is waited for, and evidence and task are read after it', async () => {
  // Time enough, too, to write two files in it.
  const frontmatter = 'inter_iteration_delay: 10\nmax_iterations: 3\ncommands: [{ name: news, run: cat news.txt }]';
  const body = (word: string) => ralph(frontmatter, `${word}: {{ commands.news }}`);
  const files = { 'news.txt': 'old\n' };
  const script = steps([text('one'), text('two'), text('three')]);
  await inTaskFolder({ standIn: !IS_LONG, ralph: body('First'), files }, script, async (loop) => {
    const { workspace, project } = loop;
    const running = loop.start();
    await until('the loop waits', () => waiting(loop));
    workspace.write('news.txt', 'new\n');
    workspace.write('my-task/RALPH.md', body('Second'));
    const run = await running.done;
    assert.equal(run.code, 2, run.said);
    const [first = '', second = ''] = loop.told();
    assert.match(first, /^First: old$/m);
    assert.match(second, /^Second: new$/m);
    assert.deepEqual(
      project.events('pace.ended').map(({ why }) => why),
      ['the delay is over', 'the delay is over'],
    );
    for (const [index, ended] of project.events('pace.ended').entries()) {
      const completed = project.events('iteration.completed')[index];
      const waited = Date.parse(String(ended['at'])) - Date.parse(String(completed?.['at']));
      assert.ok(waited >= 10_000, `it waited ${waited} ms`);
    }
  });
});

longTest('a user wakes a loop from a long delay between iterations', async () => {
  const frontmatter = 'inter_iteration_delay: 600\nmax_iterations: 2';
  await inTaskFolder({ standIn: true, ralph: ralph(frontmatter) }, steps([text('one'), text('two')]), async (loop) => {
    const running = loop.start();
    await until('the loop waits', () => waiting(loop));
    await until('its folder says so', () => loop.status().status === 'waiting');
    assert.match(loop.project.main(['status', 'my-task', '--json']).stdout, /"waitingFor": "pace"/);
    const wake = loop.project.main(['wake', '--loop', 'my-task']);
    assert.equal(wake.code, 0, wake.stderr);
    const run = await running.done;
    assert.equal(run.code, 2, run.said);
    assert.deepEqual(
      loop.project.events('pace.ended').map(({ why }) => why),
      ['woken'],
    );
  });
});

longTest('an idle task folder calls no model until the output of its commands changes', async () => {
  const frontmatter = `max_iterations: 3
completion_promise: DONE
idle: { delay: 200ms, backoff: 1, max: 1h, wake: change }
commands: [{ name: inbox, run: cat /dev/null inbox.txt && echo looked >> looks.log }]`;
  const files = { 'inbox.txt': 'empty\n', 'my-task/OPEN_QUESTIONS.md': '# P0\n' };
  const script = steps([text('Nothing to do.\n\n<!-- ralph:state idle -->'), text('<promise>DONE</promise>')]);
  await inTaskFolder(
    { standIn: true, ralph: ralph(frontmatter, 'Look: {{ commands.inbox }}'), files },
    script,
    async (loop) => {
      const { workspace, project } = loop;
      const running = loop.start();
      const looks = (): number => (workspace.has('looks.log') ? workspace.read('looks.log').split('\n').length - 1 : 0);
      await until('it has looked three times', () => looks() >= 4);
      assert.equal(project.model.mainRequests().length, 1);
      workspace.write('inbox.txt', 'news\n');
      const run = await running.done;
      assert.equal(run.code, 0, run.said);
      assert.match(loop.told()[1] ?? '', /^Look: news$/m);
      assert.deepEqual(
        loop.records().map(({ status, iteration }) => [status, iteration]),
        [
          ['idle', 0],
          ['completed', 1],
        ],
      );
    },
  );
});

longTest('every prompt says how many items it is about, and every second one asks to reflect first', async () => {
  const frontmatter = 'items_per_iteration: 3\nreflect_every: 2\nmax_iterations: 4';
  const script = steps(['one', 'two', 'three', 'four'].map((word) => text(word)));
  await inTaskFolder({ standIn: true, ralph: ralph(frontmatter) }, script, async (loop) => {
    await loop.run();
    const told = loop.told();
    assert.deepEqual(
      told.map((prompt) => /## Pace\s+Do at most 3 items in this iteration/.test(prompt)),
      [true, true, true, true],
    );
    assert.deepEqual(
      told.map((prompt) => /## Reflect first/.test(prompt)),
      [false, true, false, true],
    );
  });
});

test('the agent gets its memory in every iteration, shortened if long, and never through a link', async () => {
  const long = `begin ${'word '.repeat(1_200)}end`;
  const memory = 'my-task/RALPH_PROGRESS.md';
  const script = steps([
    bash(`echo 'the first module is done' > ${memory}`),
    text('one'),
    bash(`printf %s '${long}' > ${memory}`),
    text('two'),
    bash(`rm ${memory} && ln -s ../secret.txt ${memory}`),
    text('three'),
    text('four'),
  ]);
  const files = { 'secret.txt': 'nobody is shown this\n' };
  await inTaskFolder({ standIn: true, ralph: ralph('max_iterations: 4'), files, git: true }, script, async (loop) => {
    const run = await loop.run();
    assert.equal(run.code, 2, run.said);
    const [first = '', , second = '', , third = '', , fourth = ''] = loop.told();
    assert.match(first, /my-task\/RALPH_PROGRESS\.md is empty/);
    assert.match(second, /## Your memory: my-task\/RALPH_PROGRESS\.md\s+the first module is done/);
    const kept = /## Your memory: my-task\/RALPH_PROGRESS\.md\s+(begin[\s\S]*?)\n\nUpdate it/.exec(third)?.[1];
    assert.ok(
      kept !== undefined && kept.length <= 4096 && kept.endsWith('end'),
      `${kept?.length}: ${kept?.slice(-80)}`,
    );
    assert.match(kept, /\d+ characters/);
    assert.match(fourth, /my-task\/RALPH_PROGRESS\.md is empty/);
    assert.ok(!loop.project.model.requests.some(({ body }) => JSON.stringify(body).includes('nobody is shown')));
  });
});

longTest('three failed shell commands in one iteration are reported in the next, two are not', async () => {
  const script = steps([
    ...[bash('exit 1'), bash('exit 2'), text('one')],
    ...[bash('exit 3'), bash('exit 4'), bash('false'), text('two')],
    text('three'),
  ]);
  await inTaskFolder({ standIn: true, ralph: ralph('max_iterations: 3') }, script, async (loop) => {
    await loop.run();
    const told = loop.told();
    assert.doesNotMatch(told[3] ?? '', /shell commands failed/);
    assert.match(
      told[7] ?? '',
      /3 shell commands failed in your last iteration\. Find the cause and change the approach/,
    );
  });
});
