import { patchTargets } from '../../client-tools.ts';
import { type FileAccessKind, UNKNOWN } from '../shell-reading.ts';
import { searchedTree } from '../unwrap/unwrap-find.ts';
import { hasOption, NODE_VALUES, optionValue, optionValues, splitOptions, wordOf } from '../words.ts';
import type { FileAccessRule } from './file-access-rule.ts';

const applyPatch: FileAccessRule = (access) => {
  for (const text of [...access.args.map((word) => word.template), access.stdin.text]) {
    for (const target of patchTargets(text)) access.write(wordOf(target), 'patch');
  }
};

const PATCH_VALUES = '-i -d -o -p -r -B -D -F -V -Y -z --input --directory --output --strip --reject-file --fuzz';

const patch: FileAccessRule = (access) => {
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

/** Effects of a program on the files named by its arguments. Arguments that a row does not explain may be written. */
interface ProgramFiles {
  /** Options with a value that does not affect any file. */
  readonly values?: string;
  /** Options whose value is a file that is read; those in `out` have a file that is written. */
  readonly in?: string;
  readonly out?: string;
  /** Operands: read by default. 'converts': the first is read, the second written. 'free': not even read. */
  readonly operands?: FileAccessKind | 'converts' | 'free';
  /** Number of leading operands that are not files, unless one of the options in `script` is given. */
  readonly skip?: number;
  readonly script?: string;
  /** Words that make the program write its operands in place; otherwise they are read. */
  readonly writesWith?: RegExp;
  readonly readsWith?: RegExp;
  /** Options that extend the operands to everything below them. */
  readonly recursive?: string | true;
  /** Operands may also be written, for example when copying to or from another machine. */
  readonly unsure?: true;
}

export function filesOf(row: ProgramFiles): FileAccessRule {
  const { values = '', in: reads = '', out = '', skip = 0, recursive = '' } = row;
  return (access) => {
    const split = splitOptions(access.args, `${values} ${reads} ${out}`);
    for (const word of optionValues(split, ...values.split(' '))) access.explain(word);
    for (const word of optionValues(split, ...reads.split(' '))) access.read(word);
    for (const word of optionValues(split, ...out.split(' ')))
      if (word.template !== '-') access.write(word, 'argument');
    const skipped = hasOption(split, ...(row.script ?? '').split(' ')) ? 0 : skip;
    for (const word of split.operands.slice(0, skipped)) access.explain(word);
    const has = (pattern: RegExp | undefined): boolean =>
      pattern !== undefined && access.args.some(({ template }) => pattern.test(template));
    const kept = (row.writesWith !== undefined && !has(row.writesWith)) || has(row.readsWith);
    const how = kept ? 'read' : (row.operands ?? (row.writesWith === undefined ? 'read' : 'argument'));
    const all = recursive === true || hasOption(split, ...recursive.split(' '));
    split.operands.slice(skipped).forEach((word, index) => {
      if (how === 'free') access.explain(word);
      else if (how === 'read' || (how === 'converts' && index === 0)) access.read(word, all, row.unsure);
      else access.write(word, how === 'converts' ? 'argument' : how, { recursive: all });
    });
  };
}

/** Programs whose arguments are only words; only redirections matter. */
const TALKERS =
  'fd fdfind echo printf test [ true false : ls dir vdir stat du df which type command whereis man help tldr apropos info pwd basename dirname realpath readlink id whoami sleep kill wait jobs ps pgrep seq expr let uname exit return break continue tr pbcopy wl-copy';

export const ROWS: Readonly<Record<string, ProgramFiles>> = {
  __proto__: null as never,
  // A value of an option (`head -n 5`) counts as a file that is read, which has no effect.
  'cat tac bat batcat nl head tail fold fmt base32 column expand unexpand hd hexdump cut paste cmp od strings file b2sum shasum cksum more most rev pr uuencode spell zcat ccat wc comm md5sum sha1sum sha256sum sum sha224sum sha384sum sha512sum shellcheck vale':
    {},
  less: { values: '-p', out: '-o -O --log-file' },
  'iconv shuf base64': { out: '-o --output' },
  'diff colordiff': { values: '-U -C --label', recursive: '-r --recursive' },
  'gh glab': {
    values:
      '-R --repo -b --body -t --title -d --desc --description -l --label -a --assignee -m --milestone -q --jq -S --search -B --base -H --head -n --notes --message',
    in: '-f -F --body-file --notes-file --input --env-file',
    unsure: true,
  },
  xxd: { values: '-c -g -l -s -n -o', operands: 'converts' },
  'uniq split': { values: '-b -C -l -n -a -f -s -w --bytes --lines', operands: 'converts' },
  jq: { values: '--indent', in: '-f --from-file', skip: 1 },
  xargs: { in: '-a --arg-file', operands: 'free' },
  'tree time gtime strace ltrace': { values: '-L -P -I', out: '-o --output', operands: 'free' },
  sort: { values: '-k -t -S -T --key --field-separator --buffer-size --temporary-directory', out: '-o --output' },
  'sed gsed': {
    values: '-e -l --expression --line-length',
    in: '-f --file',
    skip: 1,
    script: '-e -f --expression --file',
    writesWith: /^(-[nErszu]*[iI]|--in-place)/,
  },
  'awk gawk mawk nawk': {
    values: '-i -v -F --include --assign --field-separator',
    in: '-f --file',
    skip: 1,
    script: '-f --file',
    writesWith: /^(--include=|-i)?inplace$/,
  },
  yq: { skip: 1, writesWith: /^(-i|--inplace)$/ },
  prettier: { values: '--config -c', writesWith: /^(-w|--write)$/ },
  eslint: { unsure: true, values: '--config -c', out: '-o', writesWith: /^--fix$/ },
  ruff: { unsure: true, values: '--config', skip: 1, writesWith: /^(--fix|format)$/, readsWith: /^--(check|diff)$/ },
  'black rustfmt': { values: '--config', operands: 'argument', readsWith: /^--(check|diff)$/ },
  'ed tee chattr xattr sponge dos2unix unix2dos': { operands: 'argument' },
  'vi vim nvim view vimdiff ex': { values: '-c -S -u -i -T', operands: 'argument' },
  'nano emacs fallocate': { values: '-r -s -T -l -o -f --load --eval', operands: 'argument' },
  'gzip gunzip pigz bzip2 bunzip2 pbzip2 xz unxz zstd lz4 brotli lzip lzop zopfli': {
    values: '-S --suffix -T',
    out: '-o',
    operands: 'argument',
    readsWith: /^(-[a-zA-Z]*[cktl][a-zA-Z]*|--stdout|--to-stdout|--keep|--test|--list)$/,
  },
  mktemp: { values: '-p --tmpdir --suffix', operands: 'argument', readsWith: /^-\w*t$/ },
  'touch truncate': { values: '-d -t -s --date --size', in: '-r --reference', operands: 'argument' },
  'mkdir mkfifo mknod setfacl': { values: '-m --mode -x -M -X', operands: 'argument' },
  'rm del unlink': { operands: 'delete', recursive: '-r -R -d --recursive --dir' },
  'rmdir trash trash-put rimraf del-cli': { operands: 'delete', recursive: true },
  shred: { values: '-n -s --iterations --size --random-source', operands: 'delete' },
  rename: { operands: 'move', recursive: true },
  // A mount hides what is below it; a remount only changes how it is mounted.
  mount: { values: '-o -t', operands: 'move', recursive: true, readsWith: /^(?:-o)?(?:[\w=]+,)*remount\b/ },
  'aria2c age csplit tcpdump': { out: '-o --output -f --prefix -w', unsure: true },
};

/** Rule for chmod, chown: the first operand is the mode, unless a reference file gives it. */
const mode: FileAccessRule = (access) => {
  // "-w" and "-x" are modes, not options.
  const args = access.args.filter((word) => !/^-[rwxXst]+$/.test(word.template));
  const split = splitOptions(args, '--reference --from');
  const given = args.length < access.args.length || hasOption(split, '--reference');
  const recursive = hasOption(split, '-R', '--recursive');
  for (const word of given ? split.operands : split.operands.slice(1)) access.write(word, 'mode', { recursive });
};

/** Rule for `perl -i -pe CODE FILE`, `ruby -ne CODE FILE`: files that are edited in place, or only read. */
const filter: FileAccessRule = (access) => {
  const texts = access.args.map((word) => word.template);
  const has = (letters: RegExp): boolean => texts.some((text) => letters.test(text) && !/^-[IMm]/.test(text));
  const inPlace = has(/^-[a-zA-Z0-9]*i/);
  if (!inPlace && !has(/^-[a-zA-Z0-9]*[npeE]/)) return;
  access.args.forEach((word, index) => {
    // The code itself is evaluated as code.
    if (/^-[a-zA-Z0-9]*[eE]$/.test(texts[index - 1] ?? '')) access.explain(word);
    else if (!word.template.startsWith('-')) inPlace ? access.write(word, 'argument') : access.read(word);
  });
};

/** Returns a rule for an interpreter with a script: `bash -x FILE`; `bash -n` only checks it. Code is evaluated as code. */
function runsFile(values: string, checks: RegExp, code: RegExp): FileAccessRule {
  return (access) => {
    const { options, operands } = splitOptions(access.args, values, true);
    for (const { name, value } of options) if (value && code.test(name)) access.explain(value);
    if (access.args.some(({ template }) => checks.test(template))) for (const word of operands) access.explain(word);
    else if (operands[0] !== undefined) access.read(operands[0]);
  };
}

/** Rule for `docker cp FROM TO`: paths in a container have its name before a colon. */
const copiesOut: FileAccessRule = (access) => {
  const [verb, , to] = splitOptions(access.args, '-n -c --namespace --container --context').operands;
  if (verb?.template === 'cp' && to !== undefined && !to.template.includes(':')) access.write(to, 'copy');
};

const LOCKS: Readonly<Record<string, string>> = { yarn: 'yarn.lock', pnpm: 'pnpm-lock.yaml', bun: 'bun.lock' };
/** Pattern for a subcommand and its first operand; `npm install` alone changes no manifest. */
const CHANGES_MANIFEST =
  /^(?:init$|(?:un(?:install|link)?|remove|rm?)\b|(?:add|install|in?|link|ln|version) .|pkg (?:set|delete|fix)|up(?:date|grade)?\b|dedupe|audit fix)/;
const MANIFEST_VALUES = '-w -C -F --workspace --prefix --dir --cwd --filter --registry --loglevel --tag --otp';

/** Rule for `npm install X`, `npm pkg set x=y`, `yarn remove X`, which write package.json and the lock file. */
const manifest: FileAccessRule = ({ args, words: [program], write }) => {
  const split = splitOptions(args, MANIFEST_VALUES);
  const [verb, second = ''] = split.operands.map(({ template }) => template);
  const isElsewhere = hasOption(split, '-g', '--global', '--location', '--no-save', '--dry-run');
  if (isElsewhere || !CHANGES_MANIFEST.test(`${verb} ${second}`.trim())) return;
  const place = optionValue(split, '--prefix', '-C', '--dir', '--cwd')?.template;
  const lock = /^(?:init|pkg)$/.test(verb ?? '') ? [] : [LOCKS[program?.template ?? ''] ?? 'package-lock.json'];
  for (const file of ['package.json', ...lock])
    write(wordOf(place === undefined ? file : `${place}/${file}`), 'argument');
};

export const PROGRAMS: Readonly<Record<string, FileAccessRule>> = {
  __proto__: null as never,
  [TALKERS]: (access) => access.args.forEach(access.explain),
  'docker podman kubectl': copiesOut,
  'npm pnpm yarn bun': manifest,
  'chmod chown chgrp': mode,
  'perl ruby': filter,
  'sh bash dash zsh ksh': runsFile('-o -O --rcfile --init-file', /^-[a-z]*n[a-z]*$/, /^$/),
  'node nodejs': runsFile(NODE_VALUES, /^(-c|--check)$/, /^(-e|-p|-pe|--eval|--print)$/),
  'apply_patch applypatch': applyPatch,
  patch,
  'ssh-keygen': (access) => {
    const file = optionValue(splitOptions(access.args, '-f -t -b -C -N -P -a'), '-f');
    if (file === undefined) return;
    access.read(file);
    // Without one of these, it creates a new key there.
    if (!access.args.some((word) => /^-[ylFBeiHRkQY]/.test(word.template))) access.write(file, 'argument');
  },
  dd: (access) => {
    for (const word of access.args) {
      const match = /^(of|if)=(.*)$/s.exec(word.template);
      if (match === null) continue;
      const path = { ...wordOf(match[2] ?? '', word.source), ...(word.under ? { under: word.under } : {}) };
      if (match[1] === 'of') access.write(path, 'argument');
      else access.read(path);
    }
  },
  'find gfind': (access) => {
    access.args.forEach((word, index) => {
      if (!/^-f(print0?|ls|printf)$/.test(access.args[index - 1]?.template ?? '')) access.explain(word);
      else access.write(word, 'argument');
    });
    if (!access.args.some((word) => word.template === '-delete')) return;
    const under = searchedTree(access.words, access.state);
    access.write({ text: null, template: UNKNOWN, source: 'find -delete', under }, 'delete', { recursive: true });
  },
};
