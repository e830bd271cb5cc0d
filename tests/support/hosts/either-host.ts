import assert from 'node:assert/strict';
import { runClient } from '../client/client.ts';
import type { EnvironmentChanges } from '../client/client-environment.ts';
import { type CommandRun, inLoopProject, type LoopProject, type LoopProjectOptions } from '../client/loop-project.ts';
import { type RunnerOptions, type RunningRunner, startRunner } from '../client/runner.ts';
import { CODEX, inCodexProject } from '../codex/codex-project.ts';
import { ownSession } from '../codex/own-session.ts';
import { type ResponsesReply, status as refusal, say, shellToEnd } from '../codex/responses-model.ts';
import { trustAll } from '../codex/trust-all.ts';
import { bash, type Reply, type Script, status, steps, text } from '../model/scripted-model.ts';

/** What the model does at a request: it ends its turn with a text, runs a command, or refuses with a status. */
export type Move = { readonly says: string } | { readonly runs: string } | { readonly refuses: 400 | 429 | 500 };

export interface EitherProject extends Omit<LoopProject, 'model' | 'start' | 'run'> {
  /** The conversation of each request, as JSON text. */
  readonly requests: () => readonly string[];
  /** Starts `ralph-loop run`, a new client for each iteration. */
  readonly begin: (words?: readonly string[], options?: RunnerOptions) => RunningRunner;
  /** Starts one headless session that its Stop hook continues. */
  readonly session: (words?: readonly string[], options?: RunnerOptions) => RunningRunner;
  /** Registers our hooks for sessions that the user begins. */
  readonly register: () => Promise<void>;
  /** Runs such a session, and returns all that it shows. */
  readonly byHand: (prompt: string, env?: EnvironmentChanges) => Promise<string>;
}

type InProject = (
  options: LoopProjectOptions,
  moves: readonly Move[],
  body: (project: EitherProject) => Promise<void>,
) => Promise<void>;

const claudeReply = (move: Move): Reply => {
  if ('says' in move) return text(move.says);
  if ('runs' in move) return bash(move.runs);
  return status(move.refuses, { headers: { 'x-should-retry': 'false' }, message: 'the request is refused' });
};

const codexReplies = (move: Move): readonly ResponsesReply[] => {
  if ('says' in move) return [say(move.says)];
  if ('runs' in move) return [shellToEnd(move.runs)];
  const error =
    move.refuses === 429
      ? { type: 'usage_limit_reached', message: 'used up', resets_at: 1 }
      : { message: 'the request is refused' };
  const reply = refusal(move.refuses, { error });
  // It asks a failing API once more.
  return move.refuses === 500 ? [reply, reply] : [reply];
};

const succeeded = ({ code, stdout, stderr }: CommandRun): void => assert.equal(code, 0, stdout + stderr);

/** The real clients for which a scenario is written once. */
export const CLIENTS: Readonly<Record<'Claude Code' | 'Codex', InProject>> = {
  'Claude Code': (options, moves, body) => {
    // It asks again in other ways what is refused, so that is refused until it is started again.
    let refused: Reply | null = null;
    const { main } = steps(
      moves.map((move) => () => {
        const reply = claudeReply(move);
        if ('refuses' in move && move.refuses === 400) refused = reply;
        return reply;
      }),
    );
    const script: Script = { main: (request) => refused ?? main(request) };
    const start: typeof startRunner = (...terms) => {
      refused = null;
      return startRunner(...terms);
    };
    return inLoopProject({ init: false, ...options }, script, (project) => {
      const command = ['start', '--launch', '--headless'];
      return body({
        ...project,
        requests: () => project.model.mainRequests().map(({ body: { messages } }) => JSON.stringify(messages)),
        begin: (args = [], own) => start(project, { ...own, args }),
        session: (args = [], own) => start(project, { ...own, args, command, json: false }),
        register: async () => void succeeded(project.main(['init'])),
        byHand: async (prompt, env = {}) => {
          const { stdout, stderr } = await runClient({
            workspace: project.workspace,
            model: project.model,
            prompt,
            env,
          });
          return stdout + stderr;
        },
      });
    });
  },
  // Codex has no stand-in.
  Codex: ({ standIn: _, ...options }, moves, body) => {
    return inCodexProject(options, moves.flatMap(codexReplies), (project) =>
      body({
        ...project,
        requests: () => project.model.requests.map(({ input }) => input),
        register: async () => {
          succeeded(project.main(['init', '--codex', '--yes'], { CODEX_HOME: project.codexHome, RALPH_CODEX: CODEX }));
          await trustAll(project.environment() as NodeJS.ProcessEnv, project.workspace.project);
        },
        byHand: (prompt, env) => ownSession(prompt, project.workspace, project.environment(env)),
      }),
    );
  },
};
