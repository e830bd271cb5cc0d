import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, delimiter, dirname, join, relative, sep } from 'node:path';
import * as z from 'zod';
import { type Contract, storedContract } from '../../engine/schema/contract.ts';
import { EVIDENCE, type EvidenceName, LIVE, type Manifest, manifestUnlessLost } from '../../state/evidence/evidence.ts';
import { namesIn, readRecord, readRegularFile } from '../../state/files/regular-file.ts';
import { hashContract, sha256 } from '../../state/hash-contract.ts';
import { homeFolder } from '../../state/home-folder.ts';
import { hideRuntimeDir, type LoopFiles, loopFiles } from '../../state/loop-files.ts';
import { RalphError } from '../../text/message.ts';
import { maskBytes } from '../mask-secrets.ts';
import { GIT_TEXTS } from '../messages.ts';

/** Folder of the runtime files, relative to the work tree, with a final slash. */
export const RUNTIME = '.claude/context/runtime/';

/** Pattern for locks, drafts and holds of this machine's processes, and for the file that hides the folder. */
const LEFT = /(?:\.lock|\.tmp|\.folder|\.holder|\.lease)$|\.reap-|^\.gitignore$|[\u0000-\u001f]/;
/** Pattern for outside files that a loop needs elsewhere. A resume creates the snapshot and the view of git again. */
const OUTSIDE =
  /^(?:contract|counters|cancelled|notices|turn|task|settling|ralph-tdd|telemetry|unchanged|seen)(?:\.|$)|^runner(?:\..+)?\.due\.json$/;
const CONTRACT = /^contract(?:\..+)?\.json(?:\.ended)?$/;
const STATE = /^ralph-state(?:\..+)?\.json$/;
const FOLDERS = 'place.json';
const MOST_BYTES = 64 * 1024 * 1024;

const folders = z.object({ project: z.string().min(1), home: z.string().min(1) });

/**
 * Copies the stored data of a project's loops, inside and outside it, to `runtime/` and `outside/` of a new folder. Masks
 * secrets of the environment that an agent wrote. A contract contains none, and its hash must not change.
 */
export function collectState(project: string, env: NodeJS.ProcessEnv, to: string): void {
  const { runtimeDir, outsideDir } = filesOf(project, env);
  for (const name of namesIn(outsideDir)) {
    const path = join(outsideDir, name);
    if (!OUTSIDE.test(name) || LEFT.test(name) || !lstatSync(path).isFile()) continue;
    if (CONTRACT.test(name)) copyFile(path, join(to, 'outside', name));
    else copyMasked(path, join(to, 'outside', name), env);
  }
  // Copied after the files that they prove.
  for (const name of namesIn(outsideDir).filter((name) => MANIFEST.test(name)))
    carryManifest(project, env, name, join(to, 'outside'));
  // Last: a state may count more than the counters outside, but never less.
  for (const path of regularFiles(runtimeDir)) copyMasked(path, join(to, 'runtime', relative(runtimeDir, path)), env);
  writeFileSync(join(to, FOLDERS), JSON.stringify({ project, home: homeFolder(env) }));
}

/**
 * Restores the data from `collectState` for the loops of a project at this path. A contract with a valid hash gets the
 * folders of this machine, and the state its new hash; a tampered contract remains invalid. Throws RalphError `refused`
 * if a link leads to the runtime files, `state-corrupt` for an invalid folder.
 */
