import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CommandRun } from '../support/client/loop-project.ts';
import { isRunning } from '../support/client/process-tree.ts';
import { inTaskFolder, type TaskLoop, type TaskLoopOptions } from '../support/client/task-loop.ts';
import { bash, type Step, steps, text } from '../support/model/scripted-model.ts';
import { IS_LONG, longTest, someOf } from '../support/short-form.ts';
import { until } from '../support/until.ts';

const ralph = (frontmatter: string, body = 'Do the work.'): string => `---\n${frontmatter}\n---\n${body}\n`;

/** A task folder whose user does something while the model thinks about a step. */
const withUser = async (
  options: TaskLoopOptions,
  list: (user: (act: (loop: TaskLoop) => void, then: Step) => Step) => readonly Step[],
  body: (loop: TaskLoop) => Promise<void>,
): Promise<void> => {
  let known: TaskLoop | undefined;
  const user = (act: (loop: TaskLoop) => void, then: Step): Step => {
    return (request) => {
      if (known !== undefined) act(known);
      return typeof then === 'function' ? then(request) : then;
    };
  };
  await inTaskFolder(options, steps(list(user)), (loop) => {
    known = loop;
    return body(loop);
  });
};

const given = (loop: TaskLoop, ...args: string[]): CommandRun => {
  const done = loop.project.main(args);
  assert.equal(done.code, 0, `${args}: ${done.stderr}`);
  return done;
};

const flag = (name: string) => (loop: TaskLoop) =>
  void loop.workspace.write(loop.inside(`.ralph-runner/${name}.flag`), '');

test('a stop flag in the task folder ends the loop after the current iteration and is removed', async () => {
  await withUser(
    { standIn: true, ralph: ralph('max_iterations: 9') },
    (user) => [text('one'), user(flag('stop'), bash('touch after')), text('two')],
    async (loop) => {
      const run = await loop.run();
      assert.equal(run.code, 3, run.said);
      assert.equal(loop.project.ended().as, 'stopped');
      assert.match(run.said, /Stopped by the file stop\.flag after 2 iterations/);
      assert.equal(loop.workspace.has('after'), true);
      assert.equal(loop.workspace.has('my-task/.ralph-runner/stop.flag'), false);
      assert.deepEqual([loop.status().status, loop.records().length], ['stopped', 2]);
    },
  );
});

longTest('a cancel flag in the task folder ends the loop when the turn ends, without counting it', async () => {
  await withUser(
    { standIn: true, ralph: ralph('max_iterations: 9') },
    (user) => [text('one'), user(flag('cancel'), text('two'))],
    async (loop) => {
      const run = await loop.run();
      assert.equal(run.code, 130, run.said);
      assert.equal(loop.project.ended().as, 'cancelled');
      assert.equal(loop.workspace.has('my-task/.ralph-runner/cancel.flag'), false);
      assert.deepEqual([loop.status().status, loop.status().iteration, loop.records().length], ['cancelled', 1, 1]);
    },
  );
});

test('a cancel flag in the task folder refuses the next tool call, and the turn ends', async () => {
  await withUser(
    { standIn: !IS_LONG, ralph: ralph('max_iterations: 9') },
    (user) => [text('one'), user(flag('cancel'), bash('touch after'))],
    async (loop) => {
      const run = await loop.run();
      assert.equal(run.code, 130, run.said);
      assert.deepEqual([loop.workspace.has('after'), loop.records().length], [false, 1]);
      assert.match(loop.project.ended().message, /Cancelled by the file cancel\.flag during iteration 2\./);
      assert.equal(loop.status().status, 'cancelled');
    },
  );
});

longTest('flags from an earlier run do not affect a new one', async () => {
  const script = steps([text('one'), text('two')]);
  await inTaskFolder({ standIn: true, ralph: ralph('max_iterations: 2') }, script, async (loop) => {
    for (const name of ['stop', 'cancel']) flag(name)(loop);
    const run = await loop.run();
    assert.equal(run.code, 2, run.said);
    assert.equal(loop.records().length, 2);
    for (const name of ['stop', 'cancel'])
      assert.equal(loop.workspace.has(`my-task/.ralph-runner/${name}.flag`), false, name);
  });
});

