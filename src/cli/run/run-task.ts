import { existsSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { settingsOf } from '../../drive/start/read-settings.ts';
import { hostNamed } from '../../hosts/hosts.ts';
import { bundledText } from '../../install/files/planned-files.ts';
import { safePath } from '../../install/project-files.ts';
import { writeAtomically } from '../../state/files/regular-file.ts';
import { IGNORED } from '../../state/task-folder/run-state.ts';
import { checkTaskFile } from '../../task/check/check-task-file.ts';
import { suggestion } from '../../task/frontmatter/canonical-keys.ts';
import {
  LOOP_DIRECTORIES,
  loopDirectoryTask,
  loopDirectoryTasks,
  mayName,
  RALPH_FILE,
  taskFileIn,
} from '../../task/task-file.ts';
import { advise, RalphError } from '../../text/message.ts';
import { quoted } from '../../text/quote.ts';
import { ask } from '../ask.ts';
import type { CommandContext } from '../command.ts';
import { AGREED_BY_START, startFlags } from '../start/start-request.ts';
import { limitsOf } from '../start/start-screen.ts';
import type { DraftedTask } from '../task/draft.ts';
import { writeTaskFile } from '../task/scaffold.ts';

/** A command line that names its task, and the draft that was written for it. */
interface NamedTask {
  readonly context: CommandContext;
  readonly drafted: DraftedTask | null;
}

/** Resolves the words after `run` to a task. Throws `usage`. */
export async function runTask(context: CommandContext): Promise<NamedTask> {
  const { positionals, values, projectDir } = context;
  const [word, ...more] = positionals;
  if (word === undefined) return { context, drafted: null };
  if (more.length > 0)
    throw new RalphError('usage', `one task at a time: ${positionals.join(', ')}. Quote a task in plain words.`);
  if (values['task'] !== undefined) throw new RalphError('usage', 'the task was given twice: as TASK and as --task.');
  const withTask = (task: string, drafted: DraftedTask | null = null): NamedTask => {
    return { context: { ...context, values: { ...values, task, [AGREED_BY_START]: drafted?.agreed } }, drafted };
  };
  if (isPath(word, projectDir)) return withTask(word);
  // A resumed loop, of this project or of a worktree, is found by its name.
  if (mayName(word) && values['resume'] === true) return withTask(word);
  if (mayName(word) && !(await isText(context, word))) return withTask(await loopDirectoryFile(context, word));
  if (mayName(word) || /\s/.test(word.trim())) {
    const drafted = await draftFrom(context, word.trim());
    return withTask(drafted.path, drafted);
  }
  throw new RalphError(
    'usage',
    `there is no task ${word.trim() === '' ? JSON.stringify(word) : word}. Name a file, a task folder or a loop, or describe in plain words what to do.`,
  );
}

/** Drafts a task from plain words, with limits if the user has set none. */
async function draftFrom(context: CommandContext, words: string): Promise<DraftedTask> {
  refuseArguments(context, words);
  const { draftToRun } = await import('../task/draft.ts');
  const path = join(context.projectDir, LOOP_DIRECTORIES, 'draft', RALPH_FILE);
  const { policy, settings } = settingsFor(context, path, '');
  const isClaude = settings.agent === null;
  const { maxTimeMs, maxCostUsd } = policy.budget;
  return draftToRun(context, words, {
    isClient: isClaude || hostNamed(settings.agent) !== null,
    budget: { ...(maxTimeMs === null && { max_time: '4h' }), ...(maxCostUsd === null && isClaude && { max_cost: 10 }) },
    billOf: (file, text) =>
      `Limits: ${limitsOf(settingsFor(context, file, text))}. To change them: --max-iterations, --max-time, --max-cost.`,
  });
}

/** Returns whether the word looks like a path, or is an existing task relative to the current directory or the project. */
function isPath(word: string, projectDir: string): boolean {
  if (/^[^\s]*[\\/]|\.md$/.test(word)) return true;
  return [resolve(word), resolve(projectDir, word)].some(
    (path) => existsSync(path) && (!statSync(path).isDirectory() || taskFileIn(path) !== null),
  );
}

/** Returns the absolute task file of a loop directory. Throws `task-invalid` if a new one has to be filled in. */
async function loopDirectoryFile(context: CommandContext, name: string): Promise<string> {
  const { projectDir } = context;
  const shown = loopDirectoryTask(name);
  const path = safePath(projectDir, shown);
  const there = existsSync(dirname(path)) ? taskFileIn(dirname(path)) : null;
  if (there !== null) return join(dirname(path), there);
  refuseArguments(context, name);
  if (context.values['dry-run'] === true)
    throw new RalphError('usage', advise(`there is no task ${name} yet.`, 'Create it', `run ${name}`));
  const template = bundledText('templates/task.md');
  settingsFor(context, path, template); // throws for invalid options
  const asks = context.mayAsk && context.values['yes'] !== true;
  const hint = similarTask(projectDir, name);
  if (hint !== '' && !asks) {
    const text = `there is no task ${name} yet, and nothing was written.${hint}`;
    throw new RalphError('usage', advise(text, 'Create it at a terminal', `run ${name}`));
  }
  if (asks) context.err(`Its directory will be ${dirname(shown)}.`);
  const goal = asks ? await ask('What is the goal (an empty line only creates the file)? ') : '';
  if (goal === null) throw new RalphError('usage', 'Cancelled; nothing was written.');
  const goals = (comment: string, heading: string): string => (goal === '' ? comment : `${heading}${goal}`);
  writeTaskFile(path, template.replace(/^(# Goals\n\n)<!--[\s\S]*?-->/m, goals), projectDir);
  writeAtomically(join(dirname(path), '.gitignore'), `/.gitignore\n${IGNORED}`);
  if (goal !== '') return path;
  throw new RalphError(
    'task-invalid',
    advise(
      `Created ${shown} from the template. Write the goals into it, and the first items ("- [ ] what") if you know them.`,
      'Then run it',
      `run ${name}`,
    ),
  );
}

/**
 * Asks whether a word that names no task is the text of a new task rather than its name. Returns false without asking if
 * the task exists or nobody can be asked. Throws `usage` if the user cancels.
 */
async function isText(context: CommandContext, word: string): Promise<boolean> {
  const { mayAsk, values, projectDir, err } = context;
  const folder = dirname(safePath(projectDir, loopDirectoryTask(word)));
  if (
    !mayAsk ||
    values['yes'] === true ||
    values['dry-run'] === true ||
    (existsSync(folder) && taskFileIn(folder) !== null)
  )
    return false;
  err(`There is no task ${word} yet.${similarTask(projectDir, word)}`);
  for (;;) {
    const answer = await ask(
      `Write a checklist named ${word} [n], or draft a task from the text "${word}" [t] (an empty line cancels)? `,
    );
    if (answer === 'n' || answer === 't') return answer === 't';
    if (!answer) throw new RalphError('usage', 'Cancelled; nothing was written.');
    err('Type n or t, or an empty line.');
  }
}

/** Returns a suggestion for a mistyped task name; '' if none is similar. */
function similarTask(projectDir: string, word: string): string {
  const names = loopDirectoryTasks(projectDir).map(({ name }) => name);
  return suggestion(word, names);
}

/** Throws `usage` for `--arg` with a task that does not exist yet and thus declares no argument. */
function refuseArguments({ values }: CommandContext, word: string): void {
  if (values['arg'] === undefined) return;
  throw new RalphError(
    'usage',
    advise(
      `--arg sets an argument that a task declares, but the task ${quoted(word)} does not exist yet. Declare the argument under "args:" in its RALPH.md.`,
      'Create it first',
      'draft "TEXT"',
    ),
  );
}

/** Resolves the settings of a loop on this task with the options of the command line. Throws `usage` for invalid ones. */
function settingsFor(context: CommandContext, path: string, text: string) {
  const { projectDir, env } = context;
  const { kind, frontmatter } = checkTaskFile(path, text);
  const given = { kind, flags: startFlags(context), env, frontmatter };
  const resolved = settingsOf(projectDir, relative(projectDir, path), true, given);
  if (!resolved.ok) {
    const lines = resolved.problems.map(({ message }) => `\n  ${message}`);
    throw new RalphError('usage', `these settings have errors, and nothing was written:${lines.join('')}`);
  }
  return resolved;
}
