import { readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import texts from '../../../.build/templates.json' with { type: 'json' };
import { hookPath, inProject } from '../../state/process/program.ts';
import { RalphError } from '../../text/message.ts';
import { BUNDLE_HOME } from '../project-files.ts';
import { HOOK_FILES } from '../settings/registration.ts';
import { CHUNKS } from './program-files.ts';

export interface PlannedFile {
  /** Path relative to the project, with `/` as separator. */
  readonly path: string;
  readonly content: string;
  readonly mode: number;
}

const DRAFT_SKILL = 'skills/ralph-draft';
export const HOOKS_HOME = '.claude/hooks';
export const TASK_SCHEMA = 'schemas/ralph-md-frontmatter.schema.json';
/** Folder of the schema in a project without our skill. No loop can have its name, and git ignores it. */
export const SCHEMA_FOLDER = '.ralph/.schemas';
export const RUNTIME_IGNORE = '.claude/context/runtime/.gitignore';

const PLAIN = 0o644;
const PROGRAM = 0o755;

/** Files with a fixed text: path in the project by name in the bundle. */
const TEXTS: Readonly<Record<string, string>> = {
  'SKILL.md': `${BUNDLE_HOME}/SKILL.md`,
  'references/plans.md': `${BUNDLE_HOME}/references/plans.md`,
  'references/router-mode.md': `${BUNDLE_HOME}/references/router-mode.md`,
  'references/task-files.md': `${BUNDLE_HOME}/references/task-files.md`,
  'references/test-first.md': `${BUNDLE_HOME}/references/test-first.md`,
  [`${DRAFT_SKILL}/SKILL.md`]: `.claude/${DRAFT_SKILL}/SKILL.md`,
  'references/configuration-cookbook.md': `.claude/${DRAFT_SKILL}/references/configuration-cookbook.md`,
  'references/prompt-patterns.md': `.claude/${DRAFT_SKILL}/references/prompt-patterns.md`,
  'templates/PROMPT.md': '.claude/ralph/PROMPT.md',
  'templates/guardrails.md': '.claude/ralph/guardrails.md',
  'templates/agents/ralph-qa.md': '.claude/agents/ralph-qa.md',
  'templates/agents/ralph-developer.md': '.claude/agents/ralph-developer.md',
  'templates/ralph-audit.sh': '.claude/ralph/ralph-audit.sh',
  'templates/ralph-audit.bat': '.claude/ralph/ralph-audit.bat',
};

export const LAUNCHERS: readonly string[] = ['.claude/ralph/ralph-audit.sh', '.claude/ralph/ralph-audit.bat'];

/**
 * Files of the bundle in a project's copy of the skill: everything its document lists, but not the web page; report and
 * dashboard come with the npm package and the plugin.
 */
const COPIED = [
  'scripts/main.cjs',
  'scripts/statusline.cjs',
  ...CHUNKS.map((name) => `scripts/ralph-${name}.cjs`),
  'hooks/pre-execute.cjs',
  'hooks/post-execute.cjs',
  'schemas/input.schema.json',
  'schemas/output.schema.json',
  // Named by task files, for editors.
  TASK_SCHEMA,
  'templates/implementation-template.md',
  'rules/ralph-loop.md',
];

/** Lists the files that `init` installs, except the settings file. Throws `refused` for an incomplete bundle. */
export function plannedFiles(bundle: string, projectDir: string): PlannedFile[] {
  const copied = runsFromProject(bundle, projectDir) ? [] : COPIED;
  return [
    ...copied.map((name) => ({
      path: `${BUNDLE_HOME}/${name}`,
      content: contentOf(bundle, join(bundle, ...name.split('/'))),
      mode: name === 'scripts/main.cjs' ? PROGRAM : PLAIN,
    })),
    ...HOOK_FILES.map((name) => ({
      path: inProject(name).slice(1),
      content: contentOf(bundle, hookPath(bundle, name)),
      mode: PLAIN,
    })),
    ...Object.entries(TEXTS).map(([name, path]) => {
      return { path, content: bundledText(name), mode: path.endsWith('.sh') ? PROGRAM : PLAIN };
    }),
    { path: RUNTIME_IGNORE, content: '*\n', mode: PLAIN },
  ];
}

/** Returns whether this program runs from the bundle inside the project, so that nothing has to be copied. */
export function runsFromProject(bundle: string, projectDir: string): boolean {
  return bundle === join(realpathSync(projectDir), ...BUNDLE_HOME.split('/'));
}

function contentOf(bundle: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    throw new RalphError('refused', `the bundle ${bundle} is incomplete: ${path} is missing. Install it again.`);
  }
}

/** Returns a template or skill by its path in the bundle; the program contains all of them. */
export function bundledText(path: string): string {
  const text = (texts as Readonly<Record<string, string>>)[path];
  if (text === undefined) throw new Error(`the bundle has no ${path}`);
  return text;
}
