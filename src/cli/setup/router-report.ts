import { plainReport, REPORT_LIMIT, type Report } from '../../drive/router/call.ts';
import { GIVE_TEXT } from '../../drive/router/messages.ts';
import { promptOfSubagent, readEndedSubagent } from '../../hosts/claude/transcript/subagent.ts';
import { readEnd } from '../../hosts/hook-io/stdio.ts';
import { RalphError } from '../../text/message.ts';
import type { CommandContext } from '../command.ts';

/** Returns the host's report about a subagent. Throws `usage` if it cannot be read. */
export async function reportOf({ values, env }: CommandContext): Promise<Report> {
  const { spawn, agent, file, error } = values;
  const number = spawn === undefined ? null : Number(spawn);
  if (number !== null && !/^[1-9]\d{0,8}$/.test(String(spawn)))
    throw new RalphError('usage', `--spawn ${String(spawn)}: use the number from the answer.`);
  if ([agent, file, error].filter((given) => given !== undefined).length > 1)
    throw new RalphError('usage', 'report takes one of --agent, --file and --error.');
  const none = { spawn: number, agent: null, prompt: '', usage: null, error: null };
  if (typeof error === 'string') return { ...none, text: '', error: error.trim() || 'no reason was given' };
  if (typeof agent === 'string') return { ...none, agent, ...(await workOf(agent, env)) };
  return { ...none, text: plainReport(messageIn(typeof file === 'string' && file !== '-' ? file : null)) };
}

async function workOf(id: string, env: NodeJS.ProcessEnv): Promise<Pick<Report, 'text' | 'usage' | 'prompt'>> {
  const work = await readEndedSubagent(id, env);
  const instead = `Pass its final message instead: ${GIVE_TEXT}`;
  if (work === null)
    throw new RalphError('usage', `the client has no record of a subagent ${id} in this session. ${instead}`);
  if (!work.finished)
    throw new RalphError(
      'usage',
      `subagent ${id} is still working, according to the client's record. Report when it has ended; if it was stopped: --error "WHY".`,
    );
  return { text: work.text, usage: work.usage, prompt: promptOfSubagent(id, env) };
}

function messageIn(file: string | null): Buffer {
  if (file === null && process.stdin.isTTY) {
    const text = 'pass the final message of the subagent: --agent ID, --file PATH, or on standard input.';
    throw new RalphError('usage', text);
  }
  try {
    return readEnd(file, REPORT_LIMIT);
  } catch (error) {
    throw new RalphError('usage', `the message cannot be read: ${(error as Error).message}`, error);
  }
}
