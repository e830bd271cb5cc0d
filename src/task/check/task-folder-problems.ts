import { commandProblems } from '../commands/fill-command.ts';
import { suggestion } from '../frontmatter/canonical-keys.ts';
import { bodyPlaceholders, RALPH_NAMES } from '../frontmatter/placeholders.ts';
import type { KeyProblem } from '../frontmatter/problem.ts';
import type { Frontmatter } from '../frontmatter/schema.ts';
import { entriesOf } from '../settings/check-settings.ts';
import { BY_FILE, gateOf } from '../settings/defaults.ts';
import { PROGRESS_FILE, type TaskKind } from '../task-file.ts';

interface BodyProblem extends Omit<KeyProblem, 'keys'> {
  readonly at: number;
}

type Mapping = Readonly<Record<string, unknown>>;

export function commandPlaceholderProblems(mapping: Mapping): KeyProblem[] {
  const declared = declaredArgs(mapping);
  return entriesOf(mapping['commands']).flatMap((entry, index) => {
    const run: unknown = (entry as { run?: unknown } | null)?.run;
    if (typeof run !== 'string') return [];
    const keys = ['commands', index, 'run'];
    return commandProblems(run, declared).map(({ rule, message, severity }) => ({
      keys,
      value: run,
      rule,
      severity,
      message: `commands[${index}].run ${message}`,
    }));
  });
}

export function bodyPlaceholderProblems(body: string, mapping: Mapping): BodyProblem[] {
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
      return problem(
        'placeholder',
        'error',
        `is used in the body, but args declares no "${name}".${suggestion(name, args)}`,
      );
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
export function taskFolderDoubts(settings: Frontmatter, body: string, kind: TaskKind): KeyProblem[] {
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
  // An optional gate still mentions them in the prompt.
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
