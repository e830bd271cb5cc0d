import { escapeGlob } from '../glob.ts';
import type { ShellWord } from '../shell-reading.ts';
import { fromCwd, literalOrNull } from '../shell-state.ts';
import { everywhere, hasOption, optionValue, optionValues, splitOptions, takesInput, wordOf } from '../words.ts';
import type { AccessRecorder, FileAccessRule } from './file-access-rule.ts';

/** Programs that copy, move or link files: cp, mv, ln, install, rsync. */
export const COPIERS: Readonly<Record<string, FileAccessRule>> = {
  __proto__: null as never,
  cp: (access) => copy(access, '-t -S --target-directory --suffix'),
  scp: (access) => copy(access, '-P -i -o -F -c -l -S -J'),
  install: (access) => {
    const split = splitOptions(access.args, INSTALL_VALUES);
    if (hasOption(split, '-d', '--directory')) for (const word of split.operands) access.write(word, 'argument');
    else copy(access, INSTALL_VALUES);
  },
  mv: (access) => copy(access, '-t -S --target-directory --suffix', 'move'),
  ln: (access) => {
    const split = splitOptions(access.args, '-t -S --target-directory --suffix');
    const into = optionValue(split, '-t', '--target-directory');
    const sources = into === undefined && split.operands.length > 1 ? split.operands.slice(0, -1) : split.operands;
    const destination = into ?? (split.operands.length > 1 ? split.operands.at(-1) : undefined);
    for (const source of sources) {
      access.write(source, 'link-source');
      if (into === undefined && destination !== undefined) access.write(destination, 'link', { from: source });
      access.write(joinWords(destination ?? wordOf('.'), source), 'link', { from: source });
    }
  },
  rsync: (access) => {
    const split = splitOptions(
      access.args,
      '-e -f -T -B -M --rsh --filter --exclude --include --exclude-from --files-from --backup-dir --log-file --chmod',
    );
    const destination = split.operands.length > 1 ? split.operands.at(-1) : undefined;
    const sources = split.operands.slice(0, -1);
    if (destination === undefined || /^[^/]+:/.test(destination.template)) {
      for (const source of sources) access.read(source, true);
      return;
    }
    if (hasOption(split, '--remove-source-files'))
      for (const source of sources) access.write(source, 'delete', { recursive: true });
    if (split.options.some((option) => option.name.startsWith('--delete')))
      access.write(destination, 'delete', { recursive: true });
    arrive(access, sources, destination, true, false, optionValues(split, '--exclude'));
  },
};

const INSTALL_VALUES = '-m -o -g -t -S --mode --owner --group --target-directory --suffix';

function copy(access: AccessRecorder, values: string, how: 'copy' | 'move' = 'copy'): void {
  const split = splitOptions(access.args, values);
  const into = optionValue(split, '-t', '--target-directory');
  const destination = into ?? (split.operands.length > 1 ? split.operands.at(-1) : undefined);
  const sources = into === undefined ? split.operands.slice(0, -1) : split.operands;
  if (how === 'move') for (const source of sources) access.write(source, 'move', { recursive: true });
  if (hasOption(split, '-l', '--link', '-s', '--symbolic-link'))
    for (const source of sources) access.write(source, 'link-source');
  const recursive = how === 'move' || hasOption(split, '-r', '-R', '-a', '--recursive', '--archive');
  if (destination !== undefined) arrive(access, sources, destination, recursive, into !== undefined);
}

/** Reads everything below a folder except what the globs exclude. */
function readTree(access: AccessRecorder, word: ShellWord, left: readonly ShellWord[]): void {
  left.forEach(access.explain);
  const globs = left.map(({ template }) => template.replace(/^\.?\/+|\/+$/g, ''));
  const under = { roots: [fromCwd(word.template, access.state)], names: [], except: everywhere(globs) };
  access.read(globs.length === 0 || word.glob === true ? word : { ...word, under }, true);
}

