import { isAbsolute } from 'node:path';

/** Placeholder in templates for any text that is known only at run time. */
export const UNKNOWN = '\0';

export interface ShellWord {
  /** Word as the program receives it; null if a part is known only at run time. */
  readonly text: string | null;
  /** Text with UNKNOWN for each part that is known only at run time. */
  readonly template: string;
  readonly source: string;
  /** Present if the shell expands it by the file system; `pattern`: the glob, with a backslash before quoted characters. */
  readonly glob?: true;
  readonly pattern?: string;
  /** Present if it stands for files that a search (find) finds. */
  readonly under?: SearchedTree;
  /** Content of a process substitution, as a template. */
  readonly content?: string;
  /** Files that this content lists. */
  readonly contentUnder?: SearchedTree;
}

export interface SearchedTree {
  /** Absolute directories as templates. */
  readonly roots: readonly string[];
  /** Absolute globs of further roots. */
  readonly globs?: readonly string[];
  /** Globs, one of which must match a segment of the path; empty means any file. */
  readonly names: readonly string[];
  /** Present if names that begin with a dot are skipped. */
  readonly visible?: true;
  /** Globs of paths that the search excludes; a star matches slashes. */
  readonly except?: readonly string[];
  /** Present if only files are found, not folders. */
  readonly filesOnly?: true;
  readonly maxDepth?: number;
  /** True if only files tracked by git are found; false if only others are. */
  readonly tracked?: boolean;
  /** Present if files matched by .gitignore are skipped. */
  readonly ignores?: true;
}

export interface ShellCommand {
  /** Basename of the command word; '' if it is not literal. */
  readonly name: string;
  /** The command word's template, as written after expansion. */
  readonly path: string;
  /** Words of the command; argv[0] is the command word itself. */
  readonly argv: readonly ShellWord[];
  /** Wrappers around it, the outermost first (env, sudo, xargs, "bash -c", ...). */
  readonly via: readonly string[];
  readonly assignments: ReadonlyArray<{ readonly name: string; readonly value: string | null }>;
  /** Template of the working directory after any literal `cd`. */
  readonly cwdTemplate: string;
  readonly source: string;
  readonly position: number;
  /** Present if its output goes to a file, a variable or another descriptor. */
  readonly away?: true;
  /** Present for a wrapper (sudo, bash -c, eval), whose command is recorded too, or a shell change (cd, export). */
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
  | 'git-tracked'
  | 'read'
  | 'link-source';

export interface FileAccess {
  readonly word: ShellWord;
  readonly cwdTemplate: string;
  readonly by: string;
  readonly how: FileAccessKind;
  /** Present if everything below the target is included. */
  readonly recursive?: true;
  /** Present if the shell reads its glob with unusual settings: dots, case and `**` may match more. */
  readonly odd?: true;
  /** 'copy-into': directory whose content is copied to the target. */
  readonly from?: ShellWord;
  /** Revisions for `git diff` that list the tracked files that change. */
  readonly compared?: readonly string[];
  readonly position: number;
}

export interface NamedWords {
  readonly command: ShellCommand;
  readonly words: readonly ShellWord[];
  /** Returns whether a word is in a place where the program names its output; otherwise it counts as read. */
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
  /** Wrappers, and the builtins that only change the shell. */
  readonly opened: readonly ShellCommand[];
  /** Pipelines of two or more elements; an element contains its simple commands, including opened ones. */
  readonly pipelines: ReadonlyArray<ReadonlyArray<readonly ShellCommand[]>>;
  readonly writes: readonly FileAccess[];
  readonly reads: readonly FileAccess[];
  /** Words with unknown meaning: the program may write to a file that one of them names. */
  readonly named: readonly NamedWords[];
  readonly undecidable: readonly Undecidable[];
  /** Standalone assignments, before the commands that they may affect. */
  readonly assigned: readonly string[];
}

export type Growing<T> = { readonly [Key in keyof T]: T[Key] extends readonly (infer Element)[] ? Element[] : never };

/** Returns a reading to which facts can be added. */
export const emptyReading = (): Growing<ShellReading> => ({
  commands: [],
  opened: [],
  pipelines: [],
  writes: [],
  reads: [],
  named: [],
  undecidable: [],
  assigned: [],
});

/** Returns whether only a run could show which path a word in this directory is. */
export function isUnknownPath({ text }: ShellWord, cwdTemplate: string): boolean {
  return text === null || (!isAbsolute(text) && cwdTemplate.includes(UNKNOWN));
}

export interface ReadOptions {
  /** Absolute directory in which the command starts. */
  readonly cwd: string;
  readonly home: string;
  /** Variables with known values, such as CLAUDE_PROJECT_DIR. */
  readonly variables?: Readonly<Record<string, string>>;
  /** Returns whether a directory exists: after a failed `cd`, commands run in the old one. Default: every directory exists. */
  readonly directoryExists?: (path: string) => boolean;
  /** True if the command may make `mktemp` fail, or replace what it creates with a link. */
  readonly doubtsTemporary?: boolean;
}
