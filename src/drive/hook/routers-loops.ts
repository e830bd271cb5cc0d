import { readdirSync } from 'node:fs';
import { LOOP_NAME, loopFiles } from '../../state/loop-files.ts';
import type { DriverContext } from '../turn/context.ts';

interface Answer {
  readonly continue?: false;
  readonly hookSpecificOutput?: { readonly permissionDecision?: 'deny'; readonly additionalContext?: string };
}

/**
 * Lets a tool hook decide for the loop that its environment names, or, in a subagent of router mode, which no
 * environment names a loop, for each loop of the project: the first that refuses the call answers, and what several have
 * to say to the agent is said together.
 */
export async function overLoops<T extends Answer>(
  context: DriverContext,
  decide: (context: DriverContext) => Promise<T | null> | T | null,
): Promise<T | null> {
  if (context.env['RALPH_DRIVER'] !== 'router') return decide(context);
  let answer: T | null = null;
  for (const files of loopsHere(context)) {
    const own = await decide({ ...context, files });
    if (own === null) continue;
    if (own.continue === false || own.hookSpecificOutput?.permissionDecision === 'deny') return own;
    answer = answer === null ? own : together(answer, own);
  }
  return answer;
}

function together<T extends Answer>(one: T, other: T): T {
  const said = [one, other].map(({ hookSpecificOutput }) => hookSpecificOutput?.additionalContext ?? '');
  return { ...one, hookSpecificOutput: { ...one.hookSpecificOutput, additionalContext: said.join('\n') } };
}

function loopsHere({ files, env }: DriverContext): (typeof files)[] {
  let entries: string[];
  try {
    entries = readdirSync(files.runtimeDir);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error; // a guard that cannot look refuses the call
  }
  // A loop that was just cancelled has left its state, and the agent that works on it is to hear so.
  const names = entries.flatMap((entry) => {
    const found = /^ralph-(?:state(?:\.(.+))?\.json|archive(?:\.(.+))?)$/.exec(entry);
    const name = found?.[1] ?? found?.[2] ?? null;
    return found === null || (name !== null && !LOOP_NAME.test(name)) ? [] : [name];
  });
  return [...new Set(names)].map((name) => loopFiles(files.projectDir, name, env));
}
