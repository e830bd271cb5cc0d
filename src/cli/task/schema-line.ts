import { existsSync, mkdirSync, readFileSync, realpathSync } from 'node:fs';
import { basename, dirname, join, relative, sep } from 'node:path';
import { TASK_SCHEMA } from '../../install/files/planned-files.ts';
import { BUNDLE_HOME, bundleDir } from '../../install/places.ts';
import { safePath } from '../../install/project-files.ts';
import { readRegularFile, writeAtomically } from '../../state/files/regular-file.ts';
import { LOOP_DIRECTORIES } from '../../task/task-file.ts';

/** Schema in the project's copy of the skill, which a team has in its repository. */
const INSTALLED = `${BUNDLE_HOME}/${TASK_SCHEMA}`;
/** Schema in any other project. No loop can have the name of its folder, and git ignores it. */
const OWN = `${LOOP_DIRECTORIES}/.schemas/${basename(TASK_SCHEMA)}`;

const LINE = '# yaml-language-server: $schema=';
const READABLE = 0o644;

/** Names the schema of its frontmatter in a new task file, so that editors complete and check its keys. */
export function withSchemaLine(text: string, path: string, projectDir: string): string {
  const root = realpathSync(projectDir);
  // From elsewhere the way would be full of names of this machine.
  if (!path.startsWith(root + sep)) return text;
  const schema = join(root, existsSync(join(root, INSTALLED)) ? INSTALLED : OWN);
  const way = relative(dirname(path), schema).split(sep).join('/');
  return text.replace(/^---\n/, (marker) => `${marker}${LINE}${way}\n`);
}

/** Writes the schema that a new task file names, unless `init` has put it there. Returns the files that are new. */
export function writeSchema(text: string, projectDir: string): string[] {
  if (!text.startsWith(`---\n${LINE}`) || existsSync(join(projectDir, INSTALLED))) return [];
  const schema = safePath(projectDir, OWN);
  const ignore = join(dirname(schema), '.gitignore');
  const made = [schema, ignore].filter((file) => !existsSync(file));
  const content = readFileSync(join(bundleDir(), TASK_SCHEMA), 'utf8');
  mkdirSync(dirname(schema), { recursive: true });
  if (made.includes(ignore)) writeAtomically(ignore, '*\n', READABLE);
  if (readRegularFile(schema) !== content) writeAtomically(schema, content, READABLE);
  return made;
}
