import type { ShellWord } from '../shell-reading.ts';
import { forPrograms, hasOption, optionValues, type SplitWords, splitOptions, wordOf } from '../words.ts';
import type { AccessRecorder, FileAccessRule } from './file-access-rule.ts';

const GREP = '-e -f -A -B -C -m -d -D --regexp --file --include --exclude --exclude-dir --max-count --context --color';
const RG =
  '-e -f -A -B -C -m -g -t -T -j -M -r --regexp --file --glob --iglob --type --type-not --max-count --context --replace --sort --max-depth';

const grep: FileAccessRule = (access) => {
  const split = splitOptions(access.args, GREP);
  const tree = hasOption(split, '-r', '-R', '--recursive', '--dereference-recursive');
  search(access, split, tree ? valuesOf(split, '--include') : null, false);
};

/** Programs that search the whole tree by default, hidden and ignored files only on demand. */
const tree = (values: string): FileAccessRule => {
  return (access) => {
    const split = splitOptions(access.args, values);
    const unrestricted = split.options.filter(({ name }) => name === '-u' || name === '--unrestricted').length;
    const hidden = hasOption(split, '--hidden', '-.') || unrestricted > 1;
    const names = valuesOf(split, '-g', '--glob', '--iglob').filter((glob) => !glob.startsWith('!'));
    search(access, split, names, !hidden);
  };
};

/** grep, rg and the like: they write nothing, and read what they search. */
export const searchFiles: Readonly<Record<string, FileAccessRule>> = {
  ...forPrograms('grep egrep fgrep zgrep ggrep', grep),
  rg: tree(RG),
  ag: tree('-A -B -C -G -m -p --ignore'),
  ack: tree('-A -B -C -m'),
};

/** Records a search. `names`: globs of the files searched below a directory; null if no directory is searched. */
function search(access: AccessRecorder, split: SplitWords, names: readonly string[] | null, visible: boolean): void {
  access.args.forEach(access.explain);
  const given = hasOption(split, '-e', '-f', '--regexp', '--file', '--files');
  const places = given ? split.operands : split.operands.slice(1);
  for (const word of places) access.read(word);
  if (names === null) return;
  const piped = access.stdin.kind !== 'none' && places.length === 0;
  const roots = places.length > 0 ? places : piped ? [] : [wordOf('.')];
  for (const root of roots) access.read(below(root, names, visible, access));
}

function below(root: ShellWord, names: readonly string[], visible: boolean, access: AccessRecorder): ShellWord {
  const { cwd } = access.state;
  const path = root.template.startsWith('/') ? root.template : `${cwd}/${root.template}`;
  const under = { roots: [path], names, ...(visible ? { visible: true as const } : {}) };
  return { ...wordOf('\0', root.source), under };
}

function valuesOf(split: SplitWords, ...options: readonly string[]): string[] {
  return optionValues(split, ...options).map((value) => value.template.replace(/^.*\//, ''));
}
