import type { AgentMessage } from '../../claude/agent/agent-message.ts';
import { MOST_SUBJECT, toolSubject } from '../../claude/tool-subject.ts';
import type { Tell } from '../../engine/runner-event.ts';
import { shellWord } from '../../text/quote.ts';
import { allowRule } from '../start/allowed-tools.ts';
import { RUNNER_TEXTS } from './messages.ts';

/** Returns a listener that reports an agent's activity. `onHeard` receives the ids of acknowledged messages. */
export function watchAgent(
  tell: Tell,
  onHeard: (id: string) => void,
  checks: readonly string[] = [],
  projectDir: string | null = null,
): (message: AgentMessage) => void {
  const denials = new Map<string, string>();
  const announced = new Set<string>();
  const open = new Map<string, { readonly call: Extract<AgentMessage, { kind: 'tool' }>; readonly since: number }>();
  const used = { tokens: 0, context: 0, window: null as number | null };
  let streamed = '';
  const tellUsage = (): void => tell({ type: 'usage', ...used });
  return (message) => {
    switch (message.kind) {
      case 'text':
        tell({ type: 'text', text: message.text, ...(streamed === message.text && { streamed: true }) });
        streamed = '';
        return;
      case 'text-delta':
        streamed += message.text;
        tell({ type: 'text-delta', text: message.text });
        return;
      case 'request':
        // A message that broke off is requested again; its text so far stays visible.
        if (streamed !== '') tell({ type: 'text-delta', text: '…\n' });
        streamed = '';
        used.context = message.tokens + message.cachedTokens;
        used.tokens += message.tokens;
        tellUsage();
        return;
      case 'answered':
        used.context += message.tokens;
        used.tokens += message.tokens;
        tellUsage();
        return;
      case 'window':
        used.window = message.tokens;
        tellUsage();
        return;
      case 'tool': {
        const { id, name, input, nested } = message;
        open.set(id, { call: message, since: Date.now() });
        tell({ type: 'tool-started', id, tool: name, about: toolSubject(input, projectDir), nested });
        return;
      }
      case 'tool-result': {
        const begun = open.get(message.id);
        open.delete(message.id);
        if (begun === undefined) return;
        const { id, name, input, nested } = begun.call;
        const durationMs = Math.max(0, Date.now() - begun.since);
        const call = {
          type: 'tool-call',
          id,
          tool: name,
          about: toolSubject(input, projectDir),
          nested,
          durationMs,
        } as const;
        const reason = denials.get(id);
        if (reason === undefined) {
          tell({ ...call, outcome: message.failed ? 'failed' : 'ok' });
          return;
        }
        denials.delete(id);
        const command = String(input['command'] ?? '').trim();
        const option = reason.includes(GUARDRAIL) ? null : allowOption(name, PART.exec(reason)?.[1] ?? command);
        tell({ ...call, outcome: 'denied', reason, ...(option !== null && { allow: option }) });
        const check = checks.find((run) => command.includes(run));
        if (check === undefined || announced.has(check)) return;
        announced.add(check);
        tell({ type: 'notice', message: RUNNER_TEXTS.checkDenied(check, option) });
        return;
      }
      case 'denied':
        denials.set(message.id, message.reason);
        return;
      case 'acknowledged':
        onHeard(message.id);
        return;
      case 'retry':
        tell({
          type: 'notice',
          message: `the client is retrying the API request (${message.error}, attempt ${message.attempt}).`,
        });
        return;
      case 'compaction':
        tell({ type: 'notice', message: 'the client has compacted the conversation.' });
        return;
      case 'billed':
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

/** Begins the reason that our own hook gives. */
const GUARDRAIL = '[blocked by guardrail';

/** Names the part of a compound command that a rule would have to allow. */
const PART = /part requires approval: (.+)$/s;

/** Returns the option, to be added to the command of the loop, that allows this call; null if no rule is exact. */
function allowOption(tool: string, command: string): string | null {
  const rule = command.length > MOST_SUBJECT ? null : allowRule(tool, command);
  return rule === null ? null : `-- --allowedTools ${shellWord(rule)}`;
}
