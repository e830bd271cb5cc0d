import { dirname, isAbsolute } from 'node:path';
import type { Guard } from './guard.ts';
import { hitByWrite, ownFilesIn } from './own-files.ts';
import type { ProtectedPath } from './protected-paths.ts';
import { isDistinctive } from './protected-paths.ts';
import { matchesGlob } from './shell/glob.ts';
import { UNKNOWN } from './shell/shell-reading.ts';

/** What stands before the first unknown part must be this long to name a file: `ralph-$x.json`. */
const MIN_BEGINNING = 4;

/**
 * A path that is known in part only: does its literal part name a protected path (`$D/ralph-state.json`)?
 * Undefined means that it could still be one; that is recorded, not denied.
 */
export function hitByTemplate(
  template: string,
  cwdTemplate: string,
  removes: boolean,
  guard: Guard,
): ProtectedPath | undefined {
  const full = isAbsolute(template) || template.startsWith(UNKNOWN) ? template : `${cwdTemplate}/${template}`;
  const folded = guard.rules.caseInsensitive ? full.toLowerCase() : full;
  const literalEnd = folded.indexOf(UNKNOWN);
  const directory = folded.slice(0, folded.lastIndexOf('/', literalEnd));
  if (directory !== '') {
    const inside = hitByWrite(directory, '/', guard);
    if (inside !== undefined) return inside;
    const rest = folded.slice(directory.length + 1);
    // `rm .claude/context/runtime/$f`, and ralph-$x.json anywhere.
    if (!rest.includes('/')) {
      const own = ownFilesIn(directory, '/', guard).find((entry) => rest === UNKNOWN || matchesName(rest, entry));
      if (own !== undefined) return own;
    }
  }
  const name = folded.slice(folded.lastIndexOf('/') + 1);
  const begins =
    name.indexOf(UNKNOWN) >= MIN_BEGINNING ? guard.own.find((entry) => matchesName(name, entry)) : undefined;
  if (begins !== undefined && (isDistinctive(name) || sameDirectory(folded, begins))) return begins;
  return guard.own.find((entry) => names(folded, entry, removes));
}

function sameDirectory(template: string, entry: ProtectedPath): boolean {
  return matchesGlob(collapse(dirname(template)), dirname(entry.path));
}

function matchesName(name: string, entry: ProtectedPath): boolean {
  const own = entry.path.slice(entry.path.lastIndexOf('/') + 1);
  return entry.prefix ? name.startsWith(own) || matchesGlob(name, `${own}.json`) : matchesGlob(name, own);
}

/** The template, one of its parents, or (for a removal) a parent of the protected path, told by one distinctive name or by two. */
function names(template: string, entry: ProtectedPath, removes: boolean): boolean {
  const paths = [entry.path];
  if (removes) for (let up = dirname(entry.path); up !== dirname(up); up = dirname(up)) paths.push(up);
  for (let part = collapse(template); part.includes('/'); part = part.slice(0, part.lastIndexOf('/'))) {
    const segments = part.split('/');
    const last = segments.at(-1) ?? '';
    const before = segments.at(-2) ?? UNKNOWN;
    if (last === '' || last.includes(UNKNOWN)) continue;
    const telling = isDistinctive(last) || (before !== '' && !before.includes(UNKNOWN));
    if (telling && paths.some((path, index) => matchesPath(part, path, entry.prefix && index === 0))) return true;
  }
  return false;
}

function matchesPath(template: string, path: string, prefix: boolean): boolean {
  if (!prefix) return matchesGlob(escapeLiteral(template), path);
  const name = template.slice(template.lastIndexOf('/') + 1);
  const begin = path.slice(path.lastIndexOf('/') + 1);
  return name.startsWith(begin) && matchesGlob(escapeLiteral(dirname(template)), dirname(path));
}

/** Only what is unknown is a wildcard here. */
function escapeLiteral(template: string): string {
  return template.replace(/[\\*?[\]!@+()]/g, '\\$&');
}

/** Resolves `.` and `..` after literal segments; `..` after an unknown one stays unknown. */
function collapse(template: string): string {
  const result: string[] = [];
  for (const segment of template.split('/')) {
    if (segment === '.' || (segment === '' && result.length > 0)) continue;
    if (segment === '..' && result.length > 0) {
      const last = result.pop();
      if (last?.includes(UNKNOWN)) result.push(UNKNOWN);
    } else result.push(segment);
  }
  return result.join('/');
}
