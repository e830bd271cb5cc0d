import type { AgentMessage } from '../../claude/stream/agent-message.ts';
import type { Tell } from '../../core/runner-event.ts';

/** Of a tool's input, what says best what the call is about. */
const TELLING = ['command', 'file_path', 'notebook_path', 'path', 'pattern', 'url', 'query', 'skill', 'description'];
const LONGEST = 160;

/** Tells what an agent says and does: its words at once, a tool call when its outcome is known. */
export function watchAgent(tell: Tell): (message: AgentMessage) => void {
  const open = new Map<string, Extract<AgentMessage, { kind: 'tool' }>>();
  return (message) => {
    switch (message.kind) {
      case 'text':
        tell({ type: 'text', text: message.text });
        return;
      case 'tool':
        open.set(message.id, message);
        return;
      case 'tool-result': {
        const call = open.get(message.id);
        open.delete(message.id);
        if (call === undefined) return;
        const outcome = message.failed ? 'failed' : 'ok';
        tell({ type: 'tool-call', tool: call.name, about: about(call.input), outcome, nested: call.nested });
        return;
      }
      case 'retry':
        tell({
          type: 'notice',
          message: `the client asks the API again (${message.error}, attempt ${message.attempt}).`,
        });
        return;
      case 'compaction':
        tell({ type: 'notice', message: 'the client has compacted the conversation.' });
        return;
      case 'session':
      case 'hook':
      case 'limit':
      case 'api-error':
      case 'result':
        return;
      default:
        message satisfies never;
    }
  };
}

function about(input: Readonly<Record<string, unknown>>): string {
  const said = TELLING.map((key) => input[key]).find((value) => typeof value === 'string');
  const line =
    String(said ?? '')
      .trim()
      .split('\n', 1)[0] ?? '';
  return line.length > LONGEST ? `${line.slice(0, LONGEST)}…` : line;
}
