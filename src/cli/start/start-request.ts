import { CLIENT_KEYS, type StartRequest } from '../../drive/start/prepare-contract.ts';
import type { Contract } from '../../engine/schema/contract.ts';
import { bundleDir } from '../../install/places.ts';
import { snakeCase } from '../../task/frontmatter/canonical-keys.ts';
import { taskKind } from '../../task/task-file.ts';
import { RalphError } from '../../text/ralph-error.ts';
import type { CommandContext } from '../command.ts';
import type { StartTarget } from './start-target.ts';

/** What `start`, `run` and `router start` ask for each in its own way. */
type OwnTerms = Pick<
  StartRequest,
  'mode' | 'plan' | 'clientVersion' | 'clientArgs' | 'consented' | 'headless' | 'launched'
>;

/** Builds the request of `start`, `run` and `router start` from their command line. */
export function startRequest(
  context: CommandContext,
  { files, task, args, formerArgs, formerFlags }: StartTarget,
  own: OwnTerms,
): StartRequest {
  const { values, env, projectDir } = context;
  return {
    projectDir,
    name: files.name,
    task,
    args,
    formerArgs,
    flags: keptFlags(formerFlags, startFlags(context)),
    env,
    at: context.now(),
    existing: existingLoopPolicy(values),
    tdd: values['tdd'] === true,
    bundleDir: bundleDir(),
    ...own,
  };
}

/** Returns what the command line asks to do about an existing loop. */
export function existingLoopPolicy(values: CommandContext['values']): StartRequest['existing'] {
  if (values['resume'] === true) return 'resume';
  return values['fresh'] === true ? 'fresh' : 'refuse';
}

/** Returns the settings that options give, by key path of the frontmatter. */
export function startFlags({ values, rest }: CommandContext): Record<string, string> {
  const out: Record<string, string> = {};
  const passed = modeIn(rest);
  if (passed !== null) out['permission_mode'] = passed;
  for (const key of [
    'max-tasks',
    'max-iterations',
    'permission-mode',
    'model',
    'effort',
    'agent',
    'worktree-setup',
    'reflect-every',
  ]) {
    if (values[key] !== undefined) out[key.replace('-', '_')] = String(values[key]);
  }
  for (const key of ['max-time', 'max-cost', 'max-tokens']) {
    if (values[key] !== undefined) out[`budget.${key.replace('-', '_')}`] = String(values[key]);
  }
  const set = values['set'];
  for (const pair of Array.isArray(set) ? set : []) {
    const at = String(pair).indexOf('=');
    if (at < 1) throw new RalphError('usage', `--set ${String(pair)}: write it as KEY=VALUE, such as idle.delay=10s.`);
    out[String(pair).slice(0, at)] = String(pair).slice(at + 1);
  }
  return out;
}

/**
 * The settings of a loop that is gone on with: those of its former command line, so that no limit is lost, and those
 * `given` now, which win. What it may do without asking (`permission_mode`) is said each time.
 */
export function keptFlags(former: Contract['flags'], given: Readonly<Record<string, string>>): Contract['flags'] {
  const anew = Object.keys(given).map(snakeCase);
  const dropped = ['permission_mode', ...(anew.includes('agent') ? CLIENT_KEYS : []), ...anew];
  const kept = Object.entries(former).filter(([key]) => !dropped.some((other) => overlaps(snakeCase(key), other)));
  return { ...Object.fromEntries(kept), ...given };
}

/** Returns whether one key is the other, or part of it: `idle` and `idle.delay`. */
function overlaps(one: string, other: string): boolean {
  return one === other || one.startsWith(`${other}.`) || other.startsWith(`${one}.`);
}

/** Returns the permission mode among the client's own options, or null. */
export function modeIn(rest: readonly string[]): string | null {
  if (rest.includes('--dangerously-skip-permissions')) return 'bypassPermissions';
  const at = rest.findIndex((word) => word === '--permission-mode' || word.startsWith('--permission-mode='));
  if (at === -1) return null;
  return rest[at]?.split('=')[1] ?? rest[at + 1] ?? null;
}

/** Returns whether a completion would be accepted unverified. A required gate checks outputs and open questions even without commands. */
export function verifiesNothing({ validation, task, policy, tdd, taskPath }: Contract): boolean {
  if (tdd !== undefined) return false; // the scenarios are proved one by one
  return (
    validation.length === 0 &&
    task?.gate !== 'required' &&
    (policy.completion.kind !== 'none' || taskKind(taskPath) === 'checklist')
  );
}
