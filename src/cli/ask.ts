import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import { createInterface } from 'node:readline/promises';
import type { Person } from '../drive/control/operate.ts';
import type { Question } from '../drive/start/approve.ts';
import { readStdin } from '../hosts/hook-io/stdio.ts';
import { type LoopFiles, readState } from '../state/loop-files.ts';
import { processChain, terminalOf } from '../state/process/ancestors.ts';
import { printable } from '../term/format.ts';
import { columnsOf, wrapText } from '../term/write-text.ts';
import { type Message, RalphError } from '../text/message.ts';

/** Asks a yes-or-no question at the terminal; anything but yes means no. */
export async function agrees(question: string): Promise<boolean> {
  return /^y(es)?$/i.test((await ask(`${question} [y/N] `)) ?? '');
}

/** Asks the user at the terminal. Returns null without an answer: the input ended, or Esc was pressed. */
export async function ask(question: string): Promise<string | null> {
  const prompt = createInterface({ input: process.stdin, output: process.stderr });
  const leave = (_: string, key: { readonly name?: string }): void => void (key.name === 'escape' && prompt.close());
  process.stdin.on('keypress', leave);
  try {
    const closed = new Promise<null>((resolve) => prompt.once('close', () => resolve(null)));
    const answer = await Promise.race([prompt.question(wrapText(question, columnsOf(2))), closed]);
    // The cursor is still after the question.
    if (answer === null) process.stderr.write('\n');
    return answer?.trim() ?? null;
  } finally {
    process.stdin.off('keypress', leave);
    prompt.close();
  }
}

const [INPUT, OUTPUT] = process.platform === 'win32' ? ['\\\\.\\CONIN$', '\\\\.\\CONOUT$'] : ['/dev/tty', '/dev/tty'];
const LONGEST_ANSWER = 1_000;

/**
 * Shows the lines at the controlling terminal and reads the word `yes` from it, whatever options, variables and standard
 * input say. Returns who agreed. Throws `refused` for any other answer, without a terminal, and at the terminal of the loop's
 * own client.
 */
export function askInPerson(files: LoopFiles, asked: Question): Person {
  const { command, refusal, declined, heading, lines, question } = asked;
  const terminal = terminalOf(process.pid);
  const current = readState(files.state);
  const client = current.kind === 'loop' ? current.state.clientPid : null;
  if (terminal !== null && client !== null && terminalOf(client) === terminal)
    throw new RalphError('refused', `Run "${command}" in another terminal: the loop's client runs in this one.`);
  const [input, output] = openTerminal(refusal ?? NEEDS_PERSON(command));
  try {
    const text = [heading, ...lines, '', `${question} Type yes to agree: `].map((line) => printable(line));
    writeSync(output, wrapText(text.join('\n'), Math.min(columnsOf(1), columnsOf(2))));
    if (interruptible(() => readAnswer(input, output)) !== 'yes') throw new RalphError('refused', declined);
    return { terminal, processes: processChain() };
  } finally {
    closeSync(input);
    closeSync(output);
  }
}

const NEEDS_PERSON = (command: string): string =>
  `"${command}" shows what you agree to and waits until you type yes, so run it at a terminal. No option answers for you.`;

function openTerminal(refusal: Message | string): [input: number, output: number] {
  try {
    return [openSync(INPUT, 'r'), openSync(OUTPUT, 'w')];
  } catch (error) {
    throw new RalphError('refused', refusal, error);
  }
}

/** Reads one line. A background process cannot read from its terminal, which counts as no answer. */
function readAnswer(input: number, output: number): string {
  const bytes = Buffer.alloc(LONGEST_ANSWER);
  let length = 0;
  try {
    while (length < bytes.length) {
      const read = readSync(input, bytes, length, bytes.length - length, null);
      length += read;
      if (read === 0 || bytes[length - 1] === 0x0a) break;
    }
    // The cursor is still after the question.
    if (bytes[length - 1] !== 0x0a) writeSync(output, '\n');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EIO') throw error;
  }
  return bytes.toString('utf8', 0, length).trim();
}

/** Maximum number of bytes that a command reads from standard input. */
const LIMIT = 4 * 1024 * 1024;

/**
 * Reads standard input to its end. At a terminal, Ctrl+D ends the input and Ctrl+C ends the program at once. Throws `usage` if
 * it is longer than 4 MiB.
 */
export function readInput(): string {
  const text = interruptible(() => readStdin(LIMIT));
  if (text === null) throw new RalphError('usage', 'standard input is longer than 4 MiB. Pass a file.');
  return text;
}

/** Does work that blocks. Ctrl+C ends the program meanwhile: a library's handler would run only after the work. */
function interruptible<T>(work: () => T): T {
  const handlers = process.listeners('SIGINT');
  process.removeAllListeners('SIGINT');
  try {
    return work();
  } finally {
    for (const handler of handlers) process.on('SIGINT', handler);
  }
}
