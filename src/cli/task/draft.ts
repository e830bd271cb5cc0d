import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { withPrefix } from '../../drive/turn/messages.ts';
import { show } from '../../state/process/program.ts';
import { checkTaskFile } from '../../task/check/check-task-file.ts';
import { type Draft, draftTask } from '../../task/draft/draft-task.ts';
import { projectSignals } from '../../task/draft/project-signals.ts';
import { LOOP_DIRECTORIES, RALPH_FILE, taskFileIn } from '../../task/task-file.ts';
import { printable } from '../../term/format.ts';
import { advise, RalphError } from '../../text/message.ts';
import { quoted } from '../../text/quote.ts';
import { ask } from '../ask.ts';
import { readTaskText, taskPlace } from '../choose-loop.ts';
import { type Command, type CommandContext, options } from '../command.ts';
import { baseDir, newTaskFile, writeTaskFile } from './scaffold.ts';
import { examineFile, tryChecks } from './try-checks.ts';

/** Maximum number of characters; a longer text belongs in RALPH.md itself. */
const LIMIT = 20_000;

/** Value that `run --issue` gives: the text of the issue; no option of a command line. */
export const QUOTED_ISSUE = 'quoted issue';

export const DRAFT_COMMAND: Command = {
  name: 'draft',
  summary: 'Draft a task folder from plain words, or review one.',
  usage: '[--name NAME] "TEXT" | PATH',
  help: "Drafts a RALPH.md from TEXT and the project's checks; English words in TEXT decide the kind of work (fix, migration, analysis, general). In a terminal it shows the draft for you to start, edit, keep or cancel; otherwise it writes the draft and prints its path. The PATH of an existing task folder opens that one instead.",
  example: 'ralph-loop draft "Fix the failing tests of the parser"',
  options: options({ 'name NAME': 'Name of the new task folder; default: from the words of TEXT.' }),
  async run(context) {
    const { mayAsk } = context;
    const existing = taskToOpen(context);
    if (existing !== null) return openTask(context, existing, mayAsk);
    const draft = draftOf(context, context.positionals.join(' ').trim());
    const path = placeFor(context, draft);
    if (!mayAsk) return write(context, draft, path);
    return (await reviewDraft(context, draft, path)) ? launchTask(context, path) : 0;
  },
};

/** Throws `usage` if the text is empty or too long. */
function draftOf({ projectDir, env, values }: CommandContext, task: string): Draft {
  if (task === '') throw new RalphError('usage', advise('the task is missing.', 'Usage', 'draft "TEXT"'));
  if (task.length > LIMIT) {
    const text = `the text has ${task.length} characters; at most ${LIMIT}. Put it into the RALPH.md of a task folder.`;
    throw new RalphError('usage', advise(text, 'Create one', 'scaffold NAME'));
  }
  const issue = values[QUOTED_ISSUE];
  const signals = projectSignals(projectDir, env);
  return draftTask(task, signals, typeof values['agent'] !== 'string', typeof issue === 'string' ? issue : null);
}

/** Returns the path of a new task. A name given with --name must be free; a derived name gets a number if it is taken. */
function placeFor(context: CommandContext, { name }: Draft, base = baseDir(context)): string {
  const given = context.values['name'];
  if (typeof given === 'string') {
    const path = newTaskFile(base, given);
    if (existsSync(path)) throw new RalphError('refused', `${path} already exists. Choose another --name.`);
    return path;
  }
  for (let copy = 1; ; copy++) {
    const path = newTaskFile(base, copy === 1 ? name : `${name}-${copy}`);
    if (taskFileIn(dirname(path)) === null) return path;
  }
}

function write(context: CommandContext, draft: Draft, path: string): number {
  const { forPeople, json, out, err, projectDir: dir, env } = context;
  writeTaskFile(path, draft.text);
  const { kind, commands, notes } = draft;
  const name = basename(dirname(path)); // a derived name may have got a number
  const { problems } = checkTaskFile(path, draft.text, 'ralph-md', { dir, env });
  if (!forPeople) {
    json({ success: true, path, name, kind, commands, notes, problems });
    return 0;
  }
  for (const note of notes) err(withPrefix(note));
  printProblems(context, draft.text, path);
  out(relative(process.cwd(), path));
  return 0;
}

/** Drafts `.ralph/NAME/RALPH.md`. Returns null if the user decides not to start it. `billOf` describes the cost limits. */
export async function draftToRun(
  context: CommandContext,
  words: string,
  billOf: (path: string, text: string) => string,
): Promise<string | null> {
  const { mayAsk, values, err } = context;
  const drafted = draftOf(context, words);
  const place = { ...drafted, name: `${LOOP_DIRECTORIES}/${drafted.name}` };
  const path = placeFor(context, place, context.projectDir);
  const draft = { ...drafted, notes: [...drafted.notes, billOf(path, drafted.text)] };
  const shown = relative(process.cwd(), path);
  const accepted = values['yes'] === true;
  if (mayAsk && !accepted) {
    return (await reviewDraft(context, draft, path)) ? path : null;
  }
  writeTaskFile(path, draft.text);
  for (const note of draft.notes) err(withPrefix(note));
  printProblems(context, draft.text, path);
  err(withPrefix(`Wrote the draft ${shown}.`));
  if (accepted) return path;
  const text = `The draft ${shown} was not started, because no user has read it. To start a draft at once, pass --yes.`;
  throw new RalphError('refused', advise(text, 'Read it, then start it', `run ${quoted(shown)}`));
}

