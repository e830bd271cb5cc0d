import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSigns } from '../../engine/prompt/signs.ts';
import { regularFile, TASK_FILE_BYTES } from '../../state/files/regular-file.ts';
import { GUARDRAILS } from '../../task/task-file.ts';
import { printable } from '../../term/format.ts';
import { RalphError } from '../../text/message.ts';
import type { Command, CommandContext } from '../command.ts';

export const SIGNS_COMMAND: Command = {
  name: 'signs',
  usage: '',
  help: `Lists the signs of ${GUARDRAILS}: lessons from the failures of earlier iterations.`,
  example: 'ralph-loop signs --json',
  run(context) {
    const signs = parseSigns(read(join(context.projectDir, GUARDRAILS)));
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

function read(path: string): string {
  try {
    return readFileSync(regularFile(path, TASK_FILE_BYTES), 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return '';
    if (code === 'EFBIG') throw new RalphError('refused', message, error);
    throw error;
  }
}
