/**
 * What a shell command says, as far as it can be said without running it: the facts that every rule judges.
 * Words that are not literal keep what is literal in a template, in which UNKNOWN stands for any text.
 */
export const UNKNOWN = '\0';

/** One word after all expansions that can be followed. */
export interface ShellWord {
  /** The word as the program gets it; null when a part of it is known only at run time. */
  readonly text: string | null;
  /** The same with UNKNOWN for each part that is known only at run time. */
  readonly template: string;
  /** As written. */
  readonly source: string;
  /** The shell expands it against the file system; `pattern` is the glob, quoted characters escaped by a backslash. */
  readonly glob?: true;
  readonly pattern?: string;
  /** It stands for files that a search (find) comes upon. */
  readonly under?: SearchedTree;
  /** A process substitution: what can be read from it, as a template. */
  readonly content?: string;
}

export interface SearchedTree {
  /** Absolute directories as templates. */
  readonly roots: readonly string[];
  /** Globs, one of which a segment of the path matches; empty means any file. */
  readonly names: readonly string[];
  /** Names that begin with a dot are passed over. */
  readonly visible?: true;
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
  /** The same as a template. */
  readonly cwdTemplate: string;
  readonly stdinFrom: 'none' | 'pipe' | 'file' | 'literal';
  readonly source: string;
  readonly position: number;
  /** It was looked through (sudo, bash -c, eval) or only changes the shell (cd, export); what it runs stands apart. */
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

/** A path that a command reads or writes. */
export interface FileAccess {
  readonly target: string | null;
  readonly word: ShellWord;
  readonly cwd: string | null;
  readonly cwdTemplate: string;
  readonly by: string;
  readonly how: FileAccessKind;
  /** Everything below the target is meant too. */
  readonly recursive?: true;
  /** For 'copy-into': the directory whose content arrives in the target. */
  readonly from?: ShellWord;
  /** For 'git-clean': the globs that are left alone. */
  readonly excludes?: readonly string[];
  readonly position: number;
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
  /** What could not be decided: the source that does not parse, the code for an interpreter, the word as written. */
  readonly text: string;
  /** Offset into the command that was judged. */
  readonly position: number;
  /** Where it would run; null when unknown. */
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
  readonly undecidable: readonly Undecidable[];
}

export interface ReadOptions {
  /** Absolute directory in which the command starts. */
  readonly cwd: string;
  readonly home: string;
  /** Variables whose value is known beforehand, such as CLAUDE_PROJECT_DIR. */
  readonly variables?: Readonly<Record<string, string>>;
  /** Where a literal `cd` can fail, what follows may run in the old directory. Default: every directory exists. */
  readonly directoryExists?: (path: string) => boolean;
}
