import type { Sandbox } from '../../engine/schema/contract.ts';
import type { CommandEnd } from '../../engine/tdd/evaluate-run.ts';
import { runCommand } from './run-command.ts';

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
  return end.kind === 'exit' && end.code === 0 ? null : { how: howText(end, limit.exceeded), output: output.text() };
}

function howText(end: CommandEnd, exceeded: string): string {
  switch (end.kind) {
    case 'exit':
      return `exit code ${end.code}`;
    case 'signal':
      return `ended by ${end.signal}`;
    case 'timeout':
      return exceeded;
    case 'unavailable':
      return end.why;
    default:
      return end satisfies never;
  }
}
