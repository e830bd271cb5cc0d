import { readFileSync } from 'node:fs';

/**
 * Whether the terminal's keys come to this process. A job in the background that changes the modes of the terminal is
 * stopped by the system. Where nobody tells (not Linux), it is taken for the foreground.
 */
export function inForeground(): boolean {
  try {
    // After the name in parentheses: state, parent, process group, session, terminal, the terminal's foreground group.
    const stat = readFileSync('/proc/self/stat', 'utf8');
    const [, , group, , , foreground] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return foreground === undefined || Number(foreground) <= 0 || group === foreground;
  } catch {
    return true;
  }
}
