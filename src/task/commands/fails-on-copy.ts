import type { CheckResult } from '../../engine/events.ts';
import { listed } from '../../text/excerpt.ts';

/** Returns whether a check that did not pass on a copy may pass in the project: the copy may lack a file that it needs. */
export function mayPassElsewhere({ outcome }: CheckResult): boolean {
  return outcome === 'failed' || outcome === 'vacuous' || outcome === 'timeout';
}

const MOST_SHOWN = 8;
const LOOPS_OWN = /^\.(?:claude|ralph)(?:\/|$)/;
const WAY_OUT =
  'Put what the work needs into files that git does not ignore. Only the user can name ignored files under worktree_copy, or set verify_in: project.';

/** Explains a check that passes in the project and fails on a copy of it, or of a commit. `lacks`: ignored files and folders. */
export function failsOnCopy(result: CheckResult, lacks: readonly string[], isCommit: boolean): CheckResult {
  const ignored = lacks.filter((path) => !LOOPS_OWN.test(path));
  const named = ignored.flatMap((path) => mentionOf(path, result.detail) ?? []);
  const place = isCommit ? 'commit' : 'clean copy';
  const begin = `passes in the project, fails on the ${place}`;
  const cause =
    named.length > 0
      ? `, which lacks ignored files: ${listed(named, MOST_SHOWN)}.`
      : `, which lacks all changes outside the task${ignored.length === 0 ? '' : ` and the ignored ${listed(ignored, MOST_SHOWN)}`}.`;
  return { ...result, detail: `${begin}${cause} ${WAY_OUT}\n${result.detail}` };
}

/** Returns the path, or a path below it, that a text mentions; null if it mentions none. */
function mentionOf(path: string, text: string): string | null {
  const literal = path.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
  return new RegExp(`(?<![\\w.-])${literal}(?:/[\\w./-]*\\w)?(?![\\w-])`).exec(text)?.[0] ?? null;
}
