import { existsSync } from 'node:fs';
import { patchTargets } from '../../client-tools.ts';
import { topOf } from '../../git-repository.ts';
import { escapeGlob } from '../glob.ts';
import { type SearchedTree, type ShellWord, UNKNOWN } from '../shell-reading.ts';
import { fromCwd, type ShellState } from '../shell-state.ts';
import {
  byProgram,
  everywhere,
  gitWords,
  hasOption,
  optionValue,
  optionValues,
  splitOptions,
  wordOf,
} from '../words.ts';
import type { AccessRecorder, FileAccessRule } from './file-access-rule.ts';

export const git: FileAccessRule = (access) => {
  const { words, directory } = gitWords(access.words);
  const [subcommand, ...args] = words;
  const name = subcommand?.template ?? '';
  const own = new Set(args);
  access.words.forEach((word, index) => {
    const isOutput = `${access.words[index - 1]?.template} ${word.template}`.includes('--output');
    if ((!own.has(word) || TALKS.has(name)) && !isOutput) access.explain(word);
  });
  subcommandOf(name)?.(directory === undefined ? access : access.inDirectory(directory), args);
};

/** Subcommands whose paths name entries of the index or a commit; `--output` is recorded for every program. */
const TALKS = new Set(
  'status log diff show add commit ls-files ls-tree blame annotate grep branch tag push fetch pull remote rev-parse rev-list check-ignore check-attr describe cat-file merge-base reset switch checkout restore cherry-pick revert merge rebase notes shortlog reflog whatchanged diff-tree diff-index diff-files hash-object name-rev for-each-ref symbolic-ref var version help stash rm mv clean apply show-ref count-objects fsck range-diff update-index'.split(
    ' ',
  ),
);

