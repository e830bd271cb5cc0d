import type { ShellWord } from './shell-reading.ts';
import { UNKNOWN } from './shell-reading.ts';
import { splitOptions } from './split-options.ts';
import { wordOf } from './word-builder.ts';
import type { World } from './world.ts';

type Variables = World['variables'];

export interface GitWords {
  /** Subcommand first, then its arguments; an alias given by -c is replaced by what it stands for. */
  readonly words: readonly ShellWord[];
  /** The directory of -C, as a template; undefined without one. */
  readonly directory: string | undefined;
  /** What the alias in use stands for. */
  readonly aliased: string | undefined;
  /** What configuration this very call brings with it, by its key in lower case. */
  readonly settings: ReadonlyMap<string, string>;
}

/** Options of git itself that take a value. */
export const GIT_VALUES =
  '-C -c --git-dir --work-tree --namespace --exec-path --super-prefix --config-env --attr-source';

/** Looks through the options of git itself: `git -C dir -c alias.x=push x` is `push` in `dir`. */
export function gitWords(argv: readonly ShellWord[], variables: Variables = new Map()): GitWords {
  const { options, operands } = splitOptions(argv.slice(1), GIT_VALUES, true);
  let directory: string | undefined;
  const settings = settingsInEnvironment(variables);
  for (const { name, value } of options) {
    if ((name === '-C' || name === '--work-tree') && value !== undefined) {
      directory =
        value.template.startsWith('/') || directory === undefined ? value.template : `${directory}/${value.template}`;
    }
    const [, key, text] = /^([^=]+)=(.*)$/s.exec(value?.template ?? '') ?? [];
    if (name === '-c' && key !== undefined) settings.set(key.toLowerCase(), text ?? '');
    if (name === '--config-env' && key !== undefined) {
      settings.set(key.toLowerCase(), variables.get(text ?? '')?.[0]?.template ?? UNKNOWN);
    }
  }
  const aliased = settings.get(`alias.${operands[0]?.template ?? ''}`.toLowerCase());
  if (aliased === undefined) return { words: operands, directory, aliased, settings };
  const replaced = aliased.startsWith('!')
    ? []
    : aliased
        .trim()
        .split(/\s+/)
        .map((word) => wordOf(word));
  return { words: [...replaced, ...operands.slice(1)], directory, aliased, settings };
}

/** `GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=… GIT_CONFIG_VALUE_0=…`, as far as the command itself sets them. */
function settingsInEnvironment(variables: Variables): Map<string, string> {
  const settings = new Map<string, string>();
  for (const [name, values] of variables) {
    const number = /^GIT_CONFIG_KEY_(\d+)$/.exec(name)?.[1];
    if (number === undefined) continue;
    const value = variables.get(`GIT_CONFIG_VALUE_${number}`)?.[0]?.template ?? UNKNOWN;
    settings.set((values[0]?.template ?? '').toLowerCase(), value);
  }
  return settings;
}
