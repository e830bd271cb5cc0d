const EXE = '.exe';
/** Programs that run a JavaScript file. */
export const NODE_LIKE = new Set(['node', 'nodejs', 'bun', 'deno', 'tsx', 'ts-node']);

const SHELLS = new Set(['sh', 'bash', 'zsh', 'dash', 'ksh', 'mksh', 'ash', 'fish', 'rbash']);

/** Does this command word start a shell that runs what it is given? */
export function isShell(word: string): boolean {
  return SHELLS.has(basenameOf(word));
}

/** Basename of a command word, without `.exe`. */
export function basenameOf(word: string): string {
  const name = word.slice(word.lastIndexOf('/') + 1);
  return name.slice(-EXE.length).toLowerCase() === EXE ? name.slice(0, -EXE.length) : name;
}

/** Whether a path is what a command reads as its standard input. */
export function isStandardInput(path: string): boolean {
  return /^\/(dev\/stdin|dev\/fd\/0|proc\/self\/fd\/0)$/.test(path);
}
