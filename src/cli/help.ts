import manifest from '../../package.json' with { type: 'json' };
import { COMMON_OPTIONS, type Command, type OptionDefinition } from './command.ts';

const COLUMNS = 80;

/** What each command does, in the order of the list. Kept here so that the list loads no command. */
const GROUPS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'Run a loop': {
    run: 'Run a loop with a new Claude Code per iteration.',
    start: 'Start a loop in a Claude Code session.',
    resume: 'Resume a loop, or run a task folder again.',
    router: "Drive a loop with a session's subagents.",
    fleet: 'Run loops on many machines from one queue.',
  },
  'Steer it': {
    steer: 'Send a message to the working agent.',
    pause: 'Pause a loop until it is resumed.',
    wake: 'End the wait of a loop now.',
    stop: 'Finish the current iteration, then stop the loop.',
    cancel: 'End a loop now and refuse further tool calls.',
    undo: 'Undo what an ended loop changed.',
    accept: 'Adopt changes to the task file or scripts into a loop.',
    reset: 'Archive a loop in any state, so that a new one can start.',
  },
  'Look at it': {
    status: 'Show the state of a loop or a run.',
    attach: 'Watch a running loop live, and steer it.',
    dashboard: 'Watch and steer all loops in the browser.',
    report: 'Write a report of a loop or run into one HTML file.',
    verify: 'Check the proof of a complete loop on the present files.',
    list: 'List all runs and loops of a project.',
    explain: 'Explain why a loop or run stopped or what it is waiting for.',
    logs: 'Print the journals of a loop, or export a run.',
    signs: 'List the lessons in guardrails.md.',
    archive: 'List ended runs and loops, show one, or archive a run.',
    worktree: 'List or remove the worktrees of loops.',
  },
  'Write a task': {
    draft: 'Draft a task folder from plain words.',
    scaffold: 'Create a task folder with a RALPH.md to fill in.',
    check: 'Check a task file and report all problems.',
    plan: 'Check a plan of tasks and report all problems.',
    tdd: 'Work on scenarios test-first, with proof of each step.',
  },
  'Set up': {
    init: 'Install ralph-loop into a project, for teams.',
    doctor: 'Find problems that would keep a loop from running.',
    config: 'Show the settings, or set the limit of iterations.',
    completion: 'Print a script that completes commands in your shell.',
    uninit: 'Remove what init created from a project.',
  },
};

export const SUMMARIES: Readonly<Record<string, string>> = Object.assign({}, ...Object.values(GROUPS));

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
  const named = Object.entries(options).filter(([, { help }]) => help !== ''); // Others are aliases.
  return named.map(([name, option]) => {
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

export function commandList(): string {
  const width = Math.max(...Object.keys(SUMMARIES).map((name) => name.length));
  const groups = Object.entries(GROUPS).flatMap(([title, commands]) => [
    `${title}:`,
    ...Object.entries(commands).map(([name, summary]) => `  ${name.padEnd(width)}  ${summary}`),
  ]);
  return [
    'Usage: ralph-loop COMMAND [options] | --version',
    ...groups,
    'Begin: ralph-loop run "fix the failing tests". Help: ralph-loop COMMAND --help.',
  ].join('\n');
}

export const VERSION: string = manifest.version;
