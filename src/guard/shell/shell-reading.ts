/** Any text: placeholder in templates for what is known only at run time. */
export const UNKNOWN = '\0';

export interface ShellWord {
  /** The word as the program gets it; null when a part of it is known only at run time. */
  readonly text: string | null;
  /** The text, with UNKNOWN for each part that is known only at run time. */
  readonly template: string;
  readonly source: string;
  /** The shell expands it against the file system; `pattern` is the glob, quoted characters escaped by a backslash. */
  readonly glob?: true;
  readonly pattern?: string;
  /** It stands for files that a search (find) comes upon. */
  readonly under?: SearchedTree;
  /** Content of a process substitution, as a template. */
  readonly content?: string;
  /** The files that this content lists. */
  readonly contentUnder?: SearchedTree;
}

export interface SearchedTree {
  /** Absolute directories as templates. */
  readonly roots: readonly string[];
  /** Globs, one of which a segment of the path matches; empty means any file. */
  readonly names: readonly string[];
  /** Names that begin with a dot are passed over. */
  readonly visible?: true;
  /** Globs of paths that the search leaves out; a star crosses slashes. */
  readonly except?: readonly string[];
  /** Folders are not found, only files. */
  readonly filesOnly?: true;
  readonly maxDepth?: number;
  /** Only files that git tracks are found. */
  readonly tracked?: true;
  /** What .gitignore names is passed over. */
  readonly ignores?: true;
}

export interface ShellCommand {
  /** Basename of the command word; '' when it is not literal. */
  readonly name: string;
  /** The command word's template, as written after expansion. */
  readonly path: string;
  /** argv[0] is the command word itself. */
  readonly argv: readonly ShellWord[];
  /** Wrappers that were looked through, the outermost first (env, sudo, xargs, "bash -c", ...). */
  readonly via: readonly string[];
  readonly assignments: ReadonlyArray<{ readonly name: string; readonly value: string | null }>;
  /** Working directory, literal `cd` followed; null when unknown. */
  readonly cwd: string | null;
  readonly cwdTemplate: string;
  readonly stdinFrom: 'none' | 'pipe' | 'file' | 'literal';
  readonly source: string;
  readonly position: number;
  /** What it prints goes to a file, a variable or another descriptor. */
  readonly away?: true;
  /** Looked through (sudo, bash -c, eval), or only changes the shell (cd, export): what it runs is recorded too. */
  readonly opened?: true;
}

export type FileAccessKind =
  | 'redirect'
  | 'argument'
  | 'copy'
  | 'copy-into'
  | 'delete'
  | 'move'
  | 'link'
  | 'mode'
  | 'extract'
  | 'patch'
  | 'git-path'
  | 'git-clean'
  | 'git-stash'
  | 'git-tracked'
  | 'read'
  | 'link-source';

export interface FileAccess {
  readonly target: string | null;
  readonly word: ShellWord;
  readonly cwd: string | null;
  readonly cwdTemplate: string;
  readonly by: string;
  readonly how: FileAccessKind;
  /** Everything below the target is meant too. */
  readonly recursive?: true;
  /** The shell reads its glob by settings of its own: dots, case and `**` may match more. */
  readonly odd?: true;
  /** 'copy-into': the directory whose content is copied to the target. */
  readonly from?: ShellWord;
  /** 'git-clean': excluded globs. */
  readonly excludes?: readonly string[];
  /** Revisions for `git diff` that name the tracked files which really change. */
  readonly compared?: readonly string[];
  readonly position: number;
}

export interface NamedWords {
  readonly command: ShellCommand;
  readonly words: readonly ShellWord[];
  /** Says of a word that it stands where a program names what it writes; without that, it is taken for read. */
  readonly mayWrite: (word: ShellWord) => boolean;
}

export type UndecidableKind =
  | 'parse-error'
  | 'too-large'
  | 'too-deep'
  | 'dynamic-command'
  | 'dynamic-piped-to-shell'
  | 'interpreter-code'
  | 'dynamic-write-target'
  | 'powershell';

export interface Undecidable {
  readonly kind: UndecidableKind;
  /** Source that does not parse, code for an interpreter, or the word as written. */
  readonly text: string;
  /** Offset in the evaluated command. */
  readonly position: number;
  /** Directory in which it would run; null if unknown. */
  readonly cwd: string | null;
}

export interface ShellReading {
  readonly commands: readonly ShellCommand[];
  /** The commands that were looked through, and the builtins that only change the shell. */
  readonly opened: readonly ShellCommand[];
  /** Each pipeline of two or more elements; an element holds the simple commands that stand in it, opened ones too. */
  readonly pipelines: ReadonlyArray<ReadonlyArray<readonly ShellCommand[]>>;
  readonly writes: readonly FileAccess[];
  readonly reads: readonly FileAccess[];
  /** Words that nothing is known about: the program may write to a file that one of them names. */
  readonly named: readonly NamedWords[];
  readonly undecidable: readonly Undecidable[];
  /** Assignments that stand alone, before the commands that they may steer. */
  readonly assigned: readonly string[];
}

export interface ReadOptions {
  /** Absolute directory in which the command starts. */
  readonly cwd: string;
  readonly home: string;
  /** Variables whose value is known beforehand, such as CLAUDE_PROJECT_DIR. */
  readonly variables?: Readonly<Record<string, string>>;
  /** Without the directory, commands after a `cd` to it may run in the old one. Default: every directory exists. */
  readonly directoryExists?: (path: string) => boolean;
}
