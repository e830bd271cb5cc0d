import { UNKNOWN } from '../shell-reading.ts';
import { hasOption, optionValue, splitOptions, wordOf } from '../words.ts';
import type { FileAccessRule } from './file-access-rule.ts';
import { patchTargets } from './patch-targets.ts';

export const applyPatch: FileAccessRule = (access) => {
  for (const text of [...access.args.map((word) => word.template), access.stdin.text]) {
    for (const target of patchTargets(text)) access.write(wordOf(target), 'patch');
  }
};

const PATCH_VALUES = '-i -d -o -p -r -B -D -F -V -Y -z --input --directory --output --strip --reject-file --fuzz';

export const patch: FileAccessRule = (access) => {
  const split = splitOptions(access.args, PATCH_VALUES);
  const directory = optionValue(split, '-d', '--directory');
  const inside = directory === undefined ? access : access.inDirectory(directory.template);
  const output = optionValue(split, '-o', '--output');
  if (output !== undefined) inside.write(output, 'patch');
  const [file] = split.operands;
  if (hasOption(split, '--dry-run', '-C')) return;
  if (file !== undefined) {
    inside.write(file, 'patch');
    return;
  }
  const targets = patchTargets(access.stdin.text);
  for (const target of targets) inside.write(wordOf(target), 'patch');
  if (targets.length === 0) inside.write({ text: null, template: UNKNOWN, source: 'patch' }, 'patch');
};
