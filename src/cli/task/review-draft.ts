import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, relative, resolve } from 'node:path';
import type { Draft } from '../../task/draft/draft-task.ts';
import { checkTaskFile } from '../../task/frontmatter/check-task-file.ts';
import { RALPH_FILE } from '../../task/task-file.ts';
import { printable } from '../../term/paint.ts';
import { ask } from '../ask.ts';
import type { CommandContext } from '../command.ts';
import { readTaskText, taskPlace } from '../task-place.ts';

export interface Reviewed {
  readonly answer: 'start' | 'keep' | 'cancel';
  readonly text: string;
}

/** Shows a draft until the user decides. Writes nothing into the project; the end of input cancels. */
export async function reviewDraft({ env, err }: CommandContext, draft: Draft, shown: string): Promise<Reviewed> {
  let { text } = draft;
  err(`A draft for ${shown} (${draft.kind}):\n\n${printable(text)}`);
  for (const note of draft.notes) err(`ralph-loop: ${note}`);
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

/** Shows an existing task file, which is edited in place, until the user starts or leaves it. */
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

/** Returns true if the text has no error. */
function tellProblems(text: string, err: CommandContext['err'], path = 'RALPH.md'): boolean {
  const { problems } = checkTaskFile(path, text);
  for (const { severity, line, message } of problems) err(`${severity}, line ${line ?? 1}: ${printable(message)}`);
  return !problems.some(({ severity }) => severity === 'error');
}

/** Returns the edited text, or the same text if there is no editor or it fails. */
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

function openEditor(file: string, env: NodeJS.ProcessEnv, err: CommandContext['err']): void {
  const editor = env['VISUAL'] || env['EDITOR'];
  if (!editor) {
    err('Neither VISUAL nor EDITOR names an editor. Set EDITOR, or leave this and edit the file yourself.');
    return;
  }
  // Uses the shell because an editor may have options: EDITOR="code --wait".
  const command = `${editor} "${process.platform === 'win32' ? '%RALPH_EDIT%' : '$RALPH_EDIT'}"`;
  const { status, error } = spawnSync(command, { shell: true, stdio: 'inherit', env: { ...env, RALPH_EDIT: file } });
  if (error !== undefined || status !== 0) err(`The editor failed (${error?.message ?? `exit code ${status}`}).`);
}

/** Text that can only be a path. */
const PATH_ALONE = /^(?:\.{0,2}\/\S*|\S*\/|(?:\S*\/)?RALPH\.md)$/;

/**
 * Returns the absolute RALPH.md of the existing task folder that the only argument names; null for a task in words.
 * Throws `usage` for a path that is no task folder of the project.
 */
export function taskToOpen({ values, positionals, projectDir, err }: CommandContext): string | null {
  const [word, ...more] = positionals;
  if (word === undefined || more.length > 0 || values['name'] !== undefined) return null;
  const aPathAlone = PATH_ALONE.test(word);
  if (!aPathAlone && !isTask(resolve(word))) return null;
  const { dir, taskPath } = taskPlace(projectDir, word);
  if (!aPathAlone) {
    err(
      `ralph-loop: ${word} is a task folder and is opened. To draft a task of these words: ralph-loop draft --name NAME "${word}"`,
    );
  }
  return join(dir, basename(taskPath));
}

function isTask(path: string): boolean {
  return existsSync(basename(path) === RALPH_FILE ? path : join(path, RALPH_FILE));
}

export async function openTask(context: CommandContext, path: string, mayAsk: boolean): Promise<number> {
  const shown = relative(process.cwd(), path);
  if (!mayAsk) return printTask(context, path, shown);
  if ((await reviewTaskFile(context, path, shown)) === 'leave') return 0;
  const { START_COMMAND } = await import('../start/start.ts');
  return START_COMMAND.run({ ...context, values: { ...context.values, task: path, launch: true }, positionals: [] });
}

function printTask({ forPeople, json, out, err }: CommandContext, path: string, shown: string): number {
  const text = readTaskText(path, shown);
  if (forPeople) {
    const ok = tellProblems(text, err, path);
    out(printable(text).trimEnd());
    return ok ? 0 : 1;
  }
  const { problems } = checkTaskFile(path, text);
  const success = !problems.some(({ severity }) => severity === 'error');
  json({ success, path, problems, text });
  return success ? 0 : 1;
}
