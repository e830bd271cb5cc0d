import { readSync } from 'node:fs';
import { pauseThread, regularFile, withDescriptor } from '../../state/files/regular-file.ts';

const CHUNK = 64 * 1024;

/** Reads standard input; null if it exceeds `limit` bytes. process.stdin would cost a hook 5 to 10 ms. */
export function readStdin(limit: number): string | null {
  const bytes = readAll(0, limit + 1);
  return bytes.length > limit ? null : bytes.toString();
}

/** Reads the next bytes; 0 at the end. Waits for a descriptor that is not ready. */
function readSome(descriptor: number, chunk: Buffer): number {
  for (;;) {
    try {
      return readSync(descriptor, chunk, 0, chunk.length, null);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EOF') return 0;
      if (code !== 'EAGAIN') throw error;
      pauseThread(2);
    }
  }
}

/** Answer of a hook, as the client reads it. Each event uses some of the fields. */
export interface HookAnswer {
  readonly continue?: false;
  readonly stopReason?: string;
  readonly decision?: 'block';
  readonly reason?: string;
  readonly systemMessage?: string;
  readonly hookSpecificOutput?: {
    readonly hookEventName: string;
    readonly permissionDecision?: 'deny' | 'allow';
    readonly permissionDecisionReason?: string;
    readonly additionalContext?: string;
  };
}

/** Reads the last `limit` bytes of a regular file, or of standard input (`path` null). Throws the system's errors. */
export function readEnd(path: string | null, limit: number): Buffer {
  if (path === null) return readAll(0, limit);
  return withDescriptor(regularFile(path), 'r', 0, (descriptor) => readAll(descriptor, limit));
}

function readAll(descriptor: number, limit: number): Buffer {
  let chunks: Buffer[] = [];
  let held = 0;
  for (;;) {
    const chunk = Buffer.allocUnsafe(CHUNK);
    const length = readSome(descriptor, chunk);
    if (length === 0) return end(chunks, limit);
    chunks.push(chunk.subarray(0, length));
    held += length;
    if (held < 2 * limit + CHUNK) continue;
    chunks = [end(chunks, limit)];
    held = limit;
  }
}

function end(chunks: readonly Buffer[], limit: number): Buffer {
  const [only = Buffer.alloc(0)] = chunks;
  const all = chunks.length > 1 ? Buffer.concat(chunks) : only;
  return all.subarray(Math.max(0, all.length - limit));
}
