import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Guardrails } from '../../engine/schema/contract.ts';
import { isFolder } from '../../state/files/regular-file.ts';
import { withinTime } from '../commands/within-time.ts';
import { ignoredByGit } from '../git-repository.ts';
import { type Denial, deny, type Guard, type ToolCall, type Verdict } from '../guard.ts';
import { fileDenied, slowPatternDenied, undecidedDenied } from '../messages.ts';
import { piecesOf } from '../own-files/file-access-hit.ts';
import { absolutePath } from '../own-files/own-files.ts';
import type { FileAccess, SearchedTree, ShellReading } from '../shell/shell-reading.ts';
import { isUnknownPath, UNKNOWN } from '../shell/shell-reading.ts';
import { literalOrNull } from '../shell/shell-state.ts';
import { byProgram, hasKnownOptions, isForCodeOption } from '../shell/words.ts';
import { type PathPattern, pathForms, pathPattern, SCRATCH } from './path-pattern.ts';
import type { Budget, Reached } from './reached-paths.ts';
import { isSpent, newBudget, reachedByTool, reachedPaths, spendAll } from './reached-paths.ts';

/** Undecidable part of a call: its text, and a kind known to `undecidedDenied`. */
export interface Open {
  readonly kind: string;
  readonly text: string;
}

/** Kinds denied if the user has any rule: not even the commands are known. */
const UNREAD = new Set(['parse-error', 'too-large', 'too-deep', 'too-many-files']);
/** Kinds denied if a rule is about commands. */
const UNKNOWN_COMMAND = new Set(['dynamic-command', 'dynamic-piped-to-shell']);
/** Kinds about files, which do not matter to a user without rules for files. */
const FILES = new Set(['unknown-files', 'many-files', 'dynamic-read']);

/** Denies undecidable parts of a call if the user's rules require it. */
export function evaluateUndecided(pieces: readonly Open[], rules: Guardrails): Denial | null {
  const allowlist = rules.shellAllow !== null;
  const strict = rules.strict || allowlist;
  const aboutCommands = allowlist || rules.blockCommands.length > 0;
  const aboutFiles = rules.protectedFiles.length > 0 || rules.privateFiles.length > 0;
  const piece = pieces.find(({ kind }) => {
    if (UNREAD.has(kind)) return strict || aboutCommands || aboutFiles;
    if (UNKNOWN_COMMAND.has(kind)) return strict || aboutCommands;
    return strict && (aboutFiles || !FILES.has(kind));
  });
  return piece === undefined ? null : deny('undecided', undecidedDenied(piece.kind, piece.text));
}

export interface FileVerdict {
  readonly denial: Denial | null;
  readonly open: readonly Open[];
}

/** Time limit for all globs of one call, which may be matched against thousands of files. */
const GLOB_LIMIT_MS = 150;

type FileRules = Pick<Guardrails, 'protectedFiles' | 'privateFiles'>;
type Rule = PathPattern & { readonly rule: string };

interface Access extends Reached {
  readonly by: string;
  readonly reads: boolean;
  /** Search that found it and that may exclude it. */
  readonly under?: SearchedTree | undefined;
}

export async function evaluateShellFiles(reading: ShellReading, guard: Guard, rules: FileRules): Promise<FileVerdict> {
  const budget = newBudget();
  const accessesOf = (uses: readonly FileAccess[], reads: boolean): Access[] =>
    uses.flatMap((use) =>
      reachedPaths(use, guard, budget).map((each) => ({
        ...each,
        by: use.by || 'this redirection',
        reads,
        ...(use.word.under && { under: use.word.under }),
      })),
    );
  const isPrivate = rules.privateFiles.length > 0;
  const reads = isPrivate ? reading.reads : [];
  const named = [...namedByCode(reading, guard, budget, isPrivate), ...namedPlainly(reading, guard, budget, isPrivate)];
  const accesses = [...accessesOf(reading.writes, false), ...accessesOf(reads, true), ...named];
  const open: Open[] = [
    ...reading.writes.filter(isUnforeseeable).map(({ word }) => ({ kind: 'unknown-files', text: word.source })),
    ...reads.filter(isUnknown).map(({ word }) => ({ kind: 'dynamic-read', text: word.source })),
    ...tooMany(budget, [...new Set(accesses.map(({ by }) => by))].join(', ')),
  ];
  return { denial: await firstDenied(accesses, guard, rules), open };
}

const MAX_PIECES = 2000;

