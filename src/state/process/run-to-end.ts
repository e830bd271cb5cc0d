import { spawn } from 'node:child_process';

interface ProgramRun {
  readonly cwd: string | undefined;
  /** The whole environment. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly input: Buffer | string;
  readonly timeMs: number;
  /** Bytes of output beyond which the program is killed. */
  readonly mostOutput: number;
}

export interface ProgramEnd {
  /** null if a signal ended it, or it could not be started. */
  readonly code: number | null;
  readonly output: Buffer;
  /** End of the error output, at most 8,000 characters, and the signal or error that ended the program, if any. */
  readonly complaint: string;
}

const MOST_COMPLAINT = 8_000;

/** Runs a program to its end, without a terminal, so that it can neither ask nor receive typed keys. Never rejects. */
export function runToEnd(program: string, words: readonly string[], run: ProgramRun): Promise<ProgramEnd> {
  const { cwd, env, input, timeMs, mostOutput } = run;
  return new Promise((resolve) => {
    const child = spawn(program, words, {
      cwd,
      env: env as NodeJS.ProcessEnv,
      stdio: ['pipe', 'pipe', 'pipe'],
      windowsHide: true,
      detached: process.platform !== 'win32',
    });
    const chunks: Buffer[] = [];
    let size = 0;
    let said = '';
    child.stdout.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= mostOutput) chunks.push(chunk);
      else child.kill('SIGKILL');
    });
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      said = `${said}${chunk}`.slice(-MOST_COMPLAINT);
    });
    // A program that exits before reading all of its input reports the reason itself.
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
    const late = setTimeout(() => child.kill('SIGKILL'), timeMs);
    const finish = (code: number | null, complaint: string): void => {
      clearTimeout(late);
      resolve({ code, output: Buffer.concat(chunks), complaint: complaint.trim() });
    };
    child.once('error', (error) => finish(null, error.message));
    child.once('close', (code, signal) => finish(code, signal === null ? said : `${said}ended by ${signal}`));
  });
}
