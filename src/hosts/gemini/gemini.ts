import { RalphError } from '../../text/message.ts';
import { type Host, onlyInClaudeCode, type SessionTerms } from '../host.ts';
import { namedClient } from '../named-client.ts';
import { USER_HOOKS } from './user-hooks.ts';

/** Oldest supported Gemini CLI: the first one whose hooks were measured. */
const OLDEST = '0.61.0';

/** Google's Gemini CLI: loops in sessions, by hooks of the user's settings. */
export const GEMINI: Host = {
  name: 'gemini',
  title: 'Gemini CLI',
  oldest: OLDEST,
  requireClient: (env) =>
    namedClient(env, {
      title: 'Gemini CLI',
      program: 'gemini',
      variable: 'RALPH_GEMINI',
      oldest: OLDEST,
      install: 'npm install -g @google/gemini-cli',
    }),
  requireArgs,
  hookArgs: async () => [],
  iterations: null,
  sessionArgs,
  sessionEnv: () => ({}),
  // Its transcript has no errors.
  sessionError: () => null,
  endsTurns: true,
  printsMessages: () => true,
  byHand: ['RALPH_ACTIVE=1', 'gemini'],
  modeText: (permissionMode) =>
    `Gemini CLI runs with its approval mode ${approvalFor(permissionMode)} (permission mode ${permissionMode ?? 'default'}).`,
  readsClaudeSettings: false,
  confines: true,
  userHooks: USER_HOOKS,
  cannot: onlyInClaudeCode('-- --sandbox turns on. Set sandbox.mode to auto.'),
  topics: {
    'loop with a new client for each iteration': 'refused; as a command, `--agent "CMD"`, without a guard',
    'loop inside one session':
      '`start --task TASK --launch --agent gemini`, also headless, and by hand; both after `init --gemini`',
    guard:
      'shell commands, file tools, MCP tools and others; a crashed hook refuses the call, one that exceeds its 600 seconds lets it run; `GITHUB_SHA` or `SURFACE=Github` in a `.env` file of the project, of a folder above it or of your home switches the hooks off',
    'input to running commands': 'the client has no tool for it',
    steering: 'a message reaches the agent with the result of its next tool call',
    interruption: 'the next call ends the turn',
    'permission mode':
      'acceptEdits: auto_edit; bypassPermissions: yolo; plan: plan; others: default, which denies what it would ask about when headless; `may_run` does nothing',
    tokens: 'at each tool call and at the end of each turn, from the transcript',
    cost: 'unknown; `max_cost` is refused',
    'rate limits and API errors':
      'Gemini CLI retries by itself; a turn that fails has no hook and leaves no record, so the session ends and you resume the loop',
    subagents: 'not measured',
    'background work': 'not awaited',
  },
};

const APPROVALS: Readonly<Record<string, string>> = {
  acceptEdits: 'auto_edit',
  bypassPermissions: 'yolo',
  plan: 'plan',
};

function approvalFor(permissionMode: string | null): string {
  return APPROVALS[permissionMode ?? ''] ?? 'default';
}

function sessionArgs({ permissionMode, model, own, headless, session, prompt }: SessionTerms): readonly string[] {
  return [
    `--approval-mode=${approvalFor(permissionMode)}`,
    ...(model === null ? [] : [`--model=${model}`]),
    ...own,
    ...(session === null ? [] : [`--resume=${session}`]),
    `${headless ? '--prompt' : '--prompt-interactive'}=${withoutReferences(prompt)}`,
  ];
}

/** Returns a prompt of which Gemini CLI puts no file in place of `@PATH`: it would read one without asking a hook (measured). */
function withoutReferences(prompt: string): string {
  return prompt.replace(/(?<!\\)@/g, '\\@');
}

/** Options that the loop sets itself, or that would take the session out of it. */
const REFUSED =
  /^(?:-p|--prompt|-i|--prompt-interactive|-r|--resume|--session-(?:id|file)|-w|--worktree|-y|--yolo|--approval-mode|--acp|--experimental-acp|-l|--list-.*|--delete-session|-h|--help|-v|--version)(?:=|$)/;

function requireArgs(words: readonly string[]): void {
  const word = words.find((each) => REFUSED.test(each));
  if (word === undefined) return;
  throw new RalphError(
    'usage',
    `-- ${word}: the loop sets this option of Gemini CLI itself, or could not work with it.`,
  );
}
