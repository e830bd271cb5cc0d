import type { ShellWord } from '../shell-reading.ts';
import { forPrograms, hasOption, optionValues, type SplitWords, splitOptions, wordOf } from '../words.ts';
import { type AccessRecorder, changeOrRead, converts, type FileAccessRule, readsAll } from './file-access-rule.ts';

/** `openssl … -in FILE`: options of a single dash and a whole word. */
function optionFile(option: RegExp): FileAccessRule {
  return (access) => {
    access.args.forEach((word, index) => {
      const value = access.args[index + 1];
      if (option.test(word.template) && value !== undefined) access.read(value);
    });
  };
}

/** httpie: `field@FILE`, `@FILE`. */
function sendsAt(access: AccessRecorder): void {
  for (const word of access.args) {
    const path = /^[^=@/]*@(.+)$/s.exec(word.template)?.[1];
    if (path !== undefined) access.read(wordOf(path, word.source));
  }
}

/** An interpreter that is given a script: `bash -x FILE`; `bash -n` looks at the syntax alone. */
function runsFile(values: string): FileAccessRule {
  return ({ args, read }) => {
    const [script] = args[0]?.template === '-n' ? [] : splitOptions(args, values, true).operands;
    if (script !== undefined) read(script);
  };
}

export const READERS: Readonly<Record<string, FileAccessRule>> = {
  ...forPrograms(
    'cat tac more most rev pr uuencode spell zcat ccat xdg-open wc comm md5sum sha1sum sha256sum sum sha224sum sha384sum sha512sum',
    readsAll(''),
  ),
  ...forPrograms('bat batcat', readsAll('-l -r --language --line-range')),
  nl: readsAll('-b -w -s'),
  head: readsAll('-n -c --lines --bytes'),
  tail: readsAll('-n -c -s --lines --bytes --pid'),
  less: readsAll('-p'),
  ...forPrograms('view vimdiff', readsAll('-c')),
  ...forPrograms('fold fmt base32', readsAll('-w')),
  shuf: readsAll('-n -o'),
  column: readsAll('-s -N -o -c'),
  ...forPrograms('expand unexpand', readsAll('-t')),
  pv: readsAll('-L -s -N -i'),
  pygmentize: readsAll('-l -f -O -o -S -P -F'),
  hunspell: readsAll('-d -p'),
  iconv: readsAll('-f -t -o'),
  hd: readsAll('-n -s'),
  join: readsAll('-1 -2 -t -o -j'),
  look: readsAll('-t', 1),
  csplit: readsAll('-f -b -n'),
  sdiff: readsAll('-w -o'),
  colordiff: readsAll('-U -C'),
  open: readsAll('-a -b'),
  pax: readsAll('-f -s'),
  age: readsAll('-o -r -R -i'),
  // Uploads.
  aws: readsAll('--profile --region --output --endpoint-url'),
  gsutil: readsAll('-o -h'),
  rclone: (access) => {
    for (const word of splitOptions(access.args, '--config').operands) access.read(word, true);
  },
  gh: (access) => {
    const split = splitOptions(access.args, '-R --repo -f -F --env-file -b --body -t --title -d --desc');
    changeOrRead(access, split.operands, false);
    changeOrRead(access, optionValues(split, '-f', '-F'), false);
  },
  ...forPrograms('http https', sendsAt),
  ...forPrograms('source .', (access) => changeOrRead(access, access.args.slice(0, 1), false)),
  cut: readsAll('-d -f -c -b --delimiter --fields'),
  paste: readsAll('-d'),
  tr: () => {},
  diff: (access) => {
    const split = splitOptions(access.args, '-U -C --label');
    for (const word of split.operands) access.read(word, hasOption(split, '-r', '--recursive'));
  },
  cmp: readsAll('-n -i'),
  uniq: converts('-f -s -w'),
  base64: readsAll('-w -i -o'),
  xxd: converts('-c -g -l -s -n -o'),
  od: readsAll('-A -j -N -t -w'),
  hexdump: readsAll('-e -n -s'),
  strings: readsAll('-n -t -e'),
  file: readsAll('-m -F'),
  b2sum: readsAll('-l'),
  ...forPrograms('shasum cksum', readsAll('-a')),
  jq: readsAll('--indent -f --from-file', 1),
  openssl: (access) => {
    optionFile(/^-(in|inkey|key|CAfile)$/)(access);
    const [verb, ...files] = splitOptions(access.args, '-in -out -inkey -key -keyout -sign -verify -passin').operands;
    if (/^(dgst|md5|sha\d+)$/.test(verb?.template ?? '')) changeOrRead(access, files, false);
  },
  'ssh-keygen': (access) => {
    optionFile(/^-f$/)(access);
    // Without one of these it makes a new key there.
    if (access.args.some((word) => /^-[ylFBeiHRkQY]/.test(word.template))) return;
    changeOrRead(access, optionValues(splitOptions(access.args, '-f -t -b -C -N -P -a'), '-f'), true);
  },
  gpg: readsAll('-o -r -u --output --recipient --local-user --passphrase --homedir'),
  pandoc: readsAll('-o -f -t --output --from --to'),
  ...forPrograms('sh bash dash zsh ksh', runsFile('-o -O --rcfile --init-file')),
  xargs: optionFile(/^(-a|--arg-file)$/),
  node: runsFile('-r -C -e -p --require --import --loader --env-file --eval --print'),
};

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

export const SEARCHERS: Readonly<Record<string, FileAccessRule>> = {
  ...forPrograms('grep egrep fgrep zgrep ggrep', grep),
  rg: tree(RG),
  ag: tree('-A -B -C -G -m -p --ignore'),
  ack: tree('-A -B -C -m'),
};

/** Records a search. `names`: globs of the files searched below a directory; null if no directory is searched. */
function search(access: AccessRecorder, split: SplitWords, names: readonly string[] | null, visible: boolean): void {
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
