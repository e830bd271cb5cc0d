import { stringify } from 'yaml';
import { escaped } from '../../text/quote.ts';
import { configurationNamed } from '../pinned-scripts/steering-files.ts';
import { classifyTask, type DraftKind, draftBody } from './draft-body.ts';
import type { Role } from './ecosystems.ts';
import { namedCommands, type ProjectCommand, type ProjectSignals } from './project-signals.ts';

export interface Draft {
  readonly kind: DraftKind;
  readonly name: string;
  readonly text: string;
  readonly commands: readonly string[];
  /** Commands that the agent may run with any arguments. */
  readonly mayRun: readonly string[];
  readonly notes: readonly string[];
  /** Notes on what the draft lacks. */
  readonly gaps: readonly string[];
}

interface Limits {
  readonly maxIterations: number;
  readonly itemsPerIteration: number | null;
  readonly reflectEvery: number | null;
  readonly outputs: readonly string[];
  readonly evidence: readonly Role[];
  readonly acceptance: readonly Role[];
}

const NONE = { itemsPerIteration: null, reflectEvery: null, outputs: [], evidence: [], acceptance: [] };
const CHECKS: Pick<Limits, 'evidence' | 'acceptance'> = {
  evidence: ['tests', 'types', 'lint', 'build'],
  acceptance: ['tests', 'types', 'build'],
};

const LIMITS: Readonly<Record<DraftKind, Limits>> = {
  analysis: { ...NONE, maxIterations: 12, reflectEvery: 4, outputs: ['ANALYSIS.md'] },
  fix: { ...NONE, ...CHECKS, maxIterations: 25 },
  migration: {
    maxIterations: 40,
    itemsPerIteration: 1,
    reflectEvery: 5,
    outputs: ['MIGRATION_NOTES.md'],
    evidence: ['build', 'types', 'tests'],
    acceptance: ['build', 'types', 'tests'],
  },
  general: { ...NONE, ...CHECKS, maxIterations: 20, reflectEvery: 5 },
};

const COMMAND_TIMEOUT = 300;
const PROMISE = 'DONE';

/** Precise rules: a message that merely mentions "git push" is allowed. */
const GUARDRAILS = {
  block_commands: [
    { command: 'git', args: ['push'], reason: 'The user pushes.' },
    { command: 'rm', args: ['/'], reason: 'Name what you want to remove.' },
    { pipeline: ['curl|wget', 'sh|bash|zsh'], reason: 'Download a script, read it, then run it.' },
  ],
  protected_files: ['policy:secret-bearing-paths'],
};

export interface DraftOptions {
  readonly isClient?: boolean;
  /** Limits of cost and time. */
  readonly budget?: object;
  /** Text that others wrote, to be quoted as data. */
  readonly issue?: string | null;
}

/** What the drafted steps tell the agent to do, besides running the checks. */
const COMMITS = ['git add', 'git commit'];

/** Drafts a task without problems; deterministic. An agent command has no guardrails, and reports no cost. */
export function draftTask(
  task: string,
  signals: ProjectSignals,
  { isClient = true, budget = {}, issue = null }: DraftOptions = {},
): Draft {
  const kind = classifyTask(task);
  const limits = LIMITS[kind];
  const commands = namedCommands(signals.commands.filter(({ role }) => limits.evidence.includes(role)));
  const [checks, evidence] = [true, false].map((isCheck) =>
    commands.filter(({ role }) => limits.acceptance.includes(role) === isCheck),
  ) as [typeof commands, typeof commands];
  const isFlaky = FLAKY.test(task);
  const validation = checks.map((check) => (isFlaky && check.role === 'tests' ? fiveTimes(check) : check.run));
  const keepsTests = (kind === 'fix' || kind === 'general') && PASSING.test(task) && !CHANGES_TESTS.test(task);
  const unchanged = keepsTests ? signals.tests : [];
  const mayChange = kind === 'migration' ? configurationNamed(task) : [];
  const mayRun = isClient && kind !== 'analysis' ? [...commands.map(({ run }) => run), ...COMMITS] : [];
  const frontmatter = {
    ...(validation.length > 0 && { validation }),
    ...(evidence.length > 0 && {
      commands: evidence.map(({ name, run }) => ({ name, run, timeout: COMMAND_TIMEOUT })),
    }),
    ...(unchanged.length > 0 && { unchanged: [...unchanged] }),
    ...(mayChange.length > 0 && { may_change: mayChange }),
    max_iterations: limits.maxIterations,
    ...(limits.itemsPerIteration === null ? {} : { items_per_iteration: limits.itemsPerIteration }),
    ...(limits.reflectEvery === null ? {} : { reflect_every: limits.reflectEvery }),
    timeout: '30m',
    ...(Object.keys(budget).length > 0 && { budget }),
    stop_on_error: false,
    completion_promise: PROMISE,
    completion_gate: 'required',
    open_questions: /\bquestions?\b/i.test(task) ? 'required' : 'optional',
    ...(limits.outputs.length === 0 ? {} : { required_outputs: limits.outputs }),
    ...(mayRun.length > 0 && { may_run: mayRun }),
    ...(isClient && { guardrails: GUARDRAILS }),
  };
  const names = evidence.map(({ name }) => name);
  const gaps = gapsOf(task, limits, commands);
  const body = draftBody({
    task,
    kind,
    promise: PROMISE,
    commands: names,
    isChecked: validation.length > 0,
    unchanged,
    issue,
  });
  return {
    kind,
    name: nameOf(task),
    text: `---\n${stringify(frontmatter, { lineWidth: 0 })}---\n${metadata(task, kind)}\n\n${body}`,
    commands: commands.map(({ run }) => run),
    mayRun,
    notes: [...notesOn(limits, commands, signals), ...gaps, ...globNotes(unchanged, mayChange)],
    gaps,
  };
}