/** Returns files named in code for an interpreter, whose effect on them is unknown. */
function namedByCode(reading: ShellReading, guard: Guard, budget: Budget, isPrivate: boolean): Access[] {
  const texts = [
    ...reading.undecidable.filter(({ kind }) => kind === 'interpreter-code'),
    // Code that an unknown program receives through an option, or a path that looks like code.
    ...reading.named.flatMap(({ command, words }) =>
      words
        .filter((word) => isCode(word.template) || isForCodeOption(word, command))
        .map(({ template }) => ({ text: template, cwd: literalOrNull(command.cwdTemplate) })),
    ),
  ];
  return texts.flatMap(({ text, cwd }) => {
    const access = (reads: boolean) => (path: string) => ({
      forms: pathForms(path, cwd ?? guard.rules.projectDir, guard),
      shown: path,
      by: 'this code',
      reads,
    });
    const paths = isPrivate ? pathsInCode(text, cwd ?? guard.rules.projectDir) : [];
    const named = [...writtenByCode(text).map(access(false)), ...paths.map(access(true))];
    // The rest was not examined, so the call is denied if there is any rule.
    if (named.length > MAX_PIECES) spendAll(budget);
    return named.slice(0, MAX_PIECES);
  });
}

/** Patterns for files in code, created only for code: compiling them takes longer than judging most commands. */
function codePatterns() {
  const changes = String.raw`(?:write\w{0,40}|append\w{0,40}|createWriteStream|spit|save|once|file_put_contents|unlink\w{0,40}|rm(?:_rf?|Sync|tree|dir)?|remove\w{0,40}|delete\w{0,40}|(?:file|delete)[- ](?:delete|file)|with-temp-file|truncate\w{0,40}|touch|chmod\w{0,40}|(?:set )?output(?: =)?|dump(?: value)?|tee|w!?|\\o)`;
  const moves = String.raw`(?:(?:rename|move)\w{0,40}|(?<=\bos\.)replace)`;
  const copies = String.raw`(?:copy|cp|link|symlink)\w{0,40}`;
  const quoted = String.raw`['"\x60]([^'"\x60\n]{1,300})['"\x60]`;
  /** Pattern for written files: `writeFileSync('F'`, `open('F', 'w'`, `Path('F').write_text`, `unlink F`. */
  const written = new RegExp(
    String.raw`(?<![a-zA-Z_-])(?:[\w.]{0,80}\.)?(?:${moves}[\s(]{1,4}${quoted}(?:\s{0,20},\s{0,20}${quoted})?|` +
      String.raw`${copies}\(\s{0,20}[^,\n]{1,300},\s{0,20}${quoted}|${changes}[\s(\\]{1,4}(?:${quoted}|([^\s'"();,]{1,300})))|` +
      String.raw`(?:(?<![=<-])>{1,2}|\b(?:to|into|(?:out|dump)file))\s{1,20}${quoted}|(?<![=<-])>{1,2}${quoted}|['"]\+?>{1,2}(?:['"],\s{0,9}['"])?\s{0,9}([^'"\n]{1,300})['"]|` +
      String.raw`${quoted}\s{0,20}(?=,\s{0,20}(?:mode\s{0,20}=\s{0,20})?['"][rbt]*[wax+]|\)?\s{0,20}\.(?:${changes}|${moves})\()`,
    'gi',
  );
  /** Pattern for joined paths: `Path('tests') / 'a'`, `join('tests', 'a')`. */
  const joined = new RegExp(
    String.raw`${quoted}\)?\s{0,20}\/\s{0,20}${quoted}|\b(?:[\w.]{1,40}\.)?(?:join|resolve|Path)\(${quoted}\s{0,20},\s{0,20}${quoted}\)`,
    'g',
  );
  /** Pattern for variables: `p = 'F'`, `const p = Path('F')`, `for f in glob('F')`, `for (const f of readdirSync('F'))`. */
  const assigned = new RegExp(
    String.raw`(?<![\w.])([a-zA-Z_]\w{0,60})\s{0,9}:?=\s{0,9}(?:[\w.]{0,40}\b(?:Path|File|join|resolve)\()?${quoted}|` +
      String.raw`\bfor\s{0,9}\(?(?:(?:const|let|var)\s)?\s{0,9}([a-zA-Z_]\w{0,60})\s{1,9}(?:in|of)\s[^\n:{]{0,200}?(?<!require)\(${quoted}`,
    'g',
  );
  return { written, joined, assigned };
}

const MAX_NAMES = 50;