function arrive(
  access: AccessRecorder,
  sources: readonly ShellWord[],
  destination: ShellWord,
  recursive: boolean,
  isDirectory: boolean,
  left: readonly ShellWord[] = [],
): void {
  if (!isDirectory) access.write(destination, 'copy');
  for (const source of sources) {
    if (recursive) readTree(access, source, left);
    else access.read(source);
    const inside = joinWords(destination, source);
    access.write(inside, 'copy');
    if (!recursive) continue;
    access.write(destination, 'copy-into', { from: source, recursive: true });
    access.write(inside, 'copy-into', { from: source, recursive: true });
  }
}

const WRITTEN =
  '-o --output -c --cookie-jar -D --dump-header --trace --trace-ascii --stderr --etag-save --hsts --alt-svc'.split(' ');

export const FETCHERS: Readonly<Record<string, FileAccessRule>> = {
  __proto__: null as never,
  curl: (access) => {
    const split = splitOptions(
      access.args,
      '-o -d -H -X -u -A -b -c -e -F -T -x -m -w -D -K -E --output --output-dir --data --data-binary --data-raw --data-ascii --data-urlencode --json --form --header --request --user --cookie --cookie-jar --dump-header --upload-file --max-time --config --retry --url --netrc-file --cert --key --cacert --trace --trace-ascii --stderr --etag-save --hsts --alt-svc',
    );
    for (const url of split.operands) {
      const path = /^file:\/\/(?:localhost)?(\/.*)$/is.exec(url.template)?.[1];
      if (path !== undefined) access.read(wordOf(path, url.source));
    }
    for (const { name, value } of split.options) if (value !== undefined) sendsFile(name, value, access);
    const directory = optionValue(split, '--output-dir');
    for (const file of optionValues(split, ...WRITTEN)) {
      const isPlaced = directory !== undefined && !file.template.startsWith('/');
      const target = isPlaced ? wordOf(`${directory.template}/${file.template}`, file.source) : file;
      if (file.template !== '-') access.write(target, 'argument');
    }
    if (hasOption(split, '-O', '--remote-name', '--remote-name-all')) {
      for (const url of split.operands)
        access.write(joinWords(directory ?? wordOf('.'), wordOf(withoutQuery(url.template))), 'argument');
    }
  },
  wget: (access) => {
    const split = splitOptions(
      access.args,
      '-O -P -o -a -i -t -T -U --output-document --directory-prefix --output-file --append-output --header --user --password --post-file --body-file --input-file --load-cookies',
    );
    for (const file of optionValues(split, '--post-file', '--body-file', '-i', '--input-file', '--load-cookies'))
      access.read(file);
    const output = optionValue(split, '-O', '--output-document');
    if (output !== undefined) {
      if (output.template !== '-') access.write(output, 'argument');
    } else {
      const directory = optionValue(split, '-P', '--directory-prefix') ?? wordOf('.');
      for (const url of split.operands)
        access.write(joinWords(directory, wordOf(withoutQuery(url.template))), 'argument');
    }
    const log = optionValue(split, '-o', '-a', '--output-file', '--append-output');
    if (log !== undefined) access.write(log, 'argument');
  },
};

const TAKES_FILE = /^(-T|--upload-file|-K|--config|--netrc-file|-E|--cert|--key|-b|--cookie)$/;
const TAKES_AT = /^(-d|--data|--data-binary|--data-ascii|--data-urlencode|--json|-H|--header)$/;

/** Records the files that curl sends: `-T FILE`, `-d @FILE`, `-F name=@FILE`. */
function sendsFile(name: string, value: ShellWord, access: AccessRecorder): void {
  if (TAKES_FILE.test(name)) {
    if (!takesInput(value.template) && value.content === undefined) access.read(value);
    return;
  }
  const at = TAKES_AT.test(name) ? /^[^=@]*@(.+)$/s : /^(?:-F|--form)$/.test(name) ? /^[^=]*=[@<]([^;]+)/s : null;
  const path = at?.exec(value.template)?.[1];
  if (path !== undefined && path !== '-')
    access.read({ ...wordOf(path, value.source), ...(value.under && { under: value.under }) });
}

