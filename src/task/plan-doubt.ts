import type { Problem } from './problem.ts';
import type { SplitText } from './split-frontmatter.ts';

/** A task of a plan, as people write it. */
const TASK = /^ {0,3}[-*+] \[[ xX]\] (?:\((?:blocked|manual-verify)\) )?(?:\*\*)?Task \S+:/m;
const ACCEPTANCE = /^\s+[-*+] (?:\*\*)?Acceptance:/m;

/** What a prompt file says that was probably meant as a plan, to be executed task by task; null for every other. */
export function planDoubt({ body, bodyLine }: SplitText): Problem | null {
  const task = TASK.exec(body);
  if (task === null || !ACCEPTANCE.test(body)) return null;
  return {
    path: '',
    line: bodyLine + body.slice(0, task.index).split('\n').length - 1,
    column: 1,
    value: null,
    rule: 'plan-as-prompt',
    message:
      'this is a plan of tasks, and would be sent to the agent whole. To have it executed task by task give --plan; main.cjs plan check tells what is wrong with it.',
    severity: 'warning',
  };
}
