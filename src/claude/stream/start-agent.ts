import { type ChildProcess, spawn } from 'node:child_process';
import { endGroup, forgetGroup, rememberGroup } from '../../state/process-group.ts';
import type { AgentMessage } from './agent-message.ts';
import type { AgentOptions, AgentRun, FinishedRun } from './agent-run.ts';
import { byteLines } from './byte-lines.ts';
import { classifyRun, type EndedBy, type RunExit } from './classify-run.ts';
import { readMessages } from './read-messages.ts';
import { addFact, NO_FACTS, type RunFacts } from './run-facts.ts';

/** Bytes of a line; one tool result can carry a whole file. */
const LONGEST_LINE = 10 * 1024 * 1024;
/** Characters of its standard error. */
const COMPLAINT = 2_000;
/** The client repeats a request with refused credentials for many minutes; one refusal may be a token about to be renewed. */
const REFUSED_LOGINS = 3;
/** How long output may still come from a process that has exited, while others hold its pipe. */
const DRAIN_MS = 500;

const FLAGS = ['-p', '--input-format', 'stream-json', '--output-format', 'stream-json', '--verbose'];

/**
 * Starts the client for one run and tells it the prompt. Its input stays open for messages until its turn is over.
 * Of its stream only the facts are kept, whatever its length.
 */
export function startAgent(options: AgentOptions): AgentRun {
  const { program, args, cwd, env, prompt } = options;
  const began = Date.now();
  let child: ChildProcess;
  try {
    child = spawn(program, [...FLAGS, '--include-hook-events', ...args], {
      cwd,
      env,
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: process.platform !== 'win32',
      windowsHide: true,
    });
  } catch (error) {
    return notStarted((error as Error).message);
  }
  const { pid } = child;
  let facts: RunFacts = NO_FACTS;
  let endedBy: EndedBy | null = null;
  let complaint = '';
  let last = Date.now();
  const write = (line: object): boolean => {
    if (child.stdin?.writable !== true) return false;
    child.stdin.write(`${JSON.stringify(line)}\n`);
    return true;
  };
  const end = (why: EndedBy): void => {
    if (endedBy !== null || pid === undefined) return;
    endedBy = why;
    void endGroup(pid);
  };
  const hear = (message: AgentMessage): void => {
    facts = addFact(facts, message);
    options.onMessage(message);
    if (message.kind === 'result') child.stdin?.end();
    if (options.guarded && facts.unguarded) end('unguarded');
    if (facts.refusedLogins >= REFUSED_LOGINS) end('login');
  };
  const lose = (): void => {
    facts = { ...facts, lostLines: facts.lostLines + 1 };
  };
  const lines = byteLines(LONGEST_LINE, (line) => readLine(line, hear, lose), lose);
  child.stdout?.on('data', (chunk: Buffer) => {
    last = Date.now();
    lines.add(chunk);
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-COMPLAINT);
  });
  // An agent that is gone takes no message; its exit says what there is to say.
  child.stdin?.on('error', () => undefined);
  const patience = setInterval(() => {
    const now = Date.now();
    const { silenceMs, timeMs, lingerMs } = options;
    // What its turn has left running in the background is waited for as long as in a session.
    if (now - last > (facts.result === null ? silenceMs : lingerMs))
      end(facts.result === null ? 'silence' : 'lingering');
    if (timeMs !== null && now - began > timeMs) end(facts.result === null ? 'time' : 'lingering');
  }, 200);
  if (pid !== undefined) rememberGroup(pid);
  write(userMessage(prompt));
  const finish = async (exit: Omit<RunExit, 'endedBy'>): Promise<FinishedRun> => {
    clearInterval(patience);
    if (pid !== undefined) {
      await endGroup(pid);
      forgetGroup(pid);
    }
    if (lines.end()) lose();
    const outcome = classifyRun(facts, { ...exit, endedBy });
    return { outcome, facts, durationMs: Date.now() - began, complaint: complaint.trim() };
  };
  let requests = 0;
  return {
    pid: pid ?? null,
    done: ended(child).then(finish),
    send: (text, priority) => write(userMessage(text, priority)),
    interrupt: () => {
      requests += 1;
      write({ type: 'control_request', request_id: `ralph-${requests}`, request: { subtype: 'interrupt' } });
    },
    close: () => void child.stdin?.end(),
    end,
  };
}

function readLine(line: string, hear: (message: AgentMessage) => void, lose: () => void): void {
  if (line.trim() === '') return;
  const messages = readMessages(line);
  if (messages === null) lose();
  else for (const message of messages) hear(message);
}

function userMessage(text: string, priority?: string): object {
  const message = { role: 'user', content: [{ type: 'text', text }] };
  return { type: 'user', message, ...(priority !== undefined && { priority }) };
}

/** Resolves when the process has exited and its output is read: others that hold its pipe are not waited for. */
function ended(child: ChildProcess): Promise<Omit<RunExit, 'endedBy'>> {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve({ code: null, signal: null, startError: error.message }));
    child.once('exit', (code, signal) => {
      const exit = { code, signal, startError: null };
      const drained = setTimeout(() => resolve(exit), DRAIN_MS);
      child.once('close', () => {
        clearTimeout(drained);
        resolve(exit);
      });
    });
  });
}

function notStarted(why: string): AgentRun {
  const exit: RunExit = { code: null, signal: null, endedBy: null, startError: why };
  const outcome = classifyRun(NO_FACTS, exit);
  return {
    pid: null,
    done: Promise.resolve({ outcome, facts: NO_FACTS, durationMs: 0, complaint: '' }),
    send: () => false,
    interrupt: () => undefined,
    close: () => undefined,
    end: () => undefined,
  };
}
