import { existsSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, relative } from 'node:path';
import { type Message, type MessageContext, PROGRAM, render } from '../../text/message.ts';
import { orElse } from '../../text/or-else.ts';
import { quoted } from '../../text/quote.ts';
import { onPath } from './find-program.ts';

interface Invocation {
  /** Path of the file that node runs: `process.argv[1]`. */
  readonly script: string | undefined;
  readonly path: string | undefined;
  readonly cwd: string;
}

const DEFAULT_LOOP = { name: null, mode: 'hook' } as const;

/** Renders a message for people, with the program spelled as this user can call it. */
export function show(message: Message | string, loop: Pick<MessageContext, 'name' | 'mode'> = DEFAULT_LOOP): string {
  return render(message, { name: loop.name, mode: loop.mode, program: programName() });
}

let known: string | null = null;

/** Returns the program as this user can call it. Searches the PATH once per process. */
export function programName(): string {
  known ??= spelling({ script: process.argv[1], path: process.env['PATH'], cwd: orElse(() => process.cwd(), '/') });
  return known;
}

/** Returns `ralph-loop` if that is on the PATH or was called; otherwise `node PATH/main.cjs`, relative within `cwd`. */
export function spelling({ script, path, cwd }: Invocation): string {
  if (script === undefined || basename(script) === PROGRAM || isOnPath(path)) return PROGRAM;
  const main = basename(script) === 'main.cjs' ? script : join(dirname(dirname(script)), 'scripts', 'main.cjs');
  if (!existsSync(main)) return PROGRAM;
  const inside = relative(cwd, main);
  return `node ${quoted(inside.startsWith('..') || isAbsolute(inside) ? main : inside)}`;
}

function isOnPath(path = ''): boolean {
  const names = process.platform === 'win32' ? [`${PROGRAM}.cmd`, `${PROGRAM}.exe`] : [PROGRAM];
  return names.some((name) => onPath(name, { PATH: path }) !== null);
}
