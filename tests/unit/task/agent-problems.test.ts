import assert from 'node:assert/strict';
import { test } from 'node:test';
import { agentProblems } from '../../../src/task/settings/check-settings.ts';

test('an agent command that starts Claude Code itself is refused with what to do, however it is started', () => {
  for (const agent of [
    'claude -p --dangerously-skip-permissions',
    '/usr/local/bin/claude -p',
    'npx -y @anthropic-ai/claude-code -p',
    'npx @anthropic-ai/claude-code@2.1.330',
    'env ANTHROPIC_MODEL=opus claude -p',
    'ANTHROPIC_MODEL=opus claude -p',
    'timeout 60 claude -p',
    "sh -c 'claude -p'",
    'cat - | claude -p',
    'node node_modules/@anthropic-ai/claude-code/cli.js -p',
  ]) {
    const [problem] = agentProblems({ agent });
    assert.equal(problem?.severity, 'error', agent);
    assert.match(problem?.message ?? '', /Leave the key out: ralph-loop starts Claude Code, with guard and cost\.$/);
  }
});

test('control: other agents are allowed, even with the name of the client among their arguments', () => {
  for (const agent of ['codex exec -', './agent.sh claude', 'aider --model claude', 'my-claude -p', 'cat > claude', ''])
    assert.deepEqual(agentProblems({ agent }), [], agent);
  assert.deepEqual(agentProblems({}), []);
});