const subcommandOf = byProgram<(access: AccessRecorder, args: readonly ShellWord[]) => void>(() => ({
  __proto__: null as never,
  checkout: (access, args) => {
    const split = splitOptions(args, '-b -B --orphan --conflict --pathspec-from-file');
    if (hasOption(split, '-b', '-B', '--orphan')) return;
    // git treats an operand that is not a revision as a path.
    const behind = args.findIndex(({ template }) => template === '--') + 1;
    const paths = behind > 0 ? args.slice(behind) : split.operands;
    restored(access, paths, split.operands.slice(0, behind > 0 ? -paths.length : -1)[0]);
    tracked(access, 'git checkout');
  },
  restore: (access, args) => {
    const split = splitOptions(args, '-s --source --pathspec-from-file --conflict');
    if (hasOption(split, '-S', '--staged') && !hasOption(split, '-W', '--worktree')) return;
    const source = split.options.findLast(({ name }) => /^(-s$|--so)/.test(name));
    const usual = hasOption(split, '-S', '--staged') ? wordOf('HEAD') : null;
    restored(access, split.operands, source === undefined ? usual : (source.value ?? wordOf(UNKNOWN)));
  },
  rm: (access, args) => {
    const split = splitOptions(args, '--pathspec-from-file');
    if (hasOption(split, '--cached', '-n', '--dry-run')) return;
    for (const path of split.operands) access.write(pathspec(path, access.state), 'delete', { recursive: true });
  },
  mv: (access, args) => {
    const { operands } = splitOptions(args, '');
    operands.forEach((path, index) => {
      if (index === operands.length - 1) access.write(path, 'copy');
      else access.write(path, 'move', { recursive: true });
    });
  },
  clean: (access, args) => {
    const split = splitOptions(args, '-e --exclude');
    if (hasOption(split, '-n', '--dry-run')) return;
    // Like lines of .gitignore: names, or paths from the root.
    const excludes = optionValues(split, '-e', '--exclude').map(({ text }) => text ?? '!');
    const except = everywhere(excludes.map((line) => line.replace(/^\/+|\/+$|\/\*\*$/g, '')));
    const all = hasOption(split, '-x', '-X') || excludes.some((line) => line.startsWith('!'));
    removesUntracked(access, split.operands, all, except);
  },
  stash: (access, args) => {
    const verb = args.find((word) => !word.template.startsWith('-'))?.template ?? 'push';
    if (verb === 'show') shows(access, args);
    // A later pop restores what `store` records.
    if (/^(list|show|drop|clear|create|branch)$/.test(verb)) return;
    const push = verb === 'push' || verb === 'save';
    const split = splitOptions(
      push ? args.filter((word) => word.template !== verb) : args,
      '-m --message --pathspec-from-file',
    );
    const paths = verb === 'push' && !hasOption(split, '--pathspec-from-file') ? split.operands : [];
    restored(access, paths, wordOf('HEAD'));
    if (push && hasOption(split, '-u', '-a', '--include-untracked', '--all'))
      removesUntracked(access, paths.length > 0 ? paths : [wordOf(':/')], hasOption(split, '-a', '--all'));
    if (paths.length > 0) return;
    if (push) tracked(access, 'git stash', ['HEAD']);
    else {
      const stash = revision(split.operands[1], 'stash@{0}');
      tracked(access, 'git stash', stash === null ? undefined : [`${stash}^1`, stash]);
    }
  },
  'reset read-tree': (access, args) => {
    const split = splitOptions(args, '--pathspec-from-file');
    if (!hasOption(split, '--hard', '--merge', '--keep', '-u')) return;
    const to = revision(split.operands.at(-1), 'HEAD');
    tracked(access, 'git reset', to === null ? undefined : [to]);
  },
  apply: (access, args) => {
    const split = splitOptions(args, '-p -C --directory --exclude --include --whitespace');
    if (hasOption(split, '--check', '--stat', '--numstat', '--summary', '--cached')) return;
    const into = optionValue(split, '--directory')?.template;
    if (into !== undefined) access.write(wordOf(into), 'extract');
    for (const target of patchTargets(access.stdin.text))
      access.write(wordOf(into ? `${into}/${target}` : target), 'patch');
    tracked(access, 'git apply');
  },
  // A later pop restores what this names.
  'update-ref symbolic-ref': (access, args) => {
    if (args.some(({ template }) => template === 'refs/stash') && !hasOption(splitOptions(args, '-m'), '-d'))
      tracked(access, 'git stash');
  },
  'fetch push': (access, args) => {
    if (args.some(({ template }) => /:refs\/stash$/.test(template))) tracked(access, 'git stash');
  },
  'show diff blame annotate cat-file hash-object': shows,
  log: (access, args) => {
    if (args.some(({ template }) => SHOWS_LINES.test(template))) shows(access, args);
  },
  grep: (access, args) => {
    shows(access, args);
    // It searches tracked files; without an index, all files.
    const everything = hasOption(splitOptions(args, '-e -f -O'), '--no-index', '--untracked');
    const under = pathspecTree(access.words, pathsOfGrep(args, access.state), access.state);
    access.read({ ...wordOf('\0', 'git grep'), under: everything ? under : { ...under, tracked: true } });
  },
  add: (access, args) => {
    for (const word of splitOptions(args, '--chmod --pathspec-from-file').operands)
      access.read(pathspec(word, access.state));
  },
  archive: (access, args) => shows(access, args, true),
  config: (access, args) => {
    const split = splitOptions(args, '-f --file --type --default');
    const file = optionValue(split, '-f', '--file');
    const changes = split.operands.length > 1 || hasOption(split, '--unset', '--unset-all', '--add', '--replace-all');
    if (file !== undefined && changes && !hasOption(split, '--get', '--get-all', '-l', '--list')) {
      access.write(file, 'argument');
    } else if (file !== undefined) access.read(file);
  },
  // `worktree remove x` and `bundle create x` have it in the same place as `clone url x`.
  'clone worktree bundle': (access, args) => {
    const [, into] = splitOptions(args, '-b -B -o -c -u -j --branch --depth --origin --reference --config').operands;
    if (into !== undefined) access.write(into, 'argument', { recursive: true });
  },
  init: (access, args) => {
    for (const into of splitOptions(args, '-b --initial-branch --template').operands) access.write(into, 'argument');
  },
}));

/** Pattern for options that make git log print lines of files, not only commits. */
const SHOWS_LINES = /^(-[a-z]*[pucL]|--patch.*|--cc|--full-diff|--remerge-diff|--word-diff.*|--ext-diff)/;

