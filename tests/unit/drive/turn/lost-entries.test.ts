import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { renewEvidence } from '../../../../src/drive/start/live/renew-evidence.ts';
import { EVIDENCE, type EvidenceName } from '../../../../src/state/evidence/evidence.ts';
import { readNotices } from '../../../../src/state/loop-files.ts';
import { aProject, aStop, type Project, put, start, stateOf } from '../../../support/drive/drive-project.ts';
import { called, startedRouter } from '../../../support/drive/router-project.ts';
import { someOf } from '../../../support/short-form.ts';
import '../../../support/starts-processes.ts';

const TASK = '---\nunchanged: ["tests/**"]\nvalidation: ["true"]\n---\n\nDo the work.\n';
const SIGNAL = 'RALPH_AUDIT_COMPLETE_NO_FINDINGS';

/** How a program of the agent damages a file outside the project. `copy` is the file as it was a turn before. */
const LOSSES: Readonly<Record<string, (path: string, copy: string) => void>> = {
  deleted: (path) => rmSync(path),
  emptied: (path) => truncateSync(path),
  torn: (path) => truncateSync(path, readFileSync(path).length >> 1),
  edited: (path) =>
    writeFileSync(
      path,
      readFileSync(path, 'utf8').replace(/\d(?=[^\d]*$)/, (digit) => `${(Number(digit) + 1) % 10}`),
    ),
  'replaced by a folder': (path) => {
    rmSync(path);
    mkdirSync(join(path, 'more'), { recursive: true });
  },
  'replaced by another file': (path) => writeFileSync(path, '{"made":"up"}\n'),
  'replaced by a link to itself': (path) => {
    rmSync(path);
    symlinkSync(path, path);
  },
  'put back as it was before': (path, copy) => copyFileSync(copy, path),
};

/** Drivers of a loop that has worked for a turn, and claims to be done. */
const DRIVERS: Readonly<
  Record<string, (project: Project) => { work: () => Promise<unknown>; claim: (words: string) => Promise<string> }>
> = {
  hook: (project) => {
    start(project, true);
    return {
      work: () => aStop(project),
      claim: async (words) =>
        (await aStop(project, { last_assistant_message: `${words}\n\n${SIGNAL}` }))?.systemMessage ?? '',
    };
  },
  router: (project) => {
    startedRouter(project);
    const say = async (text: string) => {
      const answer = await called(project);
      if (answer.action !== 'spawn') return JSON.stringify(answer);
      return JSON.stringify(await called(project, { spawn: answer.spawn, text }));
    };
    return { work: () => say('Some work.'), claim: (words) => say(`${words}\n\n${SIGNAL}`) };
  },
};

/** Entries that a claim rests on, besides those of evidence-lost.test.ts. */
const ENTRIES: readonly EvidenceName[] = ['counters', 'unchanged', 'seen'];

async function damaged(
  t: TestContext,
  driver: string,
  entry: EvidenceName,
  lose: (path: string, copy: string) => void,
) {
  const project = aProject(t, TASK);
  put(join(project.directory, 'tests', 'a.js'), 'a');
  const { work, claim } = DRIVERS[driver]?.(project) ?? assert.fail(driver);
  const path = EVIDENCE[entry](project.files);
  copyFileSync(path, `${path}.copy`);
  await work();
  lose(path, `${path}.copy`);
  return { project, path, claim };
}

/** What is no loss: counters with other numbers are compared with the state, and the other two have not changed since the start. */
const isHarmless = (entry: EvidenceName, how: string): boolean =>
  how === 'put back as it was before' || (entry === 'counters' && how === 'edited');

for (const driver of Object.keys(DRIVERS))
  for (const entry of ENTRIES)
    for (const [how, lose] of someOf(Object.entries(LOSSES), 2).filter(([how]) => !isHarmless(entry, how)))
      test(`${driver}: with ${entry} ${how}, a claim is refused and the loop pauses`, async (t) => {
        const { project, path, claim } = await damaged(t, driver, entry, lose);
        const said = await claim('Done.');
        assert.ok(said.includes(path), said);
        const state = stateOf(project);
        assert.equal(state.status === 'paused' && state.paused.reason, 'evidence-lost');
        assert.ok(readNotices(project.files).some(({ kind, text }) => kind === 'evidence' && text.includes(path)));
        renewEvidence(project.files, project.env, new Date().toISOString(), project.directory);
        assert.match(await claim('Done again.'), /[Cc]omplete/);
      });

test('a router whose evidence is lost answers with the pause at every call', async (t) => {
  for (const entry of ['contract', 'counters', 'seen'] as const) {
    const { project, path, claim } = await damaged(t, 'router', entry, (path) => rmSync(path));
    const said = JSON.parse(await claim('Done.'));
    const again = await called(project);
    const reported = await called(project, { spawn: 1, text: 'Done.' });
    for (const answer of [said, again, reported]) {
      assert.deepEqual([answer.action, answer.why, answer.exitCode], ['wait', 'paused', 3], entry);
      assert.ok(answer.message.includes(`${path} is missing`), answer.message);
      assert.match(answer.message, / take its present state as a new start: \S.* resume\.$/);
    }
  }
});

for (const driver of Object.keys(DRIVERS))
  test(`control: ${driver}: a loop whose counters are older, or higher, keeps the higher counts`, async (t) => {
    for (const how of ['edited', 'put back as it was before']) {
      const { project, claim } = await damaged(t, driver, 'counters', LOSSES[how] ?? assert.fail());
      assert.match(await claim('Done.'), /[Cc]omplete/, how);
      assert.doesNotMatch(JSON.stringify(readNotices(project.files)), /"evidence"/);
    }
  });
