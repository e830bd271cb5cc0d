/** The judge of shell commands, which brings the parser with it. */
export type ShellJudges = typeof import('./shell-judges.ts');
/** The judge of the user's globs. */
export type FileJudges = typeof import('./file-judges.ts');
/** picomatch, for globs of more than names and stars. */
export type Globs = typeof import('./files/picomatch-glob.ts');

/** What is loaded only for the calls that need it: from a module, or in the bundle from a file of its own. */
export interface Parts {
  readonly shell: () => Promise<ShellJudges>;
  readonly files: () => Promise<FileJudges>;
  readonly globs: () => Promise<Globs>;
}
