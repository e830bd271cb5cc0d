import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runClient } from '../support/client/client.ts';
import { CLIENT } from '../support/client/client-facts.ts';
import { inLoopProject } from '../support/client/loop-project.ts';
import { type Script, text } from '../support/model/scripted-model.ts';
import { longTest } from '../support/short-form.ts';

/** Another text each time, and no tool call: what the client's own cap on blocks counts. */
const talker: Script = { main: ({ index }) => text(`Thought number ${index + 1} about the work, unlike the others.`) };

test('ten iterations without a tool call are ten turns and nine re-injections, beyond the cap on blocks', async () => {
  await inLoopProject({ frontmatter: 'max_iterations: 10' }, talker, async (project) => {
    const run = await project.run();
    const requests = project.model.mainRequests();
    assert.equal(requests.length, 10);
    const sent = requests.map(({ sinceText }) => /\[ralph\] Iteration (\d+) of 10\./.exec(sinceText)?.[1]);
    assert.deepEqual(
      sent,
      requests.map((_, index) => String(index + 1)),
    );
    assert.equal(project.iterations().length, 10);
    assert.equal(project.ended().as, 'max-iterations');
    assert.equal(run.code, 2);
    assert.match(run.said, /Stopped after 10 iterations, the limit/);
  });
});

test("under the client's own cap on blocks the loop ends early, and the next prompt tells the user why", async () => {
  await inLoopProject({ frontmatter: 'max_iterations: 25' }, talker, async (project) => {
    const { loopId } = JSON.parse(project.main(['start', '--json']).stdout) as { loopId: string };
    const { env, ...settings } = project.settings(loopId);
    const { CLAUDE_CODE_STOP_HOOK_BLOCK_CAP: cap, ...uncapped } = env;
    assert.equal(cap, '0');
    const client = { workspace: project.workspace, model: project.model, settings: { ...settings, env: uncapped } };
    const first = await runClient({ ...client, prompt: 'begin' });
    assert.equal(project.model.mainRequests().length, 9, 'eight blocks, then the client overrides the ninth');
    assert.equal(first.result?.['result'], '');
    const session = String(project.state()?.['sessionId']);
    const second = await runClient({ ...client, prompt: 'and now?', args: ['--resume', session] });
    if (CLIENT.recordsStops) {
      assert.equal(project.events('block.overridden').length, 1);
      assert.match(second.stdout, /CLAUDE_CODE_STOP_HOOK_BLOCK_CAP=0/);
    } else {
      // Without the client's note the session goes on as one that a new client resumed, up to the cap again.
      assert.equal(project.state()?.['status'], 'running');
      assert.equal(project.model.mainRequests().length, 18);
      assert.equal(project.events('block.overridden').length, 0);
    }
  });
});

test('a Stop hook that is registered three times counts each turn once', async () => {
  await inLoopProject({ frontmatter: 'max_iterations: 3' }, talker, async (project) => {
    const [group] = project.settings('any').hooks.Stop ?? [];
    // Not settings.json, which init has written: a second source, with commands that the client takes for others.
    const again = ['second', 'third'].flatMap((name) =>
      (group?.hooks ?? []).map((hook) => ({ ...hook, command: `echo ${name} >> ../stops; ${hook.command}` })),
    );
    project.workspace.write('.claude/settings.local.json', { hooks: { Stop: [{ hooks: again }] } });
    const run = await project.run();
    assert.equal(run.code, 2, run.said);
    assert.deepEqual(
      project.iterations().map(({ iteration }) => iteration),
      [1, 2, 3],
    );
    assert.equal(project.model.mainRequests().length, 3);
    const ran = project.workspace.read('../stops').trim().split('\n').sort();
    assert.deepEqual(
      ran,
      ['second', 'third'].flatMap((name) => Array<string>(3).fill(name)),
      'control: the client ran both at each Stop',
    );
    const summaries = project.workspace
      .jsonLines(project.workspace.transcripts()[0] ?? '')
      .filter(({ subtype }) => subtype === 'stop_hook_summary');
    assert.equal(
      summaries[0]?.['hookCount'],
      CLIENT.recordsStops ? 4 : undefined,
      'control: and those of init and the launcher',
    );
  });
});

const LAST_WORDS = '<!-- ralph:state idle -->';

longTest('a plain prompt reaches the model with at most 1,000 characters of ours around it', async () => {
  const body = `# Audit\n\n${'Look at every file, note what is wrong, and fix it. '.repeat(20)}`.trim();
  const frontmatter = 'max_iterations: 3\nvalidation: [exit 0]\nidle: {delay: 1s}';
  await inLoopProject({ standIn: true, frontmatter, body }, talker, async (project) => {
    await project.run();
    const asked = project.model.mainRequests().map(({ sinceText }) => sinceText);
    assert.equal(asked.length, 3);
    const lengths = asked.map((text) => {
      const at = text.indexOf('[ralph] Iteration');
      // The client repeats the reason of a block, whole.
      const end = text.indexOf(LAST_WORDS, at) + LAST_WORDS.length;
      assert.ok(at >= 0 && text.slice(at, end).includes(body), text);
      return end - at - body.length;
    });
    for (const length of lengths) assert.ok(length <= 1_000, `${length} characters`);
  });
});
