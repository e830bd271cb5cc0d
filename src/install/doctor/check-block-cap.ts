import { type Examined, type Finding, fine } from './finding.ts';

const CHECK = 'block-cap';
const VARIABLE = 'CLAUDE_CODE_STOP_HOOK_BLOCK_CAP';

/** The client overrides the ninth block in a row without a tool call, unless this variable says otherwise. */
export function checkBlockCap({ env, sources }: Examined): Finding[] {
  const set = sources.flatMap(({ value, path }): Finding[] => {
    const cap = (value['env'] as Record<string, unknown> | undefined)?.[VARIABLE];
    if (cap === undefined || String(cap) === '0') return [];
    const message = `${path} sets ${VARIABLE} to ${String(cap)}: a loop started by hand ends at that many blocks without a tool call.`;
    return [{ check: CHECK, level: 'warning', message, mend: 'take it out, or start loops through the launcher.' }];
  });
  if (set.length > 0) return set;
  const inSettings = sources.some(
    ({ value }) => (value['env'] as Record<string, unknown> | undefined)?.[VARIABLE] !== undefined,
  );
  if (env[VARIABLE] === '0' || inSettings) return [fine(CHECK, `${VARIABLE} is 0.`)];
  const mend = `export ${VARIABLE}=0`;
  if (env['RALPH_ACTIVE'] === '1' || env[VARIABLE] !== undefined) {
    const message = `${VARIABLE} is ${env[VARIABLE] ?? 'not set'} here: a loop started by hand ends at the ninth iteration in a row without a tool call.`;
    return [{ check: CHECK, level: 'warning', message, mend }];
  }
  return [fine(CHECK, `the launcher sets ${VARIABLE}. For a start by hand: ${mend}`)];
}