longTest('status, stop and resume accept the path of the task folder, during its loop and afterwards', async () => {
  const seen: string[] = [];
  const refused: CommandRun[] = [];
  const look = (loop: TaskLoop) => {
    seen.push(
      given(loop, 'status', 'my-task', '--json').stdout,
      given(loop, 'status', 'my-task/RALPH.md', '--json').stdout,
    );
    refused.push(loop.project.main(['resume', 'my-task']), loop.project.main(['stop', 'elsewhere']));
    given(loop, 'stop', 'my-task');
  };
  const options = { standIn: true, ralph: ralph('max_iterations: 9\ncommands: [{ name: list, run: ls }]') };
  await withUser(
    options,
    (user) => [text('one'), user(look, text('two')), text('anew'), text('anew again')],
    async (loop) => {
      const run = await loop.run();
      assert.equal(run.code, 3, run.said);
      for (const stdout of seen) {
        const { active, name, iteration, run: folder } = JSON.parse(stdout);
        assert.deepEqual({ active, name, iteration }, { active: true, name: 'my-task', iteration: 1 });
        assert.deepEqual([folder.status.status, folder.lastIteration.iteration], ['running', 1]);
      }
      assert.deepEqual(
        refused.map(({ code }) => code),
        [1, 1],
      );
      assert.match(refused[0]?.stderr ?? '', /a loop on my-task is active \(running\)\. End it first/);
      assert.match(refused[1]?.stderr ?? '', /no live loop is working on elsewhere/);

      const after = JSON.parse(given(loop, 'status', 'my-task', '--json').stdout);
      assert.deepEqual(
        [after.active, after.lastLoop.status, after.run.status.status, after.run.lastIteration.iteration],
        [false, 'stopped', 'stopped', 2],
      );
      const nothing = loop.project.main(['stop', 'my-task']);
      assert.match(nothing.stderr, /no live loop is working on my-task/);

      const launch = ['--launch', '--headless', '--permission-mode', 'bypassPermissions', '--max-iterations', '2'];
      const resumed = loop.project.start({ command: ['resume', './my-task', ...launch] });
      const second = await resumed.done;
      assert.equal(second.code, 2, second.said);
      assert.match(loop.told()[2] ?? '', /Iteration 1 of 2/, 'a new run, with counters of its own');
      assert.deepEqual(
        loop.project.archive().map(({ state }) => [state['status'], state['iteration']]),
        [
          ['ended', 2],
          ['ended', 2],
        ],
      );
      assert.equal(loop.records().length, 4, 'its journal goes on');
    },
  );
});

longTest('cancel with the path ends the loop at the next tool call', async () => {
  await withUser(
    { standIn: true, ralph: ralph('max_iterations: 9') },
    (user) => [bash('touch before'), user((loop) => void given(loop, 'cancel', 'my-task'), bash('touch after'))],
    async (loop) => {
      const run = await loop.run();
      assert.equal(run.code, 130, run.said);
      assert.equal(loop.project.ended().as, 'cancelled');
      assert.deepEqual([loop.workspace.has('before'), loop.workspace.has('after')], [true, false]);
      assert.equal(loop.status().status, 'cancelled');
      assert.equal(loop.project.model.mainRequests().length, 2);
    },
  );
});

let commands = 0;
/** A command of the task that shows something where a file is, and else runs on. */
const endless = (): string => `sleep 600.${process.pid}${commands++}`;
const showing = (command: string): string =>
  ralph(`commands: [{ name: look, run: "cat go || ${command}", timeout: 300 }]`);

const WORDS = [
  ['cancel', 130, 'cancelled'],
  ['stop', 3, 'stopped'],
  ['pause', 3, 'paused'],
] as const;

