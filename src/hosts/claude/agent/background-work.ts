import type { AgentMessage, BackgroundTask } from '../../agent/agent-message.ts';
import type { AgentOptions } from '../../agent/agent-run.ts';

/** Silence after a turn from which the client waits for something. */
const SETTLE_MS = 2_000;

/** Follows an agent's background work, for which its client waits after the last turn. */
export function backgroundWork({ lingerMs, onLinger }: Pick<AgentOptions, 'lingerMs' | 'onLinger'>) {
  /** Commands of the calls that have not ended, and of background work, by their ids. */
  const commands = new Map<string, string>();
  let tasks: readonly BackgroundTask[] = [];
  let message = '';
  let next: (() => number | null) | null = null;
  let limitMs = lingerMs;
  const restart = (): void => {
    next = null;
    limitMs = lingerMs;
  };
  return {
    hear: (heard: AgentMessage): void => {
      if (heard.kind === 'tool') commands.set(heard.id, String(heard.input['command'] ?? ''));
      else if (heard.kind === 'tool-result') commands.delete(heard.id);
      else if (heard.kind === 'background-started') commands.set(heard.id, commands.get(heard.call) ?? '');
      else if (heard.kind === 'background') {
        tasks = heard.tasks;
        restart();
      } else if (heard.kind === 'result') {
        message = heard.text;
        restart();
      }
    },
    /** Returns whether the work has been awaited long enough, after the turn and this long a silence. */
    isOver: (silentMs: number): boolean => {
      if (next === null && silentMs > SETTLE_MS && tasks.length > 0 && onLinger !== undefined) {
        next = onLinger(
          message,
          tasks.map(({ id, name, isShell }) => (isShell ? commands.get(id) || name : null)),
        );
        limitMs = next() ?? 0;
      }
      if (silentMs <= limitMs) return false;
      const more = next?.() ?? null;
      limitMs += more ?? 0;
      return more === null;
    },
  };
}
