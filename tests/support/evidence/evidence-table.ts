import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { TestContext } from 'node:test';
import type { LoopState } from '../../../src/engine/schema/state.ts';
import { EVIDENCE, EVIDENCE_NAMES, LIVE } from '../../../src/state/evidence/evidence.ts';
import { sha256 } from '../../../src/state/hash-contract.ts';
import { findContract, type LoopFiles, loopFiles, noticesOf, readState } from '../../../src/state/loop-files.ts';
import { lastArchived } from '../../../src/state/with-state.ts';
import type { Project } from '../drive/drive-project.ts';
import type { PlayColumn } from './evidence-columns.ts';

/** What happens to a loop after one damage to one file. */
export interface Cell {
  /** Entry of the evidence. */
  readonly row: string;
  readonly damage: string;
  readonly column: string;
  readonly outcome: string;
}

/** Files of evidence that are damaged: the entries and the manifest. */
export const ROWS: Readonly<Record<string, (files: LoopFiles) => string>> = {
  ...EVIDENCE,
  manifest: (files) => files.evidence,
  look: ({ snapshot }) => `${snapshot}.look`,
  pack: ({ outsideDir, snapshot }) => join(outsideDir, packIn(outsideDir) ?? `${basename(snapshot)}${PACK}`),
};

/** Each snapshot's pack has a name of its own, which reports and the page shorten to this. */
const PACK = '+pack';
const packIn = (folder: string): string | undefined =>
  (existsSync(folder) ? readdirSync(folder) : []).find((name) => name.includes(`${PACK}-`));

/** Files whose digests a listed entry holds. */
const BESIDE: Readonly<Record<string, readonly string[]>> = { snapshot: ['look', 'pack'] };

const OF_EVERY_LOOP = ['contract', 'manifest'];

/** Versions of a file: after the start of this loop, and that of another loop. */
interface Copies {
  readonly former: Buffer;
  readonly others: Buffer;
}

type Damage = (path: string, row: string, copies: Copies, files: LoopFiles) => void;

/** Damage of a program that knows the manifest: what only the memory of a runner's process can show. */
export const CONSISTENT = 'changed with its digest';

/** How a program of the agent damages a file in its turn, just before the claim. */
export const DAMAGES: Readonly<Record<string, Damage>> = {
  deleted: (path) => rmSync(path, { recursive: true }),
  emptied: (path) => eachFile(path, (file) => truncateSync(file)),
  torn: (path) => eachFile(path, (file) => truncateSync(file, statSync(file).size >> 1)),
  // An older look of the same loop only makes it examine more.
  'older copy': (path, row, { former, others }) =>
    writeFileSync(path, row === 'look' || former.equals(readFileSync(path)) ? others : former),
  edited: (path, row) =>
    eachFile(path, (file) => writeFileSync(file, edited(readFileSync(file, 'latin1'), row), 'latin1')),
  'made up': (path) => eachFile(path, (file) => writeFileSync(file, madeUp(readFileSync(file, 'latin1')), 'latin1')),
  [CONSISTENT]: (path, row, _, files) => {
    // The record says the same, so that nothing but its digest tells.
    writeFileSync(path, `${readFileSync(path, 'utf8')} `);
    const manifest = JSON.parse(readFileSync(files.evidence, 'utf8'));
    manifest.entries[row] = { is: sha256(readFileSync(path)) };
    writeFileSync(files.evidence, JSON.stringify(manifest));
  },
};

/** Returns the damages that a file can suffer: some have no digest in the manifest. */
export function damagesOf(row: string): string[] {
  const hasDigest = EVIDENCE_NAMES.some((name) => name === row && !LIVE.has(name));
  return Object.keys(DAMAGES).filter((damage) => damage !== CONSISTENT || hasDigest);
}

function eachFile(path: string, change: (file: string) => void): void {
  if (!statSync(path).isDirectory()) change(path);
  else for (const name of readdirSync(path)) eachFile(join(path, name), change);
}

/** A digit differs; of the counters, which have no digest, the count of iterations is higher. */
function edited(text: string, row: string): string {
  if (row === 'counters') return text.replace(/"iteration":(\d+)/, (_, count) => `"iteration":${Number(count) + 2}`);
  return text.replace(/\d(?=\D*$)/, (digit) => `${(Number(digit) + 1) % 10}`);
}

