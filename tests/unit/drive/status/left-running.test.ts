import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isAgents } from '../../../../src/drive/status/left-running.ts';

test('a program of the agent is told from client, servers and hooks by its variables, in every client', () => {
  const isOurs = (...more: readonly string[]): boolean => isAgents(['RALPH_LOOP_ID=l', ...more], 'l');
  assert.equal(isOurs('RALPH_ACTIVE=0'), true, 'Claude Code, and Codex if it was launched');
  assert.equal(isOurs('RALPH_ACTIVE=1', 'CODEX_CI=1'), true, 'a shell of a Codex that was begun by hand');
  assert.equal(isOurs('RALPH_ACTIVE=1', 'GEMINI_CLI=1', 'GIT_PAGER=cat'), true, 'a shell of Gemini CLI');
  assert.equal(isOurs('RALPH_ACTIVE=1', 'GEMINI_CLI=1'), false, 'control: an MCP server of Gemini CLI');
  assert.equal(isOurs('RALPH_ACTIVE=1'), false, 'control: a client');
  assert.equal(isAgents(['RALPH_LOOP_ID=other', 'RALPH_ACTIVE=0'], 'l'), false, 'control: another loop');
});
