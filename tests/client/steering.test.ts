import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inLoopProject, type LoopProject } from '../support/client/loop-project.ts';
import { bash, type Script, type Step, steps, text } from '../support/model/scripted-model.ts';
import { longTest } from '../support/short-form.ts';

const count = (text: string, part: string): number => text.split(part).length - 1;

/** The user acts in another terminal while the model thinks about this step. */
const inSteps = (list: (user: (args: string[]) => void) => readonly Step[]) => {
  let project: LoopProject | undefined;
  const script: Script = steps(
    list((args) => {
      const done = project?.main(args);
      assert.equal(done?.code, 0, `${args}: ${done?.stderr}`);
    }),
  );
  return { script, known: (found: LoopProject) => (project = found) };
};

const done = text('Done.\n\nRALPH_AUDIT_COMPLETE_NO_FINDINGS');
const told = (project: LoopProject): string[] => project.model.mainRequests().map(({ sinceText }) => sinceText);

test('steering during an iteration reaches the model at the next tool call, exactly once', async () => {
  const { script, known } = inSteps((user) => [
    bash('echo before'),
    () => {
      user(['steer', 'Use the BLUE-DOOR from now on.']);
      return bash('echo next');
    },
    bash('echo after'),
    text('one'),
    done,
  ]);
  await inLoopProject({ frontmatter: 'max_iterations: 4' }, script, async (project) => {
    known(project);
    const run = await project.run();
    project.model.check();
    assert.equal(run.code, 0, run.said);
    assert.deepEqual(
      told(project).map((text) => count(text, 'BLUE-DOOR')),
      [0, 0, 1, 0, 0],
    );
    assert.match(told(project)[2] ?? '', /The user says, to be followed from now on:\s+Use the BLUE-DOOR/);
    assert.equal(project.events('steering.delivered').length, 1);
  });
});

test('only one of parallel tool calls delivers the steering', async () => {
  const { script, known } = inSteps((user) => [
    () => {
      user(['steer', 'Use the BLUE-DOOR from now on.']);
      const calls = ['a', 'b', 'c', 'd'].map((name) => bash(`echo ${name}`));
      return { kind: 'message', blocks: calls.flatMap(({ blocks }) => blocks) };
    },
    text('one'),
    done,
  ]);
  await inLoopProject({ frontmatter: 'max_iterations: 4' }, script, async (project) => {
    known(project);
    await project.run();
    project.model.check();
    assert.deepEqual(
      told(project).map((text) => count(text, 'BLUE-DOOR')),
      [0, 1, 0],
    );
  });
});

