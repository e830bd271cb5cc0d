import { existsSync, mkdirSync, readFileSync, realpathSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, sep } from 'node:path';
import { bundledText, SCHEMA_FOLDER, TASK_SCHEMA } from '../../install/files/planned-files.ts';
import { BUNDLE_HOME, bundleDir, safePath } from '../../install/project-files.ts';
import { namesIn, readRegularFile, writeAtomically } from '../../state/files/regular-file.ts';
import { show, withPrefix } from '../../state/process/program.ts';
import type { Role } from '../../task/draft/ecosystems.ts';
import { namedCommands, projectSignals } from '../../task/draft/project-signals.ts';
import { relativePathProblem } from '../../task/frontmatter/key-problems.ts';
import { advise, RalphError } from '../../text/message.ts';
import { quoted } from '../../text/quote.ts';
import { type Command, type CommandContext, options } from '../command.ts';
import { foreignSegment } from '../refuse-agent.ts';

/** Folders of templates/presets; the first is the default. */
export const PRESETS: readonly string[] = [
  ...['default', 'fix-tests', 'migration', 'research-report', 'security-audit', 'audit', 'tdd', 'plan'],
];

export const SCAFFOLD_COMMAND: Command = {
  name: 'scaffold',
  usage: '[--preset P] NAME',
  help: "Creates NAME/RALPH.md below the current directory from a template or a preset, with the project's checks. An existing RALPH.md is never overwritten. Edit the file, check it with ralph-loop check NAME, and run it with ralph-loop run NAME.",
  example: 'ralph-loop scaffold docs',
  options: options({ 'preset P': `One of ${PRESETS.slice(1).join(', ')}.` }),
  run(context) {
    const { values, positionals, answer } = context;
    const [name, ...more] = positionals;
    if (name === undefined)
      throw new RalphError('usage', advise('the name of the task folder is missing.', 'Usage', 'scaffold NAME'));
    if (more.length > 0)
      throw new RalphError('usage', `scaffold takes one name, not ${positionals.length}. Quote a name with spaces.`);
    const preset = presetNamed(values['preset']);
    const path = newTaskFile(baseDir(context), name);
    const text = withProjectCommands(bundledText(`templates/presets/${preset}/RALPH.md`), context);
    writeTaskFile(path, text, context.projectDir);
    const shown = relative(process.cwd(), path);
    answer({ success: true, path, preset }, () =>
      show(advise(`Created ${shown}.`, 'Edit it, then check it', `check ${quoted(shown)}`)),
    );
    return 0;
  },
};

const ROLES: Readonly<Record<string, Role>> = { tests: 'tests', build: 'build', lint: 'lint', dependencies: 'audit' };
const MISSING: Readonly<Record<string, string>> = { tests: 'test', dependencies: 'audit' };
const ENTRY = /^ {2}- name: (\w+)\n {4}run: (.*)\n((?: {4}.*\n)*)/gm;
const CHECKS = /^(#.*\n)?validation:\n((?: {2}- .*\n)+)/m;

/** Replaces a preset's commands by the project's own, and removes those that were not found. */
function withProjectCommands(template: string, { projectDir, env }: CommandContext): string {
  const found = namedCommands(projectSignals(projectDir, env).commands);
  const missing = new Set<string>();
  /** The project's commands, by the preset's command that they replace. */
  const inPlaceOf = new Map<string, readonly string[]>();
  const text = template.replace(ENTRY, (entry, name: string, run: string, options: string) => {
    const commands = found.filter(({ role }) => role === ROLES[name]);
    if (ROLES[name] === undefined) return entry;
    inPlaceOf.set(
      run,
      commands.map((each) => each.run),
    );
    if (commands.length === 0) missing.add(name);
    return commands
      .map((each, index) => `  - name: ${index === 0 ? name : each.name}\n    run: ${each.run}\n${options}`)
      .join('');
  });
  return text
    .replace(CHECKS, (_, comment: string, list: string) => {
      const presets = [...list.matchAll(/^ {2}- (.*)$/gm)].map(([, run = '']) => run);
      const checks = presets.flatMap((run) => inPlaceOf.get(run) ?? [run]);
      return checks.length === 0 ? '' : `${comment}validation:\n${checks.map((run) => `  - ${run}\n`).join('')}`;
    })
    .replace(/^commands:\n(?! )/m, '')
    .replace(/^\{\{ commands\.(\w+) \}\}$/gm, (place, name: string) =>
      missing.has(name)
        ? `<!-- No ${MISSING[name] ?? name} command was found. Add one under "commands:" and show its output here. -->`
        : place,
    );
}

function presetNamed(value: unknown): string {
  const [usual = ''] = PRESETS;
  const preset = typeof value === 'string' ? value : usual;
  if (PRESETS.includes(preset)) return preset;
  throw new RalphError('usage', `there is no preset "${preset}". The presets are: ${PRESETS.slice(1).join(', ')}.`);
}

export function baseDir({ values, projectDir }: Pick<CommandContext, 'values' | 'projectDir'>): string {
  return values['project'] === undefined ? process.cwd() : projectDir;
}

/** Returns the absolute path of a new task folder's RALPH.md. Throws `usage` or `refused` if it is not allowed there. */
export function newTaskFile(base: string, name: string): string {
  const plain = name.replace(/^(?:\.\/)+/, '').replace(/\/+$/, '');
  const problem = relativePathProblem(plain);
  if (problem !== null)
    throw new RalphError('usage', `"${name}" cannot be the name of a task folder below ${base}: it ${problem}.`);
  const taken = foreignSegment(plain);
  if (taken !== undefined) {
    const why = `${taken} belongs to another program`;
    throw new RalphError('usage', `"${name}" cannot be the name of a task folder: ${why}.`);
  }
  return safePath(base, join(plain, 'RALPH.md'));
}

export interface WrittenTask {
  /** Absolute. */
  readonly path: string;
  readonly text: string;
  /** Other files that were written for it. */
  readonly made: readonly string[];
}

/**
 * Writes a task file, which names the schema of its frontmatter. Throws `refused`, without changing anything, if something
 * already exists there.
 */
export function writeTaskFile(path: string, content: string, projectDir: string): WrittenTask {
  if (existsSync(path)) throw refusal(path);
  try {
    mkdirSync(dirname(path), { recursive: true });
    const { way, made } = placeSchema(content, path, projectDir);
    const text = way === null ? content : content.replace(/^---\n/, (marker) => `${marker}${LINE}${way}\n`);
    writeFileSync(path, text, { flag: 'wx' });
    return { path, text, made };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'EEXIST' && code !== 'ENOTDIR') throw error;
    throw refusal(path, error);
  }
}

