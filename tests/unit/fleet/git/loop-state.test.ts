import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { collectState, relocateContract, restoreState } from '../../../../src/fleet/git/loop-state.ts';
import { proveEvidence } from '../../../../src/state/evidence/evidence.ts';
import { writeContract } from '../../../../src/state/evidence/store-evidence.ts';
import { hashContract } from '../../../../src/state/hash-contract.ts';
import type { LoopFiles, StoredContract } from '../../../../src/state/loop-files.ts';
import { findContract, loopFiles, makeRuntimeDir } from '../../../../src/state/loop-files.ts';
import { buildContract } from '../../../../src/task/settings/build-contract.ts';
import { terms } from '../../../support/contract-terms.ts';
import { aProject, aStop, type Project, put, start } from '../../../support/drive/drive-project.ts';
import { emptyFolder } from '../../../support/folder.ts';

interface Machine {
  readonly env: NodeJS.ProcessEnv;
  readonly files: LoopFiles;
  readonly project: string;
}

function machine(base: string, name: string): Machine {
  const [project, home] = [join(base, name, 'project'), join(base, name, 'home')];
  for (const path of [project, home]) mkdirSync(path, { recursive: true });
  const env = { HOME: home, XDG_STATE_HOME: join(home, 'state') };
  const files = loopFiles(project, null, env);
  makeRuntimeDir(files);
  mkdirSync(files.outsideDir, { recursive: true });
  return { env, files, project };
}

/** Moves what the loops of one machine keep to another one. */
function move(t: TestContext, change: (from: Machine) => void): { readonly from: Machine; readonly to: Machine } {
  const base = emptyFolder(t);
  const [from, to, folder] = [machine(base, 'a'), machine(base, 'elsewhere/b'), join(base, 'carried')];
  mkdirSync(folder);
  change(from);
  collectState(from.project, from.env, folder);
  restoreState(folder, to.project, to.env);
  return { from, to };
}

function contractOf({ project, env }: Machine): StoredContract {
  const home = env['HOME'] ?? '';
  const sandbox = { allowWrite: [join(project, 'out')], denyWrite: [], denyRead: [join(home, '.ssh')], network: false };
  const head = `---\nvalidation: ["${project}/check.sh"]\n---\n`;
  const { contract } = buildContract(terms(project, [], { sandbox, head, frontmatter: project }));
  const environment = { PATH: `${project}/bin:/usr/bin:${home}/bin` };
  const fixed = { ...contract, environment, projectDir: project };
  return { hash: hashContract(fixed), contract: fixed };
}

const state = (contractHash: string) => ({
  iteration: 3,
  contractHash,
  clientPid: 17,
  clientStartedAt: '99',
  more: 'x',
});
const stateIn = ({ files }: Machine): unknown => JSON.parse(readFileSync(files.state, 'utf8'));

test('a valid contract names the folders of the new machine, and the state its hash', (t) => {
  const { from, to } = move(t, (m) => {
    const stored = contractOf(m);
    writeContract(m.files, stored);
    writeFileSync(m.files.state, JSON.stringify(state(stored.hash)));
  });
  const stored = findContract(to.files);
  assert.ok(typeof stored === 'object');
  const { contract, hash } = stored;
  assert.equal(hash, hashContract(contract));
  assert.equal(contract.projectDir, to.project);
  assert.deepEqual(contract.sandbox?.allowWrite, [join(to.project, 'out')]);
  assert.deepEqual(contract.sandbox?.denyRead, [join(to.env['HOME'] ?? '', '.ssh')]);
  assert.equal(contract.environment?.['PATH'], `${to.project}/bin:/usr/bin:${to.env['HOME']}/bin`);
  assert.equal(contract.frontmatter, from.project, 'the text of the task file is as it was');
  assert.match(contract.head, new RegExp(`"${from.project}/check\\.sh"`));
  assert.deepEqual(stateIn(to), { ...state(hash), clientPid: null, clientStartedAt: null });
});

test('a contract that was tampered with stays tampered with', (t) => {
  const { from, to } = move(t, (m) => {
    const { contract, hash } = contractOf(m);
    writeContract(m.files, { hash, contract: { ...contract, consented: true, findingsLog: 'other.md' } });
    writeFileSync(m.files.state, JSON.stringify(state(hash)));
  });
  assert.equal(readFileSync(to.files.contract, 'utf8'), readFileSync(from.files.contract, 'utf8'));
  const stored = findContract(to.files);
  assert.ok(typeof stored === 'object');
  assert.notEqual(stored.hash, hashContract(stored.contract));
  assert.equal((stateIn(to) as { contractHash: string }).contractHash, stored.hash);
});

