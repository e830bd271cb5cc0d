import { hasOption, optionValue, splitOptions } from '../split-options.ts';
import { wordOf } from '../word-builder.ts';
import type { PathUser } from './path-user.ts';

const TAR_VALUES =
  '-f -C -T -X -b -I --file --directory --files-from --exclude --exclude-from --strip-components --transform --use-compress-program --owner --group --mode';

/** tar, unzip and the like: where members arrive, which archive is written. */
export const ARCHIVERS: Readonly<Record<string, PathUser>> = {
  tar: (uses) => {
    // The old style: `tar xzf a.tgz`, letters without a dash.
    const first = uses.args[0];
    const old = first !== undefined && /^[a-zA-Z]+$/.test(first.template);
    const args = old ? [wordOf(`-${first.template}`), ...uses.args.slice(1)] : uses.args;
    const split = splitOptions(args, TAR_VALUES);
    const directory = optionValue(split, '-C', '--directory');
    const inside = directory === undefined ? uses : uses.inDirectory(directory.template);
    const archive = optionValue(split, '-f', '--file');
    if (hasOption(split, '-x', '--extract', '--get')) {
      inside.write(wordOf('.', directory?.source ?? '.'), 'extract');
      for (const member of split.operands) inside.write(member, 'argument');
    } else if (hasOption(split, '-c', '-r', '-u', '-A', '--create', '--append', '--update')) {
      if (archive !== undefined && archive.template !== '-') uses.write(archive, 'argument');
      for (const member of split.operands) {
        inside.read(member, true);
        if (hasOption(split, '--remove-files')) inside.write(member, 'delete', { recursive: true });
      }
    }
  },
  bsdtar: (uses) => ARCHIVERS.tar?.(uses),
  unzip: (uses) => {
    const split = splitOptions(uses.args, '-d -P -x');
    if (hasOption(split, '-l', '-t', '-Z', '-p', '-v', '-z')) return;
    const directory = optionValue(split, '-d');
    const inside = directory === undefined ? uses : uses.inDirectory(directory.template);
    inside.write(wordOf('.', directory?.source ?? '.'), 'extract');
    for (const member of split.operands.slice(1)) inside.write(member, 'argument');
  },
  zip: (uses) => {
    const split = splitOptions(uses.args, '-x -i -P -t -b');
    split.operands.forEach((word, index) => {
      if (index === 0) uses.write(word, 'argument');
      else if (hasOption(split, '-m')) uses.write(word, 'move', { recursive: true });
      else uses.read(word, hasOption(split, '-r', '--recurse-paths'));
    });
  },
  '7z': (uses) => {
    const [verb, ...rest] = splitOptions(uses.args, '').operands;
    const into = uses.args.find((word) => word.template.startsWith('-o'));
    if (verb?.template === 'x' || verb?.template === 'e') uses.write(wordOf(into?.template.slice(2) ?? '.'), 'extract');
    else if (verb?.template === 'a' && rest[0] !== undefined) {
      uses.write(rest[0], 'argument');
      for (const member of rest.slice(1)) uses.read(member, true);
    }
  },
  cpio: (uses) => {
    if (uses.args.some((word) => /^-[a-zA-Z]*i|^--extract/.test(word.template))) uses.write(wordOf('.'), 'extract');
  },
};
