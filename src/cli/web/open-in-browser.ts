import { spawn } from 'node:child_process';
import type { CommandContext } from '../command.ts';

const OPENERS: Readonly<Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
};

/** Opens a file in the user's browser. Reports a failure with the path to open by hand. */
export function openInBrowser(path: string, { err }: Pick<CommandContext, 'err'>): void {
  const [program, ...words] = OPENERS[process.platform] ?? ['xdg-open'];
  const child = spawn(program, [...words, path], { stdio: 'ignore', detached: true });
  child.once('error', () => err(`ralph-loop: no browser could be started. Open ${path} yourself.`));
  child.unref();
}
