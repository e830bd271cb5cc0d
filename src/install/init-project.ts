import { existsSync, mkdirSync, renameSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { getNodeValue, type Node } from 'jsonc-parser/lib/esm/main.js';
import { liveLoop } from '../drive/status/loop-report.ts';
import type { HookGroup } from '../hosts/host.ts';
import { freePath } from '../state/files/regular-file.ts';
import { sha256 } from '../state/hash-contract.ts';
import { about, advise, RalphError } from '../text/message.ts';
import { HOOKS_HOME, LAUNCHERS, type PlannedFile, plannedFiles, runsFromProject } from './files/planned-files.ts';
import type { InsertedSpan, InstallManifest, SettingsRecord } from './project-files.ts';
import {
  BUNDLE_HOME,
  MANIFEST_PATH,
  placeFile,
  plainText,
  readManifest,
  readText,
  removeFile,
  safePath,
  withoutMark,
  writtenBy,
} from './project-files.ts';
import { type Registration, sessionRegistration } from './settings/registration.ts';
import type { SettingsSource } from './settings/settings-sources.ts';
import { insertIntoJson, memberOf, parseSettings, unchanged } from './settings/settings-sources.ts';
import { hooksIn, isOurHook, otherStopHooks } from './settings/stop-hooks.ts';
import { withdrawRegistration, withoutHooks } from './settings/withdraw-registration.ts';

export const SETTINGS_PATH = '.claude/settings.json';

export type InitReport = ReturnType<typeof initProject>;

interface InitRequest {
  readonly projectDir: string;
  readonly env: NodeJS.ProcessEnv;
  readonly bundle: string;
  readonly version: string;
  /** True if the plugin registers the hooks: the settings file then has none of ours. */
  readonly pluginEnabled: boolean;
  /** Another loop's programs to move aside; if absent, they stay where they are. */
  readonly old?: OldInstallation;
  readonly now: string;
  readonly platform?: NodeJS.Platform;
}

/**
 * Throws `refused` while a loop is live: it would revert changes to the program's files during its agent's calls. With
 * `isDriven`, a loop that no client has joined yet does not count.
 */
export function refuseWhileLive(projectDir: string, env: NodeJS.ProcessEnv, isDriven = false): void {
  const live = liveLoop(projectDir, env, isDriven);
  if (live === null) return;
  throw new RalphError('refused', about(advise(`a loop is live in ${projectDir}.`, 'End it first', 'cancel'), live));
}

/** Checks everything before the first write. Writes the manifest first, for an `uninit` after a crash. Paths are relative. */
export function initProject(request: InitRequest) {
  const { projectDir, bundle, version } = request;
  const manifest = readManifest(projectDir);
  const { old } = request;
  const plan = adopted(
    plannedFiles(bundle, projectDir).map((file) =>
      judge(file, old?.files.includes(file.path) ? null : readText(safePath(projectDir, file.path)), manifest),
    ),
    manifest,
  );
  const settings = planSettings(request, manifest);
  const of = (...verdicts: Verdict[]): string[] =>
    plan.filter(({ verdict }) => verdicts.includes(verdict)).map(({ path }) => path);
  const outdated = outdatedFiles(request, manifest, new Set(plan.map(({ path }) => path)));
  const isComplete = of('create', 'update').length + outdated.length === 0 && settings.change === 'unchanged';
  // A loop that was started without hooks waits for its client, and so for the first set-up.
  if (!isComplete || old?.files.length) refuseWhileLive(projectDir, request.env, manifest === null);
  const next: InstallManifest = {
    manifestVersion: 1,
    version,
    files: {
      // A changed file stays recorded with its original digest: undoing the change makes it ours again.
      ...Object.fromEntries(Object.entries(manifest?.files ?? {}).filter(([path]) => !outdated.includes(path))),
      ...Object.fromEntries(plan.filter(({ verdict }) => OURS.has(verdict)).map((file) => [file.path, file.digest])),
    },
    directories: [...new Set([...(manifest?.directories ?? []), ...missingDirectories(projectDir, plan)])].sort(),
    settings: settings.record,
  };
  const replaced = old === undefined || old.files.length === 0 ? null : moveAside(projectDir, old, request.now);
  for (const [path, text] of old?.settings ?? []) {
    if (path !== SETTINGS_PATH) placeFile(projectDir, path, text, 0o644);
  }
  const writeManifest = (content: InstallManifest): void =>
    placeFile(projectDir, MANIFEST_PATH, `${JSON.stringify(content, null, 2)}\n`, 0o644);
  // After a crash, a file is ours by the digest of its former or of its new content.
  writeManifest({ ...next, files: { ...next.files, ...manifest?.files }, updating: next.files });
  for (const file of plan) {
    if (file.verdict === 'create' || file.verdict === 'update')
      placeFile(projectDir, file.path, file.content, file.mode);
  }
  for (const path of outdated) removeFile(projectDir, path);
  writeManifest(next);
  if (settings.change === 'removed') removeFile(projectDir, SETTINGS_PATH);
  else if (settings.text !== null) placeFile(projectDir, SETTINGS_PATH, settings.text, 0o644);
  return {
    created: of('create'),
    updated: of('update'),
    /** Files of an older version that are no longer needed. */
    removed: outdated,
    /** Files that differ from ours and were kept, because the user wrote or changed them. */
    kept: of('kept'),
    unchanged: of('same', 'theirs').length,
    settings: settings.change,
    /** Another loop's programs that were moved, and the folder in which they are now. */
    moved: old?.files ?? [],
    replaced: replaced === null ? null : relative(projectDir, replaced),
    entries: old?.entries ?? 0,
  };
}

/** `same`: ours and up to date. `theirs`: existed before, with the same content as ours. */
type Verdict = 'create' | 'update' | 'same' | 'theirs' | 'kept';

const OURS: ReadonlySet<Verdict> = new Set<Verdict>(['create', 'update', 'same']);

type JudgedFile = ReturnType<typeof judge>;

function judge(file: PlannedFile, current: string | null, manifest: InstallManifest | null) {
  const verdict = verdictOn(current, file.content, manifest === null ? [] : writtenBy(manifest, file.path));
  return { ...file, digest: sha256(file.content), verdict };
}

/** An updated copy of a plugin's skill becomes ours as a whole, so that `uninit` leaves no part of it. */
function adopted(plan: readonly JudgedFile[], manifest: InstallManifest | null): readonly JudgedFile[] {
  const skillOf = ({ path }: JudgedFile): string | undefined => /^\.claude\/skills\/[^/]+/.exec(path)?.[0];
  const copied = plan.filter(({ path, verdict }) => verdict === 'update' && manifest?.files[path] === undefined);
  const skills = new Set(copied.flatMap((file) => skillOf(file) ?? []));
  return plan.map((file) =>
    file.verdict === 'theirs' && skills.has(skillOf(file) ?? '') ? { ...file, verdict: 'same' } : file,
  );
}

function verdictOn(current: string | null, wanted: string, written: readonly string[]): Verdict {
  if (current === null) return 'create';
  const plain = current.replaceAll('\r\n', '\n');
  // A checkout on Windows may have changed the line ends.
  if (plain === wanted.replaceAll('\r\n', '\n')) return written.length === 0 ? 'theirs' : 'same';
  // A copy of the plugin's skill names a program that only the plugin has.
  if (written.length === 0 && plainText(current) === plainText(wanted)) return 'update';
  return [current, plain].some((text) => written.includes(sha256(text))) ? 'update' : 'kept';
}

interface PlannedSettings {
  readonly text: string | null;
  readonly record: SettingsRecord | null;
  readonly change: 'created' | 'changed' | 'unchanged' | 'removed';
}

function planSettings(request: InitRequest, manifest: InstallManifest | null): PlannedSettings {
  const { projectDir, platform, pluginEnabled } = request;
  const original = readText(safePath(projectDir, SETTINGS_PATH));
  const before = request.old?.settings.get(SETTINGS_PATH) ?? original;
  const record = manifest?.settings ?? null;
  if (pluginEnabled) {
    const text = before === null ? null : withdrawRegistration(before, record, SETTINGS_PATH);
    if (text === original) return { text: null, record: null, change: 'unchanged' };
    return { text, record: null, change: text === null ? 'removed' : 'changed' };
  }
  const registration = sessionRegistration(platform);
  const same = addRegistration(before ?? '', registration, SETTINGS_PATH);
  const outdated = before !== null && holdsOutdated(before, registration);
  if (original !== null && before === original && same.inserted.length === 0 && !outdated)
    return { text: null, record, change: 'unchanged' };
  // Entries of an older version are removed first: each event has one.
  const clean =
    before === null || (record === null && !outdated) ? before : withdrawRegistration(before, record, SETTINGS_PATH);
  const added = addRegistration(clean ?? '', registration, SETTINGS_PATH);
  return {
    text: added.text,
    record: {
      createdFile: clean === null || record?.createdFile === true,
      after: sha256(added.text),
      inserted: added.inserted,
      created: added.created,
    },
    change: before === null ? 'created' : 'changed',
  };
}

function holdsOutdated(settings: string, registration: Registration): boolean {
  const { body } = withoutMark(settings);
  const wanted = hooksIn({ hooks: registration }, '');
  return hooksIn(body.trim() === '' ? {} : (JSON.parse(body) as Record<string, unknown>), '').some(
    ({ event, command, entry }) =>
      isOurHook(entry) && !wanted.some((hook) => hook.event === event && hook.command === command),
  );
}

function outdatedFiles(
  { bundle, projectDir }: InitRequest,
  manifest: InstallManifest | null,
  planned: ReadonlySet<string>,
): string[] {
  const here = runsFromProject(bundle, projectDir);
  return Object.entries(manifest?.files ?? {}).flatMap(([path, digest]) => {
    // The bundle from which this program runs was not planned, but is needed.
    if (planned.has(path) || (here && path.startsWith(`${BUNDLE_HOME}/`))) return [];
    const current = readText(safePath(projectDir, path));
    return current !== null && sha256(current) === digest ? [path] : [];
  });
}

function missingDirectories(projectDir: string, plan: readonly JudgedFile[]): string[] {
  const created = plan.filter(({ verdict }) => verdict === 'create').map(({ path }) => path);
  const missing = new Set<string>();
  for (const path of [...created, MANIFEST_PATH, SETTINGS_PATH]) {
    for (let dir = dirname(path); dir !== '.'; dir = dirname(dir)) {
      if (!existsSync(join(projectDir, dir))) missing.add(dir);
    }
  }
  return [...missing];
}

/** Adds the hooks without changing any other byte; skips registered commands. Throws `refused` if the file is broken. */
export function addRegistration(
  settings: string,
  registration: Readonly<Record<string, readonly HookGroup[] | undefined>>,
  path: string,
  comments = false,
) {
  const { mark, body } = withoutMark(settings);
  if (body.trim() === '') {
    const text = `${JSON.stringify({ hooks: registration }, null, 2)}\n`;
    return { text: mark + text + body, inserted: [{ offset: 0, length: text.length }], created: ['hooks'] };
  }
  let text = body;
  /** Insertions in order: removing them in reverse order restores the old text. */
  const inserted: InsertedSpan[] = [];
  /** Keys that did not exist before: `hooks`, `hooks.Stop`. */
  const created: string[] = [];
  const insert = (container: Node, key: string | null, value: unknown): void => {
    const insertion = insertIntoJson(text, container, key, value);
    text = text.slice(0, insertion.offset) + insertion.text + text.slice(insertion.offset);
    inserted.push({ offset: insertion.offset, length: insertion.text.length });
  };
  const root = rootOf(text, path, comments);
  if (memberOf(root, 'hooks') === null) {
    insert(root, 'hooks', registration);
    return { text: mark + text, inserted, created: ['hooks'] };
  }
  for (const [event, groups = []] of Object.entries(registration)) {
    for (const group of groups) {
      const hooks = expectType(memberOf(rootOf(text, path, comments), 'hooks'), 'object', 'hooks', path);
      const list = memberOf(hooks, event);
      if (list === null) {
        insert(hooks, event, [group]);
        created.push(`hooks.${event}`);
      } else if (!holds(expectType(list, 'array', `hooks.${event}`, path), group)) insert(list, null, group);
    }
  }
  return { text: mark + text, inserted, created };
}

function rootOf(text: string, path: string, comments: boolean): Node {
  const root = parseSettings(text, path, comments);
  if (root === null) throw new Error(`${path} became empty`);
  return root;
}

function expectType(node: Node | null, type: 'object' | 'array', key: string, path: string): Node {
  if (node?.type === type) return node;
  const wanted = type === 'array' ? 'a list' : 'an object';
  throw unchanged(`${path}: "${key}" should be ${wanted}, but is ${node?.type ?? 'missing'}.`);
}

function holds(list: Node, group: HookGroup): boolean {
  const identities = (groups: unknown): string[] =>
    hooksIn({ hooks: { any: groups } }, '').map(({ entry }) => JSON.stringify([entry['command'], entry['args'] ?? []]));
  const there = identities(getNodeValue(list));
  return identities([group]).every((one) => there.includes(one));
}

/** Programs of another loop in the place of ours, and the settings that run them. Paths are relative to the project. */
export interface OldInstallation {
  readonly files: readonly string[];
  /** Texts of settings files without the entries that run them. */
  readonly settings: ReadonlyMap<string, string>;
  readonly entries: number;
}

const SETTINGS = ['.claude/settings.json', '.claude/settings.local.json'] as const;

/**
 * Finds what an older loop has left in the project: program files that no `init` wrote, and entries that run them or are a
 * loop's Stop hook. Prompts, guardrails and other texts are the user's and stay. Throws `refused` for broken settings.
 */
export function findOldInstallation(
  projectDir: string,
  plan: readonly PlannedFile[],
  manifest: InstallManifest | null,
  sources: readonly SettingsSource[],
  env: NodeJS.ProcessEnv,
): OldInstallation {
  const files = plan.flatMap(({ path, content }) => {
    if (!isProgram(path) || manifest?.files[path] !== undefined) return [];
    const current = readText(safePath(projectDir, path));
    return current === null || plainText(current) === plainText(content) ? [] : [path];
  });
  const loops = otherStopHooks(projectDir, sources, env).filter(({ isOfLoop }) => isOfLoop);
  const names = files.filter((path) => path.startsWith(`${HOOKS_HOME}/`)).map((path) => basename(path));
  const settings = new Map<string, string>();
  let entries = 0;
  for (const path of SETTINGS) {
    const before = readText(safePath(projectDir, path));
    if (before === null || before.trim() === '') continue;
    const text = withoutHooks(before, path, (entry) => {
      const [hook] = hooksIn({ hooks: { Stop: [{ hooks: [entry] }] } }, path);
      if (hook === undefined || isOurHook(entry)) return false;
      const isOld =
        names.some((name) => hook.command.includes(name)) || loops.some(({ command }) => command === hook.command);
      if (isOld) entries++;
      return isOld;
    });
    if (text !== before) settings.set(path, text);
  }
  return { files, settings, entries };
}

/** Moves the files into a folder named after this day, and returns its path. Overwrites and deletes nothing. */
function moveAside(projectDir: string, { files }: OldInstallation, now: string): string {
  const folder = freePath(join(projectDir, '.claude', 'ralph', `replaced-${now.slice(0, 10)}`), '', '-');
  for (const path of files) {
    const target = join(folder, ...path.split('/').slice(1));
    mkdirSync(dirname(target), { recursive: true });
    renameSync(safePath(projectDir, path), target);
  }
  return folder;
}

function isProgram(path: string): boolean {
  return LAUNCHERS.includes(path) || [BUNDLE_HOME, HOOKS_HOME].some((folder) => path.startsWith(`${folder}/`));
}
