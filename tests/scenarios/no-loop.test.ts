import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { DIST, project } from '../support/project.ts';
import { someOf } from '../support/short-form.ts';

const NO_LOOP = JSON.stringify({
  systemMessage:
    'ralph-loop: RALPH_ACTIVE=1 is set, but there is no loop and no .claude/ralph/PROMPT.md, so this session runs without a loop. Create the task: ralph-loop init. Or start a loop: ralph-loop start.',
});

const HOOKS: readonly (readonly [file: string, payload: Record<string, unknown>])[] = [
  ['ralph-stop-hook', { hook_event_name: 'Stop', last_assistant_message: 'Done.' }],
  ['ralph-stop-hook', { hook_event_name: 'Stop', background_tasks: [{ id: 'b1', status: 'running' }] }],
  ['user-prompt-submit', { hook_event_name: 'UserPromptSubmit', prompt: 'Hello.', prompt_id: 'p1' }],
  ['session-start', { hook_event_name: 'SessionStart', source: 'startup' }],
  ['session-start', { hook_event_name: 'SessionStart', source: 'resume' }],
  ['stop-failure', { hook_event_name: 'StopFailure', error: 'rate_limit' }],
  ['pre-tool-use', { hook_event_name: 'PreToolUse', tool_name: 'Bash', tool_input: { command: 'echo a' } }],
  ['post-tool-use', { hook_event_name: 'PostToolUse', tool_name: 'Bash', tool_input: { command: 'echo a' } }],
];

test('Under RALPH_ACTIVE=1 a hook without a loop leaves no trace, and only a new session says so.', (t) => {
  const made = project(t);
  made.write('src/a.ts', 'export {};\n');
  const before = made.tree();
  for (const [file, payload] of HOOKS) {
    const hook = join(DIST, 'hooks', `${file}.cjs`);
    const input = JSON.stringify({ session_id: 's1', cwd: made.dir, transcript_path: '/none', ...payload });
    const answer = made.sh(`'${process.execPath}' '${hook}'`, input, {
      RALPH_ACTIVE: '1',
      CLAUDE_PROJECT_DIR: made.dir,
    });
    const says = payload['source'] === 'startup' ? NO_LOOP : '';
    assert.deepEqual([answer.code, answer.stdout.trim(), answer.stderr], [0, says, ''], file);
    assert.deepEqual(made.tree(), before, `${file} ${payload['hook_event_name']}`);
  }
});

test('A command to a missing loop leaves no trace either.', (t) => {
  const made = project(t);
  for (const command of someOf(['pause', 'resume', 'stop', 'cancel', 'wake', 'status'], 3)) {
    made.ralph([command]);
    assert.deepEqual(made.tree(), {}, command);
  }
});
