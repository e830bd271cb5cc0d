import { existsSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { riskySetting } from '../../drive/start/terms/agreed-settings.ts';
import { withPrefix } from '../../state/process/program.ts';
import { checkTaskFile } from '../../task/check/check-task-file.ts';
import { type Draft, type DraftOptions, draftTask } from '../../task/draft/draft-task.ts';
import { projectSignals } from '../../task/draft/project-signals.ts';
import { LOOP_DIRECTORIES, RALPH_FILE, taskFileIn } from '../../task/task-file.ts';
import { printable } from '../../term/format.ts';
import { advise, RalphError } from '../../text/message.ts';
import { quoted } from '../../text/quote.ts';
import { readTaskText, taskPlace } from '../choose-loop.ts';
import { type Command, type CommandContext, options } from '../command.ts';
import { isAgent } from '../refuse-agent.ts';
import { baseDir, newTaskFile, type WrittenTask, writeTaskFile } from './scaffold.ts';

/** Maximum number of characters; a longer text belongs in RALPH.md itself. */
const LIMIT = 20_000;

/** Key of the issue's text in a `run --issue`; not a command-line option. */
export const QUOTED_ISSUE = 'quoted issue';

export const DRAFT_COMMAND: Command = {
  name: 'draft',
  usage: '[--name NAME] "TEXT" | PATH',
  help: "Drafts a RALPH.md from TEXT and the project's checks; English words in TEXT decide the kind of work (fix, migration, analysis, general). Prints the path of the new file; ralph-loop run PATH shows and starts it. The PATH of an existing task folder checks and prints that one instead.",
  example: 'ralph-loop draft "Fix the failing tests of the parser"',
  options: options({ 'name NAME': 'Name of the new task folder; default: from the words of TEXT.' }),
  run(context) {
    const existing = taskToOpen(context);
    if (existing !== null) return printTask(context, existing, relative(process.cwd(), existing));
    const draft = draftOf(context, context.positionals.join(' ').trim());
    return write(context, draft, placeFor(context, draft));
  },
};

/** Throws `usage` if the text is empty or too long. */
function draftOf({ projectDir, env, values }: CommandContext, task: string, given: DraftOptions = {}): Draft {
  if (task === '') throw new RalphError('usage', advise('the task is missing.', 'Usage', 'draft "TEXT"'));
  if (task.length > LIMIT) {
    const text = `the text has ${task.length} characters; at most ${LIMIT}. Put it into the RALPH.md of a task folder.`;
    throw new RalphError('usage', advise(text, 'Create one', 'scaffold NAME'));
  }
  const issue = values[QUOTED_ISSUE];
  return draftTask(task, projectSignals(projectDir, env), {
    ...given,
    issue: typeof issue === 'string' ? issue : null,
  });
}

/** Returns the path of a new task. A name given by --name must be free; a derived name gets a number if it is taken. */
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
  const { text } = writeTaskFile(path, draft.text, context.projectDir);
  const { kind, commands, notes } = draft;
  const name = basename(dirname(path)); // a derived name may have got a number
  const { problems } = checkTaskFile(path, text, 'ralph-md', { dir, env });
  if (!forPeople) {
    json({ success: true, path, name, kind, commands, notes, problems });
    return 0;
  }
  for (const note of notes) err(withPrefix(note));
  printProblems(context, text, path);
  const shown = relative(process.cwd(), path);
  out(shown);
  if (context.mayAsk) err(withPrefix(advise('', 'Read it, then start it', `run ${quoted(shown)}`)));
  return 0;
}

/** What a run adds to its draft: the limits that the user has already set, and the words for all of them. */
interface DraftedRun {
  readonly isClient: boolean;
  readonly budget: object;
  readonly billOf: (path: string, text: string) => string;
}

/** A draft that a run has written, and what the user should know about it. */
export interface DraftedTask extends WrittenTask {
  readonly notes: readonly string[];
  /** Digests of its settings to which the user agrees by starting it: commands of the project, and commits. */
  readonly agreed: string[];
}

/**
 * Writes the draft `.ralph/NAME/RALPH.md` of a run. If no user can read it before it starts, throws `refused` and keeps
 * the draft.
 */
export function draftToRun(
  context: CommandContext,
  words: string,
  { isClient, budget, billOf }: DraftedRun,
): DraftedTask {
  const { mayAsk, values, projectDir, env, err } = context;
  const draft = draftOf(context, words, { budget, isClient });
  const path = placeFor(context, { ...draft, name: `${LOOP_DIRECTORIES}/${draft.name}` }, projectDir);
  const bill = billOf(path, draft.text);
  const { text, made } = writeTaskFile(path, draft.text, projectDir);
  const { mayRun } = draft;
  const setting = riskySetting(projectDir, 'frontmatter', 'may_run', mayRun);
  const drafted = { path, text, made, agreed: mayRun.length === 0 || isAgent(env) ? [] : [setting.digest] };
  if (values['dry-run'] === true || (mayAsk && values['yes'] !== true)) return { ...drafted, notes: draft.gaps };
  for (const note of [...draft.notes, bill]) err(withPrefix(note));
  printProblems(context, text, path);
  const shown = relative(process.cwd(), path);
  err(withPrefix(`Wrote the draft ${shown}.`));
  if (values['yes'] === true) return { ...drafted, notes: [] };
  const unread = `The draft ${shown} was not started, because no user has read it. To start a draft at once, pass --yes.`;
  throw new RalphError('refused', advise(unread, 'Read it, then start it', `run ${quoted(shown)}`));
}

/** Prints problems. Returns whether the text has no error. */
function printProblems({ err, projectDir: dir, env }: CommandContext, text: string, path: string): boolean {
  const { problems } = checkTaskFile(path, text, undefined, { dir, env });
  for (const { severity, line, message } of problems) err(`${severity}, line ${line ?? 1}: ${printable(message)}`);
  return !problems.some(({ severity }) => severity === 'error');
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
    const text = `${word} is an existing task folder, so it is checked instead.`;
    err(withPrefix(advise(text, 'To draft a task from this word', `draft --name NAME "${word}"`)));
  }
  return join(dir, basename(taskPath));
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