/** Removes drafts that were not started, and their folders in the project if empty. Keeps a draft that was edited. */
export function removeDrafts({ projectDir, values, err }: CommandContext, drafted: readonly WrittenTask[]): void {
  for (const { path, text, made } of drafted) {
    const shown = relative(process.cwd(), path);
    if (readRegularFile(path) === text) {
      for (const file of [path, ...made]) removeFrom(projectDir, file);
      // If no screen showed the draft, a message has named it.
      const removed = advise(`Removed the draft ${shown}, which was not started.`, 'Write one to edit', 'draft "TEXT"');
      if (values['yes'] === true && values['dry-run'] !== true) err(withPrefix(removed));
    } else if (existsSync(path)) err(withPrefix(`Kept ${shown}, which was edited.`));
  }
}

function removeFrom(projectDir: string, file: string): void {
  rmSync(file, { force: true });
  for (let at = dirname(file); at.startsWith(`${projectDir}${sep}`) && namesIn(at).length === 0; at = dirname(at))
    rmdirSync(at);
}

function refusal(path: string, cause?: unknown): RalphError {
  const text = `${path} already exists, or its folder is a file. Nothing was overwritten; choose another name.`;
  return new RalphError('refused', text, cause);
}

/** Schema in the project's copy of the skill, which a team has in its repository. */
const INSTALLED = `${BUNDLE_HOME}/${TASK_SCHEMA}`;
/** Schema in any other project. */
const OWN = `${SCHEMA_FOLDER}/${basename(TASK_SCHEMA)}`;

const LINE = '# yaml-language-server: $schema=';
const READABLE = 0o644;

/**
 * Writes the schema for a new task file to name, so that editors complete and check its keys, unless `init` has installed
 * it. Returns the path to it (null if it has no place), and the new files.
 */
function placeSchema(text: string, path: string, projectDir: string): { way: string | null; made: string[] } {
  const root = realpathSync(projectDir);
  // From elsewhere, the path would consist of names on this machine.
  if (!path.startsWith(root + sep) || !text.startsWith('---\n')) return { way: null, made: [] };
  const isInstalled = existsSync(join(root, INSTALLED));
  const schema = join(root, isInstalled ? INSTALLED : OWN);
  const made = isInstalled ? [] : writeSchema(root);
  return made === null ? { way: null, made: [] } : { way: relative(dirname(path), schema).split(sep).join('/'), made };
}

/** Returns the new files; null if a file or a link is in the way: only editors read the schema. */
function writeSchema(root: string): string[] | null {
  try {
    const schema = safePath(root, OWN);
    const ignore = join(dirname(schema), '.gitignore');
    const made = [schema, ignore].filter((file) => !existsSync(file));
    const content = readFileSync(join(bundleDir(), TASK_SCHEMA), 'utf8');
    mkdirSync(dirname(schema), { recursive: true });
    if (made.includes(ignore)) writeAtomically(ignore, '*\n', READABLE);
    if (readRegularFile(schema) !== content) writeAtomically(schema, content, READABLE);
    return made;
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    const isInTheWay = ['EEXIST', 'ENOTDIR', 'EISDIR', 'EACCES', 'EROFS'].includes(code);
    if (isInTheWay || (error instanceof RalphError && error.code === 'refused')) return null;
    throw error;
  }
}
