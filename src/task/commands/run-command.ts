import type { ChildProcess } from 'node:child_process';
import { StringDecoder } from 'node:string_decoder';
import type { CommandEnd } from '../../engine/tdd/evaluate-run.ts';
import { type Confinement, confine } from '../../sandbox/bubblewrap.ts';
import { isFolder } from '../../state/files/regular-file.ts';
import { endGroup, forgetGroup, groupLives, spawnGroup } from '../../state/process/group.ts';
import { countLine, NO_COUNT, type TestCount } from '../../text/no-tests-run.ts';
import { findShell } from './shell.ts';

export interface CommandRun {
  readonly run: string;
  readonly directory: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly onLine?: (line: string) => void;
  /** Absent for a command that runs without a sandbox. */
  readonly sandbox?: Confinement;
}

export interface CommandOutcome {
  readonly end: CommandEnd;
  readonly output: Pick<BoundedOutput, 'text' | 'isCut' | 'bytes'>;
  readonly tests: TestCount;
}

/** Time to wait for output after the shell has exited: for `> >(tee log)`, not for a server left running. */
const DRAIN_MS = 250;

/** Time in which our own abort may follow a command that another process ended. */
const TOLD_TOO_MS = 500;
const FROM_OUTSIDE = new Set(['SIGHUP', 'SIGINT', 'SIGKILL', 'SIGTERM']);
/** Exit codes of a shell whose program was ended by one of these signals. */
const CODES_FROM_OUTSIDE = new Set([129, 130, 137, 143]);

/** Runs a command. Ends its process group on timeout, on abort and when the shell exits. Rejects only with the abort's reason. */
export async function runCommand(command: CommandRun): Promise<CommandOutcome> {
  command.signal.throwIfAborted();
  // The system would report a missing shell instead of the missing directory.
  if (!isFolder(command.directory)) return unavailable(`there is no directory ${command.directory}`);
  const shell = findShell(command.env);
  if (shell === null) return unavailable('no bash and no POSIX sh was found in PATH');
  const { run: text, sandbox } = command;
  const { program, words, env, finish } = confine(sandbox, {
    ...{ text, program: shell.program, words: shell.arguments(text), directory: command.directory, env: command.env },
  });
  let child: ChildProcess;
  try {
    child = spawnGroup(program, words, {
      cwd: command.directory,
      env: env as NodeJS.ProcessEnv,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  } catch (error) {
    return unavailable((error as Error).message); // a NUL byte, a text that is too long for the system
  }
  const heard = listen(child, command.onLine);
  const end = await ended(child, command);
  finish();
  heard.finish();
  // A client that ends its hook first ends the processes below it (measured): their results do not count.
  if (isFromOutside(end)) await aborted(command.signal, TOLD_TOO_MS);
  command.signal.throwIfAborted();
  return { end, output: heard.output, tests: heard.tests() };
}

/** Returns whether another process ended the command, as far as its exit shows. */
export function isFromOutside(end: CommandEnd): boolean {
  if (end.kind === 'signal') return FROM_OUTSIDE.has(end.signal);
  return end.kind === 'exit' && CODES_FROM_OUTSIDE.has(end.code);
}

/** Resolves on abort, or after this time. */
async function aborted(signal: AbortSignal, within: number): Promise<void> {
  const limit = deadline(within, signal);
  if (!signal.aborted) await limit.reached;
  limit.clear();
}

function unavailable(why: string): CommandOutcome {
  return { end: { kind: 'unavailable', why }, output: boundedOutput(), tests: NO_COUNT };
}

async function ended(child: ChildProcess, { timeoutMs, signal }: CommandRun): Promise<CommandEnd> {
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const over = new Promise<CommandEnd>((resolve) => {
    child.once('error', (error) => resolve({ kind: 'unavailable', why: error.message }));
    child.once('exit', (code, by) =>
      resolve(by === null ? { kind: 'exit', code: code ?? 0 } : { kind: 'signal', signal: by }),
    );
  });
  const leader = child.pid;
  if (leader === undefined) return over;
  const limit = deadline(timeoutMs, signal);
  try {
    const end = await Promise.race([over, limit.reached]);
    if (end.kind !== 'timeout') await Promise.race([closed, delay(DRAIN_MS)]);
    if (end.kind === 'timeout' || groupLives(leader)) await endGroup(leader);
    await Promise.race([closed, delay(DRAIN_MS)]);
    return end;
  } finally {
    limit.clear();
    forgetGroup(leader);
    child.stdout?.destroy();
    child.stderr?.destroy();
  }
}

function deadline(
  timeoutMs: number,
  signal: AbortSignal,
): { reached: Promise<{ kind: 'timeout' }>; clear: () => void } {
  let clear = (): void => {};
  const reached = new Promise<{ kind: 'timeout' }>((resolve) => {
    const stop = (): void => resolve({ kind: 'timeout' });
    const timer = setTimeout(stop, timeoutMs);
    signal.addEventListener('abort', stop, { once: true });
    clear = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
    };
  });
  return { reached, clear };
}

function delay(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds).unref());
}

