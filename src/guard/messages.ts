import { excerpt, oneLine } from '../text/quote.ts';
/** Texts of denials for the model: the rule, what matched, and what to do instead. */

export function outsideDenied(path: string, tool: string): string {
  return `${tool} would write ${shown(path)}; this loop's sandbox allows only the project, except git's own files. The user can allow other folders under sandbox.allow_write.`;
}

export function ownFileDenied(path: string, by: string): string {
  return (
    `Denied by ralph-loop, rule own-files: ${by} would change ${path}. The loop keeps its own files (state, journals, hooks, ` +
    'settings) itself while it runs. Leave them unchanged and continue with the task; to see the state of the loop, run the ' +
    'status command of ralph-loop. If a command touches them only incidentally, name the files you mean more narrowly. ' +
    'If one of them has to change, say so in your reply: the user can do it.'
  );
}

export function ownFileNamed(path: string, by: string): string {
  return (
    `Denied by ralph-loop, rule own-files: ${by} would receive ${path}, and the guard cannot verify that it only reads it. ` +
    'Only the loop maintains its own files. To view one, use Read, cat, grep, jq, diff or git diff; to work on other ' +
    'files, leave it out of the command.'
  );
}

export function controlDenied(what: string, agentCommands: readonly string[]): string {
  return (
    `Denied by ralph-loop, rule control-commands: ${what}. Only the user may start, stop and steer the loop, at a ` +
    `terminal. You may run: ${agentCommands.join(', ')}, with the subcommand first and written out. ` +
    'If the loop should end, give the completion signal that the task describes, or say in your reply what the user should do.'
  );
}

export function unreadableDenied(rule: string, why: string, what: string): string {
  return (
    `Denied by ralph-loop, rule ${rule}: ${why}, and it names ${what}. Write it so that it can be analysed: one plain command, ` +
    'with paths and subcommands written out. Only the loop maintains its own files, and its control commands are for the user.'
  );
}

export const TOO_MANY_GLOBS =
  'Denied by ralph-loop, rule own-files: this command has too many wildcards to be checked. Use fewer of them, or name ' +
  'a folder or the files that you mean.';

export const TOO_MANY_PATHS =
  'Denied by ralph-loop, rule own-files: this call names too many files to be checked. Split it into several calls.';

const SAY_SO = 'If the task cannot be done without it, say so in your reply: the user can do it.';
const MAX_SHOWN = 200;

export function commandDenied(text: string, asCommand: boolean, reason: string | null): string {
  const why = reason === null ? '' : ` ${reason.replace(/[.\s]*$/, '.')}`;
  if (asCommand) return `The user does not allow this command: ${shown(text)}.${why} Do the task without it. ${SAY_SO}`;
  return (
    `The user blocks every command that matches this pattern, and the text of this one does.${why} If the words only ` +
    `appear in a message, a pattern or a comment, rephrase them, or put them into a file. ${SAY_SO}`
  );
}

export function slowPatternDenied(): string {
  return (
    'Checking this command against the pattern took too long, so it was denied. Write a shorter command ' +
    'without long repetitive words; put long text into a file with the Write tool.'
  );
}

export function allowlistDenied(command: string, allow: readonly string[]): string {
  return (
    `${shown(command)} is not a command that the user allows. Each simple command must match one of these patterns as a ` +
    `whole: ${shown(allow.map((pattern) => `\`${pattern}\``).join(', '), 1000)}. Write the commands plainly, or do without this one. ${SAY_SO}`
  );
}

/** Returns a denial for a file. `option`: excludes the file from this search. */
export function fileDenied(path: string, by: string, reads: boolean, option?: string): string {
  const what = reads ? 'would read' : 'would change';
  return (
    `${by} ${what} ${shown(path)}, which the user keeps ${reads ? 'private' : 'protected'}. Leave it alone and do the task ` +
    `without it. ${option === undefined ? 'If the command reaches it only incidentally, name the files you mean more narrowly.' : `Exclude it from the search with ${option}.`} ${SAY_SO}`
  );
}

export function scopeDenied(path: string, by: string, task: string): string {
  return (
    `${by} would change ${shown(path)}, which is outside the scope of ${task}. Only the user can widen the scope in the plan: ` +
    'do the task within its scope, or end your message and say what it needs.'
  );
}

export function pushDenied(branch: string): string {
  return `this would push to ${branch}. A plan has its own branch, on which the loop commits: leave pushing to the user.`;
}

/** Returns a denial for an undecidable part, with a way to write it that can be decided. */
export function undecidedDenied(kind: string, text: string): string {
  const { why, instead } = UNDECIDED[kind] ?? { why: kind, instead: 'Write it as plain commands.' };
  return `${why}, and the user's rules allow only what can be checked: ${shown(text)}. ${instead}`;
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
    instead: 'Run the inner commands in separate calls.',
  },
  'dynamic-command': {
    why: 'The program that this runs is known only at run time',
    instead: "Write out the program's name, without a variable or a substitution.",
  },
  'dynamic-piped-to-shell': {
    why: 'The text that this passes to a shell is known only at run time',
    instead:
      'Save the text to a file, read it, and run the commands that you need, written out. Pass a found file as an argument: sh -c \'head "$1"\' _ {}.',
  },
  'interpreter-code': {
    why: 'This is code for an interpreter, which cannot be checked',
    instead: 'Use plain commands or the Edit tool, or write the code to a file of the project and run that file.',
  },
  'dynamic-write-target': {
    why: 'The file that this writes is known only at run time',
    instead: 'Write out the path.',
  },
  'dynamic-read': { why: 'The file that this reads is known only at run time', instead: 'Write out the path.' },
  'open-argument': {
    why: 'Whether a rule forbids this depends on a word that is known only at run time',
    instead: 'Write out the subcommand.',
  },
  'unknown-files': {
    why: 'The files that this changes cannot be determined beforehand',
    instead: 'Name the files that you mean, one by one.',
  },
  'many-files': MANY_FILES,
  'too-many-files': MANY_FILES,
  powershell: {
    why: 'PowerShell is not parsed here, and this is more than plain commands',
    instead: 'Use the Bash tool, or one plain command without variables, blocks and operators.',
  },
};

/** Returns why a part is undecidable, as the rest of a sentence. */
export function whyUndecided(kind: string): string {
  const why = UNDECIDED[kind]?.why ?? kind;
  return /^T/.test(why) ? why.charAt(0).toLowerCase() + why.slice(1) : why;
}

export const POWERSHELL_WRITES = 'this PowerShell command looks as if it writes';

function shown(text: string, most = MAX_SHOWN): string {
  return excerpt(oneLine(text.replaceAll('\0', '…')), most);
}
