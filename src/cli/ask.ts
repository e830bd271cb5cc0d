import { createInterface } from 'node:readline/promises';

/** Whether a person at the terminal says yes; whatever else they say, or do not say, is none. */
export async function agrees(question: string): Promise<boolean> {
  return /^y(es)?$/i.test((await ask(`${question} [y/N] `)) ?? '');
}

/** Asks a person at the terminal; null where the input ends instead of an answer. */
export async function ask(question: string): Promise<string | null> {
  const prompt = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const closed = new Promise<null>((resolve) => prompt.once('close', () => resolve(null)));
    const answer = await Promise.race([prompt.question(question), closed]);
    return answer?.trim() ?? null;
  } finally {
    prompt.close();
  }
}
