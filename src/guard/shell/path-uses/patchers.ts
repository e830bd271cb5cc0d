import { UNKNOWN } from '../shell-reading.ts';
import { hasOption, optionValue, splitOptions } from '../split-options.ts';
import { wordOf } from '../word-builder.ts';
import { patchTargets } from './patch-targets.ts';
import type { PathUser } from './path-user.ts';

const applyPatch: PathUser = (uses) => {
  for (const text of [...uses.args.map((word) => word.template), uses.stdin.text]) {
    for (const target of patchTargets(text)) uses.write(wordOf(target), 'patch');
  }
};

/** Programs that apply a patch. */
export const PATCHERS: Readonly<Record<string, PathUser>> = {
  apply_patch: applyPatch,
  applypatch: applyPatch,
  patch: (uses) => {
    const split = splitOptions(
      uses.args,
      '-i -d -o -p -r -B -D -F -V -Y -z --input --directory --output --strip --reject-file --fuzz',
    );
    const directory = optionValue(split, '-d', '--directory');
    const inside = directory === undefined ? uses : uses.inDirectory(directory.template);
    const output = optionValue(split, '-o', '--output');
    if (output !== undefined) inside.write(output, 'patch');
    const [file] = split.operands;
    if (hasOption(split, '--dry-run', '-C')) return;
    if (file !== undefined) {
      inside.write(file, 'patch');
      return;
    }
    const targets = patchTargets(uses.stdin.text);
    for (const target of targets) inside.write(wordOf(target), 'patch');
    if (targets.length === 0) inside.write({ text: null, template: UNKNOWN, source: 'patch' }, 'patch');
  },
};
