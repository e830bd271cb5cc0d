import { basename } from 'node:path';
import { lineHere, show } from '../../state/process/program.ts';
import { jsonOrNull } from '../../text/json.ts';
import { outsideComments } from '../../text/markdown/comments.ts';
import { lines } from '../../text/markdown/lines.ts';
import { checklistItems, countChecklist, unreadBoxes } from '../../text/markdown/lists.ts';
import { advise } from '../../text/message.ts';
import { quoted } from '../../text/quote.ts';
import { commandProblems } from '../commands/fill-command.ts';
import { hiddenExit } from '../commands/hidden-exit.ts';
import { missingPrograms, type ProjectPlace, writtenCommands } from '../commands/missing-programs.ts';
import { validationSection } from '../draft/add-validation.ts';
import { suggestion } from '../frontmatter/canonical-keys.ts';
import { bodyPlaceholders, RALPH_NAMES } from '../frontmatter/placeholders.ts';
import { type KeyProblem, keyPath, type Problem } from '../frontmatter/problem.ts';
import { type ReadYaml, readYaml } from '../frontmatter/read-yaml.ts';
import { type Frontmatter, ITERATION_CAP } from '../frontmatter/schema.ts';
import { type SplitText, splitFrontmatter } from '../frontmatter/split-frontmatter.ts';
import { fromHere, otherLoopText } from '../other-tools.ts';
import { checkSettings, entriesOf } from '../settings/check-settings.ts';
import { BY_FILE, FINDINGS_LOG, FORMER_LOG, gateOf } from '../settings/defaults.ts';
import { DEFAULT_TASK, hasFolder, PROGRESS_FILE, type TaskKind, takesTaskKeys, taskKind } from '../task-file.ts';

const MAX_FRONTMATTER = 256 * 1024;

/**
 * Checks a task file. Never throws. `kind` overrides the one of the file's name; with a project, also reports commands that
 * cannot run there. The frontmatter, durations in milliseconds, is null if it has an error; the body may have others.
 */
export function checkTaskFile(path: string, text: string, kind = taskKind(path), project: ProjectPlace | null = null) {
  if (kind === 'prompt' && isJson(path, text)) return { kind, frontmatter: null, problems: [jsonTask(path, text)] };
  const split = splitFrontmatter(text);
  const encoding = encodingProblem(text);
  const whole = encoding?.severity === 'error' ? encoding : wholeFileProblem(kind, split);
  if (whole !== null) return { kind, frontmatter: null, problems: [whole] };
  const first = split.frontmatterLine ?? 1;
  const yaml = readYaml(split.frontmatter);
  const problems: Problem[] = yaml.problems.map((problem) => {
    return { ...problem, path: '', line: problem.line + first - 1, value: null };
  });
  if (yaml.mapping === null) return { kind, frontmatter: null, problems };
  const { settings, problems: found } = checkSettings(yaml.mapping, {
    cap: ITERATION_CAP[kind],
    timeout: BY_FILE[kind].values.timeout,
    whole: true,
    taskKeys: takesTaskKeys(kind) ? 'all' : 'none',
  });
  const placed = ({ keys, ...problem }: KeyProblem): Problem => {
    const { line, column } = yaml.placeOf(keys, problem.severity === 'warning' ? 'key' : 'value');
    return { ...problem, path: keyPath(keys), line: line + first - 1, column };
  };
  problems.push(...found.map(placed));
  problems.push(...(encoding === null ? [] : [encoding]), ...doubts(path, split, yaml, first, settings));
  const { args, commands } = yaml.mapping;
  // Without arguments and commands, the body of a prompt file is plain text.
  if (hasFolder(kind) || (kind === 'prompt' && (args !== undefined || commands !== undefined)))
    problems.push(...taskFolderProblems(split, yaml.mapping, settings, placed, kind));
  if (settings !== null && project !== null) problems.push(...missingPrograms(settings, project).map(placed));
  if (settings !== null) problems.push(...hiddenExits(settings, project?.dir).map(placed));
  const failed = problems.some(({ severity }) => severity === 'error');
  if (kind === 'checklist') problems.push(...checklistProblems(split));
  if (kind === 'prompt' || kind === 'ralph-md') problems.push(...bodyProblems(split));
  const doubt = kind === 'prompt' ? (planDoubt(path, split) ?? boxesDoubt(path, split)) : null;
  if (doubt !== null) problems.push(doubt);
  problems.sort((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0));
  return { kind, frontmatter: failed ? null : settings, problems };
}

