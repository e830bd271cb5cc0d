export function outsideDenied(path: string, tool: string): string {
  return `${tool} would write ${excerpt(path)}, which is outside the project, and this loop runs in a sandbox. The user can allow the folder under sandbox.allow_write.`;
}

/** Every text that a denial shows to the model: which rule, what it hit, what to do instead. */

export function ownFileDenied(path: string, by: string): string {
  return (
    `Denied by ralph-loop, rule own-files: ${by} would change ${path}. The loop keeps its own files (state, journals, hooks, ` +
    'settings) itself while it runs. Leave them as they are and go on with the task; to see how the loop stands, run the ' +
    'status command of ralph-loop. If a command touches them only by the way, name the files you mean more narrowly. ' +
    'If one of them has to change, say so in your reply: the user can do it.'
  );
}

export function ownFileNamed(path: string, by: string): string {
  return (
    `Denied by ralph-loop, rule own-files: ${by} is given ${path}, and the guard cannot tell that it only reads it. ` +
    'The loop keeps its own files itself. To look at one, use Read, cat, grep, jq, diff or git diff; to work on other ' +
    'files, name them without it.'
  );
}

export function controlDenied(what: string, agentCommands: readonly string[]): string {
  return (
    `Denied by ralph-loop, rule control-commands: ${what}. Starting, stopping and steering the loop is for the user at a ` +
    `terminal. You may run: ${agentCommands.join(', ')}, the subcommand first and written out. ` +
    'If the loop should end, give the completion signal that the task describes, or say in your reply what the user should do.'
  );
}

export function unreadableDenied(rule: string, why: string, what: string): string {
  return (
    `Denied by ralph-loop, rule ${rule}: ${why}, and it names ${what}. Write it so that it can be read: one plain command, ` +
    'paths and subcommands written out. The loop keeps its own files itself, and its control commands are for the user.'
  );
}

export const TOO_MANY_GLOBS =
  'Denied by ralph-loop, rule own-files: this command has too many wildcards to be checked. Write fewer of them, or name ' +
  'a folder or the files that you mean.';

export const TOO_MANY_PATHS =
  'Denied by ralph-loop, rule own-files: this call names too many files to be checked. Split it into several calls.';

export const UNREADABLE: Readonly<Record<string, string>> = {
  'parse-error': 'this command cannot be parsed',
  'too-large': 'this command is too large to be checked (16 KiB outside heredocs)',
  'too-deep': 'this command is nested too deeply to be checked',
  'dynamic-command': 'the program that this command runs is known only at run time',
  'dynamic-piped-to-shell': 'what this command gives a shell to run is known only at run time',
  'interpreter-code': 'this is code for an interpreter, which the guard cannot read',
  powershell: 'this PowerShell command looks as if it writes',
};

const SAY_SO = 'If the task cannot be done without it, say so in your reply: the user can do it.';
const MAX_SHOWN = 200;

export function commandDenied(text: string, asCommand: boolean, reason: string | null): string {
  const why = reason === null ? '' : ` ${reason.replace(/[.\s]*$/, '.')}`;
  if (asCommand)
    return `The user does not allow this command: ${excerpt(text)}.${why} Do the task without it. ${SAY_SO}`;
  return (
    `The user does not allow what this pattern finds, and it finds it in the text of the command.${why} Where the words only ` +
    `stand in a message, a pattern or a comment, put them another way, or into a file. ${SAY_SO}`
  );
}

export function slowPatternDenied(): string {
  return (
    'Checking this command against the pattern took too long, so it was not allowed to run. Write a shorter command, ' +
    'without long words that repeat themselves; put long text into a file with the Write tool.'
  );
}

export function allowlistDenied(command: string, allow: readonly string[]): string {
  return (
    `${excerpt(command)} is none of the commands that the user allows. Each simple command must match one of these patterns ` +
    `whole: ${excerpt(allow.map((pattern) => `\`${pattern}\``).join(', '), 1000)}. Write the commands plainly, or do without this one. ${SAY_SO}`
  );
}

/** `option`: leaves the file out of this search. */
export function fileDenied(path: string, by: string, reads: boolean, option?: string): string {
  const what = reads ? 'would read' : 'would change';
  return (
    `${by} ${what} ${excerpt(path)}, which the user keeps ${reads ? 'private' : 'protected'}. Leave it as it is and do the task ` +
    `without it. ${option === undefined ? 'If it is only met by the way, name the files you mean more narrowly.' : `Leave it out of the search with ${option}.`} ${SAY_SO}`
  );
}

export function scopeDenied(path: string, by: string, task: string): string {
  return (
    `${by} would change ${excerpt(path)}: outside the scope of ${task}; widen it in the plan. Only the user does that: ` +
    'do the task within its scope, or end your message and say what it needs.'
  );
}

export function pushDenied(branch: string): string {
  return `this would push to ${branch}. A plan is worked on in a branch of its own, and the loop commits: leave pushing to the user.`;
}

/** What cannot be decided, and how to write it so that it can be. */
export function undecidedDenied(kind: string, text: string): string {
  const { why, instead } = UNDECIDED[kind] ?? { why: kind, instead: 'Write it as plain commands.' };
  return `${why}, and the user's rules allow only what can be checked: ${excerpt(text)}. ${instead}`;
}

const MANY_FILES = {
  why: 'This reaches too many files to check them all',
  instead: 'Name a smaller folder, or the files that you mean.',
};

const UNDECIDED: Readonly<Record<string, { readonly why: string; readonly instead: string }>> = {
  'parse-error': {
    why: 'This command cannot be parsed',
    instead: 'Close every quote and bracket, and write one plain command in each call.',
  },
  'too-large': {
    why: 'This command is too large to be checked (16 KiB outside heredocs)',
    instead: 'Split it into several calls, and write long text with the Write tool.',
  },
  'too-deep': {
    why: 'This command is nested too deeply to be checked',
    instead: 'Write the inner commands as calls of their own.',
  },
  'dynamic-command': {
    why: 'Which program this runs is known only at run time',
    instead: "Write the program's name out, without a variable or a substitution in its place.",
  },
  'dynamic-piped-to-shell': {
    why: 'What this gives a shell to run is known only at run time',
    instead: 'Save the text to a file, look at it, and run the commands that you need, written out.',
  },
  'interpreter-code': {
    why: 'This is code for an interpreter, which cannot be checked',
    instead: 'Use plain commands or the Edit tool, or write the code to a file of the project and run that file.',
  },
  'dynamic-write-target': { why: 'Which file this writes is known only at run time', instead: 'Write the path out.' },
  'dynamic-read': { why: 'Which file this reads is known only at run time', instead: 'Write the path out.' },
  'open-argument': {
    why: 'Whether a rule forbids this depends on a word that is known only at run time',
    instead: 'Write the subcommand out.',
  },
  'unknown-files': {
    why: 'Which files this changes cannot be told beforehand',
    instead: 'Name the files that you mean, one by one.',
  },
  'many-files': MANY_FILES,
  'too-many-files': MANY_FILES,
  powershell: {
    why: 'PowerShell is not parsed here, and this is more than plain commands',
    instead: 'Use the Bash tool, or one plain command without variables, blocks and operators.',
  },
};

function excerpt(text: string, limit = MAX_SHOWN): string {
  const shown = text.replaceAll('\0', '…').replace(/\s+/g, ' ').trim();
  return shown.length > limit ? `${shown.slice(0, limit)}…` : shown;
}
