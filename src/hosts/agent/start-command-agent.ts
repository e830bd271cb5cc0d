import { StringDecoder } from 'node:string_decoder';
import { lastWordsText, shorten } from '../../text/quote.ts';
import { shownText } from '../../text/terminal-screen.ts';
import { endedWell, NO_FACTS, type RunFacts } from './agent-message.ts';
import { type AgentRun, type ProgramOptions, startAgentProcess } from './agent-run.ts';
import { classifyRun, type RunExit, type RunOutcome } from './classify-run.ts';

/** Number of characters of its output that are kept: signals are at the end. */
const LONGEST_TEXT = 200_000;
const LONGEST_LINE = 16_384;
const QUOTE = 300;

/** Starts a program that reads a prompt and prints its final message, without later messages, turns, tools or cost. */
export function startCommandAgent(options: ProgramOptions): AgentRun {
  const { program, args, cwd, env, silenceMs, timeMs, allowance } = options;
  const heard = listen((text) => options.onMessage({ kind: 'text', text }));
  const agent = startAgentProcess({
    program,
    args,
    cwd,
    env,
    onStart: options.onStart,
    onOutput: heard.add,
    // Many programs print their progress on standard error and their answer at the end.
    errorsShowLife: true,
    overdue: (silent, running) => {
      if (allowance.timeMs !== null && running >= allowance.timeMs) return 'budget';
      if (silent > silenceMs) return 'silence';
      return timeMs !== null && running > timeMs ? 'time' : null;
    },
  });
  agent.write(options.prompt);
  agent.closeInput();
  return {
    pid: agent.pid,
    done: agent.done.then(({ exit, durationMs, complaint }) => {
      const text = heard.end();
      const facts: RunFacts = { ...NO_FACTS, toolCalls: null, result: exit.code === 0 ? endedWell(text) : null };
      return { outcome: outcomeOf(facts, exit, complaint), facts, durationMs, complaint };
    }),
    send: () => false,
    allow: () => undefined,
    end: agent.end,
  };
}

/** Emits complete lines as they arrive and keeps the end of the output. */
function listen(onText: (text: string) => void): { add: (chunk: Buffer) => void; end: () => string } {
  const decoder = new StringDecoder('utf8');
  let kept = '';
  let isCut = false;
  let line = '';
  const tell = (text: string): void => {
    const plain = shownText(text);
    if (plain.trim() !== '') onText(plain);
  };
  const take = (text: string): void => {
    kept += text;
    // Cut rarely: slicing at each small chunk would copy the text too often.
    if (kept.length > LONGEST_TEXT * 2) {
      kept = kept.slice(-LONGEST_TEXT);
      isCut = true;
    }
    line += text;
    const whole = line.length > LONGEST_LINE ? line.length : line.lastIndexOf('\n') + 1;
    if (whole === 0) return;
    tell(line.slice(0, whole).replace(/\r?\n$/, ''));
    line = line.slice(whole);
  };
  return {
    add: (chunk) => take(decoder.write(chunk)),
    end: () => {
      take(decoder.end());
      tell(line);
      line = '';
      // The rest of a cut line could look like a signal on a line of its own.
      const whole = isCut ? kept.slice(kept.indexOf('\n') + 1) : kept;
      return shownText(whole).trim();
    },
  };
}

/** Classifies a run. Shells report 126 and 127 for a program that cannot be run; a retry would not help. */
function outcomeOf(facts: RunFacts, exit: RunExit, complaint: string): RunOutcome {
  if (exit.endedBy !== null || (exit.code !== 126 && exit.code !== 127)) return classifyRun(facts, exit);
  const said = lastWordsText(shorten(complaint, QUOTE));
  return { kind: 'invalid-request', message: `the agent's command cannot be run (exit code ${exit.code}).${said}` };
}
