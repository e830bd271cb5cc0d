import { UNKNOWN } from '../shell-reading.ts';
import { hasOption, optionValue, splitOptions, wordOf } from '../words.ts';
import type { FileAccessRule } from './file-access-rule.ts';

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

/** Maximum number of files listed from one patch; the text of a larger patch exceeds the size limit. */
const MAX_TARGETS = 500;

/** Returns files that a patch changes. A diff's name counts with and without its first segment, because -p decides. */
export function patchTargets(text: string): string[] {
  const targets = new Set<string>();
  for (const line of text.split('\n')) {
    if (targets.size > MAX_TARGETS) break;
    const marked = /^\s*\*\*\* (?:Update|Add|Delete) File: (.+?)\s*$|^\s*\*\*\* Move to: (.+?)\s*$/.exec(line);
    const diffed =
      /^(?:---|\+\+\+) ([^\t]+?)\s*$|^(?:---|\+\+\+) ([^\t]+)\t|^(?:rename|copy) (?:from|to) (.+?)\s*$/.exec(line);
    const name = marked?.[1] ?? marked?.[2] ?? diffed?.[1] ?? diffed?.[2] ?? diffed?.[3];
    if (name === undefined || name === '/dev/null') continue;
    targets.add(name);
    if (diffed !== null && name.includes('/')) targets.add(name.replace(/^[^/]+\//, ''));
  }
  return [...targets];
}
