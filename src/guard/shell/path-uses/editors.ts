import { hasOption, splitOptions } from '../split-options.ts';
import type { PathUser, PathUses } from './path-user.ts';

function editAll(values: string): PathUser {
  return (uses) => {
    for (const word of splitOptions(uses.args, values).operands) uses.write(word, 'argument');
  };
}

/** `perl -i -pe CODE FILE`, `ruby -ne CODE FILE`: the files that are edited in place, or only read. */
function filter(uses: PathUses): void {
  const texts = uses.args.map((word) => word.template);
  const has = (letters: RegExp): boolean => texts.some((text) => letters.test(text) && !/^-[IMm]/.test(text));
  const inPlace = has(/^-[a-zA-Z0-9]*i/);
  if (!inPlace && !has(/^-[a-zA-Z0-9]*[npeE]/)) return;
  uses.args.forEach((word, index) => {
    if (word.template.startsWith('-') || /^-[a-zA-Z0-9]*[eE]$/.test(texts[index - 1] ?? '')) return;
    if (inPlace) uses.write(word, 'argument');
    else uses.read(word);
  });
}

const sed: PathUser = (uses) => {
  const texts = uses.args.map((word) => word.template);
  const split = splitOptions(uses.args, '-e -f -l --expression --file --line-length');
  const scripted = hasOption(split, '-e', '-f', '--expression', '--file');
  const files = scripted ? split.operands : split.operands.slice(1);
  const inPlace = hasOption(split, '--in-place') || texts.some((text) => /^-[nErszu]*[iI]/.test(text));
  for (const word of files) {
    if (inPlace) uses.write(word, 'argument');
    else uses.read(word);
  }
  // BSD: `sed -i '' s/a/b/ file` puts a suffix in front of the script.
  if (inPlace && split.operands[0]?.template === '')
    for (const word of split.operands.slice(2)) uses.write(word, 'argument');
};

const awk: PathUser = (uses) => {
  const split = splitOptions(uses.args, '-i -v -F -f --include --assign --field-separator --file');
  const inPlace = split.options.some(
    (option) => /^(-i|--include)$/.test(option.name) && option.value?.template === 'inplace',
  );
  const files = hasOption(split, '-f', '--file') ? split.operands : split.operands.slice(1);
  for (const word of files) {
    if (inPlace) uses.write(word, 'argument');
    else uses.read(word);
  }
};

/** Programs that change the files they are given. */
export const EDITORS: Readonly<Record<string, PathUser>> = {
  sed,
  awk,
  gawk: awk,
  mawk: awk,
  perl: filter,
  ruby: filter,
  vi: editAll('-c -S -u -i -T'),
  vim: editAll('-c -S -u -i -T'),
  nvim: editAll('-c -S -u -i -T'),
  ex: editAll('-c -S -u'),
  ed: editAll('-p'),
  nano: editAll('-r -s -T'),
  emacs: editAll('-l --eval --load -f'),
  code: editAll('-g -n'),
  sponge: editAll(''),
  dos2unix: editAll(''),
  unix2dos: editAll(''),
  gzip: compressed,
  gunzip: compressed,
  bzip2: compressed,
  bunzip2: compressed,
  xz: compressed,
  unxz: compressed,
  zstd: compressed,
};

/** Replaces the file unless told to keep it or to write to standard output. */
function compressed(uses: PathUses): void {
  const split = splitOptions(uses.args, '-S --suffix -T -o');
  const keeps = hasOption(split, '-c', '-k', '-t', '-l', '--stdout', '--to-stdout', '--keep', '--test', '--list');
  for (const word of split.operands) {
    if (keeps) uses.read(word);
    else uses.write(word, 'argument');
  }
}