function taskFolderProblems(
  { body, bodyLine }: SplitText,
  mapping: Readonly<Record<string, unknown>>,
  settings: Frontmatter | null,
  placed: (problem: KeyProblem) => Problem,
  kind: TaskKind,
): Problem[] {
  const inBody = bodyPlaceholderProblems(body, mapping).map(({ at, ...problem }): Problem => {
    const column = at - body.lastIndexOf('\n', at - 1);
    return { ...problem, path: '', line: bodyLine + lineAt(body, at) - 1, column };
  });
  const doubts = settings === null ? [] : taskFolderDoubts(settings, body, kind);
  return [...[...commandPlaceholderProblems(mapping), ...doubts].map(placed), ...inBody];
}

/** Returns a problem in a line of the file: an error, unless `more` says otherwise. */
function problemOn(line: number, rule: string, message: string, more: Partial<Problem> = {}): Problem {
  return { path: '', line, column: 1, value: null, rule, message, severity: 'error', ...more };
}

function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length;
}

function wholeFileProblem(kind: TaskKind, split: SplitText): Problem | null {
  if (split.problem === 'unclosed') {
    const line = (split.frontmatterLine ?? 2) - 1;
    const message = `the frontmatter that begins on line ${line} is never closed: add a --- line after it.`;
    return problemOn(line, 'unclosed-frontmatter', message);
  }
  if (split.frontmatterLine === null && kind === 'ralph-md') {
    const message = 'there is no frontmatter: a RALPH.md begins with a --- line, its settings, and another --- line.';
    return problemOn(1, 'no-frontmatter', message);
  }
  if (split.frontmatter.length > MAX_FRONTMATTER) {
    const message = `the frontmatter has ${split.frontmatter.length} characters; at most ${MAX_FRONTMATTER} are read.`;
    return problemOn(split.frontmatterLine ?? 1, 'too-large', message);
  }
  return null;
}

/** Finds bytes that are not UTF-8 text: a binary file or UTF-16 contains zeros, other text replacement characters. */
function encodingProblem(text: string): Problem | null {
  const at = text.search(/[\0\ufffd]/);
  if (at === -1) return null;
  const severity = text.includes('\0') ? 'error' : 'warning';
  const message = 'this is not UTF-8 text, so the agent would see wrong letters. Save the file as UTF-8.';
  return problemOn(lineAt(text, at), 'not-utf-8', message, { severity });
}