/** A whole file in the same form, which says something else. */
function madeUp(text: string): string {
  return /^\{/.test(text)
    ? `{"loopId":"loop-made-up",${text.slice(1).replace(/"loopId":"[^"]*",?/, '')}`
    : `made up\n${text}`;
}

export interface Control {
  /** How the loop ends whose evidence is whole. */
  readonly says: string;
  /** Rows of the files that this loop rests on. */
  readonly entries: readonly string[];
  readonly counts: string;
  readonly files: Readonly<Record<string, Buffer>>;
}

export async function controlOf(t: TestContext, play: PlayColumn): Promise<Control> {
  let entries: readonly string[] = [];
  const files: Record<string, Buffer> = {};
  const project = await play(
    t,
    (damaged) => {
      const found = findContract(damaged.files);
      assert.ok(typeof found === 'object');
      const listed = Object.keys(found.contract.evidence ?? {});
      const named = EVIDENCE_NAMES.filter((name) => listed.includes(name));
      entries = [...OF_EVERY_LOOP, ...named.flatMap((name) => [name, ...(BESIDE[name] ?? [])])];
      for (const row of entries) files[row] = contentOf(pathOf(row, damaged.files));
      // This loop protects the same file; others protect other ones.
      files['pack'] = Buffer.from('c2\n');
    },
    () => undefined,
  );
  const ended = lastArchived(project.files)?.state;
  const said = saidBy(project, ended ?? null);
  return {
    says: [ended?.status === 'ended' ? ended.ended.as : 'not ended', ...said].join('; '),
    entries,
    counts: countsOf(ended),
    files,
  };
}

function contentOf(path: string): Buffer {
  return statSync(path).isDirectory() ? Buffer.alloc(0) : readFileSync(path);
}

function pathOf(row: string, files: LoopFiles): string {
  return ROWS[row]?.(files) ?? assert.fail(row);
}

function countsOf(state: LoopState | undefined): string {
  return `${state?.iteration} ${state?.usage.outputTokens}`;
}

/** Damages a file of a loop in the turn that ends with a claim, and returns what happens; `silent` if nothing says so. */
export async function outcomeOf(
  t: TestContext,
  play: PlayColumn,
  row: string,
  damage: string,
  { files: others, counts }: Control,
): Promise<string> {
  let former: Buffer = Buffer.alloc(0);
  const project = await play(
    t,
    ({ files }) => DAMAGES[damage]?.(pathOf(row, files), row, { former, others: others[row] ?? former }, files),
    ({ files }) => {
      former = contentOf(pathOf(row, files));
    },
  );
  const { files } = project;
  const current = readState(files.state);
  const live = current.kind === 'loop' ? current.state : null;
  const ended = live ?? lastArchived(files)?.state ?? null;
  const said = saidBy(project, ended);
  if (live?.status === 'paused') {
    assert.equal(live.paused.reason, 'evidence-lost', said.join('\n'));
    return `pauses: ${said.at(-1)}`;
  }
  assert.equal(ended?.status, 'ended', `${row} ${damage}: ${ended?.status} ${said.join('; ')}`);
  if (said.length > 0) return `goes on: ${said.join('; ')}`;
  return row === 'counters' && countsOf(ended ?? undefined) === counts
    ? 'continues with the counts of the state'
    : 'silent';
}

const NAMING = ['evidence', 'counters', 'restore'];

/** Returns what reports say about evidence, without folders. */
function saidBy({ files }: Project, state: LoopState | null): string[] {
  if (state === null) return [];
  return noticesOf(files, state.loopId)
    .filter(({ kind }) => NAMING.includes(kind))
    .map(({ text }) =>
      text
        .replaceAll(/\/\S*\//g, '')
        .replace(/(\+pack)-\S+/, '$1')
        .replace('Evidence of this loop is lost: ', '')
        .replace(/\.$/, ''),
    );
}

/** Returns the name of a row's file. */
export const fileOf = (row: string): string => basename(pathOf(row, loopFiles('/', null, { HOME: '/' })));
