import { readLines } from '../../../state/files/journal-lines.ts';
import { textOf } from '../../fields.ts';
import { transcriptSize } from './transcript.ts';

/** `command`: only client commands (`/compact`), which may give the agent no turn. */
type Queued = 'message' | 'command' | 'notification' | null;

/** Number of bytes to search for messages that were queued before the watch began. */
const TAIL_BYTES = 1024 * 1024;
/** Sources of a prompt that arrived while nothing was queued. */
const UNQUEUED: readonly unknown[] = ['typed', 'sdk'];

/** Client's command, such as `/compact` or `/mcp:prompt`; not a path. */
const COMMAND = /^\s*\/[\w:-]+(?:\s|$)/;
/** Messages that no turn may answer: a command, or a message of another program. */
const UNANSWERED = new RegExp(`^\\s*<|${COMMAND.source}`);

/** Watches the client's queue while a hook runs. Background work that ended earlier counts only in `tasks`. */
export function watchQueue(path: string | null, tasks: readonly string[] = []): () => Queued {
  if (path === null) return () => null;
  const before = readLines(path, Math.max(0, (transcriptSize(path) ?? 0) - TAIL_BYTES));
  const queue: Queue = { messages: queuedIn(before.entries), notifications: ended(before.entries, tasks) };
  let { next } = before;
  let size = -1;
  return () => {
    // Polled three times a second for hours, so most polls only check the size.
    const now = transcriptSize(path) ?? 0;
    if (now !== size) {
      size = now;
      const lines = readLines(path, next);
      next = lines.next;
      for (const entry of lines.entries) note(queue, entry);
    }
    if (queue.messages.length > 0)
      return queue.messages.every(({ content }) => COMMAND.test(textOf(content))) ? 'command' : 'message';
    return queue.notifications > 0 ? 'notification' : null;
  };
}

interface Message {
  readonly content: unknown;
  readonly at: string;
}

interface Queue {
  messages: Message[];
  notifications: number;
}

function queuedIn(entries: readonly Record<string, unknown>[]): Message[] {
  const queue: Queue = { messages: [], notifications: 0 };
  let prompted = '';
  for (const entry of entries) {
    const { type, promptSource } = entry;
    const timestamp = textOf(entry['timestamp']);
    // A prompt's own line may arrive late, after messages that were queued later (measured).
    if (type === 'user' && UNQUEUED.includes(promptSource) && timestamp > prompted) prompted = timestamp;
    note(queue, entry);
  }
  // Messages queued by an exited client are never delivered; messages of other programs to the agent are in tags. The client
  // keeps a command until the loop lets a turn end; if it ended this wait, no turn might follow while the user is away.
  return queue.messages.filter((message) => message.at >= prompted && !UNANSWERED.test(textOf(message.content)));
}

function ended(entries: readonly Record<string, unknown>[], tasks: readonly string[]): number {
  const told = entries.flatMap(({ operation, content }) =>
    operation === 'enqueue' && typeof content === 'string' && content.includes('<task-id>') ? [content] : [],
  );
  return tasks.filter((id) => told.some((content) => content.includes(`<task-id>${id}<`))).length;
}

function note(queue: Queue, { type, operation, content, timestamp }: Record<string, unknown>): void {
  if (type !== 'queue-operation') return;
  if (operation === 'enqueue') {
    if (isNotification(content)) queue.notifications += 1;
    else queue.messages.push({ content, at: textOf(timestamp) });
    return;
  }
  // `dequeue` does not identify a message and serves users first; the other operations (taken into the turn, returned to the
  // input line) do.
  const at = operation === 'dequeue' ? 0 : queue.messages.findIndex((message) => message.content === content);
  const [taken] = at === -1 ? [] : queue.messages.splice(at, 1);
  if (taken === undefined) queue.notifications = Math.max(0, queue.notifications - 1);
}

export function isNotification(content: unknown): boolean {
  return typeof content === 'string' && content.trimStart().startsWith('<task-notification>');
}
