import '../../../support/starts-processes.ts';
import assert from 'node:assert/strict';
import fs, {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type EvidenceOf, listEvidence, lostBy } from '../../../../src/state/evidence/evidence.ts';
import { beginEvidence } from '../../../../src/state/evidence/store-evidence.ts';
import { type LoopFiles, loopFiles } from '../../../../src/state/loop-files.ts';
import { readGitPins } from '../../../../src/task/git/git-pins.ts';
import { formerView, statusUnderPins, storeGitView, viewOf } from '../../../../src/task/git/git-view.ts';
import type { GitView } from '../../../../src/task/git/run-git.ts';
import { emptyFolder } from '../../../support/folder.ts';
import { ENV, git, repository } from '../../../support/repository.ts';

interface Place {
  readonly dir: string;
  readonly files: LoopFiles;
  readonly contract: EvidenceOf;
  readonly folder: string;
  readonly status: () => Promise<string>;
}

const view = (files: LoopFiles, contract: EvidenceOf): GitView => {
  const found = viewOf(files, contract);
  assert.ok(found !== null);
  return found;
};

/** A loop's view of a repository, with a change that git no longer shows. */
async function place(context: TestContext): Promise<Place> {
  const dir = repository(context);
  writeFileSync(join(dir, '.git/info/exclude'), '*.tmp\n');
  const files = loopFiles(dir, null, { ...ENV, XDG_STATE_HOME: emptyFolder(context) });
  const options = { env: ENV };
  const pins = await readGitPins(dir, options);
  beginEvidence(files, 'loop-1');
  storeGitView(files, 'loop-1', pins, null);
  const contract = { loopId: 'loop-1', evidence: listEvidence(files, 'loop-1') };
  writeFileSync(join(dir, 'new.ts'), 'x\n');
  appendFileSync(join(dir, '.git/info/exclude'), 'new.ts\n');
  const head = git(dir, 'rev-parse', 'HEAD').trim();
  const status = async (): Promise<string> => {
    const answer = await statusUnderPins(dir, head, { ...options, view: view(files, contract) });
    return answer?.kind === 'answer' ? answer.text : String(answer?.kind);
  };
  assert.equal(git(dir, 'status', '--porcelain'), '', 'control: git itself is fooled');
  assert.equal(await status(), '? new.ts\0', 'control: the whole view shows it');
  return { dir, files, contract, folder: view(files, contract).folder, status };
}

/** What happens to a view, and which file is then named with which cause. */
const DAMAGE: readonly (readonly [what: string, damage: (p: Place) => void, path: RegExp, why: string])[] = [
  ['without its record', ({ files }) => rmSync(files.gitView), /git-view\.json$/, 'missing'],
  ['with an empty record', ({ files }) => truncateSync(files.gitView), /git-view\.json$/, 'empty'],
  ['with a torn record', ({ files }) => truncateSync(files.gitView, 50), /git-view\.json$/, 'edited'],
  [
    'with an edited record',
    ({ files }) =>
      writeFileSync(files.gitView, readFileSync(files.gitView, 'utf8').replace('*.tmp\\n', '*.tmp\\nnew.ts\\n')),
    /git-view\.json$/,
    'edited',
  ],
  [
    'with an older record',
    ({ files, dir }) => {
      const older = readFileSync(files.gitView);
      git(dir, 'commit', '-q', '--allow-empty', '-m', 'later');
      storeGitView(files, 'loop-1', view(files, { loopId: 'loop-1', evidence: { gitView: null } }).pins, null);
      writeFileSync(files.gitView, older);
    },
    /git-view\.json$/,
    'older',
  ],
  [
    'without any of its folders',
    ({ files }) => rmSync(files.gitViews, { recursive: true }),
    /config$|exclude$/,
    'missing',
  ],
  ['without its folder', ({ folder }) => rmSync(folder, { recursive: true }), /config$|exclude$/, 'missing'],
  ['with an empty folder', ({ folder }) => emptied(folder), /config$|exclude$/, 'missing'],
  ['with an empty configuration', ({ folder }) => truncateSync(join(folder, 'config')), /config$/, 'empty'],
  [
    'with another ignored file',
    ({ folder }) => appendFileSync(join(folder, 'info/exclude'), 'new.ts\n'),
    /exclude$/,
    'edited',
  ],
  [
    'with attributes that it did not have',
    ({ folder }) => writeFileSync(join(folder, 'info/attributes'), '* -text\n'),
    /attributes$/,
    'edited',
  ],
  [
    'with other objects',
    ({ folder }) => writeFileSync(join(folder, 'objects/info/alternates'), '/nowhere\n'),
    /alternates$/,
    'edited',
  ],
  [
    'with an object of its own',
    ({ folder }) => {
      mkdirSync(join(folder, 'objects/ab'));
      writeFileSync(join(folder, 'objects/ab/cdef'), 'x');
    },
    /cdef$/,
    'edited',
  ],
  [
    'with another common folder',
    ({ folder, dir }) => writeFileSync(join(folder, 'commondir'), dir),
    /commondir$/,
    'edited',
  ],
  [
    'replaced by a copy of the repository',
    ({ folder, dir }) => {
      rmSync(folder, { recursive: true });
      cpSync(join(dir, '.git'), folder, { recursive: true });
    },
    /config$|exclude$/,
    'edited',
  ],
];

function emptied(folder: string): void {
  for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true });
}

