import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { fakeClient } from '../support/fake-client.ts';
import { DIST, type Project, project } from '../support/project.ts';

const REFUSED =
  /Claude Code 2\.1\.212 .* is not supported: ralph-loop needs 2\.1\.213 or newer\. Update it: .*@2\.1\.213/;

/** Calls a hook as a client does that does not name its process. */
function hook(p: Project, name: string, payload: object) {
  const { code, stdout, stderr } = p.sh(
    `exec node '${join(DIST, 'hooks', `${name}.cjs`)}'`,
    JSON.stringify({ session_id: 'session-1', cwd: p.dir, transcript_path: join(p.home, 'none.jsonl'), ...payload }),
    { RALPH_ACTIVE: '1', CLAUDE_PROJECT_DIR: p.dir },
  );
  assert.equal(code, 0, stderr);
  return stdout === '' ? null : (JSON.parse(stdout) as Record<string, unknown>);
}

test('start, the launcher and run refuse a client below the floor and change nothing', (context) => {
  const p = project(context);
  p.ralph(['init']);
  p.write('.claude/ralph/PROMPT.md', 'Work.\n');
  const env = fakeClient(p, '2.1.212');
  const before = p.tree();
  const refusals = [
    p.ralph(['start', '--launch', '--headless', '--permission-mode', 'acceptEdits'], env),
    p.ralph(['start'], env),
    p.ralph(['run', '--permission-mode', 'acceptEdits'], env),
    p.sh('.claude/ralph/ralph-audit.sh --headless --permission-mode acceptEdits', '', env),
  ];
  for (const { code, stderr } of refusals) {
    assert.equal(code, 1, stderr);
    assert.match(stderr, REFUSED);
  }
  assert.deepEqual(p.tree(), before);
});

test('control: start needs no client on the PATH, and says what a plan mode cannot do', (context) => {
  const p = project(context);
  p.write('.claude/ralph/PROMPT.md', 'Work.\n');
  const { code, stderr } = p.ralph(['start', '--permission-mode', 'plan']);
  assert.equal(code, 0);
  assert.match(stderr, /In plan mode the agent can change nothing/);
});

test('control: run starts the oldest supported client', (context) => {
  const p = project(context);
  p.write('.claude/ralph/PROMPT.md', 'Work.\n');
  const env = { ...fakeClient(p, '2.1.213'), RALPH_RETRY_WAIT: '10ms' };
  const { stderr } = p.ralph(['run', '--permission-mode', 'acceptEdits'], env);
  assert.doesNotMatch(stderr, /not supported/);
  assert.ok(p.has('.claude/context/runtime'));
});

test('a cancelled loop whose client did not name its process is stopped at the next tool call', (context) => {
  const p = project(context);
  p.write('.claude/ralph/PROMPT.md', "---\nguardrails:\n  block_commands: ['git\\s+push']\n---\nWork.\n");
  assert.equal(p.ralph(['start']).code, 0);
  hook(p, 'session-start', { hook_event_name: 'SessionStart', source: 'startup' });
  hook(p, 'ralph-stop-hook', { hook_event_name: 'Stop', last_assistant_message: 'Some work.' });
  const push = { hook_event_name: 'PreToolUse', tool_name: 'Bash', tool_input: { command: 'git push origin' } };
  const denied = hook(p, 'pre-tool-use', push);
  assert.match(JSON.stringify(denied), /blocked by guardrail/);
  assert.equal(p.ralph(['cancel']).code, 0);
  const ended = hook(p, 'pre-tool-use', push);
  assert.equal(ended?.['continue'], false, JSON.stringify(ended));
  assert.match(JSON.stringify(ended), /"permissionDecision":"deny"/);
});

test('after a cancel the calls of subagents in the background stay refused until the last one ends', (context) => {
  const p = project(context);
  p.write('.claude/ralph/PROMPT.md', 'Work.\n');
  assert.equal(p.ralph(['start']).code, 0);
  hook(p, 'session-start', { hook_event_name: 'SessionStart', source: 'startup' });
  const stop = (status: string, type = 'subagent') =>
    hook(p, 'ralph-stop-hook', {
      hook_event_name: 'Stop',
      last_assistant_message: 'Some work.',
      background_tasks: [{ id: 'one', type, status, command: 'sleep 9' }],
    });
  const call = { hook_event_name: 'PreToolUse', tool_name: 'Bash', tool_input: { command: 'touch made' } };
  const isRefused = (): boolean => hook(p, 'pre-tool-use', call)?.['continue'] === false;
  const prompt = (text: string) =>
    hook(p, 'user-prompt-submit', { hook_event_name: 'UserPromptSubmit', prompt: text, prompt_id: 'next' });
  stop('completed');
  assert.equal(p.ralph(['cancel']).code, 0);
  stop('running');
  assert.equal(isRefused(), true, 'after the turn');
  prompt('<task-notification>one of two is done</task-notification>');
  assert.equal(isRefused(), true, 'in the turn that the end of another one begins');
  stop('running', 'shell');
  assert.equal(isRefused(), false, 'once only a shell is left');
});

test("a loop started by hand gets its prompt once as context, whatever the client's version", (context) => {
  const p = project(context);
  p.write('.claude/ralph/PROMPT.md', '---\nreinject: context\n---\nWork by the file.\n');
  assert.equal(p.ralph(['start']).code, 0);
  hook(p, 'session-start', { hook_event_name: 'SessionStart', source: 'startup' });
  const answer = hook(p, 'ralph-stop-hook', { hook_event_name: 'Stop', last_assistant_message: 'Some work.' });
  assert.match(JSON.stringify(answer?.['hookSpecificOutput']), /Work by the file\./);
  assert.doesNotMatch(String(answer?.['reason']), /Work by the file/);
});
