import { UNKNOWN } from '../shell-reading.ts';
import { searchedTree } from '../unwrap/unwrap-find.ts';
import { hasOption, optionValue, splitOptions, wordOf } from '../words.ts';
import type { PathUser, PathUses } from './file-access-rule.ts';

function writesAll(values: string): PathUser {
  return (uses) => {
    for (const word of splitOptions(uses.args, values).operands) uses.write(word, 'argument');
  };
}

/** chmod, chown: the first operand is the mode, unless a reference file gives it. */
const mode: PathUser = (uses) => {
  const texts = uses.args.map((word) => word.template);
  // "-w" and "-x" are modes, not options.
  const args = uses.args.filter((word) => !/^-[rwxXst]+$/.test(word.template));
  const split = splitOptions(args, '--reference --from');
  const given = args.length < texts.length || split.options.some((option) => option.name === '--reference');
  const recursive = hasOption(split, '-R', '--recursive');
  for (const word of given ? split.operands : split.operands.slice(1)) uses.write(word, 'mode', { recursive });
};

/** Formatters: with one of these options, or without any such option, they write what they are pointed at. */
function formats(option: RegExp | null): PathUser {
  return (uses) => {
    if (option !== null && !uses.args.some((word) => option.test(word.template))) return;
    for (const word of splitOptions(uses.args, '--config -c').operands) uses.write(word, 'argument');
  };
}

/** `docker cp FROM TO`: what lies in a container has its name before a colon. */
const copiesOut: PathUser = (uses) => {
  const [verb, from, to] = splitOptions(uses.args, '-n -c --namespace --container --context').operands;
  if (verb?.template !== 'cp') return;
  if (from !== undefined && !from.template.includes(':')) uses.read(from, true);
  if (to !== undefined && !to.template.includes(':')) uses.write(to, 'copy');
};

/** Programs that write to the paths they are given. */
export const WRITERS: Readonly<Record<string, PathUser>> = {
  tee: writesAll(''),
  prettier: formats(/^(-w|--write)$/),
  eslint: formats(/^--fix$/),
  ruff: formats(/^(--fix|format)$/),
  gofmt: formats(/^-w$/),
  black: formats(null),
  rustfmt: formats(null),
  docker: copiesOut,
  podman: copiesOut,
  kubectl: copiesOut,
  mktemp: writesAll('-p --tmpdir --suffix'),
  touch: writesAll('-d -r -t --date --reference'),
  truncate: writesAll('-s -r --size --reference'),
  mkdir: writesAll('-m --mode'),
  mkfifo: writesAll('-m'),
  mknod: writesAll('-m'),
  chattr: writesAll(''),
  setfacl: writesAll('-m -x -M -X'),
  setfattr: writesAll('-n -v -x'),
  xattr: writesAll(''),
  fallocate: writesAll('-l -o'),
  chmod: mode,
  chown: mode,
  chgrp: mode,
  dd: (uses) => {
    for (const word of uses.args) {
      const match = /^(of|if)=(.*)$/s.exec(word.template);
      if (match === null) continue;
      const path = { ...wordOf(match[2] ?? '', word.source), ...(word.under ? { under: word.under } : {}) };
      if (match[1] === 'of') uses.write(path, 'argument');
      else uses.read(path);
    }
  },
  sort: (uses) => {
    const split = splitOptions(
      uses.args,
      '-o -k -t -S -T --output --key --field-separator --buffer-size --temporary-directory',
    );
    const output = optionValue(split, '-o', '--output');
    if (output !== undefined) uses.write(output, 'argument');
    for (const word of split.operands) uses.read(word);
  },
  split: (uses) => {
    const operands = splitOptions(uses.args, '-b -C -l -n -a --bytes --lines').operands;
    if (operands[0] !== undefined) uses.read(operands[0]);
    // The beginning of the names of what it writes.
    if (operands[1] !== undefined) uses.write(operands[1], 'argument');
  },
  yq: (uses) => {
    const split = splitOptions(uses.args, '');
    for (const word of split.operands.slice(1)) {
      if (hasOption(split, '-i', '--inplace')) uses.write(word, 'argument');
      else uses.read(word);
    }
  },
};

/** What many programs call the option for the file that they write. */
const COMMON = '--output --output-file --outfile --outFile --out-file';

/** Programs that have another name for it. */
const OUTPUTS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    'gcc g++ cc c++ clang clang++ ld rustc swiftc go pandoc gpg gpg2 age aria2c shuf base64 dot xsltproc nasm time gtime strace ltrace'
      .split(' ')
      .map((name) => [name, '-o']),
  ),
  openssl: '-out -keyout',
  tcpdump: '-w',
  curl: '--trace --trace-ascii --stderr --etag-save --hsts --alt-svc',
  esbuild: '--metafile',
  csplit: '-f --prefix',
};

/** Records the files that a command writes by an option for its output. */
export function writeNamedFiles(name: string, { args, write }: PathUses): void {
  const named = `${COMMON} ${Object.hasOwn(OUTPUTS, name) ? OUTPUTS[name] : ''}`.trim();
  const names = new Set(named.split(' '));
  for (const option of splitOptions(args, named).options) {
    if (option.value !== undefined && names.has(option.name)) write(option.value, 'argument');
  }
}

const remove: PathUser = (uses) => {
  const split = splitOptions(uses.args, '--interactive --preserve-root');
  const recursive = hasOption(split, '-r', '-R', '-d', '--recursive', '--dir');
  for (const word of split.operands) uses.write(word, 'delete', { recursive });
};

const removeAll: PathUser = (uses) => {
  for (const word of splitOptions(uses.args, '').operands) uses.write(word, 'delete', { recursive: true });
};

/** What takes files away. */
export const DELETERS: Readonly<Record<string, PathUser>> = {
  rm: remove,
  del: remove,
  unlink: remove,
  rmdir: removeAll,
  trash: removeAll,
  'trash-put': removeAll,
  rimraf: removeAll,
  'del-cli': removeAll,
  shred: (uses) => {
    for (const word of splitOptions(uses.args, '-n -s --iterations --size --random-source').operands)
      uses.write(word, 'delete');
  },
  gio: (uses) => {
    if (uses.args[0]?.template === 'trash')
      for (const word of uses.args.slice(1)) uses.write(word, 'delete', { recursive: true });
  },
  find: (uses) => {
    const texts = uses.args.map((word) => word.template);
    texts.forEach((text, index) => {
      const value = uses.args[index + 1];
      if (/^-f(print0?|ls|printf)$/.test(text) && value !== undefined) uses.write(value, 'argument');
    });
    if (!texts.includes('-delete')) return;
    const under = searchedTree({ words: uses.words, world: uses.world, ...EMPTY });
    uses.write({ text: null, template: UNKNOWN, source: 'find -delete', under }, 'delete', { recursive: true });
  },
};

const EMPTY = { assignments: [], stdin: { kind: 'none', text: '' }, source: '', position: 0 } as const;
