import type { ShellWord } from '../shell-reading.ts';
import { hasOption, optionValue, splitOptions } from '../split-options.ts';
import { joinWords } from './join-words.ts';
import type { PathUser, PathUses } from './path-user.ts';

/** cp, mv, ln, install, rsync: what arrives where, what leaves, what is only read. */
export const COPIERS: Readonly<Record<string, PathUser>> = {
  cp: (uses) => copy(uses, '-t -S --target-directory --suffix'),
  scp: (uses) => copy(uses, '-P -i -o -F -c -l -S -J'),
  ditto: (uses) => copy(uses, '--arch'),
  install: (uses) => {
    const split = splitOptions(uses.args, INSTALL_VALUES);
    if (hasOption(split, '-d', '--directory')) for (const word of split.operands) uses.write(word, 'argument');
    else copy(uses, INSTALL_VALUES);
  },
  mv: (uses) => copy(uses, '-t -S --target-directory --suffix', 'move'),
  rename: (uses) => {
    for (const word of uses.args) uses.write(word, 'move', { recursive: true });
  },
  ln: (uses) => {
    const split = splitOptions(uses.args, '-t -S --target-directory --suffix');
    const into = optionValue(split, '-t', '--target-directory');
    const sources = into === undefined && split.operands.length > 1 ? split.operands.slice(0, -1) : split.operands;
    const destination = into ?? (split.operands.length > 1 ? split.operands.at(-1) : undefined);
    for (const source of sources) {
      uses.write(source, 'link-source');
      if (destination === undefined) uses.write(joinWords({ text: '.', template: '.', source: '.' }, source), 'link');
      else {
        if (into === undefined) uses.write(destination, 'link');
        uses.write(joinWords(destination, source), 'link');
      }
    }
  },
  rsync: (uses) => {
    const split = splitOptions(
      uses.args,
      '-e -f -T -B -M --rsh --filter --exclude --include --exclude-from --files-from --backup-dir --log-file --chmod',
    );
    const destination = split.operands.length > 1 ? split.operands.at(-1) : undefined;
    const sources = split.operands.slice(0, -1);
    if (destination === undefined || /^[^/]+:/.test(destination.template)) {
      for (const source of sources) uses.read(source, true);
      return;
    }
    if (hasOption(split, '--remove-source-files'))
      for (const source of sources) uses.write(source, 'delete', { recursive: true });
    if (split.options.some((option) => option.name.startsWith('--delete')))
      uses.write(destination, 'delete', { recursive: true });
    arrive(uses, sources, destination, true, false);
  },
};

const INSTALL_VALUES = '-m -o -g -t -S --mode --owner --group --target-directory --suffix';

function copy(uses: PathUses, values: string, how: 'copy' | 'move' = 'copy'): void {
  const split = splitOptions(uses.args, values);
  const into = optionValue(split, '-t', '--target-directory');
  const destination = into ?? (split.operands.length > 1 ? split.operands.at(-1) : undefined);
  const sources = into === undefined ? split.operands.slice(0, -1) : split.operands;
  if (how === 'move') for (const source of sources) uses.write(source, 'move', { recursive: true });
  if (hasOption(split, '-l', '--link', '-s', '--symbolic-link'))
    for (const source of sources) uses.write(source, 'link-source');
  const recursive = how === 'move' || hasOption(split, '-r', '-R', '-a', '--recursive', '--archive');
  if (destination !== undefined) arrive(uses, sources, destination, recursive, into !== undefined);
}

function arrive(
  uses: PathUses,
  sources: readonly ShellWord[],
  destination: ShellWord,
  recursive: boolean,
  isDirectory: boolean,
): void {
  if (!isDirectory) uses.write(destination, 'copy');
  for (const source of sources) {
    uses.read(source, recursive);
    const inside = joinWords(destination, source);
    uses.write(inside, 'copy');
    if (!recursive) continue;
    uses.write(destination, 'copy-into', { from: source, recursive: true });
    uses.write(inside, 'copy-into', { from: source, recursive: true });
  }
}
