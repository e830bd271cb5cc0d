import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { readMessages } from '../../src/hosts/claude/agent/read-messages.ts';
import { lastApiError } from '../../src/hosts/claude/transcript/transcript.ts';
import { type RunningClient, runClient, startClient } from '../support/client/client.ts';
import { CLIENT } from '../support/client/client-facts.ts';
import { inLoopProject, type LoopProject } from '../support/client/loop-project.ts';
import { runRunner } from '../support/client/runner.ts';
import { createWorkspace, type JsonObject, type Workspace } from '../support/client/workspace.ts';
import type { ModelRequest, Reply, Script, ScriptedModel } from '../support/model/scripted-model.ts';
import {
  bash,
  rateLimited,
  startScriptedModel,
  status,
  steps,
  text,
  together,
  tool,
} from '../support/model/scripted-model.ts';
import { longTest } from '../support/short-form.ts';
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

/** What our hooks never look at: the effort, how a tool words its result, what a resumed session would cost. */
const UNREAD = new Set(
  'effort duration_ms tool_response context_tokens estimated_cache_write_usd prompt_cache_likely_expired seconds_since_last_response'.split(
    ' ',
  ),
);

/** What a hook is given, without that, and without what a loop may be too fast for: the end of a session, and a cancelled one of a runner. */
const noted = (workspace: Workspace, driver: 'launcher' | 'runner' = 'launcher'): unknown => {
  const lines = workspace.jsonLines('../noted');
  const raced = driver === 'runner' ? 'SessionStart' : 'SessionEnd';
  const at = lines.findLastIndex(({ hook_event_name: event }) => event === raced);
  const whole = at === -1 ? lines : lines.slice(0, at);
  return whole.map((line) => steady(Object.fromEntries(Object.entries(line).filter(([name]) => !UNREAD.has(name)))));
};

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
        // A newer client frames the reason of a block.
        .replace(/^<system-reminder>\n[^\n]* is the output of a hook [^\n]*\n([\s\S]*)\n<\/system-reminder>\s*$/, '$1')
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
          noted: noted(project.workspace, driver),
          conversation: conversation(project.model.mainRequests()),
          stream: read(lines),
          said,
          events: project.events().map(({ type }) => type),
          calls: project.calls().map(({ phase, tool, rule }) => [phase, tool, rule]),
          // A session's client may write its last message into the transcript only after the Stop.
          iterations: project
            .iterations()
            .map(({ outputTokens, toolCalls }) => [
              driver === 'runner' ? outputTokens : outputTokens !== null,
              toolCalls,
            ]),
        });
      });
    }
    assert.deepEqual(steady(seen[1]), steady(seen[0]));
  });
}

const notAgain = { headers: { 'x-should-retry': 'false' } };
const failures: readonly Reply[] = [
  status(400),
  status(400, { message: 'Your credit balance is too low to access the Anthropic API.' }),
  status(401),
  status(429, notAgain),
  status(500),
  status(529, notAgain),
  status(529),
];
const login = { ANTHROPIC_API_KEY: undefined, CLAUDE_CODE_OAUTH_TOKEN: 'sk-ant-oat01-made-up' };
const settings = {
  hooks: Object.fromEntries(
    ['SessionStart', 'StopFailure'].map((event) => [event, [{ hooks: [{ type: 'command', command: NOTE }] }]]),
  ),
};

/** Gives a client one prompt for each of these replies, and tells how often it asked for it and what it recorded. */
const answered = async (client: RunningClient, replies: readonly Reply[], turn: Turn): Promise<unknown[]> => {
  const seen: unknown[] = [];
  for (const [index, reply] of replies.entries()) {
    const before = turn.model().requests.length;
    turn.reply = reply;
    const message = { role: 'user', content: [{ type: 'text', text: `prompt ${index}` }] };
    client.send({ type: 'user', message, uuid: randomUUID() });
    await until('its result', () => client.soFar().split('"type":"result"').length > index + 1);
    // A request that is refused as such is made again in other forms.
    const asked = turn.reply === failures[0] ? null : turn.model().requests.length - before;
    seen.push([asked, lastApiError(turn.workspace.transcripts()[0] ?? null)]);
  }
  // Its own end would end the hook of the last failure.
  const failed = replies.filter(({ kind }) => kind === 'status').length;
  await until('each hook has noted it', () => turn.workspace.read('../noted').split('"env":').length === failed + 2);
  client.endInput();
  return seen;
};

type Turn = { reply: Reply; readonly workspace: Workspace; readonly model: () => ScriptedModel };

/** Without the words in which the client tells the time of a reset, and without times of its own. */
const timeless = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(steady(value))
      .replace(/ · resets [^"]*/g, ' · resets')
      .replace(/"at":"[^"]*"/g, '"at":"TIME"')
      .replace(/127\.0\.0\.1:\d+/g, 'HOST'),
  );

/** When the client tells that it has received a prompt differs. */
const readUnordered = (lines: readonly JsonObject[]): unknown =>
  (read(lines) as { readonly kind: string }[]).filter(({ kind }) => kind !== 'acknowledged');

if (CLIENT.recordsStops)
  longTest(
    'the stand-in treats errors of the API, a limit of turns and a resumed session as the client does',
    async () => {
      const resetsAt = Math.floor(Date.now() / 1000) + 300;
      const seen: unknown[] = [];
      for (const standIn of [false, true]) {
        const facts: unknown[] = [];
        for (const [env, replies, more] of [
          [{}, [text('fine'), ...failures], []],
          [login, [text('fine'), bash('echo one'), rateLimited(resetsAt)], ['--max-turns', '1']],
        ] as const) {
          const workspace = createWorkspace({ standIn });
          const turn: Turn = { reply: text('unset'), workspace, model: () => model };
          const model = await startScriptedModel({ main: () => turn.reply });
          try {
            const streamed = ['--input-format', 'stream-json', '--replay-user-messages', '--include-partial-messages'];
            const args = [...streamed, '--include-hook-events', ...more];
            const options = { workspace, model, settings, env, fromPath: true };
            const client = startClient({ ...options, args });
            const told = await answered(client, replies, turn);
            const run = await client.done;
            turn.reply = text('on it');
            const session = String(run.result?.['session_id']);
            const resumed = await runClient({ ...options, prompt: 'go on', args: ['--resume', session] });
            facts.push({
              told,
              code: [run.code, resumed.code],
              stream: readUnordered([...run.messages, ...resumed.messages]),
              noted: noted(workspace),
              conversation: conversation(model.mainRequests()),
            });
          } finally {
            await model.close();
            workspace.cleanup();
          }
        }
        seen.push(facts);
      }
      assert.deepEqual(timeless(seen[1]), timeless(seen[0]));
    },
  );
