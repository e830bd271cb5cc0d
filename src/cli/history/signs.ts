import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseSigns } from '../../engine/prompt/signs.ts';
import { GUARDRAILS } from '../../task/task-file.ts';
import { printable } from '../../term/format.ts';
import { readTaskText } from '../choose-loop.ts';
import type { Command, CommandContext } from '../command.ts';

export const SIGNS_COMMAND: Command = {
  name: 'signs',
  usage: '',
  help: `Lists the signs of ${GUARDRAILS}: lessons from the failures of earlier iterations.`,
  example: 'ralph-loop signs --json',
  run(context) {
    const path = join(context.projectDir, GUARDRAILS);
    const signs = parseSigns(existsSync(path) ? readTaskText(path, GUARDRAILS) : '');
    context.answer({ file: GUARDRAILS, signs }, () => forReading(signs, context));
    return 0;
  },
};

function forReading(signs: ReturnType<typeof parseSigns>, { paint }: CommandContext): string {
  if (signs.length === 0) return `There are no signs in ${GUARDRAILS} yet.`;
  return signs
    .map(({ name, trigger, instruction, addedAfter }) =>
      [
        paint('bold', printable(name)),
        `  when   ${printable(trigger)}`,
        `  do     ${printable(instruction)}`,
        paint('dim', `  after  ${printable(addedAfter)}`),
      ].join('\n'),
    )
    .join('\n\n');
}
