import '../../../support/starts-processes.ts';
import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe } from 'node:test';
import { type AgentTurn, assertRefused, EVERY_DRIVER, type Task } from '../../../support/drive/every-driver.ts';
import { someTests } from '../../../support/short-form.ts';

const TASK = '.ralph/site/task.md';

const list = (...items: readonly string[]): string =>
  `---\nvalidation: ["true"]\nmax_iterations: 3\n---\n# Goals\n\nA site.\n\n# Checklist\n\n${items.map((item) => `- ${item}\n`).join('')}`;

const checklist = (...items: readonly string[]): Task => ({ path: TASK, files: { [TASK]: list(...items) } });

const writes =
  (text: string, says = 'Some work.'): AgentTurn =>
  ({ directory }) => {
    writeFileSync(join(directory, TASK), text);
    return says;
  };

const edits =
  (change: (text: string) => string): AgentTurn =>
  ({ directory }) => {
    const path = join(directory, TASK);
    writeFileSync(path, change(readFileSync(path, 'utf8')));
    return 'Some work.';
  };

const checksAll = edits((text) => text.replaceAll('- [ ]', '- [x]'));
const THREE = ['[ ] Write the parser', '[ ] Test the parser', '[ ] Document the parser'];

/** Does the work of the items besides: boxes alone prove nothing. */
const works =
  (turn: AgentTurn): AgentTurn =>
  (project) => {
    writeFileSync(join(project.directory, 'parser.js'), 'export const parse = () => null;\n');
    return turn(project);
  };

// In the short form each case is played by one driver.
for (const [nth, [driver, run]] of Object.entries(EVERY_DRIVER).entries()) {
  const some = someTests(3, nth);
  describe(`in the ${driver}, a checklist`, () => {
    some('is complete at the first honest claim', async (t) => {
      const became = await run(t, checklist(...THREE), [works(checksAll)]);
      assert.deepEqual([became.status, became.verified, became.turns], ['complete', true, 1]);
    });

    some('whose boxes are checked without any work completes unverified', async (t) => {
      const became = await run(t, checklist(...THREE), [checksAll]);
      assert.deepEqual([became.status, became.verified, became.proof], ['complete', false, 'none']);
    });

    some('to which the user adds an item while the checks run goes on', async (t) => {
      const late = `[ ! -f parser.js ] || [ -f late ] || { touch late; echo '- [ ] Late' >> ${TASK}; }`;
      const text = list(...THREE).replace('"true"', JSON.stringify(late));
      const became = await run(t, { path: TASK, files: { [TASK]: text } }, [works(checksAll), works(checksAll)]);
      assert.deepEqual([became.status, became.verified, became.turns], ['complete', true, 2]);
      assert.match(became.prompts[0] ?? '', /Late/);
    });

    some('whose items have marks that are no x is not complete', async (t) => {
      const task = checklist('[ ] First', '[~] Second', '[-] Third');
      const became = await run(t, task, [checksAll]);
      assertRefused(became);
      assert.match(became.prompts[0] ?? '', /Checklist: 1 of 3\n\nNext:\n- Second/);
    });

    some('whose item goes from open to another mark has lost none', async (t) => {
      const marks = edits((text) => text.replace('- [ ] Test', '- [~] Test'));
      const became = await run(t, checklist(...THREE), [marks, checksAll]);
      assertRefused(became);
      assert.doesNotMatch(became.prompts.join('\n'), /missing/);
      assert.match(became.prompts[0] ?? '', /Checklist: 0 of 3/);
    });

    some('that was replaced by another one is not complete, and its items are named', async (t) => {
      const became = await run(t, checklist(...THREE), [writes(list('[x] a', '[x] b', '[x] c'))]);
      assertRefused(became);
      for (const item of THREE) assert.ok(became.prompts[0]?.includes(`- ${item.slice(4)}`), item);
    });

    some('whose items were merged into one is not complete', async (t) => {
      const merged = writes(list('[x] Write the parser, test the parser, document the parser'));
      assertRefused(await run(t, checklist(...THREE), [merged]));
    });

    some('is complete once its lost items are back, one of them checked with a reason', async (t) => {
      const loses = writes(list('[x] Write the parser'));
      const restores = edits(
        (text) => `${text}- [x] **Test the parser**: not needed, the compiler does\n- [x] Document the parser\n`,
      );
      const became = await run(t, checklist(...THREE), [loses, works(restores)]);
      assert.deepEqual([became.status, became.verified, became.turns], ['complete', true, 2]);
    });

    some('is held by an item that was added later and then deleted', async (t) => {
      const adds = edits((text) => `${text}- [ ] Fix the leak\n`);
      const drops = edits((text) => text.replace('- [ ] Fix the leak\n', '').replaceAll('- [ ]', '- [x]'));
      const became = await run(t, checklist(...THREE), [adds, drops]);
      assertRefused(became);
      assert.match(became.prompts[1] ?? '', /1 item of the list is missing[^\n]*\n- Fix the leak/);
    });

    for (const broken of ['[] Fix the leak', '[ x ] Fix the leak', '[ ]Fix the leak']) {
      some(`is held by "- ${broken}", which looks like an item and is none`, async (t) => {
        const adds = edits((text) => `${text}- ${broken}\n`.replaceAll('- [ ] ', '- [x] '));
        const became = await run(t, checklist(...THREE), [adds]);
        assertRefused(became);
        assert.match(became.prompts[0] ?? '', /Line 14 of \.ralph\/site\/task\.md looks like an item/);
      });
    }

    some('with open items refuses a promise, and names them', async (t) => {
      const promised = list(...THREE).replace('max_it', 'completion_promise: DONE\ncompletion_gate: optional\nmax_it');
      const task: Task = { path: TASK, files: { [TASK]: promised } };
      const became = await run(t, task, [() => 'All done.\n\n<promise>DONE</promise>']);
      assertRefused(became);
      assert.match(became.prompts[0] ?? '', /3 of its 3 items are open: "Write the parser"/);
    });

    for (const [what, spoil] of [
      ['deleted', (path: string) => rmSync(path)],
      ['emptied', (path: string) => writeFileSync(path, '')],
      [
        'replaced',
        (path: string) => writeFileSync(path, readFileSync(path, 'utf8').replace(/"items":\[[^\]]*\]/, '"items":[]')),
      ],
    ] as const)
      some(`is never complete once the record of its items was ${what}`, async (t) => {
        let message = '';
        const became = run(t, checklist(...THREE), [
          (project) => {
            writeFileSync(join(project.directory, TASK), list('[x] Write the parser'));
            spoil(project.files.seen);
            return 'All that is left is checked.';
          },
        ]);
        const status = await became.then(
          ({ status: said }) => said,
          (error: Error) => {
            message = error.message;
            return 'failed';
          },
        );
        assert.notEqual(status, 'complete', message);
      });

    some('cannot be forgotten by rewriting the state in the project', async (t) => {
      const loses: AgentTurn = (project) => {
        writeFileSync(join(project.directory, TASK), list('[x] Write the parser'));
        const path = project.files.state;
        const state = JSON.parse(readFileSync(path, 'utf8'));
        writeFileSync(path, JSON.stringify({ ...state, checklist: { done: 0, total: 1, most: 1 }, announced: [] }));
        return 'All that is left is checked.';
      };
      const became = await run(t, checklist(...THREE), [loses]);
      assertRefused(became);
    });
  });
}
