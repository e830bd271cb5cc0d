import { UNKNOWN } from '../shell-reading.ts';
import { searchedTree } from '../unwrap/unwrap-find.ts';
import { forPrograms, hasOption, optionValue, splitOptions, wordOf } from '../words.ts';
import { type AccessRecorder, changeOrRead, converts, type FileAccessRule, writesAll } from './file-access-rule.ts';

/** chmod, chown: the first operand is the mode, unless a reference file gives it. */
const mode: FileAccessRule = (access) => {
  const texts = access.args.map((word) => word.template);
  // "-w" and "-x" are modes, not options.
  const args = access.args.filter((word) => !/^-[rwxXst]+$/.test(word.template));
  const split = splitOptions(args, '--reference --from');
  const given = args.length < texts.length || split.options.some((option) => option.name === '--reference');
  const recursive = hasOption(split, '-R', '--recursive');
  for (const word of given ? split.operands : split.operands.slice(1)) access.write(word, 'mode', { recursive });
};

/** Formatters: they write their operands if this option is given; null means always. */
function formats(option: RegExp | null): FileAccessRule {
  return (access) => {
    if (option !== null && !access.args.some((word) => option.test(word.template))) return;
    writesAll('--config -c')(access);
  };
}

/** `docker cp FROM TO`: paths in a container have its name before a colon. */
const copiesOut: FileAccessRule = (access) => {
  const [verb, from, to] = splitOptions(access.args, '-n -c --namespace --container --context').operands;
  if (verb?.template !== 'cp') return;
  if (from !== undefined && !from.template.includes(':')) access.read(from, true);
  if (to !== undefined && !to.template.includes(':')) access.write(to, 'copy');
};

export const WRITERS: Readonly<Record<string, FileAccessRule>> = {
  ...forPrograms('tee chattr xattr', writesAll('')),
  prettier: formats(/^(-w|--write)$/),
  eslint: formats(/^--fix$/),
  ruff: formats(/^(--fix|format)$/),
  gofmt: formats(/^-w$/),
  ...forPrograms('black rustfmt', formats(null)),
  ...forPrograms('docker podman kubectl', copiesOut),
  mktemp: writesAll('-p --tmpdir --suffix'),
  touch: writesAll('-d -r -t --date --reference'),
  truncate: writesAll('-s -r --size --reference'),
  mkdir: writesAll('-m --mode'),
  ...forPrograms('mkfifo mknod', writesAll('-m')),
  setfacl: writesAll('-m -x -M -X'),
  setfattr: writesAll('-n -v -x'),
  fallocate: writesAll('-l -o'),
  ...forPrograms('chmod chown chgrp', mode),
  dd: (access) => {
    for (const word of access.args) {
      const match = /^(of|if)=(.*)$/s.exec(word.template);
      if (match === null) continue;
      const path = { ...wordOf(match[2] ?? '', word.source), ...(word.under ? { under: word.under } : {}) };
      if (match[1] === 'of') access.write(path, 'argument');
      else access.read(path);
    }
  },
  sort: (access) => {
    const split = splitOptions(
      access.args,
      '-o -k -t -S -T --output --key --field-separator --buffer-size --temporary-directory',
    );
    const output = optionValue(split, '-o', '--output');
    if (output !== undefined) access.write(output, 'argument');
    changeOrRead(access, split.operands, false);
  },
  // The second operand is the prefix of the names that it writes.
  split: converts('-b -C -l -n -a --bytes --lines'),
  yq: (access) => {
    const split = splitOptions(access.args, '');
    changeOrRead(access, split.operands.slice(1), hasOption(split, '-i', '--inplace'));
  },
};

const COMMON = '--output --output-file --outfile --outFile --out-file';

const OUTPUTS: Readonly<Record<string, string>> = {
  ...forPrograms(
    'gcc g++ cc c++ clang clang++ ld rustc swiftc go pandoc gpg gpg2 age aria2c shuf base64 dot xsltproc nasm time gtime strace ltrace',
    '-o',
  ),
  openssl: '-out -keyout',
  tcpdump: '-w',
  curl: '--trace --trace-ascii --stderr --etag-save --hsts --alt-svc',
  esbuild: '--metafile',
  csplit: '-f --prefix',
};

/** Records the files that a command writes by an option for its output. */
export function writeNamedFiles(name: string, { args, write }: AccessRecorder): void {
  const named = `${COMMON} ${Object.hasOwn(OUTPUTS, name) ? OUTPUTS[name] : ''}`.trim();
  const names = new Set(named.split(' '));
  for (const option of splitOptions(args, named).options) {
    if (option.value !== undefined && names.has(option.name)) write(option.value, 'argument');
  }
}

const remove: FileAccessRule = (access) => {
  const split = splitOptions(access.args, '--interactive --preserve-root');
  const recursive = hasOption(split, '-r', '-R', '-d', '--recursive', '--dir');
  for (const word of split.operands) access.write(word, 'delete', { recursive });
};

const removeAll: FileAccessRule = (access) => {
  for (const word of splitOptions(access.args, '').operands) access.write(word, 'delete', { recursive: true });
};

export const DELETERS: Readonly<Record<string, FileAccessRule>> = {
  ...forPrograms('rm del unlink', remove),
  ...forPrograms('rmdir trash trash-put rimraf del-cli', removeAll),
  shred: (access) => {
    for (const word of splitOptions(access.args, '-n -s --iterations --size --random-source').operands)
      access.write(word, 'delete');
  },
  gio: (access) => {
    if (access.args[0]?.template === 'trash')
      for (const word of access.args.slice(1)) access.write(word, 'delete', { recursive: true });
  },
  find: (access) => {
    access.args.forEach((word, index) => {
      const value = access.args[index + 1];
      if (/^-f(print0?|ls|printf)$/.test(word.template) && value !== undefined) access.write(value, 'argument');
    });
    if (!access.args.some((word) => word.template === '-delete')) return;
    const under = searchedTree(access.words, access.state);
    access.write({ text: null, template: UNKNOWN, source: 'find -delete', under }, 'delete', { recursive: true });
  },
};
