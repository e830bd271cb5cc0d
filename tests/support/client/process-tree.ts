import { readdirSync, readFileSync } from 'node:fs';

const parentOf = (pid: number): number | undefined => {
  try {
    // The command name is in parentheses and may hold spaces: fields are counted from the last ")".
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return undefined;
  }
};

/** The children of every process, by one look at all of them. Linux only; empty elsewhere. */
const families = (): ReadonlyMap<number, readonly number[]> => {
  const found = new Map<number, number[]>();
  let names: string[];
  try {
    names = readdirSync('/proc');
  } catch {
    return found;
  }
  for (const pid of names.filter((name) => /^\d+$/.test(name)).map(Number)) {
    const parent = parentOf(pid);
    if (parent !== undefined) found.set(parent, [...(found.get(parent) ?? []), pid]);
  }
  return found;
};

/** Linux only; [] elsewhere. */
export const childrenOf = (parent: number): number[] => [...(families().get(parent) ?? [])];

/** All descendants of a process, nearest first. The client starts hooks and shells in groups of their own. */
export const descendants = (root: number, all = families()): number[] =>
  (all.get(root) ?? []).flatMap((child) => [child, ...descendants(child, all)]);

/** With spaces between its words; '' for a process that has ended. Linux only. */
const commandLineOf = (pid: number | string): string => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return '';
  }
};

/** Whether a process runs whose command line begins so; Linux only. */
export const isRunning = (commandLine: string): boolean =>
  readdirSync('/proc').some((name) => /^\d+$/.test(name) && commandLineOf(name).startsWith(commandLine));

/** Whether a process works still. One that has ended and that nobody collects, as in a container without an init, does not. Linux only. */
export const lives = (pid: number): boolean => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2));
  } catch {
    return false;
  }
};

/** The descendant of a process whose command line matches. */
export const descendantRunning = (root: number, commandLine: RegExp): number | undefined =>
  descendants(root).find((pid) => commandLine.test(commandLineOf(pid)));

export const signalQuietly = (pid: number, signal: NodeJS.Signals): void => {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended already.
  }
};

/**
 * Halts a process and all its descendants, and gives them. What is halted starts nothing: a client killed while it runs
 * may start one more status line, which would write into a project that is being taken away.
 */
export const stopTree = (root: number): number[] => {
  const halted = new Set<number>();
  for (;;) {
    const fresh = [root, ...descendants(root)].filter((pid) => !halted.has(pid));
    if (fresh.length === 0) return [...halted];
    for (const pid of fresh) {
      signalQuietly(pid, 'SIGSTOP');
      halted.add(pid);
    }
  }
};

/** Kills a process group leader, its group and everything it ever started that is still its descendant. */
export const killTree = (leader: number): void => {
  const children = descendants(leader);
  signalQuietly(-leader, 'SIGKILL');
  for (const pid of children) signalQuietly(pid, 'SIGKILL');
};
