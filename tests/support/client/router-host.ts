import { bash, type ModelRequest, type Reply, type Script, text, tool } from '../model/scripted-model.ts';
import { bundle } from './loop-project.ts';

export const routerCommand = `node ${bundle}/scripts/main.cjs router`;

/** What ralph-loop router answered in the last tool result, or null where that was something else. */
export const answerIn = (request: ModelRequest): Record<string, unknown> | null => {
  const [found] = /^\{\n {2}"action"[\s\S]*?^\}/m.exec(request.sinceText) ?? [];
  return found === undefined ? null : (JSON.parse(found) as Record<string, unknown>);
};

export type HostOptions = {
  /** What the host does first, in place of `router start`. */
  readonly first?: Reply;
  /** The host reports by the subagent's id (default), or copies its text to standard input. */
  readonly report?: (spawn: number, agentId: string, result: string) => string;
  /** Each answer of the router, as the host gets it. */
  readonly answers?: Record<string, unknown>[];
};

/**
 * A host that does what SKILL.md says: it asks the router, starts the subagent in the background, ends its own turn,
 * and reports when the client says that the subagent has ended.
 */
export const routerHost = (subagent: Script['main'], options: HostOptions = {}): Script => {
  const { report = (spawn, id) => `${routerCommand} report --spawn ${spawn} --agent ${id}` } = options;
  let begun = false;
  let spawn = 0;
  return {
    subagent,
    main: (request) => {
      if (!begun) {
        begun = true;
        return options.first ?? bash(`${routerCommand} start`);
      }
      const [, id, result = ''] =
        /<task-id>(\w+)<\/task-id>[\s\S]*?<result>([\s\S]*?)<\/result>/.exec(request.sinceText) ?? [];
      if (id !== undefined) return bash(report(spawn, id, result));
      const answer = answerIn(request);
      if (answer === null) return text('I wait for the subagent.');
      options.answers?.push(answer);
      if (answer['action'] !== 'spawn') return text(`The loop is over: ${String(answer['status'] ?? answer['why'])}.`);
      spawn = Number(answer['spawn']);
      return tool('Agent', {
        description: String(answer['description']),
        prompt: String(answer['prompt']),
        subagent_type: String(answer['agentType']),
      });
    },
  };
};
