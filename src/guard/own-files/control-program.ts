import { basename, isAbsolute } from 'node:path';
import type { Guard } from '../guard.ts';
import { isDistinctive } from '../guard.ts';
import { escapeGlob, matchesGlob } from '../shell/glob.ts';
import type { ShellWord } from '../shell/shell-reading.ts';
import { UNKNOWN } from '../shell/shell-reading.ts';
import { comparablePath, realPath } from './comparable-path.ts';
import { searchFinds } from './glob-hit.ts';

/** The name under which the package manager installs the control program. */
const BINARY = 'ralph-loop';

/** Returns the path of the control program's copy or launcher that a word names. */
export function controlProgramIn(word: ShellWord, cwdTemplate: string, guard: Guard): string | undefined {
  const { template, under } = word;
  if (under !== undefined)
    return guard.control.find((program) => searchFinds(under, program, guard.rules.caseInsensitive));
  if (template === '' || (!template.includes('.') && !template.includes('/') && !template.includes(UNKNOWN)))
    return undefined;
  if (word.text === null || word.pattern !== undefined || (!isAbsolute(template) && cwdTemplate.includes(UNKNOWN))) {
    const glob = word.pattern ?? escapeGlob(template);
    return controlProgramLike(isAbsolute(glob) || glob.startsWith(UNKNOWN) ? glob : `${cwdTemplate}/${glob}`, guard);
  }
  const path = isAbsolute(template) ? template : `${cwdTemplate}/${template}`;
  const forms = [path, realPath(path)].map((each) => comparablePath(each, guard.rules.caseInsensitive));
  // A copy of the whole project elsewhere has the same tail.
  return guard.control.find((program) =>
    forms.some((form) => form === program || form.endsWith(`/${distinctiveTail(program)}`)),
  );
}

export function isControlBinary(name: string): boolean {
  return name === BINARY;
}

/** A launcher has no subcommands: running it starts a loop. */
export function isLauncher(program: string): boolean {
  return !/\.[cm]?js$/.test(program);
}

/** Returns the control program that a text names: code, or a command that does not parse. */
export function mentionsControl(text: string, cwd: string | null, guard: Guard): string | undefined {
  const folded = text.toLowerCase();
  return guard.control.find((program) => {
    const name = basename(program).toLowerCase();
    if (!folded.includes(name)) return false;
    const inside =
      cwd !== null && comparablePath(cwd, guard.rules.caseInsensitive) === program.slice(0, -name.length - 1);
    return isDistinctive(name) || inside || folded.includes(lastTwo(program).toLowerCase()) || folded.includes('ralph');
  });
}

function controlProgramLike(glob: string, guard: Guard): string | undefined {
  const last = glob.slice(glob.lastIndexOf('/') + 1);
  // A wholly unknown name could be anything; that is recorded elsewhere.
  if (!/[^\0*?.]/.test(last) && !glob.includes('ralph')) return undefined;
  return guard.control.find((program) => {
    if (!matchesGlob(glob, program, guard.rules.caseInsensitive)) return false;
    return isDistinctive(last) || glob.includes('ralph') || !last.includes(UNKNOWN);
  });
}

/** The shortest end of a path that has "ralph" in it, at least the name and its directory. */
function distinctiveTail(program: string): string {
  const segments = program.split('/');
  for (let count = 1; count <= Math.min(4, segments.length); count += 1) {
    const tail = segments.slice(-count);
    if (tail.some((segment) => /ralph/i.test(segment))) return tail.join('/');
  }
  return program.replace(/^\//, '');
}

function lastTwo(path: string): string {
  return path.split('/').slice(-2).join('/');
}
