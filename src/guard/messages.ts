/** Every text that a denial shows to the model: which rule, what it hit, what to do instead. */

export function ownFileDenied(path: string, by: string): string {
  return (
    `Denied by ralph-loop, rule own-files: ${by} would change ${path}. The loop keeps its own files (state, journals, hooks, ` +
    'settings) itself while it runs. Leave them as they are and go on with the task; to see how the loop stands, run the ' +
    'status command of ralph-loop. If a command touches them only by the way, name the files you mean more narrowly. ' +
    'If one of them has to change, say so in your reply: the user can do it.'
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

export const UNREADABLE: Readonly<Record<string, string>> = {
  'parse-error': 'this command cannot be parsed',
  'too-large': 'this command is too large to be checked (16 KiB outside heredocs)',
  'too-deep': 'this command is nested too deeply to be checked',
  'dynamic-command': 'the program that this command runs is known only at run time',
  'dynamic-piped-to-shell': 'what this command gives a shell to run is known only at run time',
  'interpreter-code': 'this is code for an interpreter, which the guard cannot read',
  powershell: 'this PowerShell command looks as if it writes',
};