const CHOICES = {
  draft: '[s]tart, [t]ry the checks, [e]dit, [k]eep for later, [c]ancel: ',
  file: '[s]tart, [t]ry the checks, [e]dit, [l]eave it as it is: ',
};

interface Reviewed {
  readonly read: () => string;
  readonly edit: () => void;
  /** Runs the checks of the text as it is now. */
  readonly attempt: () => Promise<void>;
  readonly path: string;
}

/** Asks until the user decides; a text with errors cannot be started. The end of the input means the last choice. */
async function decide(context: CommandContext, what: keyof typeof CHOICES, { read, edit, attempt, path }: Reviewed) {
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
    } else if (letter === 't') {
      if (printProblems(context, read(), path, 'error')) await attempt();
    } else if (letter === 's' ? printProblems(context, read(), path, 'error') : letter !== undefined) return letter;
  }
}

/** Shows a draft until the user decides and writes it unless it is cancelled. Returns whether to start it. */
async function reviewDraft(context: CommandContext, draft: Draft, path: string): Promise<boolean> {
  const { env, err, out } = context;
  const shown = relative(process.cwd(), path);
  let { text } = draft;
  err(`A draft for ${shown} (${draft.kind}):\n\n${printable(withoutMetadata(text))}\n`);
  for (const note of draft.notes) err(withPrefix(note));
  printProblems(context, text, path);
  const edit = (): void => {
    text = edited(text, env, err);
  };
  const attempt = (): Promise<void> => attemptDraft(context, path, text);
  const letter = await decide(context, 'draft', { read: () => text, edit, attempt, path });
  if (letter === 'c') {
    out('Cancelled; nothing was written.');
    return false;
  }
  writeTaskFile(path, text);
  const run = letter === 's' ? [] : [{ verb: 'Run it', command: `run ${quoted(shown)}` }];
  err(show({ text: `Wrote ${shown}.`, advice: run }));
  return letter === 's';
}

/** Runs the checks of a task file and prints what they say. */
async function attemptChecks(context: CommandContext, path: string): Promise<void> {
  try {
    const tried = await tryChecks(context, examineFile(context, path));
    for (const line of tried?.lines ?? ['The checks were interrupted.']) context.err(line);
  } catch (error) {
    if (!(error instanceof RalphError)) throw error;
    context.err(show(error.advised));
  }
}

/** Runs the checks of a draft, which is a file only while they run. */
async function attemptDraft(context: CommandContext, path: string, text: string): Promise<void> {
  const made = mkdirSync(dirname(path), { recursive: true });
  writeTaskFile(path, text);
  try {
    await attemptChecks(context, path);
  } finally {
    rmSync(path, { force: true });
    if (made !== undefined) removeEmpty(dirname(path), made);
  }
}

/** Removes folders up to `top` that nothing was put into. */
function removeEmpty(folder: string, top: string): void {
  for (let at = folder; readdirSync(at).length === 0; at = dirname(at)) {
    rmdirSync(at);
    if (at === top) return;
  }
}

/** Removes the comment in the first line, which is meant for programs. */
function withoutMetadata(text: string): string {
  return text.replace(/^<!-- ralph-loop: .*-->\n/, '');
}

/** Shows an existing task file, which is edited in place, until the user starts or leaves it. Returns whether to start it. */
async function reviewTaskFile(context: CommandContext, path: string, shown: string): Promise<boolean> {
  const { env, err } = context;
  const read = (): string => readTaskText(path, shown);
  err(`${shown}:\n\n${printable(withoutMetadata(read()))}`);
  printProblems(context, read(), path);
  const attempt = (): Promise<void> => attemptChecks(context, path);
  return (await decide(context, 'file', { read, edit: () => openEditor(path, env, err), attempt, path })) === 's';
}

/** Prints problems, or errors alone. Returns whether the text has no error. */
function printProblems(
  { err, projectDir: dir, env }: CommandContext,
  text: string,
  path: string,
  only?: 'error',
): boolean {
  const { problems } = checkTaskFile(path, text, undefined, { dir, env });
  const shown = problems.filter(({ severity }) => only === undefined || severity === only);
  for (const { severity, line, message } of shown) err(`${severity}, line ${line ?? 1}: ${printable(message)}`);
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

/** Pattern for text that can only be a path. */
const PATH_ALONE = /^(?:\.{0,2}\/\S*|\S*\/|\S+\.md)$/;

/** Returns the RALPH.md that the only argument names; null for plain words. Throws `usage` for any other path. */
function taskToOpen({ values, positionals, projectDir, err }: CommandContext): string | null {
  const [word, ...more] = positionals;
  if (word === undefined || more.length > 0 || values['name'] !== undefined) return null;
  const aPathAlone = PATH_ALONE.test(word);
  const file = basename(word) === RALPH_FILE ? resolve(word) : resolve(word, RALPH_FILE);
  if (!aPathAlone && !existsSync(file)) return null;
  const { dir, taskPath } = taskPlace(projectDir, word);
  if (!aPathAlone) {
    const text = `${word} is a task folder, which was opened.`;
    err(withPrefix(advise(text, 'To draft a task from this word', `draft --name NAME "${word}"`)));
  }
  return join(dir, basename(taskPath));
}

async function openTask(context: CommandContext, path: string, mayAsk: boolean): Promise<number> {
  const shown = relative(process.cwd(), path);
  if (!mayAsk) return printTask(context, path, shown);
  return (await reviewTaskFile(context, path, shown)) ? launchTask(context, path) : 0;
}

async function launchTask(context: CommandContext, path: string): Promise<number> {
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
