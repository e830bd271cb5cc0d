import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { UsageDelta } from '../../../engine/events.ts';
import { readLines, readTail } from '../../../state/files/journal-lines.ts';
import { ifOutOfReach } from '../../../state/files/regular-file.ts';
import { clientConfigDir } from '../../../state/home-folder.ts';
import { fieldsOf, listOf, parseFields, textOf } from '../../fields.ts';
import { readUsage } from '../../read-usage.ts';

interface SubagentWork {
  readonly text: string;
  /** True if the last message is final: it calls no tool, and the subagent received nothing since. */
  readonly finished: boolean;
  /** Tokens of all its messages, without those of its own subagents. */
  readonly usage: UsageDelta | null;
}

const AGENT_ID = /^[\w-]{1,100}$/;
const TAIL_BYTES = 8 * 1024 * 1024;

/** Maximum delay: the client reports the end of a subagent before the last message is in its record. */
const LATE_MS = 5_000;
const LOOK_MS = 50;

export function readSubagent(id: string, env: NodeJS.ProcessEnv): SubagentWork | null {
  const path = recordOf(id, env);
  if (path === null) return null;
  const last = lastMessage(path);
  return last === null ? null : { ...last, usage: usageOf(path) };
}

/** Waits up to five seconds for the record to show the end of the subagent, then reads it in any case. */
export async function readEndedSubagent(id: string, env: NodeJS.ProcessEnv): Promise<SubagentWork | null> {
  const until = Date.now() + LATE_MS;
  while (!hasEnded(id, env) && Date.now() < until) await sleep(LOOK_MS);
  return readSubagent(id, env);
}

/** Returns the prompt with which a subagent began; "" if it cannot be read. */
export function promptOfSubagent(id: string, env: NodeJS.ProcessEnv): string {
  const path = recordOf(id, env);
  const [first] = path === null ? [] : readLines(path, 0, TAIL_BYTES, (line) => line.includes('"user"')).entries;
  const { content } = fieldsOf(first?.['message']);
  return (
    textOf(content) ||
    listOf(content)
      .map(({ text }) => textOf(text))
      .join('\n')
  );
}

/** Checks only the end of the record, which can be long. */
function hasEnded(id: string, env: NodeJS.ProcessEnv): boolean {
  const path = recordOf(id, env);
  return path !== null && lastMessage(path)?.finished === true;
}

function recordOf(id: string, env: NodeJS.ProcessEnv): string | null {
  const session = env['CLAUDE_CODE_SESSION_ID'];
  if (!session || !AGENT_ID.test(session) || !AGENT_ID.test(id)) return null;
  const projects = join(clientConfigDir(env), 'projects');
  // A client may store its records elsewhere.
  const names = ifOutOfReach(() => readdirSync(projects), []);
  const paths = names.map((name) => join(projects, name, session, 'subagents', `agent-${id}.jsonl`));
  return paths.find((path) => statSync(path, { throwIfNoEntry: false })?.isFile()) ?? null;
}

/** Reads the last message. Each block of a message is a separate line with the same id. */
function lastMessage(path: string): Omit<SubagentWork, 'usage'> | null {
  let id: unknown;
  let finished = true;
  const texts: string[] = [];
  readTail(path, TAIL_BYTES, (line) => {
    if (!line.includes('"assistant"') && (id !== undefined || !line.includes('"user"'))) return false;
    const { type, message } = parseFields(line) ?? {};
    // The subagent received another message, or a hook made it continue.
    if (type === 'user' && id === undefined) finished = false;
    if (type !== 'assistant' || message === undefined) return false;
    const fields = fieldsOf(message);
    if (id !== undefined && fields['id'] !== id) return true;
    id = fields['id'];
    if (fields['stop_reason'] === 'tool_use') finished = false;
    const blocks = listOf(fields['content']).filter(({ type }) => type === 'text');
    texts.unshift(...blocks.map(({ text }) => textOf(text)));
    return false;
  });
  return id === undefined ? null : { text: texts.join('\n'), finished };
}

function usageOf(path: string): UsageDelta | null {
  const none = { transcriptPath: path, transcriptBytes: 0, subagentBytes: {}, lastMessageIds: [], callsBytes: 0 };
  return readUsage(path, none).usage;
}
