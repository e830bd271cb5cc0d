import { atLeast } from '../../text/version.ts';
import type { Host } from '../host.ts';
import { startAgent } from './agent/start-claude.ts';
import { requireClientArgs } from './client-args.ts';
import { claudeSession, prepareClaude } from './client-options.ts';
import { failOpenText, OLDEST_CLIENT, requireClient } from './find-client.ts';
import { apiFailure, lastApiError } from './transcript/api-failure.ts';

/** Oldest client that is known to print a Stop hook's messages under `-p`; for older ones the launcher repeats them. */
const PRINTS_MESSAGES = '2.1.250';

/** The reference host. */
export const CLAUDE_CODE: Host = {
  name: 'claude-code',
  title: 'Claude Code',
  oldest: OLDEST_CLIENT,
  requireClient,
  requireArgs: requireClientArgs,
  hookArgs: async () => [],
  iterations: {
    prepare: prepareClaude,
    start: (sessionId, options) => startAgent({ ...options, args: [...options.args, '--session-id', sessionId] }),
  },
  sessionArgs: claudeSession,
  sessionEnv: () => ({}),
  sessionError: (path) => {
    const noted = lastApiError(path);
    return noted === null ? null : { ...apiFailure({}, path), at: noted.at };
  },
  endsTurns: true,
  printsMessages: (version) => version === null || atLeast(version, PRINTS_MESSAGES),
  byHand: ['RALPH_ACTIVE=1 CLAUDE_CODE_STOP_HOOK_BLOCK_CAP=0', 'claude'],
  startTexts: (version) => {
    const text = failOpenText(version);
    return text === null ? [] : [`${text} Update it: claude update.`];
  },
  readsClaudeSettings: true,
  confines: false,
  cannot: [],
  topics: {
    'loop with a new client for each iteration': '`run TASK`',
    'loop inside one session': '`start`, the plugin, or a router',
    guard: 'every tool, by the hooks of the loop; a crashed hook refuses the call from 2.1.295 on',
    'input to running commands': 'the client has no tool for it',
    steering: 'a message reaches the agent at its next tool call',
    interruption: 'the client ends its turn and reports its figures',
    'permission mode': "the client's own modes; commands of `may_run` are allowed besides",
    tokens: 'while the agent works',
    cost: 'as the client reports it; `max_cost` ends a run within it',
    'rate limits and API errors': 'from the stream, with the time of the reset',
    subagents: 'guarded and counted',
    'background work': 'awaited for `background_wait`',
  },
};
