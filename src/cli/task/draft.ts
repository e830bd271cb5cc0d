import { existsSync } from 'node:fs';
import { basename, dirname, relative } from 'node:path';
import { withPrefix } from '../../drive/turn/messages.ts';
import { type Draft, draftTask } from '../../task/draft/draft-task.ts';
import { projectSignals } from '../../task/draft/project-signals.ts';
import { checkTaskFile } from '../../task/frontmatter/check-task-file.ts';
import { LOOP_DIRECTORIES, taskFileIn } from '../../task/task-file.ts';
import { advise } from '../../text/message.ts';
import { quoted } from '../../text/quote.ts';
import { RalphError } from '../../text/ralph-error.ts';
import { type Command, type CommandContext, options } from '../command.ts';
import { launchTask, openTask, reviewDraft, taskToOpen } from './review-draft.ts';
import { baseDir, newTaskFile, writeTaskFile } from './scaffold.ts';

/** A longer text is a document that belongs in RALPH.md itself. */
const LIMIT = 20_000;

export const DRAFT_COMMAND: Command = {
  name: 'draft',
  summary: 'Draft a task folder from plain words, or review one.',
  usage: '[--name NAME] "TEXT" | PATH',
  help: "Drafts a RALPH.md from TEXT, whose English words decide the kind of work (fix, migration, analysis, general), and from the project's checks. In a terminal it shows the draft for you to start, edit, keep or cancel; otherwise it writes the draft and prints its path. The PATH of an existing task folder opens that one instead.",
  example: 'ralph-loop draft "Fix the failing tests of the parser"',
  options: options({ 'name NAME': 'Name of the new task folder; default: from the words of TEXT.' }),
  control: false,
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
  return draftTask(task, projectSignals(projectDir, env), typeof values['agent'] !== 'string');
}

/** A name given with --name must be free; a derived name gets a number if it is taken. */
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

function write(
  { forPeople, json, out, err, projectDir: dir, env }: CommandContext,
  draft: Draft,
  path: string,
): number {
  writeTaskFile(path, draft.text);
  const { kind, commands, notes } = draft;
  const name = basename(dirname(path)); // a derived name may have got a number
  const { problems } = checkTaskFile(path, draft.text, 'ralph-md', { dir, env });
  if (!forPeople) {
    json({ success: true, path, name, kind, commands, notes, problems });
    return 0;
  }
  for (const note of notes) err(withPrefix(note));
  out(relative(process.cwd(), path));
  return 0;
}

/** Drafts `.ralph/NAME/RALPH.md`. Returns null if the user does not start it. `billOf` tells the cost limits. */
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
  err(withPrefix(`Wrote the draft ${shown}.`));
  if (accepted) return path;
  const text = `The draft ${shown} was not started, because no user has read it. To start a draft at once, pass --yes.`;
  throw new RalphError('refused', advise(text, 'Read it, then start it', `run ${quoted(shown)}`));
}
