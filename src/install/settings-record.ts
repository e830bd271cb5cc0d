export interface InsertedSpan {
  readonly offset: number;
  readonly length: number;
}

/**
 * What `init` did to the settings file: enough to undo it byte for byte, and no copy of the file, which may hold
 * secrets. Offsets count from behind a byte-order mark.
 */
export interface SettingsRecord {
  /** Whether `init` made the file. */
  readonly createdFile: boolean;
  /** SHA-256 of the file as `init` left it. */
  readonly after: string;
  readonly inserted: readonly InsertedSpan[];
  readonly created: readonly string[];
}

export function withoutMark(text: string): { readonly mark: string; readonly body: string } {
  return text.startsWith('\uFEFF') ? { mark: '\uFEFF', body: text.slice(1) } : { mark: '', body: text };
}
