import type { ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { setTimeout as delay } from 'node:timers/promises';
import type { Sandbox } from '../../engine/schema/contract.ts';
import type { CommandEnd } from '../../engine/tdd/evaluate-run.ts';
import { type Confinement, confine } from '../../sandbox/bubblewrap.ts';
import { isFolder } from '../../state/files/regular-file.ts';
import { isExecutable, onPath } from '../../state/process/find-program.ts';
import { endGroup, forgetGroup, groupLives, spawnGroup } from '../../state/process/group.ts';
import { afterAwake } from '../../state/process/sleep-watch.ts';
import { BoundedText } from '../../text/bounded-text.ts';
import { shorten } from '../../text/quote.ts';
import { shownLine, TerminalScreen } from '../../text/terminal-screen.ts';
import { TestOutput } from '../../text/test-results/test-output.ts';
import type { TestSummary } from '../../text/test-results/test-summary.ts';
import { hiddenExit } from './hidden-exit.ts';

interface Shell {
  readonly program: string;
  readonly arguments: (run: string) => string[];
}

/** Finds bash, else a POSIX sh; on Windows, git's bash, else PowerShell; null if there is none. */
export function findShell(env: NodeJS.ProcessEnv): Shell | null {
  if (process.platform === 'win32') return windowsShell(env);
  const program = onPath('bash', env) ?? onPath('sh', env) ?? (isExecutable('/bin/sh') ? '/bin/sh' : null);
  return program === null ? null : { program, arguments: (run) => ['-c', run] };
}

function windowsShell(env: NodeJS.ProcessEnv): Shell | null {
  const git = onPath('git', env);
  // git.exe is in cmd\, bin\ or mingw64\bin\ of its folder. The bash.exe of System32 is WSL's.
  const folders = git === null ? [] : [dirname(dirname(git)), dirname(dirname(dirname(git)))];
  const bash = folders.map((folder) => join(folder, 'bin', 'bash.exe')).find((path) => existsSync(path));
  if (bash !== undefined) return { program: bash, arguments: (run) => ['-c', run] };
  const program = onPath('pwsh', env) ?? onPath('powershell', env);
  const arguments_ = (run: string) => ['-NoProfile', '-NonInteractive', '-Command', `${run}\nexit $LASTEXITCODE`];
  return program === null ? null : { program, arguments: arguments_ };
}

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
  readonly output: Pick<CommandOutput, 'text' | 'isCut' | 'bytes' | 'failedPart'>;
  /** Null if the output shows no test run. */
  readonly tests: TestSummary | null;
}

/** Time to wait for output after the shell has exited: enough for `> >(tee log)`, not for a running server. */
const DRAIN_MS = 250;

/** Time within which our own abort may follow after another process ended the command. */
const TOLD_TOO_MS = 2_000;
const FROM_OUTSIDE = new Set(['SIGHUP', 'SIGINT', 'SIGKILL', 'SIGTERM']);
/** Exit codes of a shell whose program was ended by such a signal. */
const CODES_FROM_OUTSIDE = new Set([129, 130, 137, 143]);

