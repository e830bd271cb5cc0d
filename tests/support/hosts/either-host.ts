import { inLoopProject, type LoopProject, type LoopProjectOptions } from '../client/loop-project.ts';
import { type RunnerOptions, type RunningRunner, startRunner } from '../client/runner.ts';
import { inCodexProject } from '../codex/codex-project.ts';
import { say, shell } from '../codex/responses-model.ts';
import { bash, steps, text } from '../model/scripted-model.ts';

/** What the model does at a request: it ends its turn with a text, or runs a command. */
export type Move = { readonly says: string } | { readonly runs: string };

export interface EitherProject extends Omit<LoopProject, 'model' | 'start' | 'run'> {
  /** The conversation of each request, as JSON text. */
  readonly requests: () => readonly string[];
  /** Starts `ralph-loop run`, a new client for each iteration. */
  readonly begin: (words?: readonly string[], options?: RunnerOptions) => RunningRunner;
  /** Starts one headless session that its Stop hook continues. */
  readonly session: (words?: readonly string[], options?: RunnerOptions) => RunningRunner;
}

type InProject = (
  options: Omit<LoopProjectOptions, 'standIn'>,
  moves: readonly Move[],
  body: (project: EitherProject) => Promise<void>,
) => Promise<void>;

/** The real clients for which a scenario is written once. */
export const CLIENTS: Readonly<Record<'Claude Code' | 'Codex', InProject>> = {
  'Claude Code': (options, moves, body) => {
    const script = steps(moves.map((move) => ('says' in move ? text(move.says) : bash(move.runs))));
    return inLoopProject({ init: false, ...options }, script, (project) => {
      const command = ['start', '--launch', '--headless'];
      return body({
        ...project,
        requests: () => project.model.mainRequests().map(({ body: { messages } }) => JSON.stringify(messages)),
        begin: (args = [], own) => startRunner(project, { ...own, args }),
        session: (args = [], own) => startRunner(project, { ...own, args, command, json: false }),
      });
    });
  },
  Codex: (options, moves, body) => {
    const script = moves.map((move) => ('says' in move ? say(move.says) : shell(move.runs)));
    return inCodexProject(options, script, (project) =>
      body({ ...project, requests: () => project.model.requests.map(({ input }) => input) }),
    );
  },
};