function doubts(
  path: string,
  split: SplitText,
  yaml: ReadYaml,
  first: number,
  settings: Frontmatter | null,
): Problem[] {
  const problems: Problem[] = [];
  const section = validationSection(split.body);
  if (section !== null && !Array.isArray(yaml.mapping?.['validation'])) {
    const text =
      'nothing enforces this "Validation Commands" section: it is prose for the agent. Put its commands under "validation:" in the frontmatter.';
    const options = { task: quoted(fromHere(path)), 'adopt-validation': true };
    const message = show(advise(text, 'This does it, and starts the loop', 'start', options));
    const line = split.bodyLine + section.line - 1;
    problems.push(problemOn(line, 'unenforced-validation', message, { path: 'validation', severity: 'warning' }));
  }
  const log = otherLog(split.body, settings?.findings_log);
  if (log !== null) {
    const message = `the text names the findings log ${log.path}, which the loop does not read. Set it in the frontmatter: findings_log: ${log.path}`;
    const more = { path: 'findings_log', value: log.path, severity: 'warning' } as const;
    problems.push(problemOn(split.bodyLine + log.line - 1, 'other-findings-log', message, more));
  }
  const watched = (settings?.idle?.watch ?? []).length + (settings?.commands ?? []).length;
  if (settings?.idle?.wake === 'change' && watched === 0) {
    const { line, column } = yaml.placeOf(['idle', 'wake'], 'value');
    const message =
      'idle.wake is "change", but nothing is watched: the loop would sleep until idle.max_quiet or idle.max. Name files under idle.watch, or commands.';
    const more = { path: 'idle.wake', column, value: 'change', severity: 'warning' } as const;
    problems.push(problemOn(line + first - 1, 'nothing-to-watch', message, more));
  }
  return problems;
}