export function restoreState(from: string, project: string, env: NodeJS.ProcessEnv): void {
  const files = filesOf(project, env);
  const old = readFolders(from);
  const here: Folders = { project, home: homeFolder(env) };
  const hashes = new Map<string, string>();
  mkdirSync(files.outsideDir, { recursive: true, mode: 0o700 });
  for (const name of namesIn(join(from, 'outside'))) {
    const path = join(from, 'outside', name);
    const isKept = OUTSIDE.test(name) || MANIFEST.test(name);
    if (!isKept || LEFT.test(name) || !lstatSync(path).isFile()) continue;
    copyFile(path, join(files.outsideDir, name), 0o600);
  }
  for (const name of namesIn(join(from, 'outside')).filter((name) => CONTRACT.test(name))) {
    const path = join(from, 'outside', name);
    const moved = movedContract(path, old, here, hashes);
    if (moved === null) continue;
    writeFileSync(join(files.outsideDir, name), moved, { mode: 0o600 });
    adoptContract(files.outsideDir, name, readFileSync(path), moved);
  }
  hideRuntimeDir(files);
  const runtime = join(from, 'runtime');
  for (const path of regularFiles(runtime)) {
    const name = relative(runtime, path);
    const to = join(files.runtimeDir, name);
    const state = STATE.test(name) ? movedState(path, hashes) : null;
    if (state === null) copyFile(path, to);
    else writeFileSync(to, state);
  }
}

/** Returns the paths of the files of any loop of the project. Throws RalphError `refused` if a link leads to them. */
function filesOf(project: string, env: NodeJS.ProcessEnv): LoopFiles {
  const files = loopFiles(project, null, env);
  for (let at = files.runtimeDir; at !== files.projectDir; at = dirname(at)) {
    const stat = lstatSync(at, { throwIfNoEntry: false });
    if (stat !== undefined && !stat.isDirectory()) throw new RalphError('refused', GIT_TEXTS.turned(at));
  }
  return files;
}

/** Lists the regular files below a folder, except those of a process; links are not followed. */
function regularFiles(folder: string): string[] {
  if (lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return [];
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (LEFT.test(entry.name)) return [];
    return entry.isDirectory() ? regularFiles(path) : entry.isFile() ? [path] : [];
  });
}

function copyMasked(from: string, to: string, env: NodeJS.ProcessEnv): void {
  mkdirSync(dirname(to), { recursive: true });
  writeFileSync(to, maskBytes(readFileSync(from), env));
}

function copyFile(from: string, to: string, mode = 0o644): void {
  mkdirSync(dirname(to), { recursive: true });
  writeFileSync(to, readFileSync(from), { mode });
}

function readFolders(from: string): Folders {
  try {
    return folders.parse(JSON.parse(readRegularFile(join(from, FOLDERS), MOST_BYTES) ?? ''));
  } catch (error) {
    throw new RalphError('state-corrupt', GIT_TEXTS.noFolders, error);
  }
}

function movedContract(path: string, old: Folders, here: Folders, hashes: Map<string, string>): string | null {
  const found = storedContract.safeParse(readRecord(path));
  if (!found.success || hashContract(found.data.contract) !== found.data.hash) return null;
  const relocated = relocateContract(found.data.contract, old, here);
  const contract = { ...relocated, ...carriedList(relocated, path) };
  const hash = hashContract(contract);
  hashes.set(found.data.hash, hash);
  return `${JSON.stringify({ hash, contract }, null, 2)}\n`;
}

/** Removes the process that worked on the loop: on this machine, its number means another process. */
function movedState(path: string, hashes: ReadonlyMap<string, string>): string | null {
  const state = readRecord<Record<string, unknown>>(path);
  if (typeof state !== 'object' || state === null || !('contractHash' in state)) return null;
  const { contractHash } = state;
  const hash = typeof contractHash === 'string' ? (hashes.get(contractHash) ?? contractHash) : null;
  const moved = { ...state, contractHash: hash, clientPid: null, clientStartedAt: null };
  return `${JSON.stringify(moved, null, 2)}\n`;
}

/** Folders that a contract names by absolute paths and that differ between machines. */
interface Folders {
  readonly project: string;
  readonly home: string;
}

