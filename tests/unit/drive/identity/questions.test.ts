import '../../../support/starts-processes.ts';
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe } from 'node:test';
import { put } from '../../../support/drive/drive-project.ts';
import { type AgentTurn, assertRefused, EVERY_DRIVER, type Task } from '../../../support/drive/every-driver.ts';
import { someTests } from '../../../support/short-form.ts';

const QUESTIONS = 'job/OPEN_QUESTIONS.md';
const DONE = 'Done.\n\n<promise>DONE</promise>';
const P0 = '## P0\n\n- [ ] Which store?\n\n## P1\n\n- [ ] Which port?\n';

const task = (questions: string | null, keys = 'open_questions: optional'): Task => ({
  path: 'job',
  files: {
    'job/RALPH.md': `---\nvalidation: ["true"]\ncompletion_promise: DONE\n${keys}\nmax_iterations: 3\n---\nWork.\n`,
    ...(questions !== null && { [QUESTIONS]: questions }),
  },
});

const claims =
  (questions: string): AgentTurn =>
  ({ directory }) => {
    put(join(directory, QUESTIONS), questions);
    put(join(directory, 'src/port.js'), 'work\n');
    return DONE;
  };

// In the short form each case is played by one driver.
for (const [nth, [driver, run]] of Object.entries(EVERY_DRIVER).entries()) {
  const some = someTests(3, nth);
  describe(`in the ${driver}, questions`, () => {
    for (const [where, answered] of [
      ['behind them', '## P0\n\n- [x] Which store? Postgres.\n\n## P1\n\n- [x] Which port? – 8080\n'],
      ['below them', '## P0\n\n- [x] Which store?\n  - Postgres\n\n## P1\n\n- [x] Which port?\n\n  It is 8080.\n'],
      [
        'in another section',
        '## P0\n\n## P1\n\n## Answered\n\n- [x] Which store? Postgres\n- [x] **Which port?** 8080\n',
      ],
    ] as const) {
      some(`with answers ${where} are accepted at the first claim`, async (t) => {
        const became = await run(t, task(P0), [claims(answered)]);
        assert.deepEqual([became.status, became.verified, became.turns], ['complete', true, 1]);
      });
    }

    for (const [what, text, said] of [
      ['emptied', '', /2 entries were open[^\n]*"Which store\?", "Which port\?"/],
      ['taken out', '# Open questions\n\n## P0\n\nNone.\n\n## P1\n', /2 entries were open/],
      [
        'demoted',
        P0.replace('P0', 'P2').replace('P1', 'P3'),
        /moved without an answer: "Which store\?", "Which port\?"/,
      ],
      ['moved to notes', '## Later\n\n- Which store?\n- Which port?\n', /moved without an answer/],
      ['checked without an answer', P0.replaceAll('[ ]', '[x]'), /Checked without an answer[^\n]*"Which store\?"/],
      ['checked and set aside', P0.replaceAll('[ ]', '[x]').replaceAll('?', '? TBD'), /Checked without an answer/],
      [
        'checked above a rule',
        P0.replaceAll('[ ]', '[x]').replaceAll('?\n', '?\n\n---\n'),
        /Checked without an answer/,
      ],
      [
        'checked above a comment',
        P0.replaceAll('[ ]', '[x]').replaceAll('?\n', '?\n\n<!-- a -->\n'),
        /without an answer/,
      ],
      ['checked with dots', P0.replaceAll('[ ]', '[x]').replaceAll('?', '? - ...'), /Checked without an answer/],
      ['repeated', P0.replaceAll(/\[ \] (.*)/g, '[x] $1 $1'), /Checked without an answer/],
      ['reworded', '## P0\n\n- [x] Nothing open\n- [x] Nothing else\n', /2 entries were open/],
    ] as const) {
      some(`that were ${what} hold the claim`, async (t) => {
        const became = await run(t, task(P0), [claims(text)]);
        assertRefused(became);
        assert.match(became.prompts[0] ?? '', said);
      });
    }

    some('in a file that is gone hold the claim, even if it is optional', async (t) => {
      const deletes: AgentTurn = ({ directory }) => {
        rmSync(join(directory, QUESTIONS), { force: true });
        return DONE;
      };
      assertRefused(await run(t, task(P0), [deletes]));
      assert.equal((await run(t, task(null), [deletes])).status, 'complete');
    });

    some('below headings of no priority are unavailable, never none', async (t) => {
      const became = await run(t, task(null), [claims('## Critical\n\n- [ ] Which store?\n')]);
      assertRefused(became);
      assert.match(became.prompts[0] ?? '', /no list item below a heading P0 or P1/);
      assert.equal((await run(t, task(null), [claims('# Open questions\n\nNone.\n')])).status, 'complete');
      assertRefused(await run(t, task(null), [claims('## P0: Which store?\n\n**Status: OPEN**\n')]));
    });
  });

  describe(`in the ${driver}, a required output`, () => {
    const output = (files: Readonly<Record<string, string>> = {}): Task => {
      const made = task('## P0\n', 'required_outputs: [REPORT.md]');
      return { ...made, files: { ...made.files, ...files } };
    };

    some('that was written is accepted', async (t) => {
      const writes: AgentTurn = ({ directory }) => {
        put(join(directory, 'job/REPORT.md'), 'All is well.\n');
        return DONE;
      };
      const became = await run(t, output(), [writes]);
      assert.deepEqual([became.status, became.verified], ['complete', true]);
    });

    some('that is missing, empty, blank or an empty folder holds the claim', async (t) => {
      const blanks = [' \n', ' '.repeat(5000), '\0\0', '\u200b\n', '\ufeff'];
      for (const [path, blank = ''] of [
        [''],
        ['job/REPORT.md/'],
        ['job/REPORT.md/a.txt', ' \n'],
        ...blanks.map((text) => ['job/REPORT.md', text]),
      ] as const)
        assertRefused(
          await run(t, output(), [
            ({ directory }) => {
              if (path?.endsWith('/')) put(join(directory, `${path}.gitkeep`), '');
              else if (path) put(join(directory, path), blank);
              return DONE;
            },
          ]),
        );
    });
  });
}
