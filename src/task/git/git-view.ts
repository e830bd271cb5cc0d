import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { EvidenceOf } from '../../state/evidence/evidence.ts';
import {
  evidenceBytes,
  evidenceLost,
  filesAtEnd,
  readEvidenceRecord,
  unlessLost,
} from '../../state/evidence/evidence.ts';
import { forgetEvidence, storeEvidence } from '../../state/evidence/store-evidence.ts';
import {
  namesIn,
  readRegularFile,
  removeIfThere,
  syncDirectory,
  uniqueToken,
  writeAtomically,
} from '../../state/files/regular-file.ts';
import { sha256 } from '../../state/hash-contract.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { alternate, quotedValue } from './git-pins.ts';
import type { GitAnswer, GitOptions, GitPins, GitView, ViewIndex } from './run-git.ts';
import { copyIndex, runGit } from './run-git.ts';

/** Stored part of a view: everything except the git folder, which is built from it. */
interface ViewRecord {
  /** Name of the folder. It is complete before the record names it, so that a kill never leaves half a view. */
  readonly folder: string;
  readonly pins: GitPins;
  readonly index: ViewIndex | null;
}

/** Returns a loop's view; null only if its contract lists none. Throws `evidence-lost`, also for its folder. */
export function viewOf(files: LoopFiles, contract: EvidenceOf): GitView | null {
  const record = recordOf(files, contract);
  if (record === null) return null;
  const folder = join(files.gitViews, record.folder);
  proveFolder(folder, record.pins);
  return {
    folder,
    pins: record.pins,
    index: () => recordOf(files, contract)?.index ?? null,
    keepIndex: (index) => storeRecord(files, contract.loopId, { ...record, index }),
  };
}

/** Returns the view of a loop that may have ended; null if its contract has none. Throws `evidence-lost`. */
export function viewAtEnd(files: LoopFiles, contract: EvidenceOf): GitView | null {
  return viewOf(filesAtEnd(files), contract);
}

/** Returns git's settings at the start of a loop that may have ended; null if its contract has none. Throws `evidence-lost`. */
export function pinsAtEnd(files: LoopFiles, contract: EvidenceOf): GitPins | null {
  return recordOf(filesAtEnd(files), contract)?.pins ?? null;
}

/** Returns the view of a loop that is about to be resumed; null if it has none that can be trusted. */
export function formerView(files: LoopFiles, former: EvidenceOf | null): GitView | null {
  return unlessLost(() => former && viewAtEnd(files, former), null);
}

function recordOf(files: LoopFiles, contract: EvidenceOf): ViewRecord | null {
  const found = readEvidenceRecord<ViewRecord>(files, contract, 'gitView');
  if (found === null) return null;
  const { folder, pins, index } = found;
  if (typeof folder !== 'string' || typeof pins?.config !== 'string') throw evidenceLost(files.gitView, 'torn');
  return { folder, pins, index: index ?? null };
}

function storeRecord(files: LoopFiles, loopId: string, record: ViewRecord): void {
  storeEvidence(files, loopId, 'gitView', JSON.stringify(record));
}

/**
 * Stores the view of a loop that starts or resumes, before its contract is written; null removes that of a former loop.
 * `before` is the view of the resumed loop; its index is kept.
 */
export function storeGitView(files: LoopFiles, loopId: string, pins: GitPins | null, before: GitView | null): void {
  if (pins === null) {
    forgetEvidence(files, loopId, 'gitView');
    removeIfThere(files.gitView);
    rmSync(files.gitViews, { recursive: true, force: true });
    return;
  }
  const name = uniqueToken();
  const folder = join(files.gitViews, name);
  const index = makeFolder(folder, pins, before, 'content');
  for (const each of [...PLACES.map((place) => join(folder, place)), folder, files.gitViews]) syncDirectory(each);
  storeRecord(files, loopId, { folder: name, pins, index });
  for (const other of namesIn(files.gitViews)) {
    if (other !== name) rmSync(join(files.gitViews, other), { recursive: true, force: true });
  }
}

/** Makes a view in a folder, without a record of it. */
export function passingView(folder: string, pins: GitPins): GitView {
  let index = makeFolder(folder, pins, null, 'nothing');
  return {
    folder,
    pins,
    index: () => index,
    keepIndex: (read) => {
      index = read;
    },
  };
}

/** Writes the git folder of a view: objects from the repository, everything else from the pins. */
function makeFolder(
  folder: string,
  pins: GitPins,
  before: GitView | null,
  waitsFor: 'content' | 'nothing',
): ViewIndex | null {
  writeFolder(folder, pins, pins.head, waitsFor);
  const known = before?.index() ?? null;
  const isKept = before !== null && known !== null && isIndexOf(before.folder, known);
  if (isKept) copyIndex(indexIn(before.folder), indexIn(folder));
  else if (existsSync(pins.index)) copyIndex(pins.index, indexIn(folder));
  else return null;
  return { commit: isKept ? known.commit : null, sha256: digestOf(indexIn(folder)) };
}

/** Folders of a view that contain files. */
const PLACES = ['info', 'objects/info'];

/** Writes the files of a view without waiting for their names. A torn HEAD is written again before git reads it. */
function writeFolder(folder: string, pins: GitPins, head: string, waitsFor: 'content' | 'nothing'): void {
  for (const name of [...PLACES, 'refs']) mkdirSync(join(folder, name), { recursive: true, mode: 0o700 });
  for (const [name, text] of fixedFiles(folder, pins)) writeAtomically(join(folder, name), text, 0o600, waitsFor);
  writeAtomically(join(folder, HEAD), `${head}\n`, 0o600, 'nothing');
}

