import assert from 'node:assert/strict';
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openRouter } from '../../../../src/drive/router/open-router.ts';
import { billedTokens } from '../../../../src/engine/policy/budget.ts';
import { appendLine } from '../../../../src/state/files/journal-lines.ts';
import { noticesOf, readCounters } from '../../../../src/state/loop-files.ts';
import { archivedLoops, endedState } from '../../../../src/state/with-state.ts';
import { aProject, aStop, type Project, put, rewrite, start, stateOf } from '../../../support/drive/drive-project.ts';
import { called, optionsOf, spawned, startedRouter } from '../../../support/drive/router-project.ts';

const WENT_BACK = /The state of the loop was replaced by an older one \(/;

/** A loop of session-1 whose client writes a transcript: each turn uses 100 tokens. */
function aSession(t: TestContext, task?: string): { project: Project; turn: () => ReturnType<typeof aStop> } {
  const project = aProject(t, task);
  const transcript = join(project.directory, '..', 'transcript.jsonl');
  put(transcript, '');
  start(project, true);
  let turns = 0;
  const turn = () => {
    turns += 1;
    const usage = { input_tokens: 90, output_tokens: 10, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };
    appendLine(transcript, { type: 'assistant', message: { id: `message-${turns}`, usage, content: [] } });
    return aStop(project, { transcript_path: transcript, last_assistant_message: `Work ${turns}.` });
  };
  return { project, turn };
}

/** Keeps the files of the loop in the project as they are; the result puts them back. */
function copyRuntime({ files, directory }: Project): () => void {
  const kept = join(directory, '..', 'kept');
  cpSync(files.runtimeDir, kept, { recursive: true });
  return () => {
    rmSync(files.runtimeDir, { recursive: true });
    cpSync(kept, files.runtimeDir, { recursive: true });
  };
}

test('A session whose state and journal are put back before every Stop ends at its limit.', async (t) => {
  const { project, turn } = aSession(t, '---\nmax_iterations: 3\n---\n\nDo the work.\n');
  assert.equal((await turn())?.decision, 'block');
  const putBack = copyRuntime(project);
  const { loopId } = stateOf(project);
  assert.equal((await turn())?.decision, 'block');
  putBack();
  const answer = await turn();
  assert.equal(answer?.decision, undefined);
  assert.match(answer?.systemMessage ?? '', WENT_BACK);
  const ended = endedState(project.files, loopId);
  assert.deepEqual([ended?.ended.as, ended?.iteration], ['max-iterations', 3]);
  assert.match(noticesOf(project.files, loopId)[0]?.text ?? '', WENT_BACK);
});

test('Tokens that a session used before its state was put back count, and each of them once.', async (t) => {
  const { project, turn } = aSession(t);
  await turn();
  const putBack = copyRuntime(project);
  await turn();
  const before = billedTokens(stateOf(project).usage);
  putBack();
  await turn();
  assert.equal(billedTokens(stateOf(project).usage), before + 100);
});

const STORES = {
  state: ({ files }: Project) => files.state,
  journal: ({ files }: Project) => files.events,
  counters: ({ files }: Project) => files.counters,
};

/** Plays three turns of a session, before the last of which these files are put back as they were after the first. */
async function afterPuttingBack(t: TestContext, names: readonly (keyof typeof STORES)[]) {
  const { project, turn } = aSession(t, '---\nmax_iterations: 4\n---\n\nDo the work.\n');
  await turn();
  const copies = names.map((name) => ({ path: STORES[name](project), content: readFileSync(STORES[name](project)) }));
  await turn();
  await turn();
  const { iteration, usage } = stateOf(project);
  for (const { path, content } of copies) writeFileSync(path, content);
  const { loopId } = stateOf(project);
  const said = (await turn())?.systemMessage ?? '';
  const ended = endedState(project.files, loopId);
  const { usage: after } = ended ?? stateOf(project);
  const notices = noticesOf(project.files, loopId).map(({ text }) => text);
  return { iteration, said: [said, ...notices].join('\n'), ended, counted: billedTokens(after) - billedTokens(usage) };
}

for (const [names, text] of [
  [
    ['state', 'counters'],
    /was changed by another program\. It was restored from the contract and the journal \(iteration 3\)/,
  ],
  [['state', 'journal'], WENT_BACK],
  [['journal', 'counters'], /counters\.json was replaced by an older copy; the counts of the state hold/],
] as const)
  test(`A session whose ${names.join(' and ')} go back together ends at its limit and says so.`, async (t) => {
    const { said, ended, counted } = await afterPuttingBack(t, names);
    assert.match(said, text);
    assert.deepEqual([ended?.ended.as, ended?.iteration, counted], ['max-iterations', 4, 100]);
  });

test('Control: all three together are a session that is two iterations younger, but no token is forgotten.', async (t) => {
  const { ended, counted } = await afterPuttingBack(t, ['state', 'journal', 'counters']);
  assert.deepEqual([ended, counted], [null, 100]);
});

test('The next prompt of a session tells the agent as well that its state was put back.', async (t) => {
  const { project, turn } = aSession(t);
  await turn();
  const putBack = copyRuntime(project);
  await turn();
  putBack();
  assert.match((await turn())?.reason ?? '', WENT_BACK);
  assert.doesNotMatch((await turn())?.reason ?? '', WENT_BACK);
});

test('A state that a program rewrites so that it is restored keeps the usage of the loop.', async (t) => {
  const { project, turn } = aSession(t);
  for (const _ of [1, 2]) await turn();
  const before = stateOf(project);
  rewrite(project, { maxIterations: 99, iteration: 0, usage: { ...before.usage, inputTokens: 0, outputTokens: 0 } });
  rmSync(project.files.events);
  await turn();
  const { iteration, usage } = stateOf(project);
  assert.deepEqual([iteration, billedTokens(usage)], [3, billedTokens(before.usage) + 100]);
});

/** The counts of a loop that is resumed after something happened to its files. */
async function resumedAfter(t: TestContext, damage: (project: Project, putBack: () => void) => void) {
  const { project, turn } = aSession(t);
  await turn();
  const putBack = copyRuntime(project);
  for (const _ of [1, 2]) await turn();
  const { epoch, usage } = stateOf(project);
  damage(project, putBack);
  const { state, warnings } = start(project, true, 'resume');
  assert.deepEqual([state.iteration, state.epoch, billedTokens(state.usage)], [3, epoch + 1, billedTokens(usage)]);
  assert.deepEqual(stateOf(project), state);
  return warnings.map(({ message }) => message).join('\n');
}

test('A loop that is resumed from an older backup continues from its own counts and says so.', async (t) => {
  assert.match(await resumedAfter(t, (_project, putBack) => putBack()), WENT_BACK);
});

test('So does one whose state and journal are gone.', async (t) => {
  await resumedAfter(t, ({ files }) => {
    for (const path of [files.state, files.events]) rmSync(path);
  });
});

test('So does one whose state is that of an older loop.', async (t) => {
  const warned = await resumedAfter(t, (project) => {
    rewrite(project, { loopId: 'loop-of-yesterday', iteration: 1 });
    rmSync(project.files.events);
  });
  assert.match(warned, /was changed by another program\. It was restored/);
});

test('An ended loop whose archive was put back continues from its own counts.', async (t) => {
  const { project, turn } = aSession(t, '---\nmax_iterations: 2\n---\n\nDo the work.\n');
  await turn();
  await turn();
  const [last] = archivedLoops(project.files);
  assert.ok(last);
  put(join(project.files.archiveDir, last.file), JSON.stringify({ ...last.state, iteration: 1 }));
  assert.throws(() => start(project, true, 'resume'), /has used 2 of 2 iterations/);
});

test('Control: a resume of a loop whose files nobody touched warns of nothing.', async (t) => {
  const warned = await resumedAfter(t, () => undefined);
  assert.doesNotMatch(warned, WENT_BACK);
});

test('A new loop in place of an old one begins at zero.', async (t) => {
  const { project, turn } = aSession(t);
  for (const _ of [1, 2]) await turn();
  const { state } = start(project, true, 'fresh');
  assert.deepEqual([state.iteration, billedTokens(state.usage)], [0, 0]);
  assert.deepEqual(noticesOf(project.files, state.loopId), []);
  assert.equal(readCounters(project.files)?.loopId, state.loopId);
});

test('A router whose state is put back assigns the spawn of its own count and tells its host.', async (t) => {
  const project = aProject(t);
  startedRouter(project);
  const first = await spawned(project);
  const putBack = copyRuntime(project);
  const second = await called(project, { spawn: first.spawn, text: 'Some work.' });
  assert.ok(second.action === 'spawn' && second.iteration === 2);
  putBack();
  const opened = openRouter(project.files, { ...optionsOf(project), signal: new AbortController().signal });
  assert.ok(!('action' in opened));
  assert.equal(stateOf(project).iteration, 1);
  assert.match(opened.notes.join('\n'), WENT_BACK);
});