for (const [word, code, status] of someOf(WORDS, 3)) {
  test(`${word}, while the first commands of the task run, ends them and starts no client`, async () => {
    const command = endless();
    await inTaskFolder({ standIn: true, ralph: showing(command) }, steps([]), async (loop) => {
      const running = loop.start();
      await until('control: the command runs', () => isRunning(command));
      given(loop, word, '--loop', 'my-task');
      const run = await running.done;
      assert.equal(run.code, code, run.said);
      assert.equal(isRunning(command), false);
      assert.equal(loop.project.model.requests.length, 0);
      assert.equal(loop.status().status, status);
    });
  });
}

for (const [word, code, status] of someOf(WORDS, 3, 2)) {
  test(`${word}, while the commands of a later iteration run, ends them and takes effect next`, async () => {
    const command = endless();
    const script = steps([bash('rm go'), text('one')]);
    await inTaskFolder({ standIn: true, ralph: showing(command), files: { go: 'went\n' } }, script, async (loop) => {
      const running = loop.start();
      await until('control: the command runs', () => isRunning(command));
      given(loop, word, '--loop', 'my-task');
      const run = await running.done;
      assert.equal(run.code, code, run.said);
      assert.equal(isRunning(command), false);
      assert.equal(loop.project.model.mainRequests().length, 2);
      assert.equal(loop.status().status, status);
    });
  });
}

longTest(
  'a message during the first commands of the task is kept for the prompt after the one in preparation',
  async () => {
    const waits = 'echo began > began; until test -f go; do sleep 0.1; done';
    const folder = ralph(
      `max_iterations: 2\nreinject: context\ncommands: [{ name: look, run: "${waits}", timeout: 300 }]`,
    );
    await inTaskFolder({ standIn: true, ralph: folder }, steps([text('one'), text('two')]), async (loop) => {
      const running = loop.start();
      await until('the command runs', () => loop.workspace.has('began'));
      given(loop, 'steer', '--next', '--loop', 'my-task', 'Then the RED-DOOR.');
      loop.workspace.write('go', '');
      const run = await running.done;
      loop.project.model.check();
      assert.equal(run.code, 2, run.said);
      const heard = loop.project.model.mainRequests().map(({ sinceText }) => sinceText.split('RED-DOOR').length - 1);
      assert.deepEqual(heard, [0, 1]);
    });
  },
);

/** The same at the gate. */
const accepting = (command: string): string =>
  ralph(
    `completion_promise: DONE\ncommands: [{ name: look, run: "cat go || ${command}", timeout: 300, acceptance: true }]`,
  );
const atTheGate = { go: 'went\n', 'my-task/OPEN_QUESTIONS.md': '# P0\n' };
const claim = () => steps([bash('rm go'), text('<promise>DONE</promise>')]);

longTest('cancel, while an acceptance command runs, ends it', async () => {
  const command = endless();
  await inTaskFolder({ standIn: true, ralph: accepting(command), files: atTheGate }, claim(), async (loop) => {
    const running = loop.start();
    await until('control: the command runs', () => isRunning(command));
    given(loop, 'cancel', 'my-task');
    const run = await running.done;
    assert.equal(run.code, 130, run.said);
    assert.equal(isRunning(command), false);
    assert.equal(loop.status().status, 'cancelled');
  });
});

test('stop, while an acceptance command runs, lets it finish: a valid claim completes the loop', async () => {
  // It goes on for longer than the driver's looks are apart.
  const slow = '{ touch begun; until [ -e later ]; do sleep 0.05; done; sleep 1; }';
  await inTaskFolder({ standIn: !IS_LONG, ralph: accepting(slow), files: atTheGate }, claim(), async (loop) => {
    const running = loop.start();
    await until('the command runs', () => loop.workspace.has('begun'));
    given(loop, 'stop', 'my-task');
    loop.workspace.write('later', '');
    const run = await running.done;
    assert.equal(run.code, 0, run.said);
    assert.deepEqual([loop.project.ended().as, loop.project.ended().verified], ['complete', true]);
  });
});