const HEAD = 'HEAD';
const INDEX = 'index';
const indexIn = (folder: string): string => join(folder, INDEX);
const digestOf = (path: string): string => sha256(readFileSync(path));

/** Returns the unchanging files of a view by their path in it. */
function fixedFiles(folder: string, { texts, config, objects }: GitPins): Map<string, string> {
  const own = ['excludes', 'attributes'].map((name) => `\t${name}file = ${quotedValue(join(folder, name))}\n`);
  return new Map([
    ...Object.entries(texts),
    ['config', `${config}[core]\n${own.join('')}`],
    ['objects/info/alternates', alternate(objects)],
  ]);
}

/** Files that git itself writes, and folders in which content filters keep their files. */
const OF_GIT: readonly string[] = [HEAD, INDEX, `${INDEX}.lock`];
const OF_FILTERS: readonly string[] = ['lfs', 'annex'];

/** Throws `evidence-lost` unless the folder holds exactly the settings of the start: git must honour nothing else. */
function proveFolder(folder: string, pins: GitPins): void {
  const fixed = fixedFiles(folder, pins);
  for (const [name, text] of fixed) {
    const path = join(folder, name);
    // An empty settings file equals a missing one.
    if (text === '' && readRegularFile(path, 0) === '') continue;
    if (evidenceBytes(path).toString('utf8') !== text) throw evidenceLost(path, 'edited');
  }
  for (const name of filesBelow(folder)) {
    if (!fixed.has(name) && !OF_GIT.includes(name)) throw evidenceLost(join(folder, name), 'edited');
  }
}

function filesBelow(folder: string, prefix = ''): string[] {
  return readdirSync(join(folder, prefix), { withFileTypes: true }).flatMap((entry) => {
    const path = `${prefix}${entry.name}`;
    if (OF_FILTERS.includes(path)) return [];
    return entry.isDirectory() ? filesBelow(folder, `${path}/`) : [path];
  });
}

/** Returns working tree and git folder of the start, whatever the repository says now. */
export function placesOf({ pins }: GitView): { readonly top: string; readonly gitDir: string } {
  return { top: pins.top, gitDir: dirname(pins.objects) };
}

export const STATUS: readonly string[] =
  'status --porcelain=v2 -z --no-renames --untracked-files=all --ignore-submodules=none'.split(' ');

/** Returns `git status` of the working tree against the commit `head`, under the pins; null if the loop has none. */
export async function statusUnderPins(
  projectDir: string,
  head: string,
  options: GitOptions,
): Promise<GitAnswer | null> {
  const ask = await openView(projectDir, head, options);
  return ask === null ? null : ask(STATUS);
}

/** Returns a function that asks git about the working tree and the commit `head`, under the pins if the loop has a view. */
export async function askUnderPins(
  projectDir: string,
  head: string,
  options: GitOptions,
): Promise<(words: readonly string[]) => Promise<GitAnswer>> {
  return (await openView(projectDir, head, options)) ?? ((words) => runGit(projectDir, words, options));
}

/** Updates the view to a commit. An index that this loop did not write is read again. */
async function openView(
  projectDir: string,
  head: string,
  options: GitOptions,
): Promise<((words: readonly string[]) => Promise<GitAnswer>) | null> {
  const { view } = options;
  if (!view) return null;
  const { folder, pins } = view;
  const index = indexIn(folder);
  const ask = (words: readonly string[]) =>
    runGit(projectDir, words, { ...options, inView: { gitDir: folder, workTree: pins.top } });
  const known = view.index();
  let kept = known;
  const keep = (): void => {
    const now: ViewIndex = { commit: head, sha256: digestOf(index) };
    const isKept = (one: ViewIndex | null): boolean => one?.commit === now.commit && one.sha256 === now.sha256;
    // Another question, asked at the same time, may have kept an index already.
    if (!isKept(kept) && !isKept(view.index())) view.keepIndex(now);
    kept = now;
  };
  const isKnown = known !== null && isIndexOf(folder, known);
  if (readRegularFile(join(folder, HEAD), 100) !== `${head}\n`) writeFileSync(join(folder, HEAD), `${head}\n`);
  if (!isKnown || known.commit !== head) {
    // Unlike read-tree, this knows which files a sparse checkout leaves out.
    const read = () => ask(['reset', '--quiet', head, '--', ':/']);
    if (!isKnown || (await read()).kind !== 'answer') {
      // Another program wrote the index, a killed process left a lock, or only the repository can read it.
      for (const path of [index, `${index}.lock`]) removeIfThere(path);
      const again = await read();
      if (again.kind !== 'answer') return async () => again;
    }
    keep();
  }
  return async (words) => {
    const answer = await ask(words);
    keep();
    return answer;
  };
}

function isIndexOf(folder: string, known: ViewIndex): boolean {
  return existsSync(indexIn(folder)) && digestOf(indexIn(folder)) === known.sha256;
}

/** Writes a git folder for a copy of the working tree: the view, its index, and the names of the repository's commits. */
export function copyGitView(view: GitView, to: string, head: string, refs: string): void {
  writeFolder(to, view.pins, head, 'nothing');
  if (existsSync(indexIn(view.folder))) copyIndex(indexIn(view.folder), indexIn(to));
  writeFileSync(join(to, 'packed-refs'), refs);
}
