import type { ShellWord } from './shell-reading.ts';
import { splitOptions } from './split-options.ts';
import { wordOf } from './word-builder.ts';

export interface GitWords {
  /** Subcommand first, then its arguments; an alias given by -c is replaced by what it stands for. */
  readonly words: readonly ShellWord[];
  /** The directory of -C, as a template; undefined without one. */
  readonly directory: string | undefined;
  /** What the alias in use stands for. */
  readonly aliased: string | undefined;
}

/** Options of git itself that take a value. */
export const GIT_VALUES =
  '-C -c --git-dir --work-tree --namespace --exec-path --super-prefix --config-env --attr-source';

/** Looks through the options of git itself: `git -C dir -c alias.x=push x` is `push` in `dir`. */
export function gitWords(argv: readonly ShellWord[]): GitWords {
  const { options, operands } = splitOptions(argv.slice(1), GIT_VALUES, true);
  let directory: string | undefined;
  const aliases = new Map<string, string>();
  for (const { name, value } of options) {
    if ((name === '-C' || name === '--work-tree') && value !== undefined) {
      directory =
        value.template.startsWith('/') || directory === undefined ? value.template : `${directory}/${value.template}`;
    }
    const alias = name === '-c' ? /^alias\.([^=]+)=(.*)$/s.exec(value?.template ?? '') : null;
    if (alias?.[1] !== undefined) aliases.set(alias[1], alias[2] ?? '');
  }
  const aliased = aliases.get(operands[0]?.template ?? '');
  if (aliased === undefined) return { words: operands, directory, aliased };
  const replaced = aliased.startsWith('!')
    ? []
    : aliased
        .trim()
        .split(/\s+/)
        .map((word) => wordOf(word));
  return { words: [...replaced, ...operands.slice(1)], directory, aliased };
}
