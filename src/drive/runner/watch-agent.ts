import type { Tell } from '../../engine/runner-event.ts';
import type { AgentMessage } from '../../hosts/agent/agent-message.ts';
import { allowRule } from '../../hosts/claude/claude-code.ts';
import { type PermissionRule, permissionRules, refusingRules } from '../../hosts/claude/permission-rules.ts';
import { MOST_SUBJECT, toolSubject } from '../../hosts/tool-subject.ts';
import { checkCommands } from '../../state/tdd-store.ts';
import { shellWord } from '../../text/quote.ts';
import type { Turn } from '../turn/turn.ts';
import { RUNNER_TEXTS } from './messages.ts';
import type { Runner } from './runner.ts';
import { acknowledge } from './watch-operator.ts';

type MessageOf<K extends AgentMessage['kind']> = Extract<AgentMessage, { readonly kind: K }>;

/**
 * Returns a listener that reports an agent's activity. `onHeard` receives the ids of acknowledged messages. `rulesNow` reads the
 * rules of the user's settings.
 */
export function watchAgent(
  tell: Tell,
  onHeard: (id: string) => void,
  checks: readonly string[] = [],
  projectDir: string | null = null,
  rulesNow: () => readonly PermissionRule[] = () => [],
): (message: AgentMessage) => void {
  const text = textWatch(tell);
  const calls = callWatch(tell, checks, projectDir, rulesNow);
  const notice = (message: string): void => tell({ type: 'agent.notice', message });
  return (message) => {
    switch (message.kind) {
      case 'text':
        return text.whole(message);
      case 'text-delta':
        return text.add(message);
      case 'request':
        return text.request(message);
      case 'answered':
        return text.answered(message);
      case 'window':
        return text.window(message);
      case 'tool':
        return calls.begin(message);
      case 'denied':
        return calls.deny(message);
      case 'tool-result':
        return calls.end(message);
      case 'acknowledged':
        return onHeard(message.id);
      case 'retry':
        return notice(`the client is retrying the API request (${message.error}, attempt ${message.attempt}).`);
      case 'compaction':
        return notice('the client has compacted the conversation.');
      case 'background':
      case 'background-started':
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

/** Reports the text that an agent writes, and the tokens of its requests. */
function textWatch(tell: Tell) {
  const used = { tokens: 0, context: 0, window: null as number | null };
  let streamed = '';
  const tellUsage = (): void => tell({ type: 'agent.usage', ...used });
  return {
    whole: ({ text }: MessageOf<'text'>): void => {
      tell({ type: 'agent.text', text, ...(streamed === text && { streamed: true }) });
      streamed = '';
    },
    add: ({ text }: MessageOf<'text-delta'>): void => {
      streamed += text;
      tell({ type: 'agent.text-delta', text });
    },
    request: ({ tokens, cachedTokens }: MessageOf<'request'>): void => {
      // An interrupted message is requested again; its text so far stays visible.
      if (streamed !== '') tell({ type: 'agent.text-delta', text: '…\n' });
      streamed = '';
      used.context = tokens + cachedTokens;
      used.tokens += tokens;
      tellUsage();
    },
    answered: ({ tokens }: MessageOf<'answered'>): void => {
      used.context += tokens;
      used.tokens += tokens;
      tellUsage();
    },
    window: ({ tokens }: MessageOf<'window'>): void => {
      used.window = tokens;
      tellUsage();
    },
  };
}

/** Reports the tool calls of an agent, and how a refused one could be allowed. */
function callWatch(
  tell: Tell,
  checks: readonly string[],
  projectDir: string | null,
  rulesNow: () => readonly PermissionRule[],
) {
  const open = new Map<string, { readonly call: MessageOf<'tool'>; readonly since: number }>();
  const denials = new Map<string, MessageOf<'denied'>>();
  /** Checks that were refused and of which the user has been notified. */
  const announced = new Set<string>();
  const shown = ({ id, name, input, nested }: MessageOf<'tool'>) => {
    return { id, tool: name, about: toolSubject(input, projectDir), nested };
  };

  /** Notifies the user once of each check that the agent may not run. */
  const announceCheck = (command: string, option: string | null, ruled: string): void => {
    const check = checks.find((run) => command.includes(run));
    if (check === undefined || announced.has(check)) return;
    announced.add(check);
    const isVaried = option !== null && command !== check;
    const message = isVaried ? RUNNER_TEXTS.checkVaried(check, option) : RUNNER_TEXTS.checkDenied(check, option, ruled);
    tell({ type: 'agent.notice', message });
  };

  return {
    begin: (call: MessageOf<'tool'>): void => {
      open.set(call.id, { call, since: Date.now() });
      tell({ type: 'tool.started', ...shown(call) });
    },
    /** Keeps a refusal until the result of its call. */
    deny: (denial: MessageOf<'denied'>): void => void denials.set(denial.id, denial),
    end: ({ id, failed }: MessageOf<'tool-result'>): void => {
      const begun = open.get(id);
      open.delete(id);
      if (begun === undefined) return;
      const durationMs = Math.max(0, Date.now() - begun.since);
      const ended = { type: 'tool.ended', ...shown(begun.call), durationMs } as const;
      const denial = denials.get(id);
      if (denial === undefined) {
        tell({ ...ended, outcome: failed ? 'failed' : 'ok' });
        return;
      }
      denials.delete(id);
      const { reason, ruled, rule } = refusalOf(begun.call, denial, projectDir ?? '', rulesNow);
      const allow = rule === null ? null : `-- --allowedTools ${shellWord(rule)}`;
      tell({ ...ended, outcome: 'denied', reason, ...(rule !== null && allow !== null && { rule, allow }) });
      announceCheck(commandOf(begun.call), allow, ruled);
    },
  };
}

/** Returns why a call was refused, which of the user's rules did so, and the exact rule that would allow it, if any. */
function refusalOf(
  call: MessageOf<'tool'>,
  { by, rule, reason }: MessageOf<'denied'>,
  projectDir: string,
  rulesNow: () => readonly PermissionRule[],
) {
  const { name, input } = call;
  const own = rule === undefined ? null : refusingRules(rulesNow(), rule, { tool: name, input, projectDir });
  const ruled = rule === undefined || own === null ? '' : RUNNER_TEXTS.ruled(rule, own, projectDir);
  const part = PART.exec(reason)?.[1] ?? commandOf(call);
  const isOursToAllow = by !== 'hook' && own === null && part.length <= MOST_SUBJECT;
  return {
    reason: ruled === '' ? reason : `${reason} ${ruled}`,
    ruled,
    rule: isOursToAllow ? allowRule(name, part) : null,
  };
}

function commandOf({ input }: MessageOf<'tool'>): string {
  return String(input['command'] ?? '').trim();
}

/** Pattern for the part of a compound command that a rule would have to allow. */
const PART = /part requires approval: (.+)$/s;

/** Reports what the agent does, and keeps the rules that the user may add for calls that were denied. */
export function activityOf(runner: Runner, stored: Turn['loaded']['stored']): ReturnType<typeof watchAgent> {
  const { options, files } = runner;
  const checks = stored === null ? [] : checkCommands(files, stored.contract);
  const rules = (): PermissionRule[] => permissionRules(files.projectDir, options.env);
  const tell: Tell = (event) => {
    if (event.type === 'tool.ended' && event.rule !== undefined) runner.offers.set(event.id, event.rule);
    options.tell(event);
  };
  return watchAgent(tell, (id) => acknowledge(runner, id), checks, files.projectDir, rules);
}
