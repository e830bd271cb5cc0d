import { existsSync, statSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { checkTaskFile } from '../../task/frontmatter/check-task-file.ts';
import type { Problem } from '../../task/frontmatter/problem.ts';
import { DEFAULT_TASK, RALPH_FILE, taskFileIn } from '../../task/task-file.ts';
import { printable } from '../../term/paint.ts';
import { RalphError } from '../../text/ralph-error.ts';
import type { Command, CommandContext } from '../command.ts';
import { pathNamed, readTaskText } from '../task-place.ts';

export const CHECK_COMMAND: Command = {
  name: 'check',
  summary: 'Check a task file and report all problems.',
  usage: '[PATH]',
  help: `Checks a task file as start would, without starting anything. PATH is a task file, a task folder or the name of a loop directory; the default is ${DEFAULT_TASK}. The exit code is 1 if there is an error.`,
  example: 'ralph-loop check tasks/docs',
  options: {},
  control: false,
  run(context) {
    const [given, ...more] = context.positionals;
    if (more.length > 0) throw new RalphError('usage', 'check takes one file.');
    const named =
      given === undefined ? resolve(context.projectDir, DEFAULT_TASK) : resolve(pathNamed(context.projectDir, given));
    const isFolder = existsSync(named) && statSync(named).isDirectory();
    const inside = (isFolder ? taskFileIn(named) : null) ?? RALPH_FILE;
    const path = isFolder ? join(named, inside) : named;
    const shown = given !== undefined && resolve(given) !== named ? relative(process.cwd(), named) : given;
    const file = isFolder ? join(shown ?? '', inside) : (shown ?? DEFAULT_TASK);
    const { kind, problems } = checkTaskFile(path, readTaskText(path, file, howToGet(file)));
    const ok = !problems.some(({ severity }) => severity === 'error');
    context.answer({ ok, file, kind, problems }, () => forReading(file, problems, context));
    return ok ? 0 : 1;
  },
};

function howToGet(file: string): string {
  return file === DEFAULT_TASK
    ? 'ralph-loop init writes one to fill in.'
    : 'Name a task file or a task folder; ralph-loop scaffold NAME makes one.';
}

function forReading(file: string, problems: readonly Problem[], { paint }: CommandContext): string {
  if (problems.length === 0) return `${file} is fine.`;
  return problems
    .map(({ line, column, severity, message }) => {
      const place = line === null ? file : `${file}:${line}:${column ?? 1}`;
      return `${place}: ${paint(severity === 'error' ? 'red' : 'yellow', severity)}: ${printable(message)}`;
    })
    .join('\n');
}
