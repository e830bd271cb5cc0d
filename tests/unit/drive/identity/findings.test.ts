import '../../../support/starts-processes.ts';
import assert from 'node:assert/strict';
import { existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe } from 'node:test';
import { put } from '../../../support/drive/drive-project.ts';
import { type AgentTurn, assertRefused, EVERY_DRIVER, type Task } from '../../../support/drive/every-driver.ts';
import { someTests } from '../../../support/short-form.ts';

const PROMPT = '.claude/ralph/PROMPT.md';
const LOG = '.ralph/findings.md';
const DONE = 'All is well.\n\nRALPH_AUDIT_COMPLETE_NO_FINDINGS';
const TWO = '# Findings\n\n## F1: Token in a log\n\n- Status: OPEN\n\n## F2: Long line\n\n- Status: OPEN\n';

const audit = (log: string | null, path = LOG): Task => ({
  files: {
    [PROMPT]: '---\nvalidation: ["true"]\nmax_iterations: 3\n---\nFind and fix.\n',
    ...(log !== null && { [path]: log }),
  },
});

const claims =
  (log: string, path = LOG): AgentTurn =>
  ({ directory }) => {
    put(join(directory, path), log);
    return DONE;
  };

const works =
  (log: string): AgentTurn =>
  ({ directory }) => {
    put(join(directory, LOG), log);
    return 'Found something.';
  };

// In the short form each case is played by one driver.
for (const [nth, [driver, run]] of Object.entries(EVERY_DRIVER).entries()) {
  const some = someTests(3, nth);
  describe(`in the ${driver}, a findings log`, () => {
    some('with every finding fixed is accepted at the first claim', async (t) => {
      const fixed: AgentTurn = (place) => {
        put(join(place.directory, 'src/token.js'), 'fixed\n');
        return claims(TWO.replaceAll('OPEN', 'FIXED_THIS_ITERATION'))(place);
      };
      const became = await run(t, audit(TWO), [fixed]);
      assert.deepEqual([became.status, became.verified, became.turns], ['complete', true, 1]);
    });

    some('may lose a finding that was seen fixed', async (t) => {
      const turns = [works(TWO.replaceAll('OPEN', 'FIXED')), claims('# Findings\n\nNo open findings.\n')];
      assert.equal((await run(t, audit(TWO), turns)).status, 'complete');
    });

    for (const [what, log] of [
      ['emptied', ''],
      ['cut to a statement that there is none', '# Findings\n\nNo findings.\n'],
      ['renumbered', TWO.replace('F1', 'F11').replace('F2', 'F12').replaceAll('OPEN', 'FIXED')],
      ['given other findings under the same ids', '## F1: Typo\n- Status: FIXED\n## F2: Other typo\n- Status: FIXED\n'],
      ['rewritten so that no entry is recognised', '# Findings\n\nF1 token in a log\n\nF2 long line\n'],
      ['hidden in a comment', `<!--\n${TWO}\n-->\n`],
      ['hidden in a fence', `\`\`\`\n${TWO}\n\`\`\`\n`],
    ] as const) {
      some(`that was ${what} holds the claim, and names what was open`, async (t) => {
        const became = await run(t, audit(TWO), [claims(log)]);
        assertRefused(became);
        assert.match(became.prompts[0] ?? '', /2 entries were open[^\n]*"F1 Token in a log", "F2 Long line"/);
      });
    }

    some('that was moved or deleted holds the claim', async (t) => {
      const moves: AgentTurn = ({ directory }) => {
        if (existsSync(join(directory, LOG))) renameSync(join(directory, LOG), join(directory, 'done.md'));
        return DONE;
      };
      const deletes: AgentTurn = ({ directory }) => {
        rmSync(join(directory, LOG), { force: true });
        return DONE;
      };
      for (const turn of [moves, deletes]) assertRefused(await run(t, audit(TWO), [turn]));
    });

    some('that was begun in the loop is kept in mind like one of the start', async (t) => {
      const became = await run(t, audit(null), [works(TWO), claims('')]);
      assertRefused(became);
      assert.match(became.prompts[0] ?? '', /The findings log has 2 open findings\./);
    });

    some('with text that no entry can be read from is unavailable, never empty', async (t) => {
      const became = await run(t, audit(null), [claims('# Findings\n\nThe token is printed in src/a.ts.\n')]);
      assertRefused(became);
      assert.match(became.prompts[0] ?? '', /has text, but no finding in it can be read/);
    });

    some('of an older installation is read where the default one is missing', async (t) => {
      const former = '.claude/ralph/findings.md';
      assertRefused(await run(t, audit(TWO, former), [() => DONE]));
      const fixed = claims(TWO.replaceAll('OPEN', 'FIXED'), former);
      assert.equal((await run(t, audit(TWO, former), [fixed])).status, 'complete');
      // Another log beside it does not make it disappear.
      assertRefused(await run(t, audit(TWO, former), [claims('No findings.\n')]));
    });
  });
}
