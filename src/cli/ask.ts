import { createInterface } from 'node:readline/promises';
import { wrapText } from '../term/wrap.ts';
import { columnsOf } from '../term/write-text.ts';

/** Asks a yes-or-no question at the terminal; anything but yes is a no. */
export async function agrees(question: string): Promise<boolean> {
  return /^y(es)?$/i.test((await ask(`${question} [y/N] `)) ?? '');
}

/** Asks the user at the terminal. Returns null if the input ends without an answer. */
export async function ask(question: string): Promise<string | null> {
  const prompt = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const closed = new Promise<null>((resolve) => prompt.once('close', () => resolve(null)));
    const answer = await Promise.race([prompt.question(wrapText(question, columnsOf(2))), closed]);
    return answer?.trim() ?? null;
  } finally {
    prompt.close();
  }
}