function withoutQuery(url: string): string {
  return url.replace(/[?#].*$/, '');
}

const TAR_VALUES =
  '-f -C -T -X -b -I --file --directory --files-from --exclude --exclude-from --strip-components --transform --use-compress-program --owner --group --mode';

const MAX_MEMBERS = 500;

/** Archivers such as tar and unzip: where members are extracted, and which archive is written. */
export const ARCHIVERS: Readonly<Record<string, FileAccessRule>> = {
  __proto__: null as never,
  tar: (access) => {
    // Old style: `tar xzf a.tgz`, letters without a dash.
    const first = access.args[0];
    const old = first !== undefined && /^[a-zA-Z]+$/.test(first.template);
    const args = old ? [wordOf(`-${first.template}`), ...access.args.slice(1)] : access.args;
    const split = splitOptions(args, TAR_VALUES);
    const directory = optionValue(split, '-C', '--directory');
    const inside = directory === undefined ? access : access.inDirectory(directory.template);
    const archive = optionValue(split, '-f', '--file');
    if (hasOption(split, '-x', '--extract', '--get')) {
      inside.write(wordOf('.', directory?.source ?? '.'), 'extract');
      for (const member of split.operands) inside.write(member, 'argument');
    } else if (hasOption(split, '-c', '-r', '-u', '-A', '--create', '--append', '--update')) {
      if (archive !== undefined && archive.template !== '-') access.write(archive, 'argument');
      for (const member of split.operands) {
        readTree(inside, member, optionValues(split, '--exclude'));
        if (hasOption(split, '--remove-files')) inside.write(member, 'delete', { recursive: true });
      }
    } else for (const member of split.operands) access.explain(member);
  },
  bsdtar: (access) => ARCHIVERS.tar?.(access),
  unzip: (access) => {
    const split = splitOptions(access.args, '-d -P -x');
    if (hasOption(split, '-l', '-t', '-Z', '-p', '-v', '-z')) return;
    const directory = optionValue(split, '-d');
    const inside = directory === undefined ? access : access.inDirectory(directory.template);
    inside.write(wordOf('.', directory?.source ?? '.'), 'extract');
    for (const archive of split.operands.slice(0, 1)) access.read(archive);
    for (const member of split.operands.slice(1)) inside.write(member, 'argument');
  },
  zip: (access) => {
    const split = splitOptions(access.args, '-x -i -P -t -b');
    split.operands.forEach((word, index) => {
      if (index === 0) access.write(word, 'argument');
      else if (hasOption(split, '-m')) access.write(word, 'move', { recursive: true });
      else access.read(word, hasOption(split, '-r', '--recurse-paths'));
    });
  },
  '7z': (access) => {
    const [verb, ...rest] = splitOptions(access.args, '').operands;
    const into = access.args.find((word) => word.template.startsWith('-o'));
    if (verb?.template === 'x' || verb?.template === 'e')
      access.write(wordOf(into?.template.slice(2) ?? '.'), 'extract');
    else if (verb?.template === 'a' && rest[0] !== undefined) {
      access.write(rest[0], 'argument');
      for (const member of rest.slice(1)) access.read(member, true);
    }
  },
  cpio: (access) => {
    if (access.args.some((word) => /^-[a-zA-Z]*i|^--extract/.test(word.template))) access.write(wordOf('.'), 'extract');
    else for (const line of access.stdin.text.split('\n').slice(0, MAX_MEMBERS)) access.read(wordOf(line));
  },
};

/** Returns the path of a file in a directory: the directory and the file's basename. */
function joinWords(directory: ShellWord, file: ShellWord): ShellWord {
  const template = `${directory.template}/${lastSegment(file.template)}`;
  const base = { text: literalOrNull(template), template, source: directory.source };
  if (directory.pattern === undefined && file.pattern === undefined) return base;
  const pattern = `${directory.pattern ?? escapeGlob(directory.template)}/${lastSegment(file.pattern ?? escapeGlob(file.template))}`;
  return { ...base, glob: true, pattern };
}

function lastSegment(path: string): string {
  const cut = path.replace(/\/+$/, '');
  return cut.slice(cut.lastIndexOf('/') + 1);
}
