import type { ShellWord } from '../shell-reading.ts';
import { hasOption, type SplitWords, splitOptions } from '../split-options.ts';
import { wordOf } from '../word-builder.ts';
import type { PathUser, PathUses } from './path-user.ts';

const GREP = '-e -f -A -B -C -m -d -D --regexp --file --include --exclude --exclude-dir --max-count --context --color';
const RG =
  '-e -f -A -B -C -m -g -t -T -j -M -r --regexp --file --glob --iglob --type --type-not --max-count --context --replace --sort --max-depth';

const grep: PathUser = (uses) => {
  const split = splitOptions(uses.args, GREP);
  const tree = hasOption(split, '-r', '-R', '--recursive', '--dereference-recursive');
  search(uses, split, tree ? valuesOf(split, '--include') : null, false);
};

/** They search the whole tree unless told otherwise; what is hidden, and what git ignores, only on demand. */
const tree = (values: string): PathUser => {
  return (uses) => {
    const split = splitOptions(uses.args, values);
    const unrestricted = split.options.filter(({ name }) => name === '-u' || name === '--unrestricted').length;
    const hidden = hasOption(split, '--hidden', '-.') || unrestricted > 1;
    const names = valuesOf(split, '-g', '--glob', '--iglob').filter((glob) => !glob.startsWith('!'));
    search(uses, split, names, !hidden);
  };
};

/** Programs that look for a text in files. */
export const SEARCHERS: Readonly<Record<string, PathUser>> = {
  grep,
  egrep: grep,
  fgrep: grep,
  zgrep: grep,
  ggrep: grep,
  rg: tree(RG),
  ag: tree('-A -B -C -G -m -p --ignore'),
  ack: tree('-A -B -C -m'),
};

/** `names`: globs of what is searched below a directory; null where no directory is searched. */
function search(uses: PathUses, split: SplitWords, names: readonly string[] | null, visible: boolean): void {
  const given = hasOption(split, '-e', '-f', '--regexp', '--file', '--files');
  const places = given ? split.operands : split.operands.slice(1);
  for (const word of places) uses.read(word);
  if (names === null) return;
  const piped = uses.stdin.kind !== 'none' && places.length === 0;
  const roots = places.length > 0 ? places : piped ? [] : [wordOf('.')];
  for (const root of roots) uses.read(below(root, names, visible, uses));
}

function below(root: ShellWord, names: readonly string[], visible: boolean, uses: PathUses): ShellWord {
  const { cwd } = uses.world;
  const path = root.template.startsWith('/') ? root.template : `${cwd}/${root.template}`;
  const under = { roots: [path], names, ...(visible ? { visible: true as const } : {}) };
  return { ...wordOf('\0', root.source), under };
}

function valuesOf(split: SplitWords, ...options: readonly string[]): string[] {
  return split.options.flatMap(({ name, value }) =>
    options.includes(name) && value !== undefined ? [value.template.replace(/^.*\//, '')] : [],
  );
}
