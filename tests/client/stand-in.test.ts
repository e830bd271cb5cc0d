import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readMessages } from '../../src/claude/agent/read-messages.ts';
import { CLIENT } from '../support/client/client-facts.ts';
import { inLoopProject, type LoopProject } from '../support/client/loop-project.ts';
import { runRunner } from '../support/client/runner.ts';
import type { JsonObject } from '../support/client/workspace.ts';
import { bash, type ModelRequest, type Script, steps, text, together, tool } from '../support/model/scripted-model.ts';
import { until } from '../support/until.ts';

const EVENTS = 'SessionStart UserPromptSubmit PreToolUse PostToolUse PostToolUseFailure Stop SessionEnd'.split(' ');
/** What a hook is given on its standard input, and whether it can tell the client's process and a file for exports. */
const NOTE = `cat >> ../noted; echo >> ../noted; echo "{\\"env\\":\\"\${CLAUDE_PID:+pid} \${CLAUDE_ENV_FILE:+file}\\"}" >> ../noted`;
/** Hooks of the project's own that note that, and one by which the user hears something. */
const noting = {
  hooks: {
    ...Object.fromEntries(EVENTS.map((event) => [event, [{ hooks: [{ type: 'command', command: NOTE }] }]])),
    PostToolUse: [
      { hooks: [{ type: 'command', command: NOTE }] },
      { matcher: 'Write|Edit', hooks: [{ type: 'command', command: `echo '{"systemMessage":"written"}'` }] },
    ],
  },
};
const frontmatter = `max_iterations: 4
reinject: context
guardrails: { block_commands: [{ command: touch, args: [forbidden] }] }
validation: ["test -f new.txt"]`;

/** Every kind of answer of our hooks: allowed and denied calls, steering, a rejected claim, the end of a cancelled turn. */
const script = (user: (...args: string[]) => void, sent: () => Promise<unknown>): Script =>
  steps([
    bash('echo "$RALPH_ACTIVE$CLAUDECODE"; echo told >&2'),
    bash('echo out; echo err >&2; exit 3'),
    together(bash('touch forbidden'), bash('true')),
    text('one\n\nRALPH_AUDIT_COMPLETE_NO_FINDINGS'),
    async () => {
      user('steer', 'Mind the BLUE-DOOR.');
      await sent();
      return tool('Write', { file_path: 'new.txt', content: 'a\nb\n' });
    },
    tool('Edit', { file_path: 'new.txt', old_string: 'a', new_string: 'c' }),
    tool('Read', { file_path: 'new.txt' }),
    text('two'),
    () => {
      user('cancel');
      return bash('touch never');
    },
  ]);

/** Without what differs between two runs of the same client. */
const steady = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value)
      .replace(/[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[\da-f]{4}-[\da-f]{12}/g, 'UUID')
      .replace(/\/tmp\/ralph-client-\w+/g, 'ROOT')
      .replace(/-tmp-ralph-client-\w+/g, '-ROOT')
      .replace(/toolu_scripted_[\d_]+/g, 'CALL')
      .replace(/msg_scripted_[\d_]+/g, 'MESSAGE'),
  );

/** What a hook is given, without what our hooks never look at: the effort, how a tool words its result. */
const noted = ({ workspace }: LoopProject): unknown =>
  workspace.jsonLines('../noted').map(({ effort: _, duration_ms: __, tool_response: ___, ...rest }) => steady(rest));

/** What the hooks make of a conversation: the client's own reminders, and how it words what its tools answer, left out. */
const conversation = (requests: readonly ModelRequest[]): unknown =>
  (requests.at(-1)?.body.messages ?? []).flatMap(({ role, content }) => {
    const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
    return blocks.flatMap((block) => {
      if (block.type === 'tool_use') return [`${role} calls ${block.name}`];
      if (block.type === 'tool_result') {
        const said = String(block.content);
        return [`${role} is answered ${block.is_error === true}: ${/file|^\d+\t/i.test(said) ? 'about a file' : said}`];
      }
      const said = String(block.text)
        .replace(/# Environment\n[\s\S]*/, '')
        .trim();
      const isOwn = said === '' || said.startsWith('<system-reminder>') || said.startsWith("The user hasn't heard");
      return isOwn ? [] : [`${role}: ${said}`];
    });
  });

/** What the runner reads in the stream, in its order; results, which tell how long things took, by what counts. */
const read = (lines: readonly JsonObject[]): unknown =>
  lines.flatMap((line) =>
    (readMessages(JSON.stringify(line)) ?? []).flatMap((message): unknown[] => {
      if (message.kind === 'hook' && !/ToolUse|Stop/.test(message.event)) return [];
      if (message.kind === 'result' && message.costUsd !== null) return [{ ...message, costUsd: message.costUsd > 0 }];
      return [steady(message)];
    }),
  );

for (const driver of ['launcher', 'runner'] as const) {
  // The oldest client words its answers otherwise; the stand-in is one of the pinned client.
  if (!CLIENT.recordsStops) continue;
  test(`the stand-in does with hooks, model and stream what the client does, under a ${driver}`, async () => {
    const seen: unknown[] = [];
    for (const standIn of [false, true]) {
      let known: LoopProject | undefined;
      const user = (...args: string[]): void => assert.equal(known?.main(args).code, 0, args.join(' '));
      // A runner writes a message to its agent's input, which has to be there before the next tool call ends.
      const heard = '../heard.jsonl';
      const wrapper = `#!/bin/sh\n[ "$1" = --version ] && exec claude --version\ntee -a ../heard.jsonl | claude "$@"\n`;
      const sent = async (): Promise<unknown> =>
        driver === 'runner' &&
        until('the agent is sent it', () => known?.workspace.read(heard).includes('Mind the BLUE-DOOR.'));
      const files = { '.claude/settings.local.json': JSON.stringify(noting) };
      await inLoopProject({ frontmatter, files, standIn }, script(user, sent), async (project) => {
        known = project;
        const env = { RALPH_CLAUDE: project.workspace.write('../bin/heard-claude', wrapper, 0o755) };
        const run = driver === 'launcher' ? await project.run() : await runRunner(project, { env });
        project.model.check();
        const lines = 'messages' in run ? run.messages : [];
        const said = lines.flatMap(({ subtype, content }) => (subtype === 'informational' ? [content] : []));
        seen.push({
          code: run.code,
          noted: noted(project),
          conversation: conversation(project.model.mainRequests()),
          stream: read(lines),
          said,
          events: project.events().map(({ type }) => type),
          calls: project.calls().map(({ phase, tool, rule }) => [phase, tool, rule]),
          iterations: project.iterations().map(({ outputTokens, toolCalls }) => [outputTokens, toolCalls]),
        });
      });
    }
    assert.deepEqual(steady(seen[1]), steady(seen[0]));
  });
}
