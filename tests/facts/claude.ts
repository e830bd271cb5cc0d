import { readdirSync, rmSync } from 'node:fs';
import { runClient } from '../support/client/client.ts';
import { clientVersion } from '../support/client/client-binary.ts';
import { createWorkspace } from '../support/client/workspace.ts';
import { bash, type Reply, startScriptedModel, status, steps, text } from '../support/model/scripted-model.ts';
import { callsIn, EVENTS, type Probed, type Step, TOOL_TIMEOUT, writeHook } from './probe.ts';

/** The Claude Code under test. */
export function claude(): Probed {
  return {
    version: clientVersion(),
    session: async (script, options = {}) => {
      const workspace = createWorkspace();
      const model = await startScriptedModel(
        steps(
          script.map(replyOf),
          script.some((step) => 'status' in step) ? () => replyOf({ status: 400 }) : undefined,
        ),
      );
      try {
        const command = writeHook(workspace.root, options);
        const hooks = Object.fromEntries(
          EVENTS.map((event) => {
            const isBefore = event === 'PreToolUse';
            const more = isBefore && options.blocksOnFailure ? { onFailure: 'block' } : {};
            const hook = { type: 'command', command, timeout: isBefore ? TOOL_TIMEOUT : 20, ...more };
            return [event, [{ hooks: [hook] }]];
          }),
        );
        const { env = {} } = options;
        const { code, messages } = await runClient({ workspace, model, prompt: 'Begin.', settings: { hooks }, env });
        return {
          calls: callsIn(workspace.root),
          requests: model.mainRequests().map(({ body }) => JSON.stringify(body.messages)),
          lines: messages,
          code,
          files: readdirSync(workspace.project),
        };
      } finally {
        await model.close();
        // A hook that the client has left behind may still write.
        process.once('exit', () => rmSync(workspace.root, { recursive: true, force: true }));
      }
    },
  };
}

function replyOf(step: Step): Reply {
  if ('say' in step) return text(step.say);
  if ('run' in step) return bash(step.run);
  if ('status' in step) return status(step.status, { message: 'No.' });
  throw new Error(`Claude Code has no ${step.own}`);
}