test('leaves behind what belongs to processes and to the machine, and brings the rest', (t) => {
  const gone = ['runner.holder.lease', 'runner.holder', 'snapshot.json', 'snapshot.look', 'project.json', 'hook.log'];
  const kept = [
    'notices.jsonl',
    'counters.json',
    'cancelled.one.json',
    'turn.json',
    'task.one.json',
    'settling.json',
    'runner.due.json',
  ];
  const { to } = move(t, ({ files }) => {
    for (const name of [...gone, ...kept]) writeFileSync(join(files.outsideDir, name), name);
    mkdirSync(join(files.outsideDir, 'contract.json.git'));
    for (const name of [
      'ralph-state.json.lock',
      'ralph-events.jsonl',
      'tdd-state.json',
      'ralph-state.json.x-y-1.tmp',
    ]) {
      writeFileSync(join(files.runtimeDir, name), name);
    }
    mkdirSync(files.archiveDir);
    writeFileSync(join(files.archiveDir, '2026-01-01.json'), 'old');
  });
  const isThere = (dir: string) => (name: string) => existsSync(join(dir, name));
  assert.deepEqual(kept.filter(isThere(to.files.outsideDir)), kept);
  assert.deepEqual([...gone, 'contract.json.git'].filter(isThere(to.files.outsideDir)), []);
  assert.equal(readFileSync(join(to.files.archiveDir, '2026-01-01.json'), 'utf8'), 'old');
  assert.deepEqual(['ralph-events.jsonl', 'tdd-state.json'].filter(isThere(to.files.runtimeDir)).length, 2);
  assert.deepEqual(['ralph-state.json.lock', 'ralph-state.json.x-y-1.tmp'].filter(isThere(to.files.runtimeDir)), []);
});

test('moves whole paths only, and the longer folder wins', (t) => {
  const m = machine(emptyFolder(t), 'a');
  const { contract } = contractOf(m);
  const named = { ...contract, flags: { one: `${m.project}-other`, two: `see ${m.project}`, three: `${m.project}/x` } };
  const moved = relocateContract(
    named,
    { project: m.project, home: join(m.project, '..') },
    { project: '/p', home: '/h' },
  );
  assert.deepEqual(moved.flags, { one: '/h/project-other', two: `see ${m.project}`, three: '/p/x' });
});

const UNCHANGED = '---\nunchanged: ["tests/**"]\n---\n\nDo the work.\n';

/** A loop with files that have to stay unchanged, after one turn, moved to another machine and resumed there. */
async function resumedElsewhere(t: TestContext, change: (project: Project) => void = () => undefined) {
  const [here, there] = [aProject(t, UNCHANGED), aProject(t, UNCHANGED)];
  for (const { directory } of [here, there]) put(join(directory, 'tests', 'a.js'), 'a');
  start(here, true);
  await aStop(here);
  change(here);
  const folder = emptyFolder(t);
  collectState(here.directory, here.env, folder);
  restoreState(folder, there.directory, there.env);
  const { state, warnings, stored } = start(there, true, 'resume');
  assert.equal(state.iteration, 1);
  return { there, stored, said: warnings.map(({ message }) => message).join('\n') };
}

test('a loop that is resumed elsewhere keeps its evidence', async (t) => {
  const { there, stored, said } = await resumedElsewhere(t);
  assert.equal(said, '');
  proveEvidence(there.files, stored.contract);
  assert.deepEqual(Object.keys(stored.contract.evidence ?? {}).sort(), ['counters', 'seen', 'snapshot', 'unchanged']);
});

for (const [what, change] of Object.entries({
  'an edited record': ({ files }: Project) =>
    writeFileSync(files.unchanged, `${readFileSync(files.unchanged, 'utf8')} `),
  'a missing record': ({ files }: Project) => rmSync(files.seen),
  'missing counters': ({ files }: Project) => rmSync(files.counters),
  'a torn manifest': ({ files }: Project) => writeFileSync(files.evidence, '{'),
})) {
  test(`control: ${what} is lost elsewhere as well`, async (t) => {
    await assert.rejects(resumedElsewhere(t, change), /Evidence of this loop is lost/);
  });
}
