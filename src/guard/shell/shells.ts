const SHELLS = new Set(['sh', 'bash', 'zsh', 'dash', 'ksh', 'mksh', 'ash', 'fish', 'rbash']);

/** Does this command word start a shell that runs what it is given? */
export function isShell(word: string): boolean {
  return SHELLS.has(basenameOf(word));
}

/** Basename of a command word, without `.exe`. */
export function basenameOf(word: string): string {
  return word.slice(word.lastIndexOf('/') + 1).replace(/\.exe$/i, '');
}
