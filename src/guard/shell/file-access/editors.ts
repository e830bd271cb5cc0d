import { UNKNOWN } from '../shell-reading.ts';
import { forPrograms, hasOption, optionValue, splitOptions, wordOf } from '../words.ts';
import { type AccessRecorder, changeOrRead, type FileAccessRule, writesAll } from './file-access-rule.ts';

/** `perl -i -pe CODE FILE`, `ruby -ne CODE FILE`: the files that are edited in place, or only read. */
function filter(access: AccessRecorder): void {
  const texts = access.args.map((word) => word.template);
  const has = (letters: RegExp): boolean => texts.some((text) => letters.test(text) && !/^-[IMm]/.test(text));
  const inPlace = has(/^-[a-zA-Z0-9]*i/);
  if (!inPlace && !has(/^-[a-zA-Z0-9]*[npeE]/)) return;
  const files = access.args.filter(
    (word, index) => !word.template.startsWith('-') && !/^-[a-zA-Z0-9]*[eE]$/.test(texts[index - 1] ?? ''),
  );
  changeOrRead(access, files, inPlace);
}

const sed: FileAccessRule = (access) => {
  const texts = access.args.map((word) => word.template);
  const split = splitOptions(access.args, '-e -f -l --expression --file --line-length');
  const scripted = hasOption(split, '-e', '-f', '--expression', '--file');
  const files = scripted ? split.operands : split.operands.slice(1);
  const inPlace = hasOption(split, '--in-place') || texts.some((text) => /^-[nErszu]*[iI]/.test(text));
  changeOrRead(access, files, inPlace);
  // BSD: `sed -i '' s/a/b/ file` puts a suffix in front of the script.
  if (inPlace && split.operands[0]?.template === '') changeOrRead(access, split.operands.slice(2), true);
};

const awk: FileAccessRule = (access) => {
  const split = splitOptions(access.args, '-i -v -F -f --include --assign --field-separator --file');
  const inPlace = split.options.some(
    (option) => /^(-i|--include)$/.test(option.name) && option.value?.template === 'inplace',
  );
  changeOrRead(access, hasOption(split, '-f', '--file') ? split.operands : split.operands.slice(1), inPlace);
};

export const EDITORS: Readonly<Record<string, FileAccessRule>> = {
  sed,
  ...forPrograms('awk gawk mawk', awk),
  ...forPrograms('perl ruby', filter),
  ...forPrograms('vi vim nvim', writesAll('-c -S -u -i -T')),
  ex: writesAll('-c -S -u'),
  ed: writesAll('-p'),
  nano: writesAll('-r -s -T'),
  emacs: writesAll('-l --eval --load -f'),
  code: writesAll('-g -n'),
  ...forPrograms('sponge dos2unix unix2dos', writesAll('')),
  ...forPrograms('gzip gunzip bzip2 bunzip2 xz unxz zstd', compressed),
};

/** Replaces the file, unless an option keeps it or writes to standard output. */
function compressed(access: AccessRecorder): void {
  const split = splitOptions(access.args, '-S --suffix -T -o');
  const keeps = hasOption(split, '-c', '-k', '-t', '-l', '--stdout', '--to-stdout', '--keep', '--test', '--list');
  changeOrRead(access, split.operands, !keeps);
}

const applyPatch: FileAccessRule = (access) => {
  for (const text of [...access.args.map((word) => word.template), access.stdin.text]) {
    for (const target of patchTargets(text)) access.write(wordOf(target), 'patch');
  }
};

export const PATCHERS: Readonly<Record<string, FileAccessRule>> = {
  apply_patch: applyPatch,
  applypatch: applyPatch,
  patch: (access) => {
    const split = splitOptions(
      access.args,
      '-i -d -o -p -r -B -D -F -V -Y -z --input --directory --output --strip --reject-file --fuzz',
    );
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
  },
};

/** More files than this in one patch are not listed; the text of such a patch is far above the size limit. */
const MAX_TARGETS = 500;

/** Files that a patch changes. A diff's name counts with and without its first segment, since -p decides. */
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
