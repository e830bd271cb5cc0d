import type { LoopProject } from './loop-project.ts';

/**
 * An agent for RALPH_CLAUDE that is the real client in its first run, and in every later one a script that ends its turn at once with `says`:
 * of a limit in seconds that the first is to run into, the next one stays clear on any machine. `prompt` is what the script was told last.
 */
export const thenQuick = (
  { workspace }: LoopProject,
  says: string,
): { readonly env: { readonly RALPH_CLAUDE: string }; readonly prompt: () => string } => {
  const [first, told] = ['began', 'prompt.jsonl'].map((name) => workspace.path(`../${name}`));
  const answer = JSON.stringify(says);
  const lines = [
    '{"type":"system","subtype":"init","session_id":"quick","model":"quick"}',
    `{"type":"assistant","message":{"content":[{"type":"text","text":${answer}}]}}`,
    `{"type":"result","subtype":"success","is_error":false,"terminal_reason":"completed","num_turns":1,"result":${answer},"total_cost_usd":0,"modelUsage":{}}`,
  ];
  const script = [
    '#!/bin/sh',
    '[ "$1" = --version ] && exec claude --version',
    `[ -e '${first}' ] || { : > '${first}'; exec claude "$@"; }`,
    'IFS= read -r prompt || exit 1',
    `printf '%s\\n' "$prompt" > '${told}'`,
    ...lines.map((line) => `printf '%s\\n' '${line}'`),
    '',
  ];
  const path = workspace.write('../bin/then-quick', script.join('\n'), 0o755);
  return { env: { RALPH_CLAUDE: path }, prompt: () => workspace.read(told ?? '') };
};
