import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkTaskFile } from '../../src/task/check-task-file.ts';
import type { Draft } from '../../src/task/draft-task.ts';
import { printable } from '../../src/term/printable.ts';
import { ask } from './ask.ts';
import type { CommandContext } from './command.ts';
import { readTaskText } from './read-task-text.ts';

export interface Reviewed {
  readonly answer: 'start' | 'keep' | 'cancel';
  /** The draft as the user left it. */
  readonly text: string;
}

/** Shows a draft at the terminal until the user has decided. Nothing is written into the project; the end of input cancels. */
export async function reviewDraft({ env, err }: CommandContext, draft: Draft, shown: string): Promise<Reviewed> {
  let { text } = draft;
  err(`A draft for ${shown} (${draft.kind}):\n\n${printable(text)}`);
  for (const note of draft.notes) err(`ralph: ${note}`);
  for (;;) {
    const answer = (await ask('[s]tart, [e]dit, [k]eep for later, [c]ancel: '))?.toLowerCase();
    if (answer === undefined || answer === 'c' || answer === 'cancel') return { answer: 'cancel', text };
    if (answer === 'k' || answer === 'keep') return { answer: 'keep', text };
    if (answer === 's' || answer === 'start') {
      if (tellProblems(text, err)) return { answer: 'start', text };
    } else if (answer === 'e' || answer === 'edit') {
      text = edited(text, env, err);
      tellProblems(text, err);
    }
  }
}

/** Shows a task folder's file that is there until the user starts it or leaves it. It is edited in its place. */
export async function reviewTaskFile(
  { env, err }: CommandContext,
  path: string,
  shown: string,
): Promise<'start' | 'leave'> {
  const text = readTaskText(path, shown);
  err(`${shown}:\n\n${printable(text)}`);
  tellProblems(text, err, path);
  for (;;) {
    const answer = (await ask('[s]tart, [e]dit, [l]eave it as it is: '))?.toLowerCase();
    if (answer === undefined || answer === 'l' || answer === 'leave') return 'leave';
    if (answer === 's' || answer === 'start') {
      if (tellProblems(readTaskText(path, shown), err, path)) return 'start';
    } else if (answer === 'e' || answer === 'edit') {
      openEditor(path, env, err);
      tellProblems(readTaskText(path, shown), err, path);
    }
  }
}

/** Whether the text could be started. */
function tellProblems(text: string, err: CommandContext['err'], path = 'RALPH.md'): boolean {
  const { problems } = checkTaskFile(path, text);
  for (const { severity, line, message } of problems) err(`${severity}, line ${line ?? 1}: ${printable(message)}`);
  return !problems.some(({ severity }) => severity === 'error');
}

/** The text as the user's editor leaves it; unchanged where there is no editor or it fails. */
function edited(text: string, env: NodeJS.ProcessEnv, err: CommandContext['err']): string {
  const dir = mkdtempSync(join(tmpdir(), 'ralph-draft-'));
  try {
    const file = join(dir, 'RALPH.md');
    writeFileSync(file, text);
    openEditor(file, env, err);
    return readFileSync(file, 'utf8');
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** Waits until the user's editor has been left. */
function openEditor(file: string, env: NodeJS.ProcessEnv, err: CommandContext['err']): void {
  const editor = env['VISUAL'] || env['EDITOR'];
  if (!editor) {
    err('Neither VISUAL nor EDITOR names an editor. Set EDITOR, or leave this and edit the file yourself.');
    return;
  }
  // By the shell, because an editor may come with options: EDITOR="code --wait". The file's name is no part of its text.
  const command = `${editor} "${process.platform === 'win32' ? '%RALPH_EDIT%' : '$RALPH_EDIT'}"`;
  const { status, error } = spawnSync(command, { shell: true, stdio: 'inherit', env: { ...env, RALPH_EDIT: file } });
  if (error !== undefined || status !== 0) err(`The editor failed (${error?.message ?? `exit code ${status}`}).`);
}