function listen(child: ChildProcess, onLine: CommandRun['onLine']) {
  const output = boundedOutput();
  let tests = NO_COUNT;
  const endings: (() => void)[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    const decoder = new StringDecoder('utf8');
    const lines = lineSplitter((line) => {
      tests = countLine(tests, line);
      onLine?.(line);
    });
    stream?.on('data', (chunk: Buffer) => {
      const text = decoder.write(chunk);
      output.add(text, chunk.length);
      lines.add(text);
    });
    stream?.on('error', () => {}); // closed with its process; earlier output counts
    endings.push(() => {
      const rest = decoder.end();
      output.add(rest, 0);
      lines.add(rest);
      lines.end();
    });
  }
  const finish = (): void => {
    for (const end of endings) end();
  };
  return { finish, output, tests: () => tests };
}

interface BoundedOutput {
  readonly add: (text: string, bytes: number) => void;
  /** Returns the output; if too long, its first 70 % and its end. `reserve` is the caller's part of the limit. */
  readonly text: (reserve?: number) => string;
  readonly isCut: (reserve?: number) => boolean;
  readonly bytes: () => number;
}

const OUTPUT_LIMIT = 12_000;

/** Keeps head and tail of an output, in bounded memory. */
function boundedOutput(): BoundedOutput {
  const headSize = headOf(OUTPUT_LIMIT);
  let head = '';
  let tail = '';
  let bytes = 0;
  let characters = 0;
  const isCut = (reserve = 0): boolean => characters > OUTPUT_LIMIT - reserve;
  return {
    add: (text, size) => {
      bytes += size;
      characters += text.length;
      const room = Math.max(0, headSize - head.length);
      head += text.slice(0, room);
      tail += text.slice(room);
      // Slicing at every chunk would copy the tail too often.
      if (tail.length > OUTPUT_LIMIT * 2) tail = tail.slice(-OUTPUT_LIMIT);
    },
    text: (reserve = 0) => {
      if (!isCut(reserve)) return (head + tail).trim();
      const room = OUTPUT_LIMIT - reserve;
      const mark = `\n[… ${bytes} bytes in all, the middle left out …]\n`;
      const start = head.slice(0, headOf(room));
      // If a text exceeds the limit only by the reserve, its tail may still be in the head.
      const end = (head + tail).slice(-Math.max(1, room - start.length - mark.length));
      return `${withoutHalf(start, 'end')}${mark}${withoutHalf(end, 'start')}`.trim();
    },
    isCut,
    bytes: () => bytes,
  };
}

function headOf(limit: number): number {
  return Math.floor(limit * 0.7);
}

/** Drops half a surrogate pair at a cut. */
function withoutHalf(text: string, side: 'start' | 'end'): string {
  if (side === 'end') return /[\ud800-\udbff]$/.test(text.slice(-1)) ? text.slice(0, -1) : text;
  return /^[\udc00-\udfff]/.test(text.slice(0, 1)) ? text.slice(1) : text;
}

/** Length from which a line is passed on in parts, to bound memory. */
const MAX_LINE = 16_384;

/** Splits a stream into lines without terminators; `end` passes on an unterminated last line. */
function lineSplitter(onLine: (line: string) => void) {
  let rest = '';
  return {
    add: (text: string): void => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) onLine(line.endsWith('\r') ? line.slice(0, -1) : line);
      if (rest.length > MAX_LINE) {
        onLine(rest);
        rest = '';
      }
    },
    end: (): void => {
      if (rest !== '') onLine(rest);
      rest = '';
    },
  };
}
