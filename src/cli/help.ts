import manifest from '../../package.json' with { type: 'json' };
import { COMMON_OPTIONS, type Command, type OptionDefinition } from './command.ts';

const COLUMNS = 80;

const GROUPS: Readonly<Record<string, string>> = {
  'Run a loop': 'run start resume router fleet',
  'Steer it': 'steer pause wake stop cancel undo accept reset',
  'Look at it': 'status attach dashboard report verify list explain logs signs archive worktree statusline',
  'Write a task': 'draft scaffold check plan tdd',
  'Set up': 'init doctor config completion uninit',
};

export function commandHelp({ name, usage, help, options = {}, example }: Command): string {
  const own = rowsOf(options);
  const common = rowsOf(COMMON_OPTIONS);
  const width = Math.max(...[...own, ...common].map(([left]) => left.length));
  return [
    ...hanging(`Usage: ralph-loop ${name} `, usage),
    '',
    ...hanging('', help),
    ...(own.length === 0 ? [] : ['', 'Options:', ...own.flatMap((row) => optionLines(row, width))]),
    '',
    'Common options:',
    ...common.flatMap((row) => optionLines(row, width)),
    '',
    `Example: ${example}`,
  ].join('\n');
}

function rowsOf(options: Readonly<Record<string, OptionDefinition>>): (readonly [string, string])[] {
  return Object.entries(options).map(([name, option]) => {
    const short = option.short === undefined ? '' : `-${option.short}, `;
    const value = option.type === 'string' ? ` ${option.value ?? 'VALUE'}` : '';
    return [`${short}--${name}${value}`, option.help];
  });
}

function optionLines([left, right]: readonly [string, string], width: number): string[] {
  return hanging(`  ${left.padEnd(width)}  `, right);
}

/** Wraps words after a label and indents continuation lines by the label's width. */
function hanging(label: string, text: string): string[] {
  const lines: string[] = [];
  let line = label;
  for (const word of text.split(/\s+/)) {
    const isStart = line.length <= label.length;
    if (!isStart && line.length + 1 + word.length > COLUMNS) {
      lines.push(line);
      line = ' '.repeat(label.length) + word;
    } else line += isStart ? word : ` ${word}`;
  }
  return [...lines, line.trimEnd()];
}

export function commandList(commands: readonly Command[]): string {
  const width = Math.max(0, ...commands.map(({ name }) => name.length));
  const groups = Object.entries(GROUPS).flatMap(([title, names]) => [
    `${title}:`,
    ...names.split(' ').map((name) => {
      const summary = commands.find((command) => command.name === name)?.summary ?? '';
      return `  ${name.padEnd(width)}  ${summary}`;
    }),
  ]);
  return [
    'Usage: ralph-loop COMMAND [options] | --version',
    ...groups,
    'Begin: ralph-loop run "fix the failing tests". Help: ralph-loop COMMAND --help.',
  ].join('\n');
}

export const VERSION: string = manifest.version;
