import fc from '../../support/property.ts';
import type { Damage, Mutation } from './text.ts';
import { anyText, damage, damaged, junk, mutated, mutation, render, UNDAMAGED } from './text.ts';

export const SESSION = 'session-1';

/** What the client sends a hook, as generated. `@project@` and `@transcript@` stand for the paths of the case. */
export interface Payload {
  readonly parts: Record<string, unknown>;
  readonly mutations: readonly Mutation[];
  readonly damage: Damage;
}

const task = fc.record({
  id: fc.constantFrom<unknown>('t1', 't2', '', 5),
  status: fc.constantFrom<unknown>('running', 'completed', 'completed', 'completed', null),
  description: anyText,
});
const path = fc.oneof(
  { weight: 20, arbitrary: fc.constant<unknown>('@transcript@') },
  {
    weight: 1,
    arbitrary: fc.constantFrom<unknown>(
      ...['@project@', '@project@/none.jsonl', '@project@/\0', '@transcript@/x', '', null, '@long 5000 x@'],
    ),
  },
);

const parts: fc.Arbitrary<Record<string, unknown>> = fc.record({
  session_id: fc.oneof(
    { weight: 9, arbitrary: fc.constant<unknown>(SESSION) },
    { weight: 1, arbitrary: fc.constantFrom<unknown>('session-2', '', '__proto__', null) },
  ),
  transcript_path: path,
  cwd: fc.constantFrom<unknown>(...['@project@', '@project@', '@project@', '@project@/\0', 'relative', '', 7]),
  prompt_id: fc.constantFrom<unknown>('p1', 'p1', 'p2', null),
  last_assistant_message: fc.oneof(
    { weight: 9, arbitrary: anyText },
    { weight: 1, arbitrary: fc.constantFrom<unknown>(null, 5) },
  ),
  background_tasks: fc.oneof(
    { weight: 9, arbitrary: fc.constant<unknown>([]) },
    { weight: 1, arbitrary: fc.oneof(fc.array(task, { maxLength: 3 }), junk) },
  ),
  source: fc.constantFrom<unknown>('startup', 'startup', 'resume', 'clear', 'compact'),
  prompt: anyText,
  error: fc.oneof(fc.constantFrom<unknown>(null, 'server_error'), junk),
  tool_name: fc.constantFrom<unknown>('Bash', 'Write', 'Read', 'Glob', 'Grep', 'PowerShell', 'mcp__x__y', '', null),
  tool_input: fc.oneof(
    fc.record({ command: anyText, file_path: anyText }),
    fc.record({ command: fc.constantFrom('ls', 'rm -rf .claude', 'cat < .claude/context/runtime/ralph-state.json') }),
    junk,
  ),
  tool_use_id: fc.constantFrom<unknown>('c1', 'c2', null),
  agent_id: fc.constantFrom<unknown>(null, 'a1'),
});

export const payload: fc.Arbitrary<Payload> = fc.record({
  parts,
  mutations: fc.oneof(
    { weight: 3, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.array(mutation, { maxLength: 3 }) },
  ),
  damage: fc.oneof({ weight: 9, arbitrary: fc.constant(UNDAMAGED) }, { weight: 1, arbitrary: damage }),
});

/** What the hook finds on its standard input. */
export function payloadBytes(
  { parts: all, mutations, damage: how }: Payload,
  event: string,
  paths: { readonly project: string; readonly transcript: string },
): Buffer {
  const text = render(mutated({ hook_event_name: event, ...all }, mutations));
  return damaged(text.replaceAll('@project@', paths.project).replaceAll('@transcript@', paths.transcript), how);
}
