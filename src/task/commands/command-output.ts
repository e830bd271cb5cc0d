import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { BoundedText } from '../../text/bounded-text.ts';
import { shownLine, TerminalScreen } from '../../text/terminal-screen.ts';
import { TestOutput } from '../../text/test-results/test-output.ts';
import type { TestSummary } from '../../text/test-results/test-summary.ts';

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
  /** The next line continues the text: nothing stands before it, or only its own beginning. */
  #isAtStart = true;

  /** Output of the command `run`. Paths inside `directory` are told relative to it. */
  constructor(directory: string, run = '', onLine?: (line: string) => void) {
    this.#tests = new TestOutput(directory, run);
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
      const lines = new LineSplitter(
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

  /** Returns the output; if too long, its first 70 % and its end. `reserve` is the caller's part of the limit. */
  text(reserve = 0): string {
    return this.#kept.text(`\n[… ${this.#bytes} bytes in all, the middle left out …]\n`, reserve);
  }

  isCut(reserve = 0): boolean {
    return this.#kept.isCut(reserve);
  }

  bytes(): number {
    return this.#bytes;
  }

  tests(): TestSummary | null {
    return this.#tests.summary();
  }

  /** Returns the end of the package's output that failed, if several packages wrote the output; else null. */
  failedPart(limit: number): string | null {
    return this.#tests.failedTail(limit);
  }

  #line(line: string): void {
    this.#screen.line(line);
    this.#onLine?.(shownLine(line));
  }

  /** Passes on part of a line that is too long to be a runner's, unless it is JSON. */
  #part(part: string): void {
    this.#screen.close();
    this.#tests.line(part);
    this.#kept.add(this.#isAtStart ? part : `\n${part}`);
    this.#isAtStart = true;
    this.#onLine?.(part);
  }
}

/** Splits a stream into lines without terminators. */
class LineSplitter {
  readonly #onLine: (line: string) => void;
  readonly #onPart: (part: string) => void;
  #rest = '';

  constructor(onLine: (line: string) => void, onPart: (part: string) => void) {
    this.#onLine = onLine;
    this.#onPart = onPart;
  }

  add(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.#onLine(line.endsWith('\r') ? line.slice(0, -1) : line);
    if (this.#rest.length > MAX_LINE) this.#shorten();
  }

  /** Passes on an unterminated last line. */
  close(): void {
    if (this.#rest !== '') this.#onLine(this.#rest);
    this.#rest = '';
  }

  /** Drops what the line has overwritten itself; passes on the rest if it is still too long. */
  #shorten(): void {
    const shown = shownLine(this.#rest);
    if (shown.length <= MAX_LINE) this.#rest = this.#rest.endsWith('\r') ? `${shown}\r` : shown;
    else {
      this.#onPart(shown);
      this.#rest = '';
    }
  }
}
