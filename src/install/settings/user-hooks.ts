import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { HookPlace, HookProblem, Host, UserHooks } from '../../hosts/host.ts';
import { modeOf, realPathOf, removeIfThere, writeAtomically } from '../../state/files/regular-file.ts';
import { hookPath } from '../../state/process/program.ts';
import { nullIfRefused, RalphError } from '../../text/message.ts';
import { addRegistration } from '../init-project.ts';
import { bundleDir, readText } from '../project-files.ts';
import { withoutHooks } from './withdraw-registration.ts';

/** End of the name of the copy made before the first change of the user's file. */
const COPY = '.before-ralph-loop';

export interface UserHooksChange {
  readonly path: string;
  /** Null if the file does not exist. */
  readonly before: string | null;
  /** Null to remove the file, which contains nothing of the user's. */
  readonly after: string | null;
}

/** Returns where the hooks of this program are, for a client in this folder. */
export function hookPlace(cwd: string, env: NodeJS.ProcessEnv): HookPlace {
  return { cwd, env, node: process.execPath, hookPath: (file) => hookPath(bundleDir(), file) };
}

/** Returns the user's file with our hooks. Hooks that are already correct keep their place, by which they are trusted. */
export function withUserHooks({ file, groups, isOurs, comments }: UserHooks, env: NodeJS.ProcessEnv) {
  const path = file(env);
  const before = readText(path);
  const hooks = groups(hookPlace(path, env));
  const same = addRegistration(before ?? '', hooks, path, comments);
  if (same.inserted.length === 0) return { path, before, after: before, hooks };
  const clean = before === null ? '' : withoutHooks(before, path, isOurs, comments);
  return { path, before, after: addRegistration(clean, hooks, path, comments).text, hooks };
}

/** Returns the user's file without our hooks. */
export function withoutUserHooks(hooks: UserHooks, env: NodeJS.ProcessEnv): UserHooksChange {
  const { file, isOurs, comments } = hooks;
  const path = file(env);
  const before = readText(path);
  if (before === null) return { path, before, after: null };
  const copy = readText(`${path}${COPY}`);
  const had = copy === null ? null : addedTo(copy, hooks, path);
  if (copy !== null && had?.text === before && had.inserted.length > 0) return { path, before, after: copy };
  const after = withoutHooks(before, path, isOurs, comments, had?.created);
  const isOurFile = !existsSync(`${path}${COPY}`) && after !== before && /^\s*(?:\{\s*\})?\s*$/.test(after);
  return { path, before, after: isOurFile ? null : after };
}

/** Returns the copy with our hooks as this program writes them; null if it is broken and so shows nothing. */
function addedTo(copy: string, { groups, comments }: UserHooks, path: string) {
  return nullIfRefused(() => addRegistration(copy, groups(hookPlace(path, {})), path, comments));
}

/** Returns why the client of this host would not run our hooks in the user's file; null if it would. */
export async function userHooksProblem(
  { userHooks, requireClient }: Host,
  cwd: string,
  env: NodeJS.ProcessEnv,
): Promise<HookProblem | null> {
  try {
    return (await userHooks?.problem(() => requireClient(env).path, hookPlace(cwd, env))) ?? null;
  } catch (error) {
    if (error instanceof RalphError) return { text: error.message.replace(/\.$/, ''), repair: null };
    throw error;
  }
}

/** Returns where our hooks are: in the user's file or in our plugin for this client; null if in neither. */
export function userHooksPlace(hooks: UserHooks, env: NodeJS.ProcessEnv): string | null {
  if (hooks.hasPlugin(env)) return 'the plugin ralph-loop';
  // Every hook of ours contains this variable: a broken file without it is not our concern.
  if (readText(hooks.file(env))?.includes('RALPH_ACTIVE') !== true) return null;
  const { path, before, after } = withoutUserHooks(hooks, env);
  return before === after ? null : path;
}

/** Writes the user's file. Before its first change, copies it. Returns the path of the copy, if there is one. */
export function writeUserHooks({ path, before, after }: UserHooksChange): string | null {
  const copy = `${path}${COPY}`;
  if (after === null) removeIfThere(path);
  if (after === null || after === before) return existsSync(copy) ? copy : null;
  mkdirSync(dirname(path), { recursive: true });
  // The user may keep the file elsewhere, behind a link.
  const real = realPathOf(path) ?? path;
  if (before !== null && !existsSync(copy)) writeAtomically(copy, before, modeOf(real));
  writeAtomically(real, after, modeOf(real));
  return existsSync(copy) ? copy : null;
}
