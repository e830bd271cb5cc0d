import '../../support/starts-processes.ts';
import assert from 'node:assert/strict';
import { appendFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { readNotices } from '../../../src/state/loop-files.ts';
import { type Project, put } from '../../support/drive/drive-project.ts';
import { type AgentTurn, EVERY_DRIVER, type Task } from '../../support/drive/every-driver.ts';
import { commitFolder } from '../../support/git.ts';
import { someTests } from '../../support/short-form.ts';

const PROMPT = '.claude/ralph/PROMPT.md';
const DONE = 'RALPH_AUDIT_COMPLETE_NO_FINDINGS';
const PROMISE = '<promise>ALL DONE</promise>';
const prepare = ({ directory }: Project): void => void commitFolder(directory, 'work');

/** A task whose check says what `check` says, in a prompt file or in a task folder. */
const tasks = (check: string, more = ''): Readonly<Record<string, readonly [Task, string]>> => {
  const keys = `validation: ["${check}"]\n${more}`;
  const folder = `${keys}open_questions: optional\ncompletion_promise: ALL DONE\n`;
  const files = { 'kept.txt': '0\n' };
  return {
    'PROMPT.md': [{ files: { ...files, [PROMPT]: `---\n${keys}---\nMake a.txt.\n` }, prepare }, DONE],
    'a task folder': [
      { path: 'job', files: { ...files, 'job/RALPH.md': `---\n${folder}---\nMake a.txt.\n` }, prepare },
      PROMISE,
    ],
  };
};

/** An agent whose every message is another one and claims; `works` is what it does in each turn. */
const claims =
  (claim: string, works: (project: Project, nth: number) => void = () => undefined): (() => AgentTurn) =>
  () => {
    let nth = 0;
    return (project) => {
      works(project, nth++);
      return claim;
    };
  };

for (const [nth, [driver, play]] of Object.entries(EVERY_DRIVER).entries())
  for (const kind of Object.keys(tasks('true')))
    describe(`in the ${driver}, on ${kind}`, () => {
      const of = (check: string, more = ''): readonly [Task, string] =>
        tasks(check, more)[kind] as readonly [Task, string];
      const [task, claim] = of('test -f a.txt', 'max_iterations: 7\n');
      const [short] = of('test -f a.txt', 'max_iterations: 5\n');
      const some = someTests(3, nth);

      test('four claims that are refused for one reason, without a change, end the loop', async (t) => {
        const { status, turns, message } = await play(t, task, [claims(claim)()]);
        assert.deepEqual([status, turns], ['circuit-open', 4], message);
        assert.match(
          message,
          /4 claims in a row were refused for the same reason, and no file changed\. The last claim/,
        );
      });

      some('so do four with other turns in between that change nothing', async (t) => {
        const turns = [1, 2, 3, 4].flatMap((): AgentTurn[] => [() => claim, () => 'More is needed.']);
        const [longer] = of('test -f a.txt', 'max_iterations: 8\n');
        const became = await play(t, longer, turns);
        assert.deepEqual([became.status, became.turns], ['circuit-open', 7], became.message);
      });

      some('an agent that changes a file before each claim goes on to its limit', async (t) => {
        const works = claims(claim, ({ directory }, nth) => put(join(directory, 'src', 'b.txt'), `${nth}\n`));
        const { status, turns, message } = await play(t, short, [works()]);
        assert.deepEqual([status, turns], ['max-iterations', 5], message);
      });

      some('so does one whose refusals differ, and one without this signal', async (t) => {
        const counts = 'n=$(cat .git/n 2>/dev/null || echo 0); echo $((n + 1)) > .git/n; exit $((n + 1))';
        const [other] = of(counts, 'max_iterations: 5\n');
        assert.equal((await play(t, other, [claims(claim)()])).turns, 5);
        const [off] = of('test -f a.txt', 'max_iterations: 5\nbreaker: {same_reply: 0}\n');
        assert.equal((await play(t, off, [claims(claim)()])).turns, 5);
      });
    });

describe('a task whose text changes during the last iteration is named at the end of the loop', () => {
  for (const [nth, [driver, play]] of Object.entries(EVERY_DRIVER).entries()) {
    const some = someTests(3, nth);
    for (const [kind, [task, claim]] of Object.entries(tasks('test -f a.txt'))) {
      const path = task.path === undefined ? PROMPT : 'job/RALPH.md';
      const edit = ({ directory }: Project): void => appendFileSync(join(directory, path), 'And make b.txt.\n');
      const first: AgentTurn = () => 'First.';
      const edited: AgentTurn = (project) => {
        edit(project);
        return 'First.';
      };
      const cases: Readonly<Record<string, readonly [AgentTurn[], (project: Project) => void, string[]]>> = {
        edited: [
          [first],
          edit,
          [`change: ${path} was written after iteration 2 had begun: its agent may have had an earlier text`],
        ],
        removed: [
          [],
          ({ directory }) => rmSync(join(directory, path)),
          [
            `change: ${path} was removed or emptied after iteration 1 had begun: its agent may have had an earlier text`,
          ],
        ],
        'edited before': [[edited], () => undefined, []],
      };
      for (const [how, [before, change, wanted]] of Object.entries(cases))
        some(`in the ${driver}, on ${kind}: ${how}`, async (t) => {
          let project: Project | undefined;
          const last: AgentTurn = (found) => {
            project = found;
            put(join(found.directory, 'a.txt'), 'made\n');
            change(found);
            return claim;
          };
          const { status, message } = await play(t, task, [...before, last]);
          assert.equal(status, 'complete', message);
          const notices = project === undefined ? [] : readNotices(project.files);
          assert.deepEqual(
            notices.map(({ kind, text }) => `${kind}: ${text}`),
            wanted,
          );
        });
    }
  }
});
