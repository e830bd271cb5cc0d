import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, relative, resolve } from 'node:path';
import { withPrefix } from '../../drive/turn/messages.ts';
import { show } from '../../state/process/program.ts';
import type { Draft } from '../../task/draft/draft-task.ts';
import { checkTaskFile } from '../../task/frontmatter/check-task-file.ts';
import { RALPH_FILE } from '../../task/task-file.ts';
import { printable } from '../../term/paint.ts';
import { advise } from '../../text/message.ts';
import { quoted } from '../../text/quote.ts';
import { ask } from '../ask.ts';
import type { CommandContext } from '../command.ts';
import { readTaskText, taskPlace } from '../task-place.ts';
import { writeTaskFile } from './scaffold.ts';

const CHOICES = {
  draft: '[s]tart, [e]dit, [k]eep for later, [c]ancel: ',
  file: '[s]tart, [e]dit, [l]eave it as it is: ',
};

interface Reviewed {
  readonly read: () => string;
  readonly edit: () => void;
  readonly path: string;
}

/** Asks until the user decides; a text with errors cannot be started. The end of the input takes the last choice. */
async function decide(context: CommandContext, what: keyof typeof CHOICES, { read, edit, path }: Reviewed) {
  const letters = [...CHOICES[what].matchAll(/\[(\w)\](\w*)/g)].map(([, letter = '', rest = '']) => [
    letter,
    letter + rest,
  ]);
  for (;;) {
    const answer = (await ask(CHOICES[what]))?.toLowerCase();
    const [letter] =
      answer === undefined ? (letters.at(-1) ?? []) : (letters.find((forms) => forms.includes(answer)) ?? []);
    if (letter === 'e') {
      edit();
      printProblems(context, read(), path);
    } else if (letter === 's' ? printProblems(context, read(), path) : letter !== undefined) return letter;
  }
}

/** Shows a draft until the user decides and writes it unless it is cancelled. Returns whether to start it. */
export async function reviewDraft(context: CommandContext, draft: Draft, path: string): Promise<boolean> {
  const { env, err, out } = context;
  const shown = relative(process.cwd(), path);
  let { text } = draft;
  err(`A draft for ${shown} (${draft.kind}):\n\n${printable(withoutMetadata(text))}`);
  for (const note of draft.notes) err(withPrefix(note));
  const edit = (): void => {
    text = edited(text, env, err);
  };
  const letter = await decide(context, 'draft', { read: () => text, edit, path });
  if (letter === 'c') {
    out('Cancelled; nothing was written.');
    return false;
  }
  writeTaskFile(path, text);
  const run = letter === 's' ? [] : [{ verb: 'Run it', command: `run ${quoted(shown)}` }];
  err(show({ text: `Wrote ${shown}.`, advice: run }));
  return letter === 's';
}

/** Removes the comment in the first line, which is for programs. */
function withoutMetadata(text: string): string {
  return text.replace(/^<!-- ralph-loop: .*-->\n/, '');
}

/** Shows an existing task file, which is edited in place, until the user starts or leaves it. Returns whether to start. */
async function reviewTaskFile(context: CommandContext, path: string, shown: string): Promise<boolean> {
  const { env, err } = context;
  const read = (): string => readTaskText(path, shown);
  err(`${shown}:\n\n${printable(withoutMetadata(read()))}`);
  printProblems(context, read(), path);
  return (await decide(context, 'file', { read, edit: () => openEditor(path, env, err), path })) === 's';
}

/** Returns true if the text has no error. */
function printProblems({ err, projectDir: dir, env }: CommandContext, text: string, path: string): boolean {
  const { problems } = checkTaskFile(path, text, undefined, { dir, env });
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
    err('No editor is set. Set EDITOR, or edit the file yourself later.');
    return;
  }
  // Uses the shell because an editor may have options: EDITOR="code --wait".
  const command = `${editor} "${process.platform === 'win32' ? '%RALPH_EDIT%' : '$RALPH_EDIT'}"`;
  const { status, error } = spawnSync(command, { shell: true, stdio: 'inherit', env: { ...env, RALPH_EDIT: file } });
  if (error !== undefined || status !== 0) err(`The editor failed (${error?.message ?? `exit code ${status}`}).`);
}

/** Text that can only be a path. */
const PATH_ALONE = /^(?:\.{0,2}\/\S*|\S*\/|(?:\S*\/)?RALPH\.md)$/;

/** Returns the RALPH.md that the only argument names; null for words. Throws `usage` for any other path. */
export function taskToOpen({ values, positionals, projectDir, err }: CommandContext): string | null {
  const [word, ...more] = positionals;
  if (word === undefined || more.length > 0 || values['name'] !== undefined) return null;
  const aPathAlone = PATH_ALONE.test(word);
  if (!aPathAlone && !isTask(resolve(word))) return null;
  const { dir, taskPath } = taskPlace(projectDir, word);
  if (!aPathAlone) {
    const text = `${word} is a task folder, which was opened.`;
    err(withPrefix(advise(text, 'To draft a task from this word', `draft --name NAME "${word}"`)));
  }
  return join(dir, basename(taskPath));
}

function isTask(path: string): boolean {
  return existsSync(basename(path) === RALPH_FILE ? path : join(path, RALPH_FILE));
}

export async function openTask(context: CommandContext, path: string, mayAsk: boolean): Promise<number> {
  const shown = relative(process.cwd(), path);
  if (!mayAsk) return printTask(context, path, shown);
  return (await reviewTaskFile(context, path, shown)) ? launchTask(context, path) : 0;
}

export async function launchTask(context: CommandContext, path: string): Promise<number> {
  const { START_COMMAND } = await import('../start/start.ts');
  return START_COMMAND.run({ ...context, values: { ...context.values, task: path, launch: true }, positionals: [] });
}

function printTask(context: CommandContext, path: string, shown: string): number {
  const { forPeople, json, out, projectDir: dir, env } = context;
  const text = readTaskText(path, shown);
  if (forPeople) {
    const ok = printProblems(context, text, path);
    out(printable(text).trimEnd());
    return ok ? 0 : 1;
  }
  const { problems } = checkTaskFile(path, text, undefined, { dir, env });
  const success = !problems.some(({ severity }) => severity === 'error');
  json({ success, path, problems, text });
  return success ? 0 : 1;
}