/** Returns metadata for programs that edit the draft, on one line; escapes characters that could end the comment or the line. */
function metadata(task: string, kind: DraftKind): string {
  const data = JSON.stringify({ draft: 1, kind, task }).replace(/[>\u0085\u2028\u2029]|(?<=-)-/g, escaped);
  return `<!-- ralph-loop: ${data} -->`;
}

/** Pattern for a request to make existing tests pass. */
const PASSING = /\btests?\b.*\b(?:pass|green|work|succeed)|\b(?:failing|red)\b.*\btests?\b/i;
const CHANGES_TESTS =
  /\b(?:write|add|create|update|rewrite|refactor|change|delete|remove|migrate|skip|rename|move|flak\w*|intermittent\w*|coverage)\b/i;

function globNotes(unchanged: readonly string[], mayChange: readonly string[]): string[] {
  const tests = `The draft keeps the tests as they are (${unchanged.join(', ')}). Remove "unchanged" if the work has to change them.`;
  const checks = `The work may change the configuration of its checks (${mayChange.join(', ')}); the end report names what changed. Where it changes the command of a check, too, it waits for your accept.`;
  return [...(unchanged.length > 0 ? [tests] : []), ...(mayChange.length > 0 ? [checks] : [])];
}

const FLAKY = /\bflak(?:y|es?|iness)\b|\bintermittent(?:ly)?\b/i;

/** Runs a command five times. A flaky test passes a single run; only the gate does this. */
function fiveTimes({ name, run }: { readonly name: string; readonly run: string }) {
  const loop = `for run in 1 2 3 4 5; do { ${run}; } || exit 1; done`;
  return { name: `${name}, five times`, run: loop, timeout: COMMAND_TIMEOUT * 5 };
}

const FIGURE = /\b\d+(?:[.,]\d+)?\s?(?:%|(?:percent|ms|milliseconds?|seconds?|KB|MB|GB|times|x)\b)/i;
const MEASURES = /cover|bench|perf|threshold|size/i;

function notesOn(
  { acceptance, evidence }: Limits,
  commands: readonly ProjectCommand[],
  { leftOut }: ProjectSignals,
): string[] {
  const notes: string[] = [];
  const gates = commands.filter(({ role }) => acceptance.includes(role));
  const shown = commands.filter(({ role }) => !acceptance.includes(role));
  const list = (some: readonly ProjectCommand[]): string => some.map(({ run, from }) => `${run} (${from})`).join(', ');
  if (gates.length > 0) notes.push(`Checks that must pass at the end: ${list(gates)}.`);
  if (shown.length > 0) notes.push(`The agent also sees the output of ${list(shown)}.`);
  if (evidence.length > 0 && leftOut.length > 0) notes.push(`Found and left out: ${leftOut.join(', ')}.`);
  return notes;
}

function gapsOf(task: string, { acceptance }: Limits, commands: readonly ProjectCommand[]): string[] {
  const notes: string[] = [];
  if (acceptance.length > 0 && !commands.some(({ role }) => role === 'tests')) {
    const found = commands.length === 0 ? 'No command' : 'No test command';
    notes.push(`${found} of this project could prove the work. Name one under "validation" in the frontmatter.`);
  }
  const figure = FIGURE.exec(task)?.[0];
  if (figure !== undefined && !commands.some(({ run }) => MEASURES.test(run))) {
    notes.push(
      `No check measures "${figure}", so the loop can complete without it. Add a command that fails below that figure under "validation".`,
    );
  }
  return notes;
}

const LONGEST_NAME = 40;
const PASSED_OVER = new Set(
  'a an the and or of to in on for with by from at is are be it its this that all'.split(' '),
);
const RESERVED = /^(?:con|prn|aux|nul|com\d|lpt\d)$/;

function nameOf(task: string): string {
  const words = task
    .slice(0, 500)
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]/g, '')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '' && !PASSED_OVER.has(word));
  let name = '';
  for (const word of words.slice(0, 5)) {
    const longer = name === '' ? word.slice(0, LONGEST_NAME) : `${name}-${word}`;
    if (longer.length > LONGEST_NAME) break;
    name = longer;
  }
  return name === '' || RESERVED.test(name) ? `task${name === '' ? '' : `-${name}`}` : name;
}