/** Returns the files that code obviously writes, moves or removes; a file that is only named counts as read. */
function writtenByCode(text: string): string[] {
  const patterns = codePatterns();
  const joined = text.replace(patterns.joined, (_, a, b, c, d) => `'${a ?? c}/${b ?? d}'`);
  const values = new Map<string, string>();
  for (const [, name, value, item, folder] of joined.matchAll(patterns.assigned)) {
    if (values.size < MAX_NAMES) values.set(name ?? item ?? '', value ?? folder ?? '');
  }
  const any = [...values.keys()].join('|');
  const names = new RegExp(String.raw`(?<![\w.'"\x60/])(?:${any})\b(?!\s{0,9}=|['"\x60/])`, 'g');
  const named = any === '' ? joined : joined.replace(names, (name) => `'${values.get(name)}'`);
  const found = [joined, named]
    .flatMap((each) => [...each.matchAll(patterns.written)])
    .flatMap(([, ...paths]) => paths);
  return [...new Set(found.filter(Boolean).map((path) => path.replace(/(?<=.)\/+$/, '')))];
}

const isCode = (text: string): boolean => /['"()]/.test(text);

/** Returns the files that a program receives by name, with unknown effect: those it may write, and existing ones. */
export function namedPlainly({ named }: ShellReading, guard: Guard, budget: Budget, isPrivate: boolean): Access[] {
  return named.flatMap(({ command, words, mayWrite }) =>
    words.flatMap((word) => {
      const reads = !mayWrite(word);
      if (reads && !isPrivate) return [];
      if (word.pattern !== undefined || word.under !== undefined) {
        const { cwdTemplate, name: by, position } = command;
        const use = { word, cwdTemplate, by, how: 'argument', position } as const;
        return reachedPaths(use, guard, budget).map((each) => ({ ...each, by, reads, under: word.under }));
      }
      const isText = /\s/.test(word.template);
      if (isText && (isCode(word.template) || !isForCodeOption(word, command))) return [];
      const cwd = command.cwdTemplate;
      // Not in `kubectl get secrets`, for example, even if a folder has that name. `./...` names packages of Go.
      const isPath = (piece: string): boolean =>
        !piece.endsWith('/...') && (/[./]/.test(piece) || !(isText || hasKnownOptions(command)));
      const isThere = (piece: string): boolean =>
        `${cwd}${piece}`.includes(UNKNOWN) ? /[^\0]/.test(basename(piece)) : existsSync(absolutePath(piece, cwd));
      return piecesOf(word.template, guard)
        .filter((piece) => isPath(piece) && ((!reads && /^[^-=:][^=:]*[./]/.test(piece)) || isThere(piece)))
        .map((piece) => ({ forms: pathForms(piece, cwd, guard), shown: piece, by: command.name, reads }));
    }),
  );
}

/**
 * Returns the strings in code, whole and in parts, and path-like text outside strings. `process.env` and `e.key` are not
 * paths, and a plain word (`json["secrets"]`) is one only if such a file exists.
 */
function pathsInCode(code: string, cwd: string): string[] {
  const text = code.replace(QUERIES, (query) =>
    OPENS.test(query) ? query : query.replace(VALUES, (string, isValue) => (isValue ? '?' : string)),
  );
  const strings = [...text.matchAll(/(['"`])((?:(?!\1)[^\\\n]){1,1024})\1/g)].map((match) => match[2] ?? '');
  const pieces = strings
    .flatMap((string) => [...new Set([string, ...string.split(/[\s=:,;()<>|'"]+/)])])
    .filter(Boolean);
  const bare = text.match(/(?<![\w)\].])[.~/][\w./~*-]*|(?<![\w.-])[\w.-]+\/[\w./-]*/g) ?? [];
  const isThere = (piece: string): boolean => existsSync(join(cwd, piece));
  const named = pieces.filter((piece) => /[./]/.test(piece) || isThere(piece));
  return [...new Set([...named, ...bare.filter((piece) => /\//.test(piece) || isThere(piece))])];
}

/** Pattern for SQL statements from the beginning of a line; in a string of another language, they end with it. */
const QUERIES =
  /^[^\S\n]{0,40}(?:select|insert\s+into|replace\s+into|update\s+\S+\s+set|delete\s+from)\s(?:(?!''')[^;"\x60])*/gim;
/** Pattern for functions that may open files: `readfile(`, `pg_read_file(`, `load_extension(`, `getvariable(`. */
const OPENS =
  /(?:file|read|load|import|export|scan|glob|dir|sniff|parquet|edit|variable|exec|system|shell|url)\w*\s*\(/i;
/** Pattern for strings, each with the words before it that compare or store it, in contrast to `from 'F'`. */
const VALUES = /([=<>,]\s*|\b(?:i?like|(?:in|values)\s*\()\s*)?'(?:[^'\n]|'')*'/gi;

export async function evaluateToolFiles(call: ToolCall, guard: Guard, rules: Guardrails): Promise<Verdict> {
  const budget = newBudget();
  const { reached, reads } = reachedByTool(call, guard, budget);
  const accesses = reached.map((each) => ({ ...each, by: call.tool, reads }));
  const open = tooMany(budget, call.tool);
  const denial = (await firstDenied(accesses, guard, rules)) ?? evaluateUndecided(open, rules);
  return denial ?? { decision: 'allow', recorded: open.map(({ kind, text }) => `${kind}: ${text}`) };
}

/** Returns an undecided part if the budget of the call is spent, because some paths were not examined. */
function tooMany(budget: Budget, text: string): Open[] {
  if (!budget.cut) return [];
  return [{ kind: isSpent(budget) ? 'too-many-files' : 'many-files', text }];
}

/** Options that make a search exclude files matching a glob, and folders of that name. */
const excludesOf = byProgram<readonly [file: string, folder?: string]>(() => ({
  rg: ["-g '!?'"],
  ag: ["--ignore '?'"],
  'grep egrep fgrep zgrep ggrep': ["--exclude='?'", "--exclude-dir='?'"],
  // Without a wildcard, git excludes only what exists here.
  git: ["-- ':!*?'", "-- ':!*?*'"],
  'fd fdfind': ["-E '?'"],
  find: ["-not -name '?'", "-not -path '*/?/*'"],
}));

/** Returns the option by which this search would exclude the files of a rule; undefined for other programs. */
function leftOut({ shown, by }: Access, pattern: string): string | undefined {
  const [file, folder] = excludesOf(by) ?? [];
  const name = basename(shown);
  const isName = !pattern.includes('/') && !pattern.startsWith('policy:');
  const byFolder = isName && !/[*?[{(]/.test(pattern) && (pattern !== name || isFolder(shown));
  return (byFolder ? (folder ?? file) : file)?.replace('?', isName ? pattern : name).replace('**', '*');
}

/** Returns the first denial, or null. Private files are also protected from changes. */
async function firstDenied(accesses: readonly Access[], guard: Guard, rules: FileRules): Promise<Denial | null> {
  const named = (list: string, patterns: readonly string[]): Promise<Rule[]> =>
    Promise.all(
      patterns.map(async (pattern) => ({ ...(await pathPattern(pattern, guard)), rule: `${list}: ${pattern}` })),
    );
  const hidden = await named('private_files', rules.privateFiles);
  const all = [...(await named('protected_files', rules.protectedFiles)), ...hidden];
  // A policy is about places: if the project or the home is itself in a temporary folder, nothing there is a mere copy.
  const isScratchItself = [guard.rules.projectDir, guard.rules.home].some((folder) => SCRATCH.test(`${folder}/`));
  const namesOnly = isScratchItself ? /^[^/:]*\/*$/ : /^(?:policy:)?[^/:]*\/*$/;
  let current = '';
  const hits = () =>
    accesses.flatMap((access) => {
      const isCopy = !access.reads && access.forms.placed.every((path) => SCRATCH.test(path));
      const hit = (access.reads ? hidden : all).find(({ pattern, covers, rule }) => {
        current = rule;
        return !(isCopy && namesOnly.test(pattern)) && covers(access.forms);
      });
      return hit === undefined ? [] : [{ access, rule: hit }];
    });
  const found = all.every(({ isFast }) => isFast) ? hits() : withinTime(GLOB_LIMIT_MS, hits)?.value;
  if (found === undefined) return deny(current, slowPatternDenied());
  const passed = found.flatMap(({ access }) => (access.under?.ignores ? access.shown : []));
  const ignored = passed.length > 0 ? ignoredByGit(guard.rules.projectDir, passed) : null;
  const first = found.find(({ access }) => !(access.under?.ignores && ignored?.has(access.shown)));
  if (first === undefined) return null;
  const { access, rule } = first;
  return deny(
    rule.rule,
    fileDenied(access.shown, access.by, access.reads, access.under && leftOut(access, rule.pattern)),
  );
}

/** Returns whether the changed files depend on the content of an archive, a patch or a branch. */
function isUnforeseeable({ how, word }: FileAccess): boolean {
  return how === 'extract' || (how === 'git-tracked' && !/^git (reset|stash)$/.test(word.source));
}

function isUnknown({ word, cwdTemplate }: FileAccess): boolean {
  return word.under === undefined && isUnknownPath(word, cwdTemplate);
}
