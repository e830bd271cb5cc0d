import { readLines } from '../state/read-lines.ts';

export type Queued = 'message' | 'notification' | null;

/**
 * Watches the end of a transcript for what the client queues while a hook runs. Each call reads only what was written
 * since the last one. `message`: a person waits for an answer. `notification`: background work has ended.
 */
export function watchQueue(path: string | null, from: number): () => Queued {
  let next = from;
  return () => {
    if (path === null) return null;
    const lines = readLines(path, next);
    next = lines.next;
    let seen: Queued = null;
    for (const entry of lines.entries) {
      if (entry['type'] !== 'queue-operation') continue;
      if (entry['operation'] !== 'enqueue') seen = entry['operation'] === 'dequeue' ? null : seen;
      else if (seen !== 'message') seen = isNotification(entry['content']) ? 'notification' : 'message';
    }
    return seen;
  };
}

export function isNotification(content: unknown): boolean {
  return typeof content === 'string' && content.trimStart().startsWith('<task-notification>');
}