/** Returns the contract for other folders. The task file's text stays byte for byte, programs stay pinned by content. */
export function relocateContract(contract: Contract, from: Folders, to: Folders): Contract {
  const moves = [[from.project, to.project] as const, [from.home, to.home] as const].sort(
    ([a], [b]) => b.length - a.length,
  );
  const moved = (path: string): string => {
    const move = moves.find(([old]) => path === old || path.startsWith(old + sep));
    return move === undefined ? path : move[1] + path.slice(move[0].length);
  };
  const walk = (value: unknown): unknown => {
    if (typeof value === 'string') return moved(value);
    if (Array.isArray(value)) return value.map(walk);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, walk(item)]));
  };
  const { frontmatter, head, environment } = contract;
  const lists = Object.entries(environment ?? {}).map(
    ([key, value]) => [key, value.split(delimiter).map(moved).join(delimiter)] as const,
  );
  return {
    ...(walk(contract) as Contract),
    frontmatter,
    head,
    ...(environment && { environment: Object.fromEntries(lists) }),
  };
}

/** Pattern for the manifest of a live or an ended loop, with the loop's name. */
const MANIFEST = /^evidence(?:\.(.+))?\.json(\.ended)?$/;

/** Entries that a loop needs on another machine. A resume creates those about a machine's files again. */
const CARRIED: readonly EvidenceName[] = [
  'contract',
  'unchanged',
  'seen',
  'counters',
  'startFiles',
  'startPoint',
  'openTask',
  'commitIntent',
  'scenarios',
];

/**
 * Writes the manifest of a loop's copied evidence into `outside`. An entry that is trusted here gets the digest of its copy,
 * in which secrets are masked; every other entry keeps its digest, so that it is not trusted there either.
 */
function carryManifest(project: string, env: NodeJS.ProcessEnv, name: string, outside: string): void {
  const [, loop = null, ended = ''] = MANIFEST.exec(name) ?? [];
  const files = loopFiles(project, loop, env);
  // A lost manifest is also found by the next resume of its loop.
  const manifest = manifestUnlessLost({ evidence: `${files.evidence}${ended}` });
  if (manifest === null) return;
  const entries = CARRIED.flatMap((entry) => {
    const digests = manifest.entries[entry];
    if (digests === undefined) return [];
    const path = `${EVIDENCE[entry](files)}${entry === 'contract' ? ended : ''}`;
    const copy = join(outside, basename(path));
    const isBelieved = existsSync(copy) && [digests.is, digests.next].includes(sha256(readFileSync(path)));
    return [[entry, isBelieved && !LIVE.has(entry) ? { is: sha256(readFileSync(copy)) } : digests] as const];
  });
  write(join(outside, name), { ...manifest, entries: Object.fromEntries(entries) });
}

/** Puts the digest of a relocated contract into the carried manifest beside it, if the manifest proves the original. */
function adoptContract(outside: string, name: string, came: Buffer, moved: string): void {
  const evidence = join(outside, name.replace(/^contract/, 'evidence'));
  const manifest = manifestUnlessLost({ evidence });
  if (manifest?.entries['contract']?.is !== sha256(came)) return;
  write(evidence, { ...manifest, entries: { ...manifest.entries, contract: { is: sha256(moved) } } });
}

/** Returns the evidence listed in a contract at `path` and carried beside it, with the digests of the copies. */
function carriedList({ evidence }: Contract, path: string): Pick<Contract, 'evidence'> {
  const manifest = manifestUnlessLost({
    evidence: join(dirname(path), basename(path).replace(/^contract/, 'evidence')),
  });
  const entries = Object.entries(evidence).filter(([name]) => CARRIED.some((entry) => entry === name));
  const digestOf = (name: string, digest: string | null): string | null =>
    digest === null ? null : (manifest?.entries[name]?.is ?? digest);
  return { evidence: Object.fromEntries(entries.map(([name, digest]) => [name, digestOf(name, digest)])) };
}

function write(path: string, manifest: Manifest): void {
  writeFileSync(path, `${JSON.stringify(manifest)}\n`, { mode: 0o600 });
}