/** Returns the first findings log that a text names; null if it names none, or one that is read. */
function otherLog(body: string, given: string | undefined): { readonly path: string; readonly line: number } | null {
  const read = new Set(given === undefined ? [FINDINGS_LOG, FORMER_LOG] : [given]);
  const named = [...body.matchAll(/(?<![\w./-])(?:[\w.-]+\/)+[\w-]*findings[\w-]*\.md\b/gi)];
  const [first] = named.some(([path]) => read.has(path.replace(/^\.\//, ''))) ? [] : named;
  if (first === undefined) return null;
  return { path: first[0].replace(/^\.\//, ''), line: lineAt(body, first.index) };
}

/** Sentences of the templates that the user has to replace. */
const PLACEHOLDERS = new RegExp(
  '^Describe the task here\\.$|^Say the goal in one line\\.$|^Go through SCOPE and fix |^Migrate FROM to TO,|' +
    '^Reach GOAL by a written plan| supports a decision: QUESTION$|^Build FEATURE test-first',
  'm',
);

/** Finds problems of the body: an unfilled template and an empty body are never run. */
function bodyProblems({ body, bodyLine }: SplitText): Problem[] {
  const shown = outsideComments(body);
  const problem = (at: number, rule: string, message: string): Problem[] => [
    problemOn(bodyLine + lineAt(body, at) - 1, rule, message),
  ];
  if (shown.every(({ text }) => text.trim() === ''))
    return problem(0, 'empty-body', 'The task is empty. Describe what the agent has to do below the frontmatter.');
  return shown.flatMap(({ text, at }) => {
    const found = PLACEHOLDERS.exec(text);
    const [line = ''] = found === null ? [] : text.slice(found.index).trimStart().split('\n');
    const message = `The template is not filled in. Write your task in place of this line: ${line.trim()}`;
    return found === null ? [] : problem(at + found.index, 'unfilled', message);
  });
}

/** Pattern for the lines of an unfilled template: headings, empty items and rules. */
const BARE = /^\s*(?:#{1,6}(?:\s.*)?|(?:[-*+]|\d{1,9}[.)])?\s*(?:\[[ xX]?\])?\s*|-{3,}|={3,})$/;

function checklistProblems({ body, bodyLine }: Pick<SplitText, 'body' | 'bodyLine'>): Problem[] {
  if (isUnfilled(body)) {
    const message =
      'The template is not filled in. Write the goals under Goals, and the steps that you know under Checklist ("- [ ] what").';
    return [problemOn(bodyLine, 'unfilled', message)];
  }
  return unreadBoxes(body).map(({ line, text }): Problem => {
    const message = `This looks like an item of the checklist and is none. Write "- [ ] what" or "- [x] what": ${text}`;
    return problemOn(bodyLine + line - 1, 'unread-box', message, { value: text });
  });
}

export function isUnfilled(body: string): boolean {
  for (const { text, inFence } of lines(body)) if (inFence || !BARE.test(text)) return false;
  return true;
}

function isJson(path: string, text: string): boolean {
  const value = /^\s*[[{]/.test(text) && jsonOrNull(text.trim());
  return /\.json[5cl]?$/i.test(path) || (typeof value === 'object' && value !== null);
}

/** Names a file of JSON, and the command that turns its stories into a checklist if the tool that wrote it is known. */
function jsonTask(path: string, text: string): Problem {
  const how = `JSON is no task: nothing in it would be counted. Write its stories as items ("- [ ] what") into .ralph/NAME/task.md, then: ${lineHere('run NAME')}.`;
  return problemOn(1, 'json-task', otherLoopText(path, text, 'JSON is no task') ?? how);
}

/** Finds open boxes in a file whose name does not make it a checklist: completion does not depend on them. */
function boxesDoubt(path: string, { body, bodyLine }: SplitText): Problem | null {
  if (basename(path) === basename(DEFAULT_TASK)) return null;
  const { done, total } = countChecklist(checklistItems(body));
  if (done === total) return null;
  const open = total - done === 1 ? '1 open box is' : `${total - done} open boxes are`;
  const known = otherLoopText(path, body, `its ${open} not counted here`);
  const how = 'To count them, move the file to .ralph/NAME/task.md and start it';
  const message = known ?? show(advise(`${open} not counted.`, how, 'run NAME'));
  return problemOn(bodyLine, 'boxes-not-counted', message, { severity: 'warning' });
}

const TASK = /^ {0,3}(?:[-*+]|\d{1,9}[.)]) \[[ xX]\] (?:\((?:blocked|manual-verify|no-change)\) )?(?:\*\*)?Task \S+:/m;
const ACCEPTANCE = /^\s+(?:[-*+] )?(?:\*\*)?Acceptance(?:\*\*)?:/m;

function planDoubt(path: string, { body, bodyLine }: SplitText): Problem | null {
  const task = TASK.exec(body);
  if (task === null || !ACCEPTANCE.test(body)) return null;
  const text =
    'this is a plan of tasks, which would be sent to the agent as a whole. To work on it task by task, add --plan.';
  const message = show(advise(text, 'Check it as a plan', `plan check ${quoted(fromHere(path))}`));
  return problemOn(bodyLine + lineAt(body, task.index) - 1, 'plan-as-prompt', message, { severity: 'warning' });
}

/** Warns about checks whose exit code says nothing: those that always pass, and pipes that end in a filter. */
function hiddenExits(settings: Frontmatter, folder: string | undefined): KeyProblem[] {
  return writtenCommands(settings).flatMap(({ keys, run, isCheck }): KeyProblem[] => {
    const why = isCheck ? hiddenExit(run, false, settings.may_change === undefined ? folder : '') : null;
    if (why === null) return [];
    return [{ keys, value: run, rule: 'hidden-exit', message: `${keyPath(keys)} ${why}`, severity: 'warning' }];
  });
}

interface BodyProblem extends Omit<KeyProblem, 'keys'> {
  readonly at: number;
}

type Mapping = Readonly<Record<string, unknown>>;

function commandPlaceholderProblems(mapping: Mapping): KeyProblem[] {
  const declared = declaredArgs(mapping);
  return entriesOf(mapping['commands']).flatMap((entry, index) => {
    const run: unknown = (entry as { run?: unknown } | null)?.run;
    if (typeof run !== 'string') return [];
    const keys = ['commands', index, 'run'];
    return commandProblems(run, declared).map(({ message, ...problem }) => {
      return { ...problem, keys, value: run, message: `commands[${index}].run ${message}` };
    });
  });
}

function bodyPlaceholderProblems(body: string, mapping: Mapping): BodyProblem[] {
  const args = declaredArgs(mapping);
  const commands = entriesOf(mapping['commands'])
    .map((entry) => (entry as { name?: unknown } | null)?.name)
    .filter((name) => typeof name === 'string');
  return bodyPlaceholders(body).flatMap((placeholder): BodyProblem[] => {
    const value = body.slice(placeholder.start, placeholder.end);
    const problem = (rule: string, severity: 'error' | 'warning', message: string): BodyProblem[] => [
      { at: placeholder.start, value, rule, severity, message: `${value} ${message}` },
    ];
    const { kind, name } = placeholder;
    if (kind === 'args' && !args.includes(name)) {
      const message = `is used in the body, but args declares no "${name}".${suggestion(name, args)}`;
      return problem('placeholder', 'error', message);
    }
    if (kind === 'commands' && !commands.includes(name)) {
      const message = `will be empty: there is no command of this name.${suggestion(name, commands)}`;
      return problem('unknown-placeholder', 'warning', message);
    }
    if (kind === 'ralph' && !RALPH_NAMES.includes(name)) {
      const message = `stays unchanged: after "ralph." only ${RALPH_NAMES.join(', ')} are known.`;
      return problem('unknown-placeholder', 'warning', message);
    }
    return [];
  });
}

/** Finds keys that are valid but have no effect. */
function taskFolderDoubts(settings: Frontmatter, body: string, kind: TaskKind): KeyProblem[] {
  const { commands = [], completion_gate, completion_promise, required_outputs = [], validation = [] } = settings;
  const needsPromise = BY_FILE[kind].completion === 'none';
  const claims = completion_promise !== undefined || !needsPromise;
  const needs = needsPromise ? ', with a completion_promise,' : '';
  const placeholders = bodyPlaceholders(body).filter((placeholder) => placeholder.kind === 'commands');
  const shown = new Set(placeholders.map(({ name }) => name));
  const doubts: KeyProblem[] = [];
  const doubt = (keys: KeyProblem['keys'], rule: string, message: string): void => {
    doubts.push({ keys, value: null, rule, message, severity: 'warning' });
  };
  const gate = claims ? (completion_gate ?? gateOf(settings, kind)) : 'disabled';
  if (!claims && (completion_gate ?? 'disabled') !== 'disabled') {
    const message = 'completion_gate does nothing, because there is no completion_promise whose claim it could check.';
    doubt(['completion_gate'], 'nothing-to-gate', message);
  }
  const checked = commands.some(({ acceptance }) => acceptance === true) || validation.length > 0;
  if (gate === 'required' && !checked && commands.length > 0 && required_outputs.length === 0) {
    const message =
      'no command verifies completion: none has acceptance: true, and there is no validation, so a claim is accepted even if every command fails.';
    doubt(['commands'], 'unsupported-completion', message);
  }
  // The prompt mentions the outputs only if the gate is not disabled.
  if (gate === 'disabled' && required_outputs.length > 0) {
    const message = `required_outputs do nothing: only a gate that is not disabled${needs} requires them.`;
    doubt(['required_outputs'], 'not-gated', message);
  }
  if (required_outputs.includes(PROGRESS_FILE)) {
    const message = `required_outputs: ${PROGRESS_FILE} is the loop's own memory and is left out.`;
    doubt(['required_outputs', required_outputs.indexOf(PROGRESS_FILE)], 'own-file', message);
  }
  for (const [index, { name, acceptance }] of commands.entries()) {
    if (acceptance === true && gate !== 'required') {
      const message = `commands[${index}].acceptance has nothing checked: only a required gate${needs} runs the command again.`;
      doubt(['commands', index, 'acceptance'], 'not-gated', message);
    }
    if (acceptance !== true && !shown.has(name)) {
      const message = `commands[${index}] runs in every iteration, but the body shows its output nowhere. Write: {{ commands.${name} }}`;
      doubt(['commands', index, 'name'], 'unused-command', message);
    }
  }
  return doubts;
}

function declaredArgs(mapping: Mapping): string[] {
  return entriesOf(mapping['args']).filter((name) => typeof name === 'string');
}
