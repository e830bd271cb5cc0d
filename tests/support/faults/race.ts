import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** Processes that run for the same lock, again and again. */
export class Race {
  readonly #contenders: { process: ChildProcess; answers: AsyncIterator<string> }[];

  constructor(program: string, way: string, contenders: number) {
    this.#contenders = Array.from({ length: contenders }, () => {
      const process_ = spawn(process.execPath, [program, way], { stdio: ['pipe', 'pipe', 'inherit'] });
      const lines = createInterface({ input: process_.stdout });
      return { process: process_, answers: lines[Symbol.asyncIterator]() };
    });
  }

  /** One race for the lock at this path: how many contenders held it, and how many of them not alone. */
  async run(lock: string): Promise<{ held: number; together: number }> {
    const start = Date.now() + 5;
    for (const { process } of this.#contenders) process.stdin?.write(`${lock} ${start}\n`);
    const answers = await Promise.all(this.#contenders.map(({ answers: lines }) => lines.next()));
    const values = answers.map(({ value }) => value as string | undefined);
    return {
      held: values.filter((value) => value !== undefined).length,
      together: values.filter((value) => value === 'together').length,
    };
  }

  async end(): Promise<void> {
    await Promise.all(
      this.#contenders.map(async ({ process }) => {
        const closed = once(process, 'close');
        process.stdin?.end();
        await closed;
      }),
    );
  }
}

/** Lets a process take the lock and kills it with SIGKILL while it holds it. */
export async function killHolder(program: string, lock: string): Promise<void> {
  const holder = spawn(process.execPath, [program, lock], { stdio: ['ignore', 'pipe', 'inherit'] });
  const closed = once(holder, 'close');
  await Promise.race([closed, once(holder.stdout, 'data')]);
  holder.kill('SIGKILL');
  await closed;
}
