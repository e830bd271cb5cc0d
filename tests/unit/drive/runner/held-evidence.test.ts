import '../../../support/starts-processes.ts';
import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { acceptContract, changedContract } from '../../../../src/drive/start/live/accept-contract.ts';
import { lossOf } from '../../../../src/drive/start/resume/former-evidence.ts';
import type { Contract } from '../../../../src/engine/schema/contract.ts';
import { EVIDENCE, type EvidenceName } from '../../../../src/state/evidence/evidence.ts';
import { hashContract, sha256 } from '../../../../src/state/hash-contract.ts';
import { noticesOf, readState } from '../../../../src/state/loop-files.ts';
import { versionAt } from '../../../../src/state/snapshot/version.ts';
import { lastArchived } from '../../../../src/state/with-state.ts';
import { PERSON, type Project, put, rewrite } from '../../../support/drive/drive-project.ts';
import { DRIVES, taskProject } from '../../../support/drive/every-driver.ts';

const PROMPT = '.claude/ralph/PROMPT.md';
const CLAIM = 'RALPH_AUDIT_COMPLETE_NO_FINDINGS';
const task = (terms: string) => ({
  files: { [PROMPT]: `---\nmax_iterations: 3\n${terms}\n---\nWork.\n`, 'p.txt': 'as it was\n', DONE: 'yes\n' },
});

type Program = (project: Project) => void;

/** Plays a loop whose agent's own program acts in its first turns, in which it claims, and returns how it ended. */
async function played(t: TestContext, terms: string, program: Program | Program[], claim = CLAIM) {
  const project = taskProject(t, task(terms));
  let turn = 0;
  const take = (): string => {
    turn += 1;
    put(join(project.directory, 'work.txt'), 'work\n');
    [program].flat()[turn - 1]?.(project);
    return `Turn ${turn}.\n\n${claim}`;
  };
  await DRIVES.runner(project, task(terms), take, []);
  const current = readState(project.files.state);
  const state = current.kind === 'loop' ? current.state : lastArchived(project.files)?.state;
  assert.ok(state !== undefined);
  const said = noticesOf(project.files, state.loopId).map(({ text }) => text.replaceAll(/\/\S*\//g, ''));
  const as = state.status === 'ended' ? state.ended.as : state.status;
  const atResume = lossOf(project.files, state)?.text.replaceAll(/\/\S*\//g, '') ?? null;
  return { as, iteration: state.iteration, said, atResume };
}

/** Rewrites an entry, and its digest in the manifest, so that the two agree. */
function forge({ files }: Project, name: EvidenceName, change: (text: string) => string): void {
  const path = EVIDENCE[name](files);
  const text = change(readFileSync(path, 'utf8'));
  writeFileSync(path, text);
  const manifest = JSON.parse(readFileSync(files.evidence, 'utf8'));
  manifest.entries[name] = { was: [], is: sha256(text) };
  writeFileSync(files.evidence, JSON.stringify(manifest));
}

const UNCHANGED_LOST = 'Evidence of this loop is lost: unchanged.json was changed by another program.';
const UNCHANGED = 'validation: ["true"]\nunchanged: [p.txt]';

/** Makes the record of unchanged files say what the agent has written. */
function hideChange(project: Project): void {
  const path = join(project.directory, 'p.txt');
  put(path, 'by the agent\n');
  forge(project, 'unchanged', (text) => {
    const record = JSON.parse(text);
    record.files['p.txt'] = versionAt(path);
    return `${JSON.stringify(record)}\n`;
  });
}

test('a runner notices a record of unchanged files that was rewritten with its digest', async (t) => {
  const found = await played(t, UNCHANGED, hideChange);
  assert.deepEqual(found, { as: 'paused', iteration: 1, said: [UNCHANGED_LOST], atResume: UNCHANGED_LOST });
  const control = await played(t, 'validation: ["true"]\nunchanged: [q.txt]', (project) =>
    put(join(project.directory, 'p.txt'), 'x'),
  );
  assert.deepEqual(
    control,
    { as: 'complete', iteration: 1, said: [], atResume: null },
    'control: nothing is rewritten',
  );
});

test('a runner believes a record that the user has accepted while it runs', async (t) => {
  const { as, said } = await played(t, UNCHANGED, ({ directory, files, env }) => {
    put(join(directory, 'p.txt'), 'by the user\n');
    acceptContract(files, env, new Date().toISOString(), changedContract(files, env), PERSON);
  });
  assert.deepEqual([as, ...said], ['complete', 'unchanged file p.txt: changed.']);
});

test('a runner notices that what its reports have to name was removed', async (t) => {
  const first = ({ directory, files, env }: Project): void => {
    put(join(directory, 'p.txt'), 'by the user\n');
    acceptContract(files, env, new Date().toISOString(), changedContract(files, env), PERSON);
  };
  const found = await played(t, UNCHANGED, [first, ({ files }) => rmSync(files.notices)], 'Not done yet.');
  const lost = 'Evidence of this loop is lost: notices.jsonl was changed by another program.';
  assert.deepEqual(found, { as: 'paused', iteration: 2, said: [lost], atResume: null });
});

/** Rewrites the contract, with every digest of it. */
function forgeContract(project: Project, changed: (contract: Contract) => Partial<Contract>): void {
  let hash = '';
  forge(project, 'contract', (text) => {
    const { contract } = JSON.parse(text);
    const next = { ...contract, ...changed(contract) };
    hash = hashContract(next);
    return JSON.stringify({ hash, contract: next });
  });
  rewrite(project, { contractHash: hash });
}

const CONTRACT_CHANGED = 'Evidence of this loop is lost: contract.json was changed by another program.';

test('a runner notices a contract whose checks were rewritten with every digest', async (t) => {
  const found = await played(t, 'validation: ["test -f MISSING"]', (project) =>
    forgeContract(project, ({ validation }) => ({
      validation: validation.map((check) => ({ ...check, run: 'true' })),
    })),
  );
  assert.deepEqual(found, { as: 'paused', iteration: 1, said: [CONTRACT_CHANGED], atResume: CONTRACT_CHANGED });
});

test('a runner notices a contract whose limits were rewritten, without a claim', async (t) => {
  const forge = (project: Project): void => {
    forgeContract(project, ({ policy }) => ({ policy: { ...policy, maxIterations: 9 } }));
    rewrite(project, { maxIterations: 9 });
  };
  const found = await played(t, 'validation: ["true"]', forge, 'Not done yet.');
  assert.deepEqual(found, { as: 'paused', iteration: 1, said: [CONTRACT_CHANGED], atResume: CONTRACT_CHANGED });
  const { as, iteration } = await played(t, 'validation: ["true"]', () => undefined, 'Not done yet.');
  assert.deepEqual([as, iteration], ['max-iterations', 3], 'control: the limit of the start holds');
});

test('a runner works under a contract that the user has accepted while it runs', async (t) => {
  const { as, said } = await played(t, 'validation: ["test -f MISSING"]', ({ directory, files, env }) => {
    put(join(directory, PROMPT), '---\nmax_iterations: 3\nvalidation: ["test -f DONE"]\n---\nWork.\n');
    acceptContract(files, env, new Date().toISOString(), changedContract(files, env), PERSON);
  });
  assert.equal(as, 'complete', said.join('\n'));
  assert.match(said.join('\n'), /test -f DONE/);
});