/** Records the content that git shows: `HEAD:path`, and every operand, which may be a path. */
function shows(access: AccessRecorder, args: readonly ShellWord[], recursive = false): void {
  const split = splitOptions(
    args,
    '-o --output -S -G -L -n -e --format --pretty --max-count --grep --author --since --until',
  );
  for (const word of split.operands.filter(({ template }) => !/^:[!^(]/.test(template))) {
    const inside = /^[^:]*:(?!\/\/)(.+)$/s.exec(word.template)?.[1];
    access.read(inside === undefined ? word : wordOf(inside, word.source), recursive);
  }
}

/** Records that tracked files may change: those that `git diff` lists for these revisions in the repository. */
function tracked(access: AccessRecorder, source: string, compared?: readonly string[]): void {
  access.write(wordOf('.', source), 'git-tracked', { recursive: true, compared });
}

/** Records the removal of files that git does not track; with `all`, also of ignored ones. */
function removesUntracked(
  access: AccessRecorder,
  paths: readonly ShellWord[],
  all: boolean,
  left: string[] = [],
): void {
  const { except = [], ...tree } = pathspecTree(access.words, paths, access.state);
  const under = { ...tree, tracked: false, except: [...except, ...left] };
  access.write({ ...wordOf('.', 'git clean'), under: all ? under : { ...under, ignores: true } }, 'delete');
}

/** Records paths that git restores to their version in a revision; without one, to that in the index. */
function restored(access: AccessRecorder, paths: readonly ShellWord[], from: ShellWord | null = null): void {
  const known = from === null ? '' : revision(from, '');
  const compared = known === null ? undefined : [known].filter(Boolean);
  for (const path of paths) access.write(pathspec(path, access.state), 'git-path', { recursive: true, compared });
}

function revision(word: ShellWord | undefined, usual: string): string | null {
  const name = /^\d+$/.test(word?.template ?? '') ? `stash@{${word?.template}}` : word?.template;
  return name === undefined ? usual : /^(?!.*\.\.)(?:\w[\w./~^@{}-]*$|@)/.test(name) ? name : null;
}

/** Returns the words after `--`; none without it. */
function afterDashes(args: readonly ShellWord[]): readonly ShellWord[] {
  const dashes = args.findIndex(({ template }) => template === '--');
  return dashes === -1 ? [] : args.slice(dashes + 1);
}

/** Returns the pathspecs of `git grep`: without `--`, the words that exist as paths or cannot be revisions. */
export function pathsOfGrep(args: readonly ShellWord[], state: Place): readonly ShellWord[] {
  const paths = afterDashes(args);
  if (paths.length > 0) return paths;
  const split = splitOptions(args, '-e -f -m -A -B -C --max-depth --max-count --threads');
  const operands = hasOption(split, '-e', '-f') ? split.operands : split.operands.slice(1);
  return operands.filter(({ template }) => /^:|[*?[]/.test(template) || existsSync(fromCwd(template, state)));
}

/**
 * Returns the files that git, called with these words, takes for pathspecs below the working directory, in their widest sense:
 * wildcards match slashes, and magic other than an exclusion may mean any file.
 */
export function pathspecTree(call: readonly ShellWord[], words: readonly ShellWord[], state: Place): SearchedTree {
  const all = words.map(({ template }) => template);
  const kept = all
    .filter((path) => !EXCLUDED.test(path))
    // A plain path from the top of the repository.
    .map((path) => path.replace(/^:(?:\/|\(top\))(?=[^!^:/])/, () => `${topOf(state.cwd)}/`));
  const left = all.flatMap((path) => EXCLUDED.exec(path)?.[1] ?? []);
  const folds =
    state.variables.has('GIT_ICASE_PATHSPECS') || call.some(({ template }) => template.startsWith('--icase'));
  const isPlain = kept.length > 0 && !folds && !kept.some((path) => path.startsWith(':') || path.includes(UNKNOWN));
  const globs = kept.filter((path) => WILD.test(path));
  return {
    roots: isPlain
      ? kept.map((path) => fromCwd(path.replace(/[^/]*[*?[\\].*$/s, '') || '.', state))
      : [kept.some((path) => path.startsWith(':')) ? topOf(state.cwd) : state.cwd],
    names: isPlain && globs.length === kept.length ? globs.map(fileName) : [],
    filesOnly: true,
    ...(left.length > 0 && { except: left.flatMap((path) => exclusion(path, state)) }),
  };
}

type Place = Pick<ShellState, 'cwd' | 'variables'>;

/** Pattern for excluding pathspecs; the group is empty for one from the top of the repository, which may be anywhere. */
const EXCLUDED = /^:(?:[!^]|\(exclude\))(?:\/.*|(.*))$/s;
const WILD = /[*?[\\]/;

/** Returns globs for what an excluding pathspec excludes: without wildcards, a path from the working directory. */
function exclusion(path: string, { cwd }: Place): string[] {
  const glob = `${escapeGlob(cwd)}/${path.replace(/^(?:\.\/)+|\/+$/g, '')}`;
  return WILD.test(path) ? [glob] : [glob, `${glob}/*`];
}

/** Returns a glob for the file names matched by a pathspec with wildcards, one of which may match a slash. */
function fileName(pathspec: string): string {
  const tail = pathspec.replace(/^.*(?:[*?[\]]|\\.?)/s, '');
  return tail.includes('/') ? tail.slice(tail.lastIndexOf('/') + 1) : `*${tail}`;
}

/** Interprets `:/x`, `:(top)x` (the root of the working tree) and globs, which match slashes, in their widest sense. */
function pathspec(word: ShellWord, { cwd }: Pick<ShellState, 'cwd'>): ShellWord {
  const [, magic = '', rest = ''] = /^:(\/|\((?:top|glob|icase|literal|,)*\))(.*)$/s.exec(word.template) ?? [];
  const below = magic === '' ? word.template : rest || '.';
  const top = /\/|top/.test(magic) ? topOf(cwd) : cwd;
  const path = top === cwd ? below : `${top}/${below}`;
  if (word.pattern === undefined && /[*?[]/.test(path))
    return { ...wordOf(path, word.source), glob: true, pattern: path };
  return magic === '' ? word : wordOf(path, word.source);
}