/** Runs a command. Ends its process group on timeout, on abort and when the shell exits. Rejects only with the abort reason. */
export async function runCommand(command: CommandRun): Promise<CommandOutcome> {
  command.signal.throwIfAborted();
  // The system would report a missing shell instead of the missing directory.
  if (!isFolder(command.directory)) return unavailable(`there is no directory ${command.directory}`);
  const shell = findShell(command.env);
  if (shell === null) return unavailable('no bash and no POSIX sh was found in PATH');
  const { run: text, sandbox } = command;
  const { program, words, env, finish } = confine(sandbox, {
    text,
    program: shell.program,
    words: shell.arguments(text),
    directory: command.directory,
    env: command.env,
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
  const output = new CommandOutput(command.directory, command.run, command.onLine);
  output.listen(child.stdout, child.stderr);
  const end = await ended(child, command);
  finish();
  output.close();
  // A client that ends its hook first ends the processes below it (measured), whose results do not count.
  if (isFromOutside(end)) await delay(TOLD_TOO_MS, undefined, { signal: command.signal }).catch(() => undefined);
  command.signal.throwIfAborted();
  return { end, output, tests: output.tests(end.kind === 'exit' && end.code === 0) };
}

/** Returns whether another process ended the command, as far as its exit shows. */
export function isFromOutside(end: CommandEnd): boolean {
  if (end.kind === 'signal') return FROM_OUTSIDE.has(end.signal);
  return end.kind === 'exit' && CODES_FROM_OUTSIDE.has(end.code);
}

function unavailable(why: string): CommandOutcome {
  return { end: { kind: 'unavailable', why }, output: new CommandOutput(''), tests: null };
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
  let stop = (): void => undefined;
  const limit = new Promise<{ readonly kind: 'timeout' }>((resolve) => {
    stop = () => resolve({ kind: 'timeout' });
  });
  const cancelLimit = afterAwake(timeoutMs, stop);
  signal.addEventListener('abort', stop, { once: true });
  try {
    const end = await Promise.race([over, limit]);
    if (end.kind !== 'timeout') await Promise.race([closed, delay(DRAIN_MS, undefined, { ref: false })]);
    if (end.kind === 'timeout' || groupLives(leader)) await endGroup(leader);
    await Promise.race([closed, delay(DRAIN_MS, undefined, { ref: false })]);
    return end;
  } finally {
    cancelLimit();
    signal.removeEventListener('abort', stop);
    forgetGroup(leader);
    child.stdout?.destroy();
    child.stderr?.destroy();
  }
}

interface SetUpOptions {
  readonly sandbox: Sandbox | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  readonly limit?: { readonly ms: number; readonly exceeded: string };
  /** Folder that the command may write to. Default: its working directory. */
  readonly writable?: string;
}

/** Installing takes minutes; a command that takes an hour hangs. */
const HOUR = { ms: 60 * 60_000, exceeded: 'it took longer than an hour' };

/** Runs a set-up command in a new work tree. Returns null, or how it failed with its output. Rejects on abort. */
export async function runSetUp(
  run: string,
  directory: string,
  { sandbox, env, signal, limit = HOUR, writable = directory }: SetUpOptions,
): Promise<{ readonly how: string; readonly output: string } | null> {
  const confined = sandbox && { sandbox: { terms: sandbox, writable } };
  const { end, output } = await runCommand({ run, directory, env, signal, timeoutMs: limit.ms, ...confined });
  return end.kind === 'exit' && end.code === 0 ? null : { how: endText(end, limit.exceeded), output: output.text() };
}

/** Says how a command ended, without a full stop; `exceeded` is the text for a time limit. */
export function endText(end: CommandEnd, exceeded: string): string {
  switch (end.kind) {
    case 'exit':
      return `exit code ${end.code}`;
    case 'signal':
      return `ended by ${end.signal}`;
    case 'timeout':
      return exceeded;
    case 'unavailable':
      return `could not be started: ${shorten(end.why, MOST_WHY)}`;
    default:
      return end satisfies never;
  }
}

const MOST_WHY = 1_000;

/** Length from which a line is passed on in parts, to bound memory. */
const MAX_LINE = 16_384;

/** Output of a command as a terminal would show it, with the tests that it reports, in bounded memory. */
export class CommandOutput {
  readonly #kept = new BoundedText();
  readonly #tests: TestOutput;
  readonly #screen: TerminalScreen;
  readonly #onLine: ((line: string) => void) | undefined;
  readonly #endings: (() => void)[] = [];
  #bytes = 0;
  /** True if the next line continues the text: nothing precedes it but its own beginning. */
  #isAtStart = true;

  /** Output of the command `run`. Paths inside `directory` are shown relative to it. */
  constructor(directory: string, run = '', onLine?: (line: string) => void) {
    this.#tests = new TestOutput(directory, run, hiddenExit(run, false, directory) !== null);
    this.#onLine = onLine;
    this.#screen = new TerminalScreen((line) => {
      this.#kept.add(this.#isAtStart ? line : `\n${line}`);
      this.#isAtStart = false;
      this.#tests.line(line);
    });
  }

  listen(...streams: readonly (Readable | null)[]): void {
    for (const stream of streams) {
      const decoder = new StringDecoder('utf8');
      const lines = lineSplitter(
        (line) => this.#line(line),
        (part) => this.#part(part),
      );
      stream?.on('data', (chunk: Buffer) => {
        this.#bytes += chunk.length;
        lines.add(decoder.write(chunk));
      });
      stream?.on('error', () => {}); // closed with its process; earlier output counts
      this.#endings.push(() => {
        lines.add(decoder.end());
        lines.close();
      });
    }
  }

  close(): void {
    for (const end of this.#endings) end();
    this.#screen.close();
  }

  /** Returns the output; if it is too long, its first 70 % and its end. `reserve` is left free for the caller. */
  text(reserve = 0): string {
    return this.#kept.text(`\n[… ${this.#bytes} bytes in all, the middle left out …]\n`, reserve);
  }

  isCut(reserve = 0): boolean {
    return this.#kept.isCut(reserve);
  }

  bytes(): number {
    return this.#bytes;
  }

  /** Returns the tests that the output reports; null if it shows no test run. `passed`: the command exited with 0. */
  tests(passed: boolean): TestSummary | null {
    return this.#tests.summary(passed);
  }

  /** Returns the end of the failed package's output if several packages wrote the output; else null. */
  failedPart(limit: number): string | null {
    return this.#tests.failedTail(limit);
  }

  #line(line: string): void {
    this.#screen.line(line);
    this.#onLine?.(shownLine(line));
  }

  /** Passes on part of a line that is too long to come from a runner, unless it is JSON. */
  #part(part: string): void {
    this.#screen.close();
    this.#tests.line(part);
    this.#kept.add(this.#isAtStart ? part : `\n${part}`);
    this.#isAtStart = true;
    this.#onLine?.(part);
  }
}

/** Splits a stream into lines without terminators; `close` passes on an unterminated last line. */
function lineSplitter(onLine: (line: string) => void, onPart: (part: string) => void) {
  let rest = '';
  return {
    add(text: string): void {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) onLine(line.endsWith('\r') ? line.slice(0, -1) : line);
      if (rest.length <= MAX_LINE) return;
      // Drops the parts that the line itself has overwritten, and passes on the rest if it is still too long.
      const shown = shownLine(rest);
      if (shown.length > MAX_LINE) onPart(shown);
      rest = shown.length > MAX_LINE ? '' : rest.endsWith('\r') ? `${shown}\r` : shown;
    },
    close(): void {
      if (rest !== '') onLine(rest);
    },
  };
}
