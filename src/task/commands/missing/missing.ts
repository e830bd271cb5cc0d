export interface ProjectPlace {
  readonly dir: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** What a command needs and does not find. */
export interface Missing {
  /** `argument`: a script that an interpreter is to run. `package`: a program of npx. */
  readonly kind: 'program' | 'file' | 'module' | 'script' | 'target' | 'argument' | 'package';
  readonly name: string;
  readonly why: string;
  /** Advice after it, in a sentence that begins with a space; '' if there is none. */
  readonly hint: string;
  /** Project files that would have it. */
  readonly files: readonly string[];
}