longTest('steering that no tool call delivered comes with the next prompt, and --next always does', async () => {
  const { script, known } = inSteps((user) => [
    () => {
      user(['steer', '--next', 'Then the RED-DOOR.']);
      return bash('echo a call that must not bring it');
    },
    () => {
      user(['steer', 'First the BLUE-DOOR.']);
      return text('one, with no further call');
    },
    text('two'),
    done,
  ]);
  await inLoopProject(
    { standIn: true, frontmatter: 'reinject: context\nmax_iterations: 4' },
    script,
    async (project) => {
      known(project);
      const run = await project.run();
      project.model.check();
      assert.equal(run.code, 0, run.said);
      for (const door of ['RED-DOOR', 'BLUE-DOOR']) {
        assert.deepEqual(
          told(project).map((text) => count(text, door)),
          [0, 0, 1, 0],
          door,
        );
      }
      assert.match(told(project)[2] ?? '', /## The user says\s+Then the RED-DOOR\.\s+First the BLUE-DOOR\./);
    },
  );
});

test('after a cancel the next tool call does not run, and the turn ends there', async () => {
  const { script, known } = inSteps((user) => [
    bash('touch before'),
    () => {
      user(['cancel']);
      return bash('touch after');
    },
    text('never asked for'),
  ]);
  await inLoopProject({ frontmatter: 'max_iterations: 4' }, script, async (project) => {
    known(project);
    const run = await project.run();
    assert.equal(run.code, 130, run.said);
    assert.equal(project.ended().as, 'cancelled');
    assert.equal(project.workspace.has('before'), true);
    assert.equal(project.workspace.has('after'), false);
    assert.equal(project.model.mainRequests().length, 2);
    assert.equal(run.result?.['terminal_reason'], 'hook_stopped');
    assert.match(run.said, /Cancelled by the user during iteration 1\./);
  });
});

test('after a stop the agent finishes its iteration, and the loop ends there', async () => {
  const { script, known } = inSteps((user) => [
    text('one'),
    () => {
      user(['stop']);
      user(['steer', '--next', 'too late']);
      return bash('touch after');
    },
    text('two'),
    text('never asked for'),
  ]);
  await inLoopProject({ standIn: true, frontmatter: 'max_iterations: 4' }, script, async (project) => {
    known(project);
    const run = await project.run();
    assert.equal(run.code, 3, run.said);
    assert.equal(project.ended().as, 'stopped');
    assert.equal(project.workspace.has('after'), true);
    assert.equal(project.model.mainRequests().length, 3);
    assert.equal(project.iterations().length, 2);
    assert.match(run.said, /Stopped by the user after 2 iterations/);
    assert.match(run.said, /before the agent received your messages: "too late"/);
  });
});

longTest(
  'a loop paused during an iteration ends the turn, and start --resume continues with its counters',
  async () => {
    const { script, known } = inSteps((user) => [
      text('one'),
      () => {
        user(['pause']);
        return text('two');
      },
      done,
    ]);
    await inLoopProject({ standIn: true, frontmatter: 'max_iterations: 4' }, script, async (project) => {
      known(project);
      const run = await project.run();
      assert.equal(run.code, 3, run.said);
      assert.match(run.said, /Paused by the user/);
      assert.equal(project.state()?.['status'], 'paused');
      const resumed = await project.run({ args: ['--resume'] });
      project.model.check();
      assert.equal(resumed.code, 0, resumed.said);
      assert.equal(project.archive()[0]?.state['iteration'], 3, 'the turn that the agent finished is counted');
    });
  },
);

longTest('steering left by a stopped client comes with the first prompt of the next, once and in order', async () => {
  await inLoopProject(
    { standIn: true, frontmatter: 'reinject: context\nmax_iterations: 4' },
    steps([text('one'), text('two'), done]),
    async (project) => {
      assert.equal(project.main(['start', '--json']).code, 0);
      assert.equal(project.main(['steer', 'First the BLUE-DOOR.']).code, 0);
      assert.equal(project.main(['steer', '--next', 'Then the RED-DOOR.']).code, 0);
      const run = await project.run({ args: ['--resume'] });
      project.model.check();
      assert.equal(run.code, 0, run.said);
      assert.deepEqual(
        told(project).map((text) => count(text, 'RED-DOOR') + 10 * count(text, 'BLUE-DOOR')),
        [11, 0, 0],
      );
      assert.match(told(project)[0] ?? '', /BLUE-DOOR.*RED-DOOR/s);
    },
  );
});

longTest('the reasons of a rejected claim come with the first prompt of a resumed loop, once', async () => {
  const claim = (turn: string) => text(`${turn}\n\nRALPH_AUDIT_COMPLETE_NO_FINDINGS`);
  const frontmatter = 'validation: ["test -f made.txt"]\nreinject: context\nmax_iterations: 1';
  const script = steps([claim('one'), text('two'), bash('touch made.txt'), claim('three')]);
  await inLoopProject({ standIn: true, frontmatter }, script, async (project) => {
    const first = await project.run();
    assert.equal(first.code, 2, first.said);
    const run = await project.run({ args: ['--resume', '--max-iterations', '3'] });
    project.model.check();
    assert.equal(run.code, 0, run.said);
    assert.deepEqual(
      told(project).map((text) => count(text, 'Your claim of completion was rejected')),
      [0, 1, 0, 0],
    );
  });
});
