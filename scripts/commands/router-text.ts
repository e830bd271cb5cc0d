import { withStatus } from '../../src/core/with-status.ts';
import type { RouterAnswer } from '../../src/drive/router/answer.ts';
import { said } from '../../src/drive/texts.ts';
import { printable } from '../../src/term/printable.ts';

/** An answer of the router for people. */
export function routerText(answer: RouterAnswer): string {
  const notes = answer.notes.map((note) => said(printable(note)));
  switch (answer.action) {
    case 'spawn': {
      const { iteration, maxIterations, agentType, spawn, prompt } = answer;
      const head = `spawn ${spawn}: iteration ${iteration} of ${maxIterations}, for a subagent of type ${agentType}.`;
      return [...notes, said(head), printable(answer.next), '', printable(prompt)].join('\n');
    }
    case 'wait':
      return [
        ...notes,
        said(`wait (${answer.why}): ${printable(answer.message)}`),
        ...(answer.commands ?? []).map((run) => `  ${printable(run)}`),
      ].join('\n');
    case 'stop':
      return [...notes, said(withStatus(answer.status, printable(answer.message)))].join('\n');
    default:
      return answer satisfies never;
  }
}
