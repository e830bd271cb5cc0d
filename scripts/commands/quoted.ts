/** A path as a person writes it in a shell, to be shown in a command: quoted where it has to be. */
export function quoted(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `"${path}"`;
}