for (const [what, damage, path, why] of DAMAGE) {
  test(`a view ${what} is named as lost`, async (t) => {
    const p = await place(t);
    damage(p);
    assert.throws(
      () => viewOf(p.files, p.contract),
      (error) => {
        const lost = lostBy(error);
        assert.match(lost?.path ?? String(error), path);
        assert.equal(lost?.why, why);
        return true;
      },
    );
  });
}

test('an index that another program wrote is read anew, and so hides nothing', async (t) => {
  const p = await place(t);
  writeFileSync(join(p.dir, 'src/a.ts'), 'changed\n');
  const inView = ['--git-dir', p.folder, '--work-tree', p.dir];
  git(p.dir, ...inView, 'update-index', '--assume-unchanged', 'src/a.ts');
  assert.doesNotMatch(git(p.dir, ...inView, 'status', '--porcelain'), /src\/a\.ts/, 'control: this index hides it');
  assert.match(await p.status(), /src\/a\.ts/);
  rmSync(join(p.folder, 'index'));
  assert.match(await p.status(), /src\/a\.ts/, 'without an index as well');
});

test('a view whose writer was killed before it was recorded is the former one', async (t) => {
  const p = await place(t);
  for (const name of ['half', 'whole']) cpSync(p.folder, join(p.files.gitViews, name), { recursive: true });
  emptied(join(p.files.gitViews, 'half'));
  assert.equal(await p.status(), '? new.ts\0');
  storeGitView(p.files, 'loop-1', view(p.files, p.contract).pins, view(p.files, p.contract));
  assert.equal(readdirSync(p.files.gitViews).length, 1, 'the next one removes what was left');
  assert.equal(await p.status(), '? new.ts\0');
});

const CHANGING = [
  'copyFileSync',
  'mkdirSync',
  'openSync',
  'renameSync',
  'rmSync',
  'unlinkSync',
  'writeFileSync',
] as const;

/** Does `work` until its n-th call that changes the disk, from which on nothing is changed. Returns whether that call came. */
function cutAt(n: number, work: () => void): boolean {
  const originals = CHANGING.map((name) => [name, fs[name]] as const);
  let calls = 0;
  for (const [name, original] of originals) {
    const replaced = (...given: unknown[]): unknown => {
      const reads = name === 'openSync' && given[1] === 'r';
      // A killed process holds no lock.
      const counts = !reads && !String(given[0]).includes('.lock');
      if (counts) calls += 1;
      if (counts && calls >= n) throw new Error('killed');
      return (original as (...all: unknown[]) => unknown)(...given);
    };
    Object.assign(fs, { [name]: replaced });
  }
  syncBuiltinESMExports();
  try {
    work();
  } catch (error) {
    assert.equal((error as Error).message, 'killed');
  } finally {
    Object.assign(fs, Object.fromEntries(originals));
    syncBuiltinESMExports();
  }
  return calls >= n;
}

test('after a kill at any point of storing a view the old or the new one is whole, and none is in between', async (t) => {
  const p = await place(t);
  const { pins } = view(p.files, p.contract);
  const exclude = Object.keys(pins.texts).find((name) => name.endsWith('exclude')) ?? '';
  const newer = { ...pins, texts: { ...pins.texts, [exclude]: '*.newer\n' } };
  const saved = emptyFolder(t);
  cpSync(p.files.outsideDir, saved, { recursive: true });
  const found = (): string => {
    try {
      return view(p.files, p.contract).pins.texts[exclude] === '*.newer\n' ? 'new' : 'old';
    } catch (error) {
      return `lost: ${lostBy(error)?.path ?? String(error)}`;
    }
  };
  const outcomes = (store: () => void): string[] => {
    const all: string[] = [];
    for (let n = 1; ; n += 1) {
      rmSync(p.files.outsideDir, { recursive: true });
      cpSync(saved, p.files.outsideDir, { recursive: true });
      const isCut = cutAt(n, store);
      all.push(found());
      if (!isCut) return all;
    }
  };
  const stored = outcomes(() => storeGitView(p.files, 'loop-1', newer, view(p.files, p.contract)));
  assert.ok(stored.length > 20, String(stored.length));
  assert.deepEqual([...new Set(stored)], ['old', 'new']);
  const removed = outcomes(() => storeGitView(p.files, 'loop-1', null, null));
  assert.deepEqual([...new Set(removed)], ['old', `lost: ${p.files.evidence}`], 'never read as a loop without a view');
  const inPlace = outcomes(() => {
    const record = JSON.parse(readFileSync(p.files.gitView, 'utf8')) as { folder: string };
    const folder = join(p.files.gitViews, record.folder);
    fs.writeFileSync(join(folder, exclude), newer.texts[exclude] ?? '');
    fs.writeFileSync(p.files.gitView, JSON.stringify({ ...record, pins: newer }));
  });
  assert.match(inPlace[1] ?? '', /^lost: .*exclude$/, 'control: a view that is changed in place');
});

test('a resumed loop keeps its index, and one without a view has none', async (t) => {
  const p = await place(t);
  const before = formerView(p.files, p.contract);
  assert.ok(before?.index()?.commit);
  storeGitView(p.files, 'loop-1', before.pins, before);
  assert.deepEqual(view(p.files, p.contract).index(), before.index());
  storeGitView(p.files, 'loop-1', null, null);
  assert.deepEqual([existsSync(p.files.gitView), existsSync(p.files.gitViews)], [false, false]);
  assert.equal(viewOf(p.files, { loopId: 'loop-1', evidence: listEvidence(p.files, 'loop-1') }), null);
});
