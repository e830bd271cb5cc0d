import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { isRunning } from '../support/client/process-tree.ts';
import { inTaskFolder } from '../support/client/task-loop.ts';
import { bash, steps, text, tool } from '../support/model/scripted-model.ts';
import { longTest } from '../support/short-form.ts';

const ralph = (commands: string): string =>
  `---\nmax_iterations: 2\ncommands: ${commands}\n---\n# The task\n\nLook:\n\n{{ commands.long }}\n\n## At last\n\nDo the work.\n`;
const lines = (from: number, to: number): string => `[{ name: long, run: "seq -f 'line %04g of it' ${from} ${to}" }]`;
const whole = 'my-task/.ralph-runner/prompt.md';

test('evidence of 60 KB is sent back as a pointer to a file with the prompt, which the agent can read', async () => {
  const script = (workspace: { readonly project: string }) =>
    steps([
      text('one'),
      tool('Read', { file_path: `${workspace.project}/${whole}` }),
      bash(`echo forged > ${whole}`),
      text('two'),
    ]);
  await inTaskFolder({ standIn: true, ralph: ralph(lines(1, 3600)) }, script, async (loop) => {
    const run = await loop.run();
    assert.equal(run.code, 2, run.said);
    const [first = '', second = '', read = '', written = ''] = loop.told();
    assert.match(first, /Iteration 1 of 2/);
    assert.match(first, /line 0001 of it[\s\S]*line 3600 of it/, 'a launcher hands even that over');

    assert.match(
      second,
      /Iteration 2 of 2[\s\S]*Read my-task\/\.ralph-runner\/prompt\.md now, in full \(\d+ characters\)/,
    );
    assert.match(second, /Its sections:[\s\S]*# The task\n## At last/);
    assert.ok(second.length < 4_000, `${second.length}`);
    assert.doesNotMatch(second, /line 0001 of it/);

    const prompt = loop.workspace.read(whole);
    assert.match(prompt, /Iteration 2 of 2/);
    assert.match(prompt, /^line 0001 of it$/m);
    assert.match(prompt, /^line 3600 of it\n\n## At last$/m);
    assert.match(prompt, /57,?600 bytes/, 'what was cut is told, with the size of the whole');
    assert.ok(prompt.length > 12_000 && prompt.length < 16_000, `${prompt.length}`);
    assert.match(read, /line 0001 of it[\s\S]*line 3600 of it/);
    assert.match(written, /\[blocked by guardrail: own-files\]/);

    const [record] = loop.records()[0]?.commands ?? [];
    assert.deepEqual([record?.bytes, record?.truncated, record?.outcome], [3600 * 16, true, 'ok']);
    assert.ok((record?.preview.length ?? 501) <= 500);
    assert.match(loop.transcript('002'), /line 3600 of it/);
  });
});

longTest('evidence of 6 KB is sent back whole, as context beside a short reason', async () => {
  await inTaskFolder(
    { standIn: true, ralph: ralph(lines(1, 375)) },
    steps([text('one'), text('two')]),
    async (loop) => {
      const run = await loop.run();
      assert.equal(run.code, 2, run.said);
      const second = loop.told()[1] ?? '';
      assert.match(second, /Continue: the task is in the context/);
      assert.equal(second.match(/^line 0001 of it$/gm)?.length, 1, 'once: a reason would reach the model twice');
      assert.match(second, /^line 0375 of it$/m);
      assert.doesNotMatch(second, /bytes/);
      assert.deepEqual(
        loop.records().map(({ commands }) => commands[0]?.truncated),
        [false, false],
      );
    },
  );
});

test('a first prompt that exceeds the argument list is sent as a pointer too', async () => {
  const euros = (name: string): string => `{ name: ${name}, run: "yes '€€€€€€€€€' | head -c 60000" }`;
  const commands = `[${['long', 'b', 'c', 'd'].map(euros).join(', ')}]`;
  const body = `${ralph(commands)}{{ commands.b }}{{ commands.c }}{{ commands.d }}\n`;
  await inTaskFolder({ standIn: true, ralph: body }, steps([text('one')]), async (loop) => {
    const run = await loop.run({ args: ['--max-iterations', '1'] });
    assert.equal(run.code, 2, run.said);
    assert.match(loop.told()[0] ?? '', /Iteration 1 of 1[\s\S]*Read my-task\/\.ralph-runner\/prompt\.md now, in full/);
    assert.ok(Buffer.byteLength(loop.workspace.read(whole)) > 100 * 1024);
  });
});

test('a command that runs out of time is ended with everything it started, and reported', async () => {
  const left = `tail -s 58.${process.pid} -f /dev/null`;
  // It notes that what it has put into the background runs: nobody has to look at it at the right moment.
  const seen = `until grep -q ^tail /proc/$!/cmdline; do :; done; touch seen`;
  const commands = `[{ name: long, run: "echo begun; ${left} & ${seen}; ${left}", timeout: 9 }, { name: after, run: echo well }]`;
  await inTaskFolder({ standIn: true, ralph: ralph(commands) }, steps([text('one')]), async (loop) => {
    const run = await loop.run({ args: ['--max-iterations', '1'] });
    assert.equal(run.code, 2, run.said);
    assert.equal(loop.workspace.has('seen'), true, 'control: the command ran');
    assert.equal(isRunning(left), false);
    assert.match(loop.told()[0] ?? '', /^begun\n\[timed out after 9s\]$/m);
    assert.deepEqual(
      loop.records()[0]?.commands.map(({ name, outcome }) => [name, outcome]),
      [
        ['long', 'timeout'],
        ['after', 'ok'],
      ],
    );
  });
});

longTest('the output of a command is never expanded, and a comment in it stays', async () => {
  const commands =
    '[{ name: long, run: "cat shown.txt" }, { name: other, run: echo the-other }]\nargs: [owner]\ncompletion_promise: DONE';
  const files = { 'shown.txt': '{{ commands.other }} {{ args.owner }} <!-- stays -->\n' };
  await inTaskFolder({ standIn: true, ralph: ralph(commands), files }, steps([text('one')]), async (loop) => {
    await loop.run({ args: ['--max-iterations', '1', '--arg', 'owner=Ada'] });
    assert.match(loop.told()[0] ?? '', /^\{\{ commands\.other \}\} \{\{ args\.owner \}\} <!-- stays -->$/m);
    assert.doesNotMatch(loop.told()[0] ?? '', /the-other/);
  });
});

test('a secret in the output of a command is masked in the prompt and in everything that is stored', async () => {
  const secret = 'sk-ant-api03-0123456789abcdefghij';
  const files = { 'shown.txt': `API_KEY=${secret}\n` };
  const commands = '[{ name: long, run: cat shown.txt }]';
  await inTaskFolder(
    { standIn: true, ralph: ralph(commands), files },
    steps([text(`I saw ${secret}.`)]),
    async (loop) => {
      await loop.run({ args: ['--max-iterations', '1'] });
      assert.match(loop.told()[0] ?? '', /^API_KEY=\S+$/m, 'control: the output was shown');
      assert.ok(!loop.told()[0]?.includes(secret));
      const run = loop.workspace.path(loop.inside('.ralph-runner'));
      const kept = readdirSync(run, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
      assert.ok(kept.length >= 5);
      for (const { name, parentPath } of kept) {
        assert.ok(!readFileSync(join(parentPath, name), 'utf8').includes(secret), name);
      }
    },
  );
});
