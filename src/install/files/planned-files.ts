import { readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { RalphError } from '../../text/ralph-error.ts';

export interface PlannedFile {
  /** Relative to the project, `/` between its parts. */
  readonly path: string;
  readonly content: string;
  readonly mode: number;
}

export const BUNDLE_HOME = '.claude/skills/ralph-loop';
const DRAFT_SKILL = 'skills/ralph-draft';
export const HOOKS_HOME = '.claude/hooks';
export const RUNTIME_IGNORE = '.claude/context/runtime/.gitignore';

const PLAIN = 0o644;
const PROGRAM = 0o755;
/** Hooks that validate what a host hands the skill; no event of the client runs them. */
const NO_CLIENT_HOOKS = new Set(['pre-execute.cjs', 'post-execute.cjs']);

const TEMPLATES = [
  { from: 'PROMPT.md', to: '.claude/ralph/PROMPT.md', mode: PLAIN },
  { from: 'guardrails.md', to: '.claude/ralph/guardrails.md', mode: PLAIN },
  { from: 'agents/ralph-qa.md', to: '.claude/agents/ralph-qa.md', mode: PLAIN },
  { from: 'agents/ralph-developer.md', to: '.claude/agents/ralph-developer.md', mode: PLAIN },
  { from: 'ralph-audit.sh', to: '.claude/ralph/ralph-audit.sh', mode: PROGRAM },
  { from: 'ralph-audit.bat', to: '.claude/ralph/ralph-audit.bat', mode: PLAIN },
];

const MEMORY: readonly PlannedFile[] = [
  {
    path: '.claude/context/memory/learnings.md',
    content: '# Learnings\n\nWhat finished loops taught. Each adds an entry; read this before the next one.\n',
    mode: PLAIN,
  },
  {
    path: '.claude/context/memory/decisions.md',
    content: '# Decisions\n\nDecisions about the architecture, with their reasons, newest last.\n',
    mode: PLAIN,
  },
  { path: RUNTIME_IGNORE, content: '*\n', mode: PLAIN },
];

/** Lists what `init` puts into a project, except the settings file. Throws `refused` on an incomplete bundle. */
export function plannedFiles(bundle: string, projectDir: string): PlannedFile[] {
  const hooks = bundleFiles(join(bundle, 'hooks'), bundle).filter((path) => path.endsWith('.cjs'));
  if (!hooks.includes('hooks/ralph-stop-hook.cjs')) throw incomplete(bundle, 'hooks/ralph-stop-hook.cjs');
  const copy = (from: string, path: string, mode = PLAIN): PlannedFile => {
    return { path, content: contentOf(bundle, from), mode };
  };
  const installed = hooks.map((path) => path.slice('hooks/'.length)).filter((name) => !NO_CLIENT_HOOKS.has(name));
  return [
    ...(runsFromProject(bundle, projectDir) ? [] : bundleFiles(bundle, bundle)).map((path) =>
      copy(path, `${BUNDLE_HOME}/${path}`, (statSync(join(bundle, path)).mode & 0o111) === 0 ? PLAIN : PROGRAM),
    ),
    // In a project the names of all hooks begin with `ralph-`.
    ...installed.map((name) => copy(`hooks/${name}`, `${HOOKS_HOME}/${name.replace(/^(?!ralph-)/, 'ralph-')}`)),
    ...bundleFiles(join(bundle, DRAFT_SKILL), bundle).map((path) => copy(path, `.claude/${path}`)),
    ...TEMPLATES.map(({ from, to, mode }) => copy(`templates/${from}`, to, mode)),
    ...MEMORY,
  ];
}

/** Returns true if this program runs from the bundle inside the project: then nothing has to be copied. */
export function runsFromProject(bundle: string, projectDir: string): boolean {
  return bundle === join(realpathSync(projectDir), ...BUNDLE_HOME.split('/'));
}

function contentOf(bundle: string, path: string): string {
  try {
    return readFileSync(join(bundle, path), 'utf8');
  } catch {
    throw incomplete(bundle, path);
  }
}

/** Lists the files below a directory, relative to the bundle, in a fixed order. */
function bundleFiles(dir: string, bundle: string): string[] {
  let entries: string[];
  try {
    entries = readdirSync(dir, { recursive: true, encoding: 'utf8' });
  } catch {
    throw incomplete(bundle, relative(bundle, dir));
  }
  return entries
    .map((entry) => join(dir, entry))
    .filter((path) => statSync(path).isFile())
    .map((path) => relative(bundle, path).split(sep).join('/'))
    .sort();
}

function incomplete(bundle: string, missing: string): RalphError {
  return new RalphError('refused', `the bundle ${bundle} is incomplete: ${missing} is missing. Install it again.`);
}
