import { runHook } from '../src/drive/hook/run-hook.ts';
import { sessionStart } from '../src/drive/hook/session-start.ts';
import { said } from '../src/drive/turn/messages.ts';

void runHook(
  ['SessionStart'],
  async (context) => {
    // A start by hand reads frontmatter with zod and yaml: nobody else pays for them.
    const { startByHand } = await import('../src/drive/start/start-loop.ts');
    return sessionStart(context, () => startByHand(context.files.projectDir, context.env, context.now()));
  },
  (message, log) => ({
    systemMessage: said(`the session could not be bound to its loop: ${message} Details: ${log}.`),
  }),
);
