import { createInterface } from 'node:readline/promises';

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
